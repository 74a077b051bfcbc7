"""Worker of a speed test: its process, and the workloads that it runs, each step timed."""

"""Speed tests: planning, running in a worker process, result and analysis."""

"""Live: a mount's activity from the kernel's counters."""

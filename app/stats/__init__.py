"""Statistics of mounts and connections, read from the kernel without touching a mount."""

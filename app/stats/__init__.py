"""Statistics and health of mounts and connections, read from the kernel without accessing a mount."""

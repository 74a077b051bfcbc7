"""Live page: present activity of a mount, from the NFS client's counters."""

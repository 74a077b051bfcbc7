"""Mounts: what is configured, what is active, and what mount.nfs means when it fails."""

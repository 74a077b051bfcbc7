"""Client of the root helper: starts it through polkit, and explains its refusals and mount errors."""

#: Time limit of mount.nfs, seconds; without one it waits at least 72 s for a server that drops packets.
MOUNT_TIMEOUT_S = 15.0

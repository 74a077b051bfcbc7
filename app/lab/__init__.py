"""Lab: a real NFS client, server and emulated link in a User-Mode Linux guest."""

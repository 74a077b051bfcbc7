"""Mounts: the list of mounts, the page of one mount, and the actions on it."""

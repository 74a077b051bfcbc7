"""Mounts: the list, the page of one mount, and the actions on it."""

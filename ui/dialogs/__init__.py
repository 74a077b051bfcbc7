"""Questions that the window asks."""

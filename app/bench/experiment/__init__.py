"""Experiments: option sets compared on private mounts, in random order and without fooling oneself."""

"""Mounts: configured and active ones, and the planning, applying and undoing of their changes."""

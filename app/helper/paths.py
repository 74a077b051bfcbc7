"""The way to a path without following links: each directory is opened from the one above it."""

from __future__ import annotations

import os

DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_parent(path: str) -> tuple[int, str]:
    """Open the directory above a path without following links; return its descriptor, and the last name.

    Raises:
        OSError: if the way is another one by now.
    """
    *parents, name = path.split("/")[1:]
    fd = os.open("/", DIRECTORY)
    try:
        for part in parents:
            below = os.open(part, DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
    except BaseException:
        os.close(fd)
        raise
    return fd, name

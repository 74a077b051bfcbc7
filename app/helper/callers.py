"""The caller of the helper, this program's own directory, and files that only root can have written."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

OWN_ROOT = "/run/mountwright"


class Caller(NamedTuple):
    """Who asked: the user of the process that started the helper, and what it may use. Root has uid 0.

    Attributes:
        uid: user.
        gid: group.
        groups: supplementary groups.
        limits: resource limits, for a worker.
        nice: likewise.
        home: home directory, "" for none.
        system: whether an administrator approved what is done now, share and mount point included.
    """

    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    limits: tuple[tuple[int, tuple[int, int]], ...] = ()
    nice: int = 0
    home: str = ""
    system: bool = False

    @property
    def administers(self) -> bool:
        """Whether restricted places, and the mounts of others, are the caller's to change."""
        return self.uid == 0 or self.system


def read_small(path: str) -> bytes:
    """Return a file that only root can have written, at most 1 MiB of it, or nothing."""
    try:
        with open(path, "rb", opener=_without_links) as file:
            found = os.fstat(file.fileno())
            is_root_s = stat.S_ISREG(found.st_mode) and found.st_uid == 0 and not found.st_mode & 0o022
            return file.read(1 << 20) if is_root_s else b""
    except OSError:
        return b""


def _without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)

"""The helper's caller and his rights, the program's own directory, and reading of files owned by root."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

#: Directory of mounts and records made by the helper; only root can write to it.
OWN_ROOT = "/run/mountwright"


class Caller(NamedTuple):
    """User of the process that started the helper, with the identity and limits of a worker.

    Attributes:
        uid: user id, 0 for root.
        gid: primary group id.
        groups: supplementary group ids.
        limits: resource limits of a worker: (RLIMIT constant, (soft, hard)).
        nice: niceness of a worker.
        home: home directory, "" if unknown.
        system: whether this is a system action, whose share and mount point an administrator approved.
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
        """Whether the caller may use RESTRICTED places and change mounts of other users."""
        return self.uid == 0 or self.system


def read_small(path: str) -> bytes:
    """Return the first 1 MiB of a file, b"" unless it is a regular file that only root can write."""
    try:
        with open(path, "rb", opener=_without_links) as file:
            found = os.fstat(file.fileno())
            is_root_s = stat.S_ISREG(found.st_mode) and found.st_uid == 0 and not found.st_mode & 0o022
            return file.read(1 << 20) if is_root_s else b""
    except OSError:
        return b""


def _without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)

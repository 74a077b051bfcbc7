"""Which processes wait for a mount whose server does not answer.

A request that waits makes its process uninterruptible (state D of /proc/PID/stat, proc(5)), in a function
whose name tells of NFS or RPC (/proc/PID/wchan, readable of one's own processes), or with a file of the mount
open. Only files below /proc that ask no server are read: not the command line, which can wait as its process.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from pathlib import Path
from typing import NamedTuple

import msgspec

from app.mounts.model import Holder  # noqa: TC001 - msgspec reads it
from app.mounts.mount_users import find_holders, holder_of

#: Between two looks: who waits for a disk does not do so twice.
_BETWEEN_S = 0.4
_WAITS = ("rpc_", "nfs", "nlm", "xprt_")
#: In the whole stack, which root alone may read.
_MODULES = re.compile(r"\[(sunrpc|nfs|nfsv3|nfsv4|lockd)\]")
_KERNEL_THREADS = 2


class WaitingArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.waiting``: the processes that wait for what is mounted there."""

    mount_point: str


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """Who waits.

    Attributes:
        own: processes that this user may look into.
        others: how many of other users are blocked, perhaps by this mount.
    """

    own: list[Holder] = []
    others: int = 0


class _Process(NamedTuple):
    """A process that is uninterruptible."""

    pid: int
    started: int


def find_waiting(mount_point: str, root: str = "/") -> Waiting:
    """Return who waits for a mount, in about half a second; the mount is not touched."""
    proc = Path(root, "proc")
    first = set(_blocked(proc))
    threading.Event().wait(_BETWEEN_S if first else 0.0)
    blocked = sorted(first & set(_blocked(proc)), key=lambda process: process.pid)
    users = {holder.pid: holder for holder in find_holders(mount_point)} if blocked else {}
    own: list[Holder] = []
    others = 0
    for process in blocked:
        name = _read(proc / str(process.pid) / "comm").strip() or "?"
        where = _read(proc / str(process.pid) / "wchan").strip("0")
        if process.pid in users:
            own.append(users[process.pid])
        elif where.startswith(_WAITS) or _MODULES.search(_read(proc / str(process.pid) / "stack")):
            with contextlib.suppress(OSError, ValueError):  # it has ended meanwhile
                own.append(holder_of(process.pid, name, "waits for an NFS server"))
        elif not where and not _is_readable(proc / str(process.pid)):
            others += 1
    return Waiting(own=own, others=others)


def _blocked(proc: Path) -> list[_Process]:
    """Return the processes that are uninterruptible; threads of the kernel and children of ours are none."""
    found: list[_Process] = []
    for name in os.listdir(proc):  # noqa: PTH208 - strings, and no stat of the entries
        if not name.isdigit():
            continue
        # The name may contain blanks and parentheses; state and parent come behind it.
        fields = _read(proc / name / "stat").rpartition(")")[2].split()
        if len(fields) > 19 and fields[0] == "D":
            parent = int(fields[1])
            if parent not in {_KERNEL_THREADS, os.getpid()} and int(name) != _KERNEL_THREADS:
                found.append(_Process(int(name), int(fields[19])))
    return found


def _is_readable(process: Path) -> bool:
    try:
        (process / "cwd").readlink()
    except OSError:
        return False
    return True


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

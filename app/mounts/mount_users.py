"""Processes that use a mount, or wait for one whose server does not answer; ending one's own.

Those that use a mount are found by links under /proc. A request that waits makes its process uninterruptible
(state D of /proc/PID/stat, proc(5)), in a function whose name tells of NFS or RPC (/proc/PID/wchan, readable
of one's own processes), or with a file of the mount open. Only files below /proc that ask no server are
read: neither the mount, nor the command line, which can wait as its process.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import select
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from app.helper import mount_users as links
from app.helper.inheritance import real_user
from app.mounts.model import Holder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: From asking a program to end until ending it, and from that until it must be gone, seconds.
TERMINATE_S = 5.0
_KILL_S = 2.0


def find_holders(path: str) -> list[Holder]:
    """Return the processes that use something at or below the path, as far as this user may see them."""
    return holders_of_answer(links.find_users(path))


def holders_of_answer(found: Iterable[Mapping[str, Any]]) -> list[Holder]:
    """Return the helper's answer as it is shown; ``own`` are those that this user may end."""
    untouchable = ancestors()
    return [
        Holder(
            pid=int(one["pid"]),
            command=str(one["command"]),
            user=_user(int(one["uid"])),
            use=str(one["use"]),
            own=int(one["uid"]) == os.getuid() and int(one["pid"]) not in untouchable,
        )
        for one in found
    ]


def holder_of_process(pid: int, command: str, use: str) -> Holder:
    """Return a process as it is shown.

    Raises:
        OSError: if it is gone.
    """
    return holders_of_answer([{"pid": pid, "uid": real_user(pid)[0], "command": command, "use": use}])[0]


def ancestors() -> set[int]:
    """Return this process, those that it descends from, and process 1: they are never ended."""
    found = {1}
    pid = os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        pid = _parent(pid)
    return found


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            # The name may contain blanks and parentheses; the parent comes second behind it.
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def terminate_processes(holders: Iterable[Holder], patience_s: float = TERMINATE_S) -> list[Holder]:
    """End the programs that the person may end: asked first, killed after a while; return the others.

    Each is held by a descriptor while that is done, so that a number given to another process meanwhile
    hits nobody (pidfd_open(2)).
    """
    others: list[Holder] = []
    fds: list[int] = []
    try:
        for holder in holders:
            fd = _descriptor(holder)
            if fd is None:
                others.append(holder)
            else:
                fds.append(fd)
        _signal(fds, signal.SIGTERM)
        _signal(_wait_for_end(fds, patience_s), signal.SIGKILL)
        _wait_for_end(fds, _KILL_S)
    finally:
        for fd in fds:
            os.close(fd)
    return others


def _descriptor(holder: Holder) -> int | None:
    """Return a descriptor of a process that may be ended, None for any other, or for one that is gone."""
    if not holder.own or holder.pid in ancestors():
        return None
    try:
        fd = os.pidfd_open(holder.pid)
    except OSError:
        return None
    with contextlib.suppress(OSError, ValueError):
        if real_user(holder.pid)[0] == os.getuid():
            return fd
    os.close(fd)
    return None


def _signal(fds: Iterable[int], number: signal.Signals) -> None:
    for fd in fds:
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(fd, number)


def _wait_for_end(fds: list[int], seconds: float) -> list[int]:
    """Wait until all have ended; return those that have not."""
    poll = select.poll()
    left = set(fds)
    for fd in fds:
        poll.register(fd, select.POLLIN)
    end = time.monotonic() + seconds
    while left and (rest := end - time.monotonic()) > 0:
        for fd, _event in poll.poll(rest * 1000):
            poll.unregister(fd)
            left.discard(fd)
    return [fd for fd in fds if fd in left]


#: Between two looks: who waits for a disk does not do so twice.
_SECOND_LOOK_S = 0.4
_WAIT_FUNCTIONS = ("rpc_", "nfs", "nlm", "xprt_")
#: In the whole stack, which root alone may read.
_MODULES = re.compile(r"\[(sunrpc|nfs|nfsv3|nfsv4|lockd)\]")
_KERNEL_THREADS = 2


class WaitingArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.waiting``: the processes that wait for what is mounted there."""

    mount_point: str


class WaitingProcesses(msgspec.Struct, frozen=True, kw_only=True):
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


def find_waiting_processes(mount_point: str, root: str = "/") -> WaitingProcesses:
    """Return who waits for a mount, in about half a second; the mount is not touched."""
    proc = Path(root, "proc")
    first = set(_blocked(proc))
    threading.Event().wait(_SECOND_LOOK_S if first else 0.0)
    blocked = sorted(first & set(_blocked(proc)), key=lambda process: process.pid)
    users = {holder.pid: holder for holder in find_holders(mount_point)} if blocked else {}
    own: list[Holder] = []
    others = 0
    for process in blocked:
        name = _read(proc / str(process.pid) / "comm").strip() or "?"
        where = _read(proc / str(process.pid) / "wchan").strip("0")
        if process.pid in users:
            own.append(users[process.pid])
        elif where.startswith(_WAIT_FUNCTIONS) or _MODULES.search(_read(proc / str(process.pid) / "stack")):
            with contextlib.suppress(OSError, ValueError):  # it has ended meanwhile
                own.append(holder_of_process(process.pid, name, "waits for an NFS server"))
        elif not where and not _is_readable(proc / str(process.pid)):
            others += 1
    return WaitingProcesses(own=own, others=others)


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

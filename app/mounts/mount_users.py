"""Programs that use a mount: who they are, and ending those that the person may end.

They are found by links under /proc; the mount itself is never touched.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import select
import signal
import time
from typing import TYPE_CHECKING, Any

from app.helper import mount_users as links
from app.helper.inheritance import real_user
from app.mounts.model import Holder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: From asking a program to end until ending it, and from that until it must be gone, seconds.
PATIENCE_S = 5.0
_KILLED_S = 2.0


def find_holders(path: str) -> list[Holder]:
    """Return the processes that use something at or below the path, as far as this user may see them."""
    return as_holders(links.find(path))


def as_holders(found: Iterable[Mapping[str, Any]]) -> list[Holder]:
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


def holder_of(pid: int, command: str, use: str) -> Holder:
    """Return a process as it is shown.

    Raises:
        OSError: if it is gone.
    """
    return as_holders([{"pid": pid, "uid": real_user(pid)[0], "command": command, "use": use}])[0]


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


def stop_own(holders: Iterable[Holder], patience_s: float = PATIENCE_S) -> list[Holder]:
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
        _wait_for_end(fds, _KILLED_S)
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

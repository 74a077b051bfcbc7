"""Processes that use a mount or wait for its server, and the termination of the user's own ones.

Users of a mount are found by the symbolic links under /proc/PID (cwd, fd and others). A process that waits
for the server is uninterruptible (state D of /proc/PID/stat, proc(5)). Its kernel function has an NFS or RPC
name (/proc/PID/wchan, readable for own processes), or it has a file of the mount open. Only files below /proc
that cannot block are read: neither the mount nor the command line of a process.
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

from app.errors import AppError
from app.helper import mount_users as links
from app.helper.inheritance import real_user
from app.mounts.model import Holder, WaitingProcesses
from app.text.mounts import TroubleText, choices_text, trouble_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.mounts.model import Mount

#: Time between SIGTERM and SIGKILL, seconds.
TERMINATE_S = 5.0
#: Longest wait for the end of a process after SIGKILL, seconds.
_KILL_S = 2.0


def find_holders(path: str) -> list[Holder]:
    """Return the processes that use a file at or below the path and that this user may inspect."""
    return holders_of_answer(links.find_users(path))


def holders_of_answer(found: Iterable[Mapping[str, Any]]) -> list[Holder]:
    """Return the processes in a helper's answer; ``own`` marks those that this user may end."""
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
    """Return a process as a Holder.

    Raises:
        OSError: if the process has ended.
    """
    return holders_of_answer([{"pid": pid, "uid": real_user(pid)[0], "command": command, "use": use}])[0]


def ancestors() -> set[int]:
    """Return the ids of this process, its ancestors and process 1, which are never terminated."""
    found = {1}
    pid = os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        pid = _parent(pid)
    return found


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            # The name may contain blanks and parentheses; the parent is the second field after it.
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def terminate_processes(holders: Iterable[Holder], patience_s: float = TERMINATE_S) -> list[Holder]:
    """Terminate the processes that this user may end; return the others.

    Each gets SIGTERM, and SIGKILL after ``patience_s`` seconds. Signals go to a pidfd, so a reused process id
    is safe (pidfd_open(2)).
    """
    others: list[Holder] = []
    fds: list[int] = []
    try:
        for holder in holders:
            fd = _pidfd(holder)
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


def _pidfd(holder: Holder) -> int | None:
    """Return a pidfd of a process that this user may end, None for others and for ended processes."""
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
    """Wait until all processes have ended; return the pidfds of those that still run."""
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


#: Time between two samples of blocked processes, seconds: a wait for a disk is over by the second one.
_SAMPLE_INTERVAL_S = 0.4
#: Beginnings of the names of kernel functions in which a process waits for an NFS server.
_WAIT_FUNCTIONS = ("rpc_", "nfs", "nlm", "xprt_")
#: Kernel modules in /proc/PID/stack, which only root may read.
_MODULES = re.compile(r"\[(sunrpc|nfs|nfsv3|nfsv4|lockd)\]")
#: Process id of kthreadd, the parent of all kernel threads.
_KTHREADD_PID = 2


class _Process(NamedTuple):
    """An uninterruptible process: its id and its start time in clock ticks."""

    pid: int
    started: int


def explain_unmount(
    error: AppError, mount: Mount, now: float, waiting: WaitingProcesses, *, force: bool, lazy: bool
) -> AppError:
    """Return the error of a failed unmount, with the mount's problem and the remaining actions if it has one.

    Args:
        error: error of the unmount.
        mount: the mount.
        now: Unix time by the clock of the mount's host, seconds.
        waiting: processes that wait for the mount.
        force: whether the unmount was forced (umount -f).
        lazy: whether the unmount was lazy (umount -l).
    """
    text = trouble_text(mount, now, waiting)
    if text is None:
        return error
    tried = {"-f"} if force else set[str]()
    tried |= {"-l"} if lazy else set()
    remaining = TroubleText("", [choice for choice in text.choices if choice.command not in tried])
    lines = [f"{holder.command} (process {holder.pid}): {holder.use}" for holder in waiting.own]
    known = error.detail.splitlines()
    detail = [*known, *(line for line in lines if line not in known)]
    return AppError(
        error.kind,
        f"{mount.mount_point} could not be unmounted. {text.message}",
        hint="\n".join(choices_text(remaining, mount.mount_point)),
        detail="\n".join(detail),
    )


def find_waiting_processes(mount_point: str, root: str = "/") -> WaitingProcesses:
    """Return the processes that wait for a mount, after about half a second; the mount is not accessed."""
    proc = Path(root, "proc")
    first = set(_blocked(proc))
    threading.Event().wait(_SAMPLE_INTERVAL_S if first else 0.0)
    blocked = sorted(first & set(_blocked(proc)), key=lambda process: process.pid)
    users = {holder.pid: holder for holder in find_holders(mount_point)} if blocked else {}
    own: list[Holder] = []
    others = 0
    for process in blocked:
        name = _read(proc / str(process.pid) / "comm").strip() or "?"
        wait_function = _read(proc / str(process.pid) / "wchan").strip("0")
        if process.pid in users:
            own.append(users[process.pid])
        elif wait_function.startswith(_WAIT_FUNCTIONS) or _MODULES.search(
            _read(proc / str(process.pid) / "stack")
        ):
            with contextlib.suppress(OSError, ValueError):  # the process has ended
                own.append(holder_of_process(process.pid, name, "waits for an NFS server"))
        elif not wait_function and not _is_readable(proc / str(process.pid)):
            others += 1
    return WaitingProcesses(own=own, others=others)


def _blocked(proc: Path) -> list[_Process]:
    """Return the uninterruptible processes, without kernel threads and children of this process."""
    found: list[_Process] = []
    for name in os.listdir(proc):  # noqa: PTH208 - strings, and no stat of the entries
        if not name.isdigit():
            continue
        # The name may contain blanks and parentheses; state and parent are the first fields after it.
        fields = _read(proc / name / "stat").rpartition(")")[2].split()
        if len(fields) > 19 and fields[0] == "D":
            parent = int(fields[1])
            if parent not in {_KTHREADD_PID, os.getpid()} and int(name) != _KTHREADD_PID:
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

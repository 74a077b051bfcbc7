"""A mount that nobody sees: made, looked at and gone, in namespaces of its own.

A abandonable child leaves the helper's mount namespace and, with its first child, the process namespace.
What that child mounts is in no other table; when it ends, however it ends, the kernel ends everything it
started (mount.nfs, an rpc.statd) and drops the mount. Mounts follow the system's into the namespace and none
go back, so that an unmount elsewhere is not held up by a copy. The mount covers /run/mountwright there:
nothing is made for it, so nothing is left.

What ends with the namespace is the mount, not every use of it: a worker can pass an open file of the mount
to another process of its user (SCM_RIGHTS, unix(7)). The superblock then lasts until that file is closed.
This is no way to more rights. The file was opened with the user's own, and nosuid and nodev hold for it. It
is not counted either: the kernel tells no user of a superblock that is in no table of mounts.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import select
import signal
import socket
import time
from typing import TYPE_CHECKING, cast

from app.helper import children, mount_nfs, mountinfo, unmounting
from app.helper.abandonable_child import AbandonableChild
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from app.helper.children import Waiter

# linux/sched.h, linux/mount.h, linux/prctl.h
_CLONE_NEWNS, _CLONE_NEWPID = 0x20000, 0x20000000
_MS_REC, _MS_SLAVE = 0x4000, 0x80000
_PR_SET_PDEATHSIG = 1
#: For the child to clear up by itself, when it has answered, is too late or is cancelled.
GRACE_S = 8.0
_MAX_ANSWER = 1 << 20


class NamespaceChild:
    """A child in namespaces of its own, and a line to it: JSON, one object a line, either way.

    Args:
        work: what its first process does, given the descriptor of its end of the line. It is to stop and
            clear up when the line ends.

    Raises:
        OSError: if no process can be made.
    """

    def __init__(self, work: Callable[[int], None]) -> None:
        mount_nfs.make_root()
        self._line, theirs = socket.socketpair()
        number = theirs.fileno()
        try:
            self._child = AbandonableChild(lambda: _enter_namespaces(work, number), keep=(number,))
        finally:
            theirs.close()

    def say(self, message: dict[str, object]) -> None:
        """Send a line; a child that has gone does not get it, and will not answer."""
        with contextlib.suppress(OSError):
            write_message(self._line.fileno(), message)

    def hear(self, deadline_s: float, waiter: Waiter, grace_s: float = GRACE_S) -> dict[str, object] | None:
        """Return what it answers, None if it has gone without an answer.

        Raises:
            Refusal: as it answers; or unavailable without the right to make namespaces; or mount-failed if
                it is late, cancelled if the waiter is. It clears up then.
        """
        line = self._line.fileno()
        data, whole = _read_line(line, time.monotonic() + deadline_s + grace_s, waiter)
        if not whole:
            # Cancelled or late: it is told to clear up, by the end of the line.
            self._line.shutdown(socket.SHUT_WR)
            data += _read_line(line, time.monotonic() + grace_s, unmounting.NeverCancelled())[0]
        if waiter.cancelled:
            raise Refusal("cancelled", "Cancelled.")
        if data.endswith(b"\n"):
            return _read(data)
        if not whole:
            timed_out: dict[str, object] = {"exit_code": None, "timed_out": True}
            raise Refusal("mount-failed", "The test mount did not end in time.", data=timed_out)
        status = self._child.status() if children.wait_quietly(self._child.pidfd, GRACE_S) else 0
        if status:
            raise Refusal(
                "unavailable", "A private test mount cannot be made here.", detail=os.strerror(status)
            )
        return None

    def end(self, patience_s: float = GRACE_S) -> bool:
        """End it, if it has not ended by itself soon after the end of the line; return whether it had."""
        self._line.close()
        ended = children.wait_quietly(self._child.pidfd, patience_s)
        self._child.dispose()
        return ended


def _read_line(reader: int, end: float, waiter: Waiter) -> tuple[bytes, bool]:
    """Return what came until the end of a line, and whether that was before the time and uncancelled."""
    data = b""
    while not data.endswith(b"\n"):
        left = end - time.monotonic()
        ready = waiter.wait({reader}, max(0.0, left))
        chunk = read_message(reader) if reader in ready else b""
        if reader in ready and not chunk:
            return data, True
        data += chunk
        if (not chunk and (waiter.cancelled or left <= 0)) or len(data) > _MAX_ANSWER:
            return data, False
    return data, True


def read_message(line: int) -> bytes:
    """Return what came, nothing if the other end has gone."""
    try:
        return os.read(line, 1 << 16)
    except OSError:
        return b""


def _read(data: bytes) -> dict[str, object]:
    answer = cast("dict[str, dict[str, object]]", json.loads(data))
    error = answer.get("error")
    if error is not None:
        facts = cast("dict[str, object]", error["data"])
        raise Refusal(str(error["code"]), str(error["message"]), detail=str(error["detail"]), data=facts)
    return answer["ok"]


def _enter_namespaces(work: Callable[[int], None], line: int) -> int:
    """Leave the helper's namespaces, and do the work in a child; return an errno."""
    signal.set_wakeup_fd(-1)
    for _standard in range(3):
        os.open("/dev/null", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS | _CLONE_NEWPID) != 0:
        return ctypes.get_errno()
    if libc.mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_SLAVE), None) != 0:
        return ctypes.get_errno()
    pid = os.fork()
    if pid == 0:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        work(line)
        os._exit(0)
    os.close(line)
    os.waitpid(pid, 0)
    return 0


class PipeWaiter:
    """A Waiter that is cancelled by the end of a pipe: of the helper's word, or of the helper."""

    def __init__(self, control: int) -> None:
        self._control = control
        self.cancelled = False

    def wait(self, fds: Collection[int], timeout_s: float) -> set[int]:
        """Wait for the descriptors, the time or the end of the pipe."""
        ready = set(select.select([*fds, self._control], [], [], timeout_s)[0])
        self.cancelled = self.cancelled or self._control in ready
        return ready - {self._control}


def inspect(row: mountinfo.MountRow, before: list[mountinfo.MountRow]) -> dict[str, object]:
    """Return what is in use of a mount; ``before`` is the table without it."""
    words = row.super_options.split(",")
    return {
        "fstype": row.fstype, "source": row.source, "options": row.super_options,
        "mount_options": ",".join(row.options),
        "version": next((word[5:] for word in words if word.startswith("vers=")), ""),
        "nconnect": _connections(row.mount_point), "read_ahead_kb": read_ahead_kb(row.device),
        "shared": any(other.device == row.device for other in before),
    }  # fmt: skip


def write_message(writer: int, answer: dict[str, object]) -> None:
    """Send a line."""
    data = json.dumps(answer).encode("ascii") + b"\n"
    while data:
        data = data[os.write(writer, data) :]


def _connections(path: str) -> int:
    """Return how many connections the topmost NFS mount at this path has (mountstats), 0 if none is there."""
    place = b" mounted on " + re.sub(rb"[ \t\n\\#]", lambda m: b"\\%03o" % m[0][0], os.fsencode(path))
    count, inside = 0, False
    with open("/proc/self/mountstats", "rb") as file:  # noqa: PTH123
        for line in file:
            if line.startswith(b"device "):
                inside = place + b" with fstype nfs" in line
                count = 0 if inside else count
            elif inside and line.lstrip().startswith(b"xprt:"):
                count += 1
    return count


def read_ahead_kb(device: str) -> int | None:
    """Return the readahead of a device (major:minor), KiB; None if the kernel does not tell."""
    try:
        with open(f"/sys/class/bdi/{device}/read_ahead_kb", "rb") as file:  # noqa: PTH123
            return int(file.read(32))
    except (OSError, ValueError):
        return None

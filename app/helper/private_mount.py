"""Private mounts: mounts in a mount namespace of their own, invisible to all other processes.

An abandonable child leaves the helper's mount namespace; its first child is PID 1 of a new process namespace.
A mount made by PID 1 is in no other mount table. When PID 1 ends, the kernel kills everything that it started
(mount.nfs, rpc.statd) and drops the mount. Mounts are propagated from the system into the namespace but not
back (MS_SLAVE), so a copy in the namespace does not block an unmount elsewhere. The mount point is
/run/mountwright, which exists anyway, so no directory has to be created or removed.

The mount ends with the namespace, but a superblock may last longer: a worker can pass an open file to another
process of its user (SCM_RIGHTS, unix(7)). The superblock then lasts until that file is closed. This gives no
additional rights: the file was opened with the user's rights, and nosuid and nodev apply to it. Such uses
cannot be listed, because the kernel reports no users of a superblock without a mount.

Sources: unshare(2), mount_namespaces(7), pid_namespaces(7).
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

from app.helper import children, mount_nfs, mountinfo, readahead, unmounting
from app.helper.abandonable_child import AbandonableChild
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from app.helper.children import Waiter

# linux/sched.h, linux/mount.h, linux/prctl.h
_CLONE_NEWNS, _CLONE_NEWPID = 0x20000, 0x20000000
_MS_REC, _MS_SLAVE = 0x4000, 0x80000
_PR_SET_PDEATHSIG = 1
#: Time for the child to unmount and exit after its answer, its deadline or a cancellation, s.
GRACE_S = 8.0
#: Longest answer of the child, bytes.
_MAX_ANSWER = 1 << 20


class NamespaceChild:
    """Child in its own mount and process namespaces, with a socket to it: one JSON object a line.

    Args:
        work: function that PID 1 of the namespace runs. Its argument is the descriptor of the child's socket.
            It must stop and clean up at end of file.

    Raises:
        OSError: if the process cannot be created.
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
        """Send a message to the child; an error is ignored, because an ended child sends no answer."""
        with contextlib.suppress(OSError):
            write_message(self._line.fileno(), message)

    def hear(self, deadline_s: float, waiter: Waiter, grace_s: float = GRACE_S) -> dict[str, object] | None:
        """Wait for the child's answer.

        Args:
            deadline_s: time that the child has for the request, s.
            waiter: waits for the answer and reports a cancellation.
            grace_s: additional time to wait after the deadline or a cancellation, s.

        Returns:
            the answer; None if the child ended without one.

        Raises:
            Refusal: the child's own refusal; unavailable if namespaces cannot be created; mount-failed after
                the deadline; cancelled. After a deadline or a cancellation the child cleans up and exits.
        """
        line = self._line.fileno()
        data, whole = _read_line(line, time.monotonic() + deadline_s + grace_s, waiter)
        if not whole:
            # Cancelled or late: closing the sending direction makes the child clean up.
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
        """Close the socket, wait for the child to end, and kill it if it does not.

        Args:
            patience_s: time to wait for it, s.

        Returns:
            whether it ended by itself.
        """
        self._line.close()
        ended = children.wait_quietly(self._child.pidfd, patience_s)
        self._child.dispose()
        return ended


def _read_line(reader: int, end: float, waiter: Waiter) -> tuple[bytes, bool]:
    """Read from a descriptor until the end of a line.

    Args:
        reader: descriptor to read from.
        end: monotonic time at which to give up, s.
        waiter: waits for the descriptor and reports a cancellation.

    Returns:
        the bytes, and whether a line or the input ended before the time limit and without a cancellation.
    """
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
    """Return available bytes of a socket; b"" if the other end has closed it."""
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
    """Create mount and process namespaces, run ``work`` in a child, and wait for it; return an errno."""
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
    """Waiter in the namespace: it is cancelled when the helper writes to its socket, closes it or ends.

    Args:
        control: descriptor of the socket to the helper.

    Attributes:
        cancelled: whether the socket has become readable.
    """

    def __init__(self, control: int) -> None:
        self._control = control
        self.cancelled = False

    def wait(self, fds: Collection[int], timeout_s: float) -> set[int]:
        """Return the readable descriptors, waiting for one, for the timeout or for a cancellation."""
        ready = set(select.select([*fds, self._control], [], [], timeout_s)[0])
        self.cancelled = self.cancelled or self._control in ready
        return ready - {self._control}


def inspect(row: mountinfo.MountRow, before: list[mountinfo.MountRow]) -> dict[str, object]:
    """Return the values in use of a mount: type, source, options, version, nconnect and readahead.

    Args:
        row: row of the mount in the mount table.
        before: mount table before the mount; ``shared`` tells whether its superblock existed then.
    """
    words = row.super_options.split(",")
    return {
        "fstype": row.fstype, "source": row.source, "options": row.super_options,
        "mount_options": ",".join(row.options),
        "version": next((word[5:] for word in words if word.startswith("vers=")), ""),
        "nconnect": _connections(row.mount_point), "read_ahead_kb": readahead.read(row.device),
        "shared": any(other.device == row.device for other in before),
    }  # fmt: skip


def write_message(writer: int, answer: dict[str, object]) -> None:
    """Write a JSON object as one line to a descriptor."""
    data = json.dumps(answer).encode("ascii") + b"\n"
    while data:
        data = data[os.write(writer, data) :]


def _connections(path: str) -> int:
    """Return the number of connections of the topmost NFS mount at a path, 0 if there is none.

    Each ``xprt:`` line of /proc/self/mountstats is one connection.
    """
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

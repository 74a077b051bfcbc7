"""Init process (PID 1) of the namespace of private test mounts: mounts, starts workers, unmounts.

It reads requests from a socket to the helper. End of file means that the helper has ended. If this process is
killed, the kernel kills all processes of the namespace and drops the mount (pid_namespaces(7)). Workers that
do not use a mount when it is closed stay for the next mount, because starting programs takes the most time of
a test.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import select
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from app.helper import (
    callers,
    children,
    drop_privileges,
    mount_nfs,
    mountinfo,
    private_mount,
    readahead,
    unmounting,
)
from app.helper.abandonable_child import AbandonableChild
from app.helper.errors import Refusal, body

if TYPE_CHECKING:
    from app.helper.callers import Caller

#: Time for workers to end after SIGTERM and after SIGKILL, s.
_TERM_S, _KILL_S = 0.5, 1.0
#: Time for workers to end after SIGTERM if the helper has ended, s: they still have to remove their files.
_CLIENTLESS_S = 10.0
#: Interval between two checks whether the workers have ended, s.
_POLL_S = 0.02
#: Interval between two MNT_FORCE calls that abort the requests to a dead server, s.
_FORCE_S = 0.2


#: Longest time that a mount may stay open, or that a namespace may exist without a mount, s.
MAX_AGE_S = 12 * 3600.0
#: Most workers at the same time; their own children are not counted.
MAX_WORKERS = 8
_MNT_EXPIRE = 4  # umount2(2)


def serve_mounts(line: int, caller: Caller) -> None:
    """Serve requests of the helper until the socket is closed or MAX_AGE_S has passed.

    Args:
        line: descriptor of the socket to the helper.
        caller: user whose identity the workers get.
    """
    init = _NamespaceInit(line, caller)
    try:
        init.serve()
    finally:
        init.close(None)


class _NamespaceInit:
    def __init__(self, line: int, caller: Caller) -> None:
        self._line = line
        self._caller = caller
        self._row: mountinfo.MountRow | None = None
        self._read_ahead_kb = -1
        self._workers: set[int] = set()
        #: Open descriptor of the mount's root: MNT_FORCE would unmount a mount that is not in use.
        self._root = -1

    def serve(self) -> None:
        """Answer requests until the socket is closed, MAX_AGE_S has passed, or an error was sent."""
        end, data = time.monotonic() + MAX_AGE_S, b""
        while time.monotonic() < end:
            ready = select.select([self._line], [], [], 1.0)[0]
            _reap_children(self._workers)
            if not ready:
                continue
            chunk = private_mount.read_message(self._line)
            if not chunk:
                return
            data += chunk
            if data.endswith(b"\n"):
                message, data = json.loads(data), b""
                if "open" in message:
                    end = time.monotonic() + MAX_AGE_S
                try:
                    answer = self._do(message)
                except Refusal as refusal:
                    private_mount.write_message(self._line, {"error": body(refusal)})
                    return
                private_mount.write_message(self._line, {"ok": answer})

    def _do(self, message: dict[str, Any]) -> dict[str, object]:
        if "close" in message:
            return self.close(message["close"])
        if "abort" in message:
            return {"ended": self._root >= 0 and _force_once()}
        return self._open(message) if "open" in message else self._run(message)

    def _open(self, message: dict[str, Any]) -> dict[str, object]:
        """Run mount.nfs, set the readahead, and return the values in use."""
        before, clients = mountinfo.read(), _kernel_clients()
        began = time.monotonic()
        waiter = private_mount.PipeWaiter(self._line)
        row, text = mount_nfs.run(message["open"], callers.OWN_ROOT, before, message["deadline_s"], waiter)
        mount_ms = _ms(began)
        self._row, self._read_ahead_kb = row, message["read_ahead_kb"]
        with contextlib.suppress(OSError):
            self._root = os.open(callers.OWN_ROOT, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._set_read_ahead(row)
        found, joined = private_mount.inspect(row, before), _shares_client(clients, _kernel_clients())
        return {**found, "joined": joined, "mount_id": row.mount_id,
                "device": row.device, "text": text, "mount_ms": mount_ms}  # fmt: skip

    def _set_read_ahead(self, row: mountinfo.MountRow) -> None:
        """Set the requested readahead, if any; errors are ignored, because the value is read back later."""
        if self._read_ahead_kb >= 0:
            with contextlib.suppress(OSError):
                readahead.write(row.device, self._read_ahead_kb)

    def _run(self, message: dict[str, Any]) -> dict[str, object]:
        """Start a worker; return whether it ``started``, and the error as ``reason``.

        With MAX_WORKERS running, ``started`` is false and ``reason`` is "".
        """
        if len(self._workers) >= MAX_WORKERS:
            return {"started": False, "reason": ""}
        if self._row is not None:
            # A udev rule may have changed the readahead shortly after the mount.
            self._set_read_ahead(self._row)
        try:
            pid, reason = drop_privileges.start_worker(self._caller, message["run"], message["socket"])
        except OSError as error:
            return {"started": False, "reason": os.strerror(error.errno or 0)}
        self._workers.add(pid)
        return {"started": not reason, "reason": reason}

    def close(self, deadline_s: float | None) -> dict[str, object]:
        """End the workers, write back the data, and unmount.

        Args:
            deadline_s: time limit, s. With a limit, the workers are ended only if one of them uses the
                mount. None, for an ended helper, ends all workers.

        Returns:
            ``sync_ms``, ``unmount_ms``, ``read_ahead_kb`` and ``gone``, as BenchVerbs.close describes them;
            an empty dict if nothing was mounted.
        """
        began = time.monotonic()
        row, self._row = self._row, None
        if self._root >= 0:
            os.close(self._root)
            self._root = -1
        if deadline_s is None:
            deadline_s = 2 * _CLIENTLESS_S
            _end_workers(_CLIENTLESS_S, _KILL_S)
        elif _in_use():
            _end_workers(min(_TERM_S, deadline_s / 8), min(_KILL_S, deadline_s / 8))
        if row is None:
            return {}
        end = began + deadline_s
        read_ahead_kb = readahead.read(row.device)
        half_s = (end - time.monotonic()) / 2
        sync_ms, dead = self._write_back(half_s, end - half_s / 2)
        flags = unmounting.MNT_FORCE | unmounting.MNT_DETACH
        unmount_ms = _unmount(row, flags if dead else 0, end)
        if unmounting.is_mounted(row):
            _unmount(row, flags, end + _KILL_S)
        return {
            "sync_ms": sync_ms, "unmount_ms": unmount_ms, "read_ahead_kb": read_ahead_kb,
            "gone": not unmounting.is_mounted(row),
        }  # fmt: skip

    def _write_back(self, patience_s: float, end: float) -> tuple[float | None, bool]:
        """Write back the data of the mount with syncfs(2) in a child.

        If the server does not answer, the pending requests are aborted repeatedly with MNT_FORCE. Otherwise
        the unmount would wait uninterruptibly. The syncfs call keeps the mount in use, so MNT_FORCE does not
        unmount it.

        Args:
            patience_s: time to wait for syncfs before the requests are aborted, s.
            end: monotonic time at which to give up, s.

        Returns:
            the duration in ms, None if syncfs failed; and whether the server did not answer in time.
        """
        began = time.monotonic()
        child = AbandonableChild(self._syncfs)
        try:
            if children.wait_quietly(child.pidfd, patience_s):
                sync_ms = _ms(began)
                return (sync_ms if child.status() == 0 else None), False
            while time.monotonic() < end - _FORCE_S:
                _force_once()
                if children.wait_quietly(child.pidfd, _FORCE_S):
                    break
            return None, True
        finally:
            child.dispose()

    def _syncfs(self) -> int:
        # With the caller's identity: a server with root_squash may refuse to let root open the directory.
        os.setgroups(self._caller.groups)
        os.setegid(self._caller.gid)
        os.seteuid(self._caller.uid)
        try:
            fd = os.open(callers.OWN_ROOT, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            return error.errno or 255
        libc = ctypes.CDLL(None, use_errno=True)
        return 0 if libc.syncfs(fd) == 0 else ctypes.get_errno()


def _unmount(row: mountinfo.MountRow, flags: int, end: float) -> float | None:
    began = time.monotonic()
    try:
        ended = unmounting.unmount(row, flags, max(0.2, end - began), unmounting.NeverCancelled())
    except Refusal:
        return None
    return _ms(began) if ended else None


def _in_use() -> bool:
    """Whether a process uses the mount: umount2(2) with MNT_EXPIRE fails with EBUSY then.

    On the first call for an unused mount MNT_EXPIRE only marks it (EAGAIN). The server is not contacted.
    """
    return unmounting.umount2(os.fsencode(callers.OWN_ROOT), _MNT_EXPIRE) != errno.EAGAIN


def _force_once() -> bool:
    """Abort the requests that wait for the server (MNT_FORCE); return whether the call returned in time."""
    force = AbandonableChild(_force)
    ended = children.wait_quietly(force.pidfd, _FORCE_S)
    force.dispose()
    return ended


def _force() -> int:
    return unmounting.umount2(os.fsencode(callers.OWN_ROOT), unmounting.MNT_FORCE)


def _end_workers(term_s: float, kill_s: float) -> None:
    """End all other processes of the namespace: SIGTERM, then SIGKILL, each with its time to wait."""
    for number, wait_s in ((signal.SIGTERM, term_s), (signal.SIGKILL, kill_s)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, number)
        end = time.monotonic() + wait_s
        while _reap_children():
            if time.monotonic() >= end:
                break
            select.select([], [], [], _POLL_S)
        else:
            return


def _reap_children(workers: set[int] | None = None) -> bool:
    """Reap ended children and remove them from ``workers``; return whether children are still running."""
    try:
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            if workers is not None:
                workers.discard(pid)
    except ChildProcessError:
        return False
    return True


def _kernel_clients() -> tuple[Counter[str], int]:
    """Return the kernel's NFS clients, from /proc/fs/nfsfs/servers (fs/nfs/client.c).

    Returns:
        the number of clients by version, server and port; and the sum of their use counts.
    """
    clients: Counter[str] = Counter()
    uses = 0
    with contextlib.suppress(OSError, ValueError), open("/proc/fs/nfsfs/servers", "rb") as file:  # noqa: PTH123
        for line in file.read().decode("ascii", errors="replace").splitlines()[1:]:
            words = line.split()
            clients[" ".join(words[:3])] += 1
            uses += int(words[3])
    return clients, uses


def _shares_client(before: tuple[Counter[str], int], after: tuple[Counter[str], int]) -> bool:
    """Whether a new mount shares an existing NFS client: no new client, but a higher use count.

    Args:
        before: result of _kernel_clients before the mount.
        after: result of _kernel_clients after the mount.
    """
    return not after[0] - before[0] and after[1] > before[1]


def _ms(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 3)

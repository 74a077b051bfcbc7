"""Process 1 of the namespace of private test mounts: it mounts, starts workers, unmounts.

It is told what to do on a line from the helper; the end of that line means that the helper has gone. If it
is killed itself, the kernel ends every process of the namespace and drops the mount. A worker that does not
use a mount when that is closed stays for the next one: to start programs is what takes longest of a test.
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

#: For workers to end after SIGTERM and after SIGKILL. An orphan has files to remove: nobody else will.
_TERM_S, _KILL_S = 0.5, 1.0
_CLIENTLESS_S = 10.0
_POLL_S = 0.02
#: Between two rounds of having the kernel give up what waits for a dead server.
_FORCE_S = 0.2


#: How long a mount may stay open, or its namespace without one; workers at once, what they fork apart.
MAX_AGE_S = 12 * 3600.0
MAX_WORKERS = 8
_MNT_EXPIRE = 4  # umount2(2)


def serve_mounts(line: int, caller: Caller) -> None:
    """Mount, start workers as the caller and unmount as told, until the line ends or it took too long."""
    keeper = _NamespaceInit(line, caller)
    try:
        keeper.serve()
    finally:
        keeper.close(None)


class _NamespaceInit:
    def __init__(self, line: int, caller: Caller) -> None:
        self._line = line
        self._caller = caller
        self._row: mountinfo.MountRow | None = None
        self._read_ahead_kb = -1
        self._workers: set[int] = set()
        #: Keeps the mount in use: MNT_FORCE would unmount one that is not.
        self._root = -1

    def serve(self) -> None:
        """Answer requests; an error is the last answer."""
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
                wish, data = json.loads(data), b""
                if "open" in wish:
                    end = time.monotonic() + MAX_AGE_S
                try:
                    answer = self._do(wish)
                except Refusal as refusal:
                    private_mount.write_message(self._line, {"error": body(refusal)})
                    return
                private_mount.write_message(self._line, {"ok": answer})

    def _do(self, wish: dict[str, Any]) -> dict[str, object]:
        if "close" in wish:
            return self.close(wish["close"])
        if "abort" in wish:
            return {"ended": self._root >= 0 and _force_once()}
        return self._open(wish) if "open" in wish else self._run(wish)

    def _open(self, wish: dict[str, Any]) -> dict[str, object]:
        """Mount, and return what is in use."""
        before, clients = mountinfo.read(), _kernel_clients()
        began = time.monotonic()
        waiter = private_mount.PipeWaiter(self._line)
        row, text = mount_nfs.run(wish["open"], callers.OWN_ROOT, before, wish["deadline_s"], waiter)
        mount_ms = _ms(began)
        self._row, self._read_ahead_kb = row, wish["read_ahead_kb"]
        with contextlib.suppress(OSError):
            self._root = os.open(callers.OWN_ROOT, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._set_read_ahead(row)
        found, joined = private_mount.inspect(row, before), _shares_client(clients, _kernel_clients())
        return {**found, "joined": joined, "mount_id": row.mount_id,
                "device": row.device, "text": text, "mount_ms": mount_ms}  # fmt: skip

    def _set_read_ahead(self, row: mountinfo.MountRow) -> None:
        """Set the readahead, if it was asked for; what became of it is read back, not believed."""
        if self._read_ahead_kb >= 0:
            with contextlib.suppress(OSError):
                readahead.write_number(f"{readahead.BDI}/{row.device}/read_ahead_kb", self._read_ahead_kb)

    def _run(self, wish: dict[str, Any]) -> dict[str, object]:
        """Start a worker, unless there are too many; ``reason`` tells why one could not start."""
        if len(self._workers) >= MAX_WORKERS:
            return {"started": False, "reason": ""}
        if self._row is not None:
            # A udev rule may have set it some moments after the mount came.
            self._set_read_ahead(self._row)
        try:
            pid, reason = drop_privileges.start_worker(self._caller, wish["run"], wish["socket"])
        except OSError as error:
            return {"started": False, "reason": os.strerror(error.errno or 0)}
        self._workers.add(pid)
        return {"started": not reason, "reason": reason}

    def close(self, deadline_s: float | None) -> dict[str, object]:
        """End the workers that use it, all without a deadline; write back, unmount; tell how it went."""
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
        read_ahead_kb = private_mount.read_ahead_kb(row.device)
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
        """Have written what waits; return the time it took, None if it failed, and whether it had to end.

        Without an answer from the server the kernel is asked to give up what waits for it, again and again:
        else the unmount would wait for ever, where no signal ends it. The call that writes back is using
        the mount, so that this does not unmount it.
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
        # As the caller: a server that maps root to nobody may not let root open the directory.
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
    """Whether a process uses the mount. The kernel only marks it, at first, and nobody asks the server."""
    return unmounting.umount2(os.fsencode(callers.OWN_ROOT), _MNT_EXPIRE) != errno.EAGAIN


def _force_once() -> bool:
    """Have the kernel give up what waits for the server; return whether the call came back soon."""
    force = AbandonableChild(_force)
    ended = children.wait_quietly(force.pidfd, _FORCE_S)
    force.dispose()
    return ended


def _force() -> int:
    return unmounting.umount2(os.fsencode(callers.OWN_ROOT), unmounting.MNT_FORCE)


def _end_workers(term_s: float, kill_s: float) -> None:
    """End every other process of the namespace."""
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
    """Bury the dead, and forget those of them that were workers; return whether somebody lives."""
    try:
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            if workers is not None:
                workers.discard(pid)
    except ChildProcessError:
        return False
    return True


def _kernel_clients() -> tuple[Counter[str], int]:
    """Return the kernel's clients by version, server and port, and how often they are used all together."""
    clients: Counter[str] = Counter()
    uses = 0
    with contextlib.suppress(OSError, ValueError), open("/proc/fs/nfsfs/servers", "rb") as file:  # noqa: PTH123
        for line in file.read().decode("ascii", errors="replace").splitlines()[1:]:
            words = line.split()
            clients[" ".join(words[:3])] += 1
            uses += int(words[3])
    return clients, uses


def _shares_client(before: tuple[Counter[str], int], after: tuple[Counter[str], int]) -> bool:
    """Whether a mount made no client of its own but is one more user of another's."""
    return not after[0] - before[0] and after[1] > before[1]


def _ms(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 3)

"""Process 1 of a private test mount: it mounts, starts workers, and unmounts at its end, however that comes.

It is told what to do on a line from the helper; the end of that line means that the helper has gone. If it
is killed itself, the kernel ends every process of the namespace and drops the mount.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from app.helper import become, children, mount_nfs, private, table, targets, tuning, unmounting
from app.helper.errors import Refusal, body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.helper.targets import Caller

#: For workers to end after SIGTERM and after SIGKILL. An orphan has files to remove: nobody else will.
_TERM_S, _KILL_S = 0.5, 1.0
_ORPHAN_S = 10.0
_POLL_S = 0.02
#: Between two rounds of having the kernel give up what waits for a dead server.
_FORCE_S = 0.2


class Plan(NamedTuple):
    """What is to be mounted, and for whom.

    Attributes:
        argv: the command that mounts at targets.OWN_ROOT.
        deadline_s: how long it may take.
        read_ahead_kb: readahead of the mount, -1 to leave it.
        caller: who asked: whom workers run as.
    """

    argv: Sequence[str]
    deadline_s: float
    read_ahead_kb: int
    caller: Caller


def keep(line: int, plan: Plan) -> None:
    """Mount, answer with what is in use, and serve until told to close or left alone."""
    before, clients = table.read(), _clients()
    began = time.monotonic()
    try:
        row, text = mount_nfs.run(plan.argv, targets.OWN_ROOT, before, plan.deadline_s, private.Remote(line))
    except Refusal as refusal:
        private.tell(line, {"error": body(refusal)})
        return
    mount_ms = _ms(began)
    mount = _Mount(row, plan)
    closing: float | None = None
    try:
        mount.set_read_ahead()
        found = {**private.look(row, before), "joined": _joined(clients, _clients()),
                 "mount_id": row.mount_id, "device": row.device}  # fmt: skip
        private.tell(line, {"ok": {**found, "text": text, "mount_ms": mount_ms}})
        closing = mount.serve(line)
    finally:
        answer = mount.close(closing)
        if closing is not None:
            private.tell(line, {"ok": answer})


class _Mount:
    def __init__(self, row: table.Row, plan: Plan) -> None:
        self._row = row
        self._plan = plan

    def set_read_ahead(self) -> None:
        """Set the readahead, if it was asked for; what became of it is read back, not believed."""
        if self._plan.read_ahead_kb >= 0:
            with contextlib.suppress(OSError):
                tuning.put(f"{tuning.BDI}/{self._row.device}/read_ahead_kb", self._plan.read_ahead_kb)

    def serve(self, line: int) -> float | None:
        """Start what is asked for; return how many seconds closing may take, None when the line has ended."""
        data = b""
        while True:
            ready = select.select([line], [], [], 1.0)[0]
            _reap()
            if not ready:
                continue
            chunk = private.receive(line)
            if not chunk:
                return None
            data += chunk
            if data.endswith(b"\n"):
                request: dict[str, Any] = json.loads(data)
                data = b""
                if "close" in request:
                    return float(request["close"])
                self._start(request["run"], request["socket"], line)
                private.tell(line, {"ok": {}})

    def _start(self, argv: list[str], path: str, line: int) -> None:
        # A udev rule may have set it some moments after the mount came.
        self.set_read_ahead()
        if os.fork() == 0:
            os.close(line)
            with contextlib.suppress(BaseException):
                become.worker(self._plan.caller, argv, path)
            os._exit(127)

    def close(self, deadline_s: float | None) -> dict[str, object]:
        """End the workers, write back, unmount; return how long it took and whether the mount has gone."""
        began = time.monotonic()
        if deadline_s is None:
            deadline_s = 2 * _ORPHAN_S
            _end_workers(_ORPHAN_S, _KILL_S)
        else:
            _end_workers(min(_TERM_S, deadline_s / 8), min(_KILL_S, deadline_s / 8))
        end = began + deadline_s
        read_ahead_kb = private.read_ahead_kb(self._row.device)
        half_s = (end - time.monotonic()) / 2
        sync_ms, dead = self._write_back(half_s, end - half_s / 2)
        flags = unmounting.MNT_FORCE | unmounting.MNT_DETACH
        unmount_ms = self._unmount(flags if dead else 0, end)
        if unmounting.is_there(self._row):
            self._unmount(flags, end + _KILL_S)
        return {
            "sync_ms": sync_ms, "unmount_ms": unmount_ms, "read_ahead_kb": read_ahead_kb,
            "gone": not unmounting.is_there(self._row),
        }  # fmt: skip

    def _write_back(self, patience_s: float, end: float) -> tuple[float | None, bool]:
        """Have written what waits; return the time it took, None if it failed, and whether it had to end.

        Without an answer from the server the kernel is asked to give up what waits for it, again and again:
        else the unmount would wait for ever, where no signal ends it. The call that writes back is using
        the mount, so that this does not unmount it.
        """
        began = time.monotonic()
        child = children.Disposable(self._syncfs)
        try:
            if children.wait_quietly(child.pidfd, patience_s):
                sync_ms = _ms(began)
                return (sync_ms if child.status() == 0 else None), False
            while time.monotonic() < end - _FORCE_S:
                force = children.Disposable(_force)
                children.wait_quietly(force.pidfd, _FORCE_S)
                force.dispose()
                if children.wait_quietly(child.pidfd, _FORCE_S):
                    break
            return None, True
        finally:
            child.dispose()

    def _syncfs(self) -> int:
        # As the caller: a server that maps root to nobody may not let root open the directory.
        os.setgroups(self._plan.caller.groups)
        os.setegid(self._plan.caller.gid)
        os.seteuid(self._plan.caller.uid)
        try:
            fd = os.open(targets.OWN_ROOT, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            return error.errno or 255
        libc = ctypes.CDLL(None, use_errno=True)
        return 0 if libc.syncfs(fd) == 0 else ctypes.get_errno()

    def _unmount(self, flags: int, end: float) -> float | None:
        began = time.monotonic()
        try:
            ended = unmounting.remove(self._row, flags, max(0.2, end - began), unmounting.Deaf())
        except Refusal:
            return None
        return _ms(began) if ended else None


def _force() -> int:
    return unmounting.umount2(os.fsencode(targets.OWN_ROOT), unmounting.MNT_FORCE)


def _end_workers(term_s: float, kill_s: float) -> None:
    """End every other process of the namespace."""
    for number, wait_s in ((signal.SIGTERM, term_s), (signal.SIGKILL, kill_s)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, number)
        end = time.monotonic() + wait_s
        while _reap():
            if time.monotonic() >= end:
                break
            select.select([], [], [], _POLL_S)
        else:
            return


def _reap() -> bool:
    """Bury the dead; return whether somebody lives."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _clients() -> tuple[Counter[str], int]:
    """Return the kernel's clients by version, server and port, and how often they are used all together."""
    clients: Counter[str] = Counter()
    uses = 0
    with contextlib.suppress(OSError, ValueError), open("/proc/fs/nfsfs/servers", "rb") as file:  # noqa: PTH123
        for line in file.read().decode("ascii", errors="replace").splitlines()[1:]:
            words = line.split()
            clients[" ".join(words[:3])] += 1
            uses += int(words[3])
    return clients, uses


def _joined(before: tuple[Counter[str], int], after: tuple[Counter[str], int]) -> bool:
    """Whether a mount made no client of its own but is one more user of another's."""
    return not after[0] - before[0] and after[1] > before[1]


def _ms(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 3)

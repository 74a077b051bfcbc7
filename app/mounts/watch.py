"""Following the table: the kernel reports mounts; fstab, units and maps are looked at each second."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from app.helper import readahead_rule
from app.mounts import autofs, systemd_units
from app.mounts.table import read_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from app.mounts.model import MountTable
    from app.tasks import CancelToken

#: Files that the kernel does not report. They are on the local disk: looking at them cannot hang.
_LOOKED_AT = ("etc/fstab", "run/mount/utab", readahead_rule.FOLDER.lstrip("/"), *systemd_units.FOLDERS)
#: Mounts often come in bursts, and mount.nfs writes utab just after the mount: one look for all of it.
_SETTLE_S = 0.05


def watch_table(
    token: CancelToken,
    emit: Callable[[MountTable], object],
    *,
    root: str = "/",
    interval_s: float = 1.0,
    listen: Callable[[Callable[[], None]], AbstractContextManager[object]] | None = None,
) -> None:
    """Emit the table now and again each time that it has changed, until the token is set.

    Mounts and unmounts are reported by poll(2) on mountinfo (proc(5)), at once. A change that leaves the
    table as it was, such as a mount of another file system, emits nothing.

    Args:
        token: ends it within milliseconds.
        emit: called in this thread.
        root: as for :func:`read_table`.
        interval_s: how often fstab is looked at, seconds.
        listen: gives a context in which a function is called, on any thread, when something else is to be
            told of the mounts: the table is emitted then, whether it changed or not.

    Raises:
        CancelledError: always, at the end.
        OSError: if there is no mountinfo.
    """
    wake_read, wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    mountinfo = os.open(Path(root, "proc/self/mountinfo"), os.O_RDONLY | os.O_CLOEXEC)
    woken = _Wake(wake_write)
    try:
        with token.on_cancel(woken), listen(woken) if listen is not None else contextlib.nullcontext():
            poll = select.poll()
            # mountinfo is always readable: only its priority event says that something changed.
            poll.register(mountinfo, select.POLLPRI | select.POLLERR)
            poll.register(wake_read, select.POLLIN)
            last: MountTable | None = None
            seen: object = None
            changed, asked = True, False
            while True:
                token.check()
                signatures = _signatures(root)
                if changed or asked or signatures != seen:
                    seen = signatures
                    table = read_table(root)
                    if asked or table != last:
                        last = table
                        emit(table)
                ready = {fd for fd, _event in poll.poll(interval_s * 1000)}
                changed, asked = mountinfo in ready, wake_read in ready
                if asked:
                    os.read(wake_read, 4096)
                if changed:
                    token.wait(_SETTLE_S)
    finally:
        woken.close()
        os.close(wake_read)
        os.close(mountinfo)


class _Wake:
    """Writes to a pipe when called; closed once, so that a later call cannot reach another's descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            if self._fd is not None:
                os.write(self._fd, b"x")

    def close(self) -> None:
        with self._lock:
            fd, self._fd = self._fd, None
            if fd is not None:
                os.close(fd)


def _signatures(root: str) -> list[tuple[int, int, int] | None]:
    found: list[tuple[int, int, int] | None] = []
    looked_at = [(Path(root, name), True) for name in _LOOKED_AT]
    # A map may be a link to anywhere, also to a share whose server is dead: it is not followed.
    for path, follow in [*looked_at, *((path, False) for path in autofs.files(root))]:
        try:
            status = path.stat(follow_symlinks=follow)
        except OSError:
            found.append(None)
        else:
            found.append((status.st_mtime_ns, status.st_ino, status.st_size))
    return found

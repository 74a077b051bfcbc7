"""Wait before an unmount until the data of cancelled tests has been sent.

A killed worker exits only when the kernel has sent the data that it wrote; until then its file is open. The
duration depends on the link, so the wait lasts while data moves, up to a limit.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import AppError, ErrorKind
from app.kernel.mount_of_path import MountOfPath, mount_by_id
from app.kernel.mountstats import unescape_path
from app.speedtest.cleanup import end_cleaners, has_pending_cleanup
from app.speedtest.sampler import CounterReader
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Generator

    from app.tasks import CancelToken

#: Time without progress after which the server counts as down and waiting ends, s.
NO_PROGRESS_S = 5.0
#: Maximum wait, s.
MAX_WAIT_S = 30.0
_POLL_INTERVAL_S = 0.1


@contextlib.contextmanager
def flushed_before_unmount(mount_point: str, token: CancelToken) -> Generator[None]:
    """Wait for the data of tests below a mount; the body then unmounts it.

    Args:
        mount_point: mount point as the kernel shows it.
        token: cancels the wait.

    Raises:
        AppError: BUSY with the state of the transfer, if the body fails with BUSY because of such data.
        CancelledError: if the token is set.
    """
    began = time.monotonic()
    pending, sent = _wait_for_writes(mount_point, token)
    if pending:
        # Leftover files are recorded and removed when the share is mounted again.
        end_cleaners(mount_point)
    try:
        yield
    except AppError as error:
        if not pending or error.kind is not ErrorKind.BUSY:
            raise
        raise _busy_error(mount_point, sent, time.monotonic() - began, error.detail) from error


def _wait_for_writes(mount_point: str, token: CancelToken) -> tuple[bool, int]:
    """Wait while data moves; return whether work is still pending, and the bytes sent to the server."""
    if not has_pending_cleanup(mount_point):
        return False, 0
    probe = CounterReader(_mount_at(mount_point))
    try:
        initial = last = probe.look()
        began = moved_at = time.monotonic()
        while has_pending_cleanup(mount_point):
            now = time.monotonic()
            if now - moved_at > NO_PROGRESS_S or now - began > MAX_WAIT_S:
                return True, last.since(initial).tcp_bytes
            token.wait(_POLL_INTERVAL_S)
            counters = probe.look()
            if (counters.tcp_bytes, counters.server_written) != (last.tcp_bytes, last.server_written):
                last, moved_at = counters, now
    finally:
        probe.close()
    return False, 0


def _busy_error(mount_point: str, sent: int, seconds: float, detail: str) -> AppError:
    if sent:
        speed = sent / max(seconds, 1e-9)
        return AppError(ErrorCode.DATA_STILL_SENT, detail=detail, mount_point=mount_point, speed=speed)
    return AppError(ErrorCode.DATA_NOT_SENT, detail=detail, mount_point=mount_point)


def _mount_at(mount_point: str) -> MountOfPath | None:
    """Return the mount at a mount point, the topmost of stacked ones."""
    try:
        table = Path("/proc/self/mountinfo").read_bytes().decode(errors="surrogateescape")
    except OSError:
        return None
    mount: MountOfPath | None = None
    for line in table.splitlines():
        fields = line.split(" ", 5)
        if len(fields) > 5 and unescape_path(fields[4]) == mount_point:
            mount = mount_by_id(line, fields[0]) or mount
    return mount

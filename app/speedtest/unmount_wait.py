"""Wait before an unmount until the data of cancelled tests has been sent.

A killed worker is gone only when the kernel has sent what it had written, and until then its file is open.
How long that takes is up to the link, so the wait goes on for as long as something moves, and not forever.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.speeds import format_speed
from app.errors import AppError, ErrorKind
from app.kernel.mount_of_path import MountOfPath, mount_by_id
from app.kernel.mountstats import unescape_path
from app.speedtest.cleanup import end_cleaners, has_pending_cleanup
from app.speedtest.sampler import CounterReader

if TYPE_CHECKING:
    from collections.abc import Generator

    from app.tasks import CancelToken

#: Nothing moves for so long: the server is dead, and waiting will not help.
NO_PROGRESS_S = 5.0
#: Longer than this nobody waits in front of a button, whatever moves.
MAX_WAIT_S = 30.0
_POLL_INTERVAL_S = 0.1


@contextlib.contextmanager
def flushed_before_unmount(mount_point: str, token: CancelToken) -> Generator[None]:
    """Wait for what tests have left below a mount, then let it be unmounted.

    Args:
        mount_point: as the kernel shows it.
        token: ends the wait.

    Raises:
        AppError: BUSY, with what is still being sent, if that is why the mount is in use.
        CancelledError: when the token is set.
    """
    began = time.monotonic()
    left, sent = _wait_for_writes(mount_point, token)
    if left:
        # Their runs are recorded, and removed when the share is mounted again.
        end_cleaners(mount_point)
    try:
        yield
    except AppError as error:
        if not left or error.kind is not ErrorKind.BUSY:
            raise
        raise _busy_error(mount_point, sent, time.monotonic() - began, error.detail) from error


def _wait_for_writes(mount_point: str, token: CancelToken) -> tuple[bool, int]:
    """Wait while something moves; return whether something is left, and the bytes that went to the server."""
    if not has_pending_cleanup(mount_point):
        return False, 0
    probe = CounterReader(_mount_at(mount_point))
    try:
        first = last = probe.look()
        began = moved = time.monotonic()
        while has_pending_cleanup(mount_point):
            now = time.monotonic()
            if now - moved > NO_PROGRESS_S or now - began > MAX_WAIT_S:
                return True, last.since(first).tcp_bytes
            token.wait(_POLL_INTERVAL_S)
            look = probe.look()
            if (look.tcp_bytes, look.server_written) != (last.tcp_bytes, last.server_written):
                last, moved = look, now
    finally:
        probe.close()
    return False, 0


def _busy_error(mount_point: str, sent: int, seconds: float, detail: str) -> AppError:
    if sent:
        message = "the last data of a cancelled test is still being sent to the server"
        message += f", {format_speed(sent / max(seconds, 1e-9))} now."
        hint = "Wait until it has arrived and try again. Detaching (lazy) hides the mount at once."
    else:
        message = "the last data of a cancelled test could not be sent: the server takes nothing."
        hint = "Check the server and the cable. Detaching (lazy) hides the mount and forgets nothing."
    return AppError(ErrorKind.BUSY, f"{mount_point} is in use: {message}", hint=hint, detail=detail)


def _mount_at(mount_point: str) -> MountOfPath | None:
    """Return the mount at a place, of stacked ones the visible one."""
    try:
        table = Path("/proc/self/mountinfo").read_bytes().decode(errors="surrogateescape")
    except OSError:
        return None
    found: MountOfPath | None = None
    for line in table.splitlines():
        fields = line.split(" ", 5)
        if len(fields) > 5 and unescape_path(fields[4]) == mount_point:
            found = mount_by_id(line, fields[0]) or found
    return found

"""Stale mounts: whether what is mounted is still there, by fstatvfs(2) in a child that can be abandoned.

A handle is stale (ESTALE, RFC 1813 §2.6) if the server has replaced or removed what was mounted. Linux's
server answers EACCES where it has withdrawn the export. No other rights are needed for this question (RFC
1813 §3.3.18), but with Kerberos a missing ticket has the same error.
"""

from __future__ import annotations

import contextlib
import errno
import json
import select
import sys
from typing import TYPE_CHECKING, Literal

from app import process

if TYPE_CHECKING:
    from app.process import Child

#: How long Python may take to start on a slow machine; no server has a part in it.
_START_S = 20.0

#: fine; the server has replaced or removed it; it refuses access; no answer in time.
StaleAnswer = Literal["fine", "stale", "refused", "silent"]
_ANSWERS: dict[int, StaleAnswer] = {errno.ESTALE: "stale", errno.EACCES: "refused", errno.EPERM: "refused"}


class StaleCheck:
    """Asks for one mount after the other, by a child that lives as long as it answers. For one thread."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._abandoned: list[Child] = []

    def ask(self, mount_point: str, mount_id: int, timeout_s: float) -> StaleAnswer:
        """Return what the mount says of itself, "silent" if it does not answer in time; then the child goes.

        Raises:
            OSError: if no child can be started.
        """
        self._abandoned = [child for child in self._abandoned if process.wait(child, 0) is None]
        fresh = self._child is None
        if self._child is None:
            self._child = process.start(
                [sys.executable, "-P", "-m", "app.stats.stale_child"], stderr=process.DEVNULL
            )
        child: Child = self._child
        line = b""
        with contextlib.suppress(BrokenPipeError):
            if child.stdin is not None and (not fresh or _line(child, _START_S)):
                child.stdin.write(json.dumps([mount_point, mount_id]).encode() + b"\n")
                line = _line(child, timeout_s)
        if not line.strip():
            self._leave(child)
            return "silent"
        return _ANSWERS.get(int(line), "fine")

    def close(self) -> None:
        """End the child; one that waits for a server is left to the kernel."""
        if self._child is not None:
            self._leave(self._child)
        for child in self._abandoned:
            process.wait(child, 0.2)

    def _leave(self, child: Child) -> None:
        self._child = None
        process.kill_group(child)
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if process.wait(child, 0.2) is None:
            self._abandoned.append(child)


def _line(child: Child, timeout_s: float) -> bytes:
    """Return what the child writes next, b"" if nothing comes in time."""
    ready = select.select([child.stdout], [], [], timeout_s)[0]
    line: bytes = child.stdout.readline() if ready else b""
    return line

"""Stale check: detects stale mounts by fstatvfs(2) in a child process that can be abandoned.

A file handle is stale (ESTALE, RFC 1813 §2.6) if the server has replaced or removed the mounted directory.
The Linux server answers EACCES if it has withdrawn the export. The call needs no other permission (RFC 1813
§3.3.18), but with Kerberos a missing ticket causes the same error.
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

#: Time that Python may take to start on a slow computer, s.
_START_S = 20.0

#: Result of a check: fine, stale (replaced or removed), refused (access denied), silent (no answer in time).
StaleAnswer = Literal["fine", "stale", "refused", "silent"]
_ANSWERS: dict[int, StaleAnswer] = {errno.ESTALE: "stale", errno.EACCES: "refused", errno.EPERM: "refused"}


class StaleCheck:
    """Checks mounts one at a time in a child process, which is replaced when it hangs; for one thread."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._abandoned: list[Child] = []

    def ask(self, mount_point: str, mount_id: int, timeout_s: float) -> StaleAnswer:
        """Check one mount; after a timeout, return "silent" and abandon the child.

        Args:
            mount_point: absolute path.
            mount_id: expected mount ID; another mount at the path is not checked.
            timeout_s: longest wait for the answer, s.

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
            self._abandon(child)
            return "silent"
        return _ANSWERS.get(int(line), "fine")

    def close(self) -> None:
        """End the child processes; those blocked on a server end when the kernel releases them."""
        if self._child is not None:
            self._abandon(self._child)
        for child in self._abandoned:
            process.wait(child, 0.2)

    def _abandon(self, child: Child) -> None:
        self._child = None
        process.kill_group(child)
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if process.wait(child, 0.2) is None:
            self._abandoned.append(child)


def _line(child: Child, timeout_s: float) -> bytes:
    """Return the next line of the child's output, b"" after the timeout or at its end."""
    ready = select.select([child.stdout], [], [], timeout_s)[0]
    line: bytes = child.stdout.readline() if ready else b""
    return line

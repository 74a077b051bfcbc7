"""Child processes of the helper: an absolute path, an argument list, a fixed environment, a deadline."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from app.helper.errors import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "LANGUAGE": "C"}
MAX_OUTPUT = 64 * 1024
#: How long a killed child may take to be reaped before it is left to the kernel.
REAP_S = 2.0


class Waiter(Protocol):
    """What a handler waits with: the session, which goes on reading its input meanwhile."""

    @property
    def cancelled(self) -> bool:
        """Whether the request under way was cancelled, or the session is ending."""
        ...

    def wait(self, fds: Collection[int], timeout_s: float) -> set[int]:
        """Wait until one of the descriptors is readable, the time is over, or something was cancelled."""
        ...


class ProcessResult(NamedTuple):
    """How a child ended.

    Attributes:
        code: its exit status (negative: a signal); None if it was killed here.
        text: what it printed, both streams, at most MAX_OUTPUT bytes.
        cancelled: whether it was killed because the request was cancelled.
    """

    code: int | None
    text: str
    cancelled: bool


def run(argv: Sequence[str], deadline_s: float, waiter: Waiter) -> ProcessResult:
    """Run a program to its end, or kill its process group at the deadline or when cancelled.

    The end of the process is waited for, not the end of its output: mount.nfs may start rpc.statd,
    which keeps the pipe.

    Raises:
        OSError: if it cannot be started.
    """
    child = subprocess.Popen(
        list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=ENVIRONMENT, cwd="/", start_new_session=True, umask=0o022,
    )  # fmt: skip
    assert child.stdout is not None  # noqa: S101 - for the type checker
    out = child.stdout.fileno()
    os.set_blocking(out, False)
    chunks: list[bytes] = []
    watched = {out}
    pidfd = os.pidfd_open(child.pid)
    end = time.monotonic() + deadline_s
    killed = False
    try:
        while True:
            ready = waiter.wait({pidfd, *watched}, max(0.0, end - time.monotonic()))
            if out in ready and not _drain(out, chunks):
                watched.clear()
            if pidfd in ready:
                break
            if waiter.cancelled or time.monotonic() >= end:
                killed = True
                break
        if killed:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            wait_quietly(pidfd, REAP_S)
        code = child.poll()
        _drain(out, chunks)
    finally:
        os.close(pidfd)
        child.stdout.close()
    return ProcessResult(None if killed else code, printable(b"".join(chunks)), killed and waiter.cancelled)


def _drain(fd: int, chunks: list[bytes]) -> bool:
    """Read what is there; return False at the end of the output."""
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(fd, 4096):
            if sum(map(len, chunks)) < MAX_OUTPUT:
                chunks.append(chunk)
        return False
    return True


def wait_quietly(pidfd: int, timeout_s: float) -> bool:
    """Wait for a process to end without serving anything else; return whether it did."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))

"""Child processes that run as root: absolute path, argument list, fixed environment and deadline."""

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
#: Output of a child that is read before the rest is dropped, bytes.
MAX_OUTPUT = 64 * 1024
#: Time for a killed child to end before it is abandoned, s.
REAP_S = 2.0


class Waiter(Protocol):
    """Waits for descriptors on behalf of a handler; usually the session, which also serves ``cancel``."""

    @property
    def cancelled(self) -> bool:
        """Whether the current request was cancelled or the session is ending."""
        ...

    def wait(self, fds: Collection[int], timeout_s: float) -> set[int]:
        """Wait until a descriptor is readable, the timeout expires or the request is cancelled.

        Args:
            fds: descriptors to watch.
            timeout_s: longest wait, s.

        Returns:
            the descriptors that are readable.
        """
        ...


class ProcessResult(NamedTuple):
    """Exit status and output of a child process.

    Attributes:
        code: exit status, negative for a signal; None if the helper killed the child.
        text: standard output and standard error together, about MAX_OUTPUT bytes at most.
        cancelled: whether it was killed because the request was cancelled.
    """

    code: int | None
    text: str
    cancelled: bool


def run(argv: Sequence[str], deadline_s: float, waiter: Waiter) -> ProcessResult:
    """Run a program until it ends; kill its process group at the deadline or when cancelled.

    It waits for the end of the process, not for the end of the output: mount.nfs may start rpc.statd, which
    holds the pipe open.

    Args:
        argv: absolute path of the program and its arguments.
        deadline_s: longest run time, s.
        waiter: waits for the child and reports a cancellation.

    Raises:
        OSError: if the program cannot be started.
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
    """Read the available output into ``chunks``; return False at the end of the output."""
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(fd, 4096):
            if sum(map(len, chunks)) < MAX_OUTPUT:
                chunks.append(chunk)
        return False
    return True


def wait_quietly(pidfd: int, timeout_s: float) -> bool:
    """Wait for a descriptor to become readable, without serving the session; return whether it did.

    A pidfd becomes readable when its process ends.
    """
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))

"""Child process for one blocking system call, which can be abandoned if the NFS server is dead."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
from typing import TYPE_CHECKING

from app.helper import children

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


class AbandonableChild:
    """Forked child that makes one system call, which may block for ever in the kernel.

    Its exit status is the errno of the call. The helper is single-threaded, so the fork is safe.

    Args:
        call: function that makes the system call and returns its errno, 0 for success.
        keep: file descriptors to leave open in the child; all others are closed.

    Attributes:
        pid: process id of the child, 0 once it has been reaped.
        pidfd: descriptor that becomes readable when the child ends (pidfd_open(2)).
    """

    def __init__(self, call: Callable[[], int], *, keep: Collection[int] = ()) -> None:
        self.pid = os.fork()
        if self.pid == 0:
            # The child may block in the kernel for long, so it must not hold the helper's pipes open.
            edges = [-1, *sorted(keep), 4096]
            for below, above in itertools.pairwise(edges):
                os.closerange(below + 1, above)
            with contextlib.suppress(BaseException):
                os._exit(call())
            os._exit(255)
        self.pidfd = os.pidfd_open(self.pid)

    def status(self) -> int | None:
        """Return the errno of the call if the child has ended, None if it still runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            return None
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def dispose(self) -> None:
        """Kill the child if it still runs, reap it if it ends within REAP_S, and close its pidfd."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            if children.wait_quietly(self.pidfd, children.REAP_S):
                self.status()
        os.close(self.pidfd)

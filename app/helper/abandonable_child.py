"""Child process for one system call that may never return, as with a dead server: it can be abandoned."""

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
    """A forked copy of this process that makes one call which may never return.

    Its exit status is the call's errno. The helper is single-threaded, so the fork is safe.

    Args:
        call: returns an errno.
        keep: descriptors that it needs.
    """

    def __init__(self, call: Callable[[], int], *, keep: Collection[int] = ()) -> None:
        self.pid = os.fork()
        if self.pid == 0:
            # The copy may stay in the kernel for long: it must not hold our pipes open.
            edges = [-1, *sorted(keep), 4096]
            for below, above in itertools.pairwise(edges):
                os.closerange(below + 1, above)
            with contextlib.suppress(BaseException):
                os._exit(call())
            os._exit(255)
        self.pidfd = os.pidfd_open(self.pid)

    def status(self) -> int | None:
        """Return the errno once the child has ended by itself, else None."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            return None
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def dispose(self) -> None:
        """Kill the child if it still runs, and reap it if the kernel lets go of it."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            if children.wait_quietly(self.pidfd, children.REAP_S):
                self.status()
        os.close(self.pidfd)

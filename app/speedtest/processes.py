"""Processes of a test, worker and cleaner, and how they are started: as a child or in a private mount.

Each of them may hang in the kernel and be killed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from app.process import PIPE, start

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.process import Child

#: The worker runs a test; the cleaner removes the files of a killed one.
TestProgram = Literal["worker", "cleaner"]
_MODULES: dict[TestProgram, str] = {
    "worker": "app.speedtest.worker.worker_process",
    "cleaner": "app.speedtest.cleaner",
}


@dataclass(frozen=True, slots=True)
class PrivateMountHandle:
    """Access to a private mount for starting the programs of a test in it.

    Attributes:
        start: starts a program in the mount; raises AppError.
        abort: has the kernel abort I/O that waits for the server, once; raises AppError. Written data is
            lost, which is acceptable only because nothing else uses the mount.
        share: server:/export.
        root: mount point in the mount's namespace.
        owner: owner of clean-ups of its tests, see :func:`app.speedtest.cleanup.wait_for_cleanups`.
    """

    start: Callable[[TestProgram], Child]
    abort: Callable[[], None]
    share: str
    root: str
    owner: object


def start_program(program: TestProgram, handle: PrivateMountHandle | None = None) -> Child:
    """Start a program of a test, by default as a child process.

    Raises:
        AppError: if it cannot be started in the private mount.
        OSError: if it cannot be started as a child process.
    """
    if handle is not None:
        return handle.start(program)
    argv = [sys.executable, "-P", "-m", _MODULES[program]]
    # A cleaner's errors go to the standard error of the agent.
    return start(argv, stderr=PIPE if program == "worker" else None)

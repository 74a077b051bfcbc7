"""Processes of a test, worker and cleaner: how they are started, here or inside a private mount.

Each may hang in the kernel and be killed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from app.process import PIPE, start

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.process import Child

#: What runs a test, and what removes the files of a killed one.
TestProgram = Literal["worker", "cleaner"]
_MODULES: dict[TestProgram, str] = {
    "worker": "app.speedtest.worker.worker_process",
    "cleaner": "app.speedtest.cleaner",
}


@dataclass(frozen=True, slots=True)
class PrivateMountHandle:
    """A private mount, for the programs of a test that run in it.

    Attributes:
        start: starts a program there; raises AppError.
        abort: has the kernel give up once what waits for the server of the mount; raises AppError. Only for a
            mount that nobody else uses: what they had written would be lost, too.
        share: server:/export.
        root: where the programs find it; nobody else does.
        owner: whose clean-ups those of its tests are, see :func:`app.speedtest.cleanup.wait_for_cleanups`.
    """

    start: Callable[[TestProgram], Child]
    abort: Callable[[], None]
    share: str
    root: str
    owner: object


def start_program(program: TestProgram, place: PrivateMountHandle | None = None) -> Child:
    """Start a program of a test, by default as an ordinary child.

    Raises:
        AppError: if it cannot be started in its place.
        OSError: if it cannot be started.
    """
    if place is not None:
        return place.start(program)
    argv = [sys.executable, "-P", "-m", _MODULES[program]]
    # What a cleaner has to complain of goes where the agent's own complaints go.
    return start(argv, stderr=PIPE if program == "worker" else None)

"""The programs of a test, each a process of its own that may hang or be killed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

from app.process import PIPE, start

if TYPE_CHECKING:
    from app.process import Child

#: What runs a test, and what removes the files of a killed one: modules of this package.
Program = Literal["worker", "cleaner"]


def start_program(program: Program) -> Child:
    """Start a program of a test as an ordinary child.

    Raises:
        OSError: if it cannot be started.
    """
    argv = [sys.executable, "-P", "-m", f"app.bench.{program}"]
    # What a cleaner has to complain of goes where the agent's own complaints go.
    return start(argv, stderr=PIPE if program == "worker" else None)

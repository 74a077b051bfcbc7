"""The lab's guest with two verbs more, that run inside it: ``bench.pairs`` and ``bench.work``.

The verbs are not part of the program: this file stands in for the supervisor's and the init's own entry,
first on this computer (``lab_guest.py supervisor LINK MEMORY``), then in the guest (``… init LINK``).
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any
from unittest import mock

from advice_work import WorkArgs, Worked, clear, work
from pairs import Comparison, PairArgs, compare

from app.lab import guest
from app.service.protocol import VERBS, Verb

HERE = Path(__file__).resolve()
VERBS["bench.pairs"] = Verb(PairArgs, Comparison)
VERBS["bench.work"] = Verb(WorkArgs, Worked)


def boot(link: Any, memory: str) -> guest.Guest:
    """Boot a guest that knows the verbs."""
    real = guest.start

    def start(argv: list[str], **options: Any) -> Any:
        if argv[1:4] == ["-P", "-m", "app.lab.supervisor"]:
            argv = [argv[0], str(HERE), "supervisor", *argv[4:]]
        return real(argv, **options)

    with mock.patch.object(guest, "start", start):
        return guest.Guest.boot(link, memory=memory)


def supervise() -> int:
    """Be the supervisor of a guest whose init is this file."""
    from app.lab import supervisor

    def launcher(link: str) -> str:
        command = shlex.join([sys.executable, str(HERE), "init", link])
        return f"#!/bin/sh\nPYTHONPATH={shlex.quote(str(HERE.parents[2]))} exec {command}\n"

    with mock.patch.object(supervisor, "_init_script", launcher):
        return supervisor.main()


def init() -> None:
    """Be the guest's init."""
    from app.lab import init as lab_init
    from app.lab.agent import LabAgent

    real = LabAgent._handlers

    def handlers(self: LabAgent) -> dict[str, Any]:
        def timed(args: WorkArgs, _context: object) -> Worked:
            try:
                return work(self._server, args)
            finally:
                clear(self._server)

        return {
            **real(self), "bench.pairs": lambda args, _context: compare(args), "bench.work": timed
        }  # fmt: skip

    with mock.patch.object(LabAgent, "_handlers", handlers):
        lab_init.main()


if __name__ == "__main__":
    role = sys.argv.pop(1)
    sys.exit(supervise() if role == "supervisor" else init())

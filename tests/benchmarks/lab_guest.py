"""The lab's guest with two verbs more, that run inside it: ``bench.pairs`` and ``bench.work``.

The verbs are not part of the program: this file is the guest's init, too (``lab_guest.py LINK``).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))

from advice_work import WorkArgs, Worked, clear, work
from pairs import Comparison, PairArgs, compare

from app.lab import guest
from app.service.protocol import VERBS, Verb

HERE = Path(__file__).resolve()
VERBS["bench.pairs"] = Verb(PairArgs, Comparison)
VERBS["bench.work"] = Verb(WorkArgs, Worked)


def boot(link: Any, memory: str) -> guest.Guest:
    """Boot a guest that knows the verbs."""
    with mock.patch.object(guest, "INIT", (str(HERE),)):
        return guest.Guest.boot(link, memory=memory)


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
    init()

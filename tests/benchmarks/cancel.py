"""How long a running test takes to end once it is cancelled: ``python -P tests/benchmarks/cancel.py [LINK]``.

Copies over the lab's LINK (default: fast-ethernet) and cancels in the writing, the flush and the reading in
turn, on a mount and on a private mount. Prints the milliseconds from the cancel to the agent's answer and to
the end of the clean-up, sorted, and the medians; the goal of the answer is 5000, whatever the link. The
clean-up of a mount that others may use takes as long as the link needs for what was written; that of a
private mount does not.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from app.errors import AppError
from app.lab.guest import Guest
from app.links import parse_link
from app.service.protocol import MountArgs, UnmountArgs
from app.speedtest.model import TestSpec

if TYPE_CHECKING:
    from app.speedtest.model import TestEvent

_POINT = "/mnt/cancel"
_PHASES = ("write", "fsync", "read")
_ROUNDS = 6
_LIMIT_S = 200


def main() -> int:
    """Measure."""
    link = sys.argv[1] if len(sys.argv) > 1 else "fast-ethernet"
    with Guest.boot(parse_link(link)) as lab:
        for private in (True, False):
            spec: dict[str, Any] = {"path": "", "share": lab.share} if private else {"path": _POINT}
            answers: list[int] = []
            cleaned: list[int] = []
            for number in range(_ROUNDS):
                if not private:
                    mount = MountArgs(share=lab.share, mount_point=_POINT, options="vers=4.2")
                    lab.client.submit("mounts.mount", mount).result(60)
                answered, ended = _cancel(lab, _PHASES[number % len(_PHASES)], spec)
                answers.append(answered)
                cleaned.append(ended)
            print(f"{link}, {'private mount' if private else 'mount'}: {_told('answer', answers)}")
            print(f"{link}, {'private mount' if private else 'mount'}: {_told('clean-up', cleaned)}")
    return 0


def _cancel(lab: Guest, phase: str, spec: dict[str, Any]) -> tuple[int, int]:
    """Cancel a test in a phase; return the milliseconds until it answers and until its mount can go."""
    reached = threading.Event()

    def look(event: TestEvent) -> None:
        if event.phase == phase and event.sample:
            reached.set()

    call = lab.client.submit("test.run", TestSpec(size=32 << 20, **spec), look)
    reached.wait(_LIMIT_S)
    began = time.monotonic()
    call.cancel()
    try:
        call.result(_LIMIT_S)
    except AppError:
        answered = round(1000 * (time.monotonic() - began))
    else:
        answered = 0
    while True:
        try:
            if spec["path"]:
                lab.client.submit("mounts.unmount", UnmountArgs(mount_point=_POINT)).result(_LIMIT_S)
            else:  # the next one begins when the last one is closed
                lab.client.submit("test.run", TestSpec(size=4096, **spec)).result(_LIMIT_S)
        except AppError:
            continue
        return answered, round(1000 * (time.monotonic() - began))


def _told(what: str, times_ms: list[int]) -> str:
    return f"{what} ms {sorted(times_ms)}, median {statistics.median(times_ms):.0f}"


if __name__ == "__main__":
    raise SystemExit(main())

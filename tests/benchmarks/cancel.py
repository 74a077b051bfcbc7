"""How long a running test takes to end once it is cancelled: ``python -P tests/benchmarks/cancel.py``.

Copies 16 MiB over the lab's fast-ethernet ten times and cancels in the writing, the flush and the reading in
turn. Prints the milliseconds from the cancel to the agent's answer, sorted, and the median; the goal is 200.
"""

from __future__ import annotations

import statistics
import threading
import time
from typing import TYPE_CHECKING

from app.agent.protocol import MountArgs
from app.bench.result import TestSpec
from app.errors import AppError
from app.lab.guest import Guest
from app.lab.links import parse_link

if TYPE_CHECKING:
    from app.bench.result import TestEvent

_POINT = "/mnt/cancel"


def main() -> int:
    """Measure."""
    times: list[int] = []
    with Guest.boot(parse_link("fast-ethernet")) as lab:
        mount = MountArgs(share=lab.share, mount_point=_POINT, options="vers=4.2")
        lab.client.submit("mounts.mount", mount).result(60)
        for number in range(10):
            phase = ("write", "fsync", "read")[number % 3]
            reached = threading.Event()

            def look(event: TestEvent, phase: str = phase, reached: threading.Event = reached) -> None:
                if event.phase == phase and event.sample:
                    reached.set()

            call = lab.client.submit("test.run", TestSpec(path=_POINT, size=16 << 20), look)
            reached.wait(30)
            began = time.monotonic()
            call.cancel()
            try:
                call.result(30)
            except AppError:
                times.append(round(1000 * (time.monotonic() - began)))
            time.sleep(1.5)
    print(f"{len(times)} cancelled, milliseconds: {sorted(times)}, median {statistics.median(times)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

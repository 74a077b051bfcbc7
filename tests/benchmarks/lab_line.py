"""How long requests over the lab's serial line take while the computer is busy, and whether any is lost.

    .venv-test/bin/python -P tests/benchmarks/lab_line.py [--requests 200] [--rounds 5] [--busy 8]
        [--guests 3] [--processors 2]

Each round boots a guest and sends texts of 1 kB to 400 kB, which come back whole; two are under way at a
time, so that both directions carry bytes at once, beside a stream of samples of a mount. So many busy
processes and other guests, each with a copy test under way, share the processors. Printed for each round:
requests answered, the time each took (median, longest), how often the guest was shown as slow or dead, and
each request that was lost.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import statistics
import string
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))

import lab_guest  # noqa: F401 - lets the guest know the verb lab.echo
from lab_verbs import EchoArgs

from app.errors import AppError
from app.lab.guest import Guest
from app.links import parse_link
from app.service.protocol import MountArgs
from app.speedtest.model import TestSpec
from app.stats.model import StatsSample, WatchArgs

if TYPE_CHECKING:
    from collections.abc import Iterator

POINT = "/mnt/line"
SMALLEST, LARGEST = 1_000, 400_000
#: A request that takes longer is called lost.
LOST_S = 120.0
_LETTERS = string.ascii_letters + string.digits


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep so many processes computing."""
    loops = [subprocess.Popen([sys.executable, "-ISc", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@contextlib.contextmanager
def other_guests(count: int) -> Iterator[None]:
    """Keep so many guests copying."""
    over = threading.Event()
    with contextlib.ExitStack() as stack:
        threads = []
        for _ in range(count):
            guest = stack.enter_context(Guest.boot(parse_link("gigabit"), timeout_s=LOST_S))
            mount(guest)
            threads.append(threading.Thread(target=_copy, args=(guest, over)))
            threads[-1].start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join()


def mount(guest: Guest) -> None:
    """Mount its export."""
    args = MountArgs(share=guest.share, mount_point=POINT)
    guest.client.submit("mounts.mount", args).result(LOST_S)


def _copy(guest: Guest, over: threading.Event) -> None:
    while not over.is_set():
        with contextlib.suppress(AppError, TimeoutError):
            guest.client.submit("test.run", TestSpec(path=POINT, size=16 * 2**20)).result(LOST_S)


def one_round(requests: int, chance: random.Random) -> dict[str, Any]:
    """Send the requests through a fresh guest and return what came of them."""
    sizes = [round(SMALLEST * (LARGEST / SMALLEST) ** (i / max(requests - 1, 1))) for i in range(requests)]
    chance.shuffle(sizes)
    slow: list[str] = []
    samples: list[StatsSample] = []
    took: list[float] = []
    lost: list[str] = []
    took_lock = threading.Lock()
    began_s = time.monotonic()
    with Guest.boot(parse_link("gigabit"), timeout_s=LOST_S) as guest:
        if hasattr(guest, "listen"):  # so that older versions of the program can be compared
            guest.listen(lambda state: slow.append(str(state)))
        mount(guest)
        watch = guest.client.submit(
            "stats.watch", WatchArgs(mount_point=POINT, interval_s=0.2), samples.append
        )

        def send() -> None:
            while True:
                with took_lock:
                    if not sizes or len(lost) > 2:
                        return
                    size = sizes.pop()
                    text = "".join(chance.choices(_LETTERS, k=size))
                sent_s = time.monotonic()
                try:
                    answer = guest.client.submit("lab.echo", EchoArgs(text=text)).result(LOST_S)
                except (AppError, TimeoutError) as error:
                    lost.append(f"{size} bytes: {type(error).__name__} {error}")
                    continue
                if answer.text != text:
                    lost.append(f"{size} bytes: came back different")
                took.append(time.monotonic() - sent_s)

        senders = [threading.Thread(target=send) for _ in range(2)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        watch.cancel()
    return {
        "took": took,
        "lost": lost,
        "slow": slow.count("slow"),
        "dead": slow.count("dead"),
        "samples": len(samples),
        "seconds": time.monotonic() - began_s,
    }


def main() -> int:
    """Run the rounds and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--busy", type=int, default=8)
    parser.add_argument("--guests", type=int, default=3)
    parser.add_argument("--processors", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.processors])
    chance = random.Random(given.seed)
    failed = False
    with other_guests(given.guests), busy_processes(given.busy):
        for number in range(1, given.rounds + 1):
            found = one_round(given.requests, chance)
            took = sorted(found["took"]) or [0.0]
            failed = failed or bool(found["lost"])
            answered = f"{len(found['took'])} of {given.requests} answered"
            print(
                f"round {number}: {answered} in {found['seconds']:.0f} s, "
                f"median {statistics.median(took):.2f} s, longest {took[-1]:.2f} s, "
                f"{found['samples']} samples, shown as slow {found['slow']} times, dead {found['dead']}",
                *found["lost"], sep="\n    ", flush=True,
            )  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""How quickly a long history opens and filters, and what a run takes: ``python tests/benchmarks/history.py``.

Makes a history of 100,000 runs on a temporary disk folder, each with the samples of a 15-second test in both
directions, and prints a Markdown table of medians and worst cases, each question asked on a freshly opened
file. The goal is 200 ms for opening and filtering together.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1] / "unit/app"))

from history_world import figure, result, transfer

from advisor.facts import LinkFacts
from app.bench.environment import Environment
from app.bench.result import Sample, TestResult
from app.history.model import Filter, Run
from app.history.packing import pack
from app.history.store import HistoryStore

_START = datetime(2020, 1, 1, tzinfo=UTC)
_OPTIONS = (
    "vers",
    "rsize",
    "wsize",
    "namlen",
    "hard",
    "proto",
    "nconnect",
    "timeo",
    "retrans",
    "sec",
    "addr",
)
_WORDS = ["night", "switch", "cable", "firmware", "before", "after", "upgrade", "jumbo", "frames", "office"]
_CHUNK = 2000


def main() -> int:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=150, help="of each direction of a run")
    parser.add_argument("--repeats", type=int, default=15)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "history.sqlite")
        began = time.monotonic()
        fill(path, args.runs, args.samples)
        took = time.monotonic() - began
        size = path.stat().st_size
        one = a_result(random.Random(1), 7, args.samples)
        plain = len(msgspec.json.encode(one))
        body, samples = pack(one)
        print(
            f"{args.runs} runs: {size / 2**20:.0f} MiB, {size / args.runs:.0f} bytes a run, "
            f"filled in {took:.0f} s."
        )
        print(f"One run: {plain} bytes of JSON, packed {len(body)} + {len(samples)} of its samples.\n")
        print("| opening and | rows | median ms | worst ms |\n|---|---|---|---|")
        for name, wanted in questions():
            times, rows = asked(path, wanted, args.repeats)
            print(f"| {name} | {rows} | {1000 * median(times):.1f} | {1000 * max(times):.1f} |")
        times = [opened(path) for _ in range(args.repeats)]
        print(f"| one run with its samples | 1 | {1000 * median(times):.1f} | {1000 * max(times):.1f} |")
    return 0


def questions() -> list[tuple[str, Filter]]:
    """Return what a person asks, with a name."""
    return [
        ("the newest 200", Filter()),
        ("rows 50,000 to 50,200", Filter(offset=50_000)),
        ("one share", Filter(share="nas03:/export/vol17")),
        ("a word of many runs", Filter(text="cable")),
        ("two words of few", Filter(text="nas03:/export/vol17 firmware")),
        ("a word that is nowhere", Filter(text="zzzz")),
        ("a tag", Filter(tag="before")),
        ("a month", Filter(since=_START, until=_START + timedelta(days=30))),
    ]


def asked(path: Path, wanted: Filter, repeats: int) -> tuple[list[float], int]:
    """Return how long opening, finding and counting took each time, seconds, and how many rows fit."""
    times: list[float] = []
    count = 0
    for _ in range(repeats):
        began = time.perf_counter()
        with HistoryStore.open(path) as store:
            count = len(store.find(wanted))
            if count == wanted.limit:
                count = store.count(wanted)
            times.append(time.perf_counter() - began)
    return times, count


def opened(path: Path) -> float:
    """Return how long opening and getting one run took, seconds."""
    began = time.perf_counter()
    with HistoryStore.open(path) as store:
        store.get(1)
        return time.perf_counter() - began


def fill(path: Path, runs: int, samples: int) -> None:
    """Make the history."""
    source = random.Random(0)
    with HistoryStore.open(path) as store:
        for first in range(0, runs, _CHUNK):
            store.add_all(
                Run(
                    result=a_result(source, place, samples),
                    uid=f"{place:032x}",
                    tags=tuple(source.sample(_WORDS, 2)),
                    note=" ".join(source.sample(_WORDS, 6)),
                )
                for place in range(first, min(first + _CHUNK, runs))
            )


def a_result(source: random.Random, place: int, samples: int) -> TestResult:
    """Return a result with noise in all its figures, so that it does not pack better than a real one."""
    values = [source.lognormvariate(18.5, 0.05) for _ in range(6)]

    def way() -> dict[str, object]:
        moved, found, now = 0, [], 0.0
        for _ in range(samples):
            now += source.uniform(0.049, 0.052)
            moved += int(source.lognormvariate(15.5, 0.2))
            found.append(Sample(now, moved, max(moved - 2**20, 0), 0, 0, source.lognormvariate(-7, 0.3)))
        return {"bytes": moved, "samples": found}

    return result(
        share=f"nas{place % 10:02}:/export/vol{place % 37:02}",
        path=f"/mnt/vol{place % 37:02}",
        started_at=(_START + timedelta(minutes=30 * place)).isoformat(timespec="seconds"),
        write=msgspec.structs.replace(transfer(values[0]), **way()),
        read=msgspec.structs.replace(transfer(values[1]), **way()),
        effective={name: str(source.choice((1, 4, 65536, 1048576))) for name in _OPTIONS},
        figures={"write": figure(values), "read": figure(values[::-1])},
        link=LinkFacts(
            name="eth0", interface="eth0", kind="ethernet", adapter="Intel I210", driver="igb", bus="pci",
            rate_bps=1e9, duplex="full", mtu=1500, rtt_s=source.lognormvariate(-8, 0.2),
            sources=dict.fromkeys(("interface", "rate_bps", "mtu", "rtt_s", "driver"), "the kernel"),
        ),
        environment=Environment(
            host=f"desk{place % 5}", system="Debian GNU/Linux 12 (bookworm)", kernel="6.1.0-30-amd64",
            nfs_utils="2.6.2", program="0.1.0", memory_bytes=16 * 2**30, interface="eth0", rate_bps=1e9,
        ),
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())

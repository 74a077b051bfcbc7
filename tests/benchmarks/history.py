"""How quickly a long history opens and filters, and what a run takes: ``python tests/benchmarks/history.py``.

Makes a history of 100,000 runs on a temporary disk folder, each with the samples of a 15-second test in both
directions, and prints a Markdown table of medians and worst cases: each question asked on a freshly opened
file, the lists as the window asks for them, and the command line, with its own start (--version) beside it.
The goal is 200 ms for opening, filtering and counting together.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1] / "unit/app"))

from sample_results import figure, result, transfer

from advisor.facts import LinkFacts
from app.history import queries
from app.history.database import default_path
from app.history.model import Run, RunFilter
from app.history.result_codec import encode_result
from app.history.store import HistoryStore
from app.speedtest.model import Environment, Sample, TestResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    parser.add_argument("--home", type=Path, help="a folder to keep the history in, for another time")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = str(args.home.resolve() if args.home else folder)
        path = default_path()
        began = time.monotonic()
        if not path.exists():
            fill(path, args.runs, args.samples)
        HistoryStore.open(path).close()
        took = time.monotonic() - began
        size = path.stat().st_size
        one = a_result(random.Random(1), 7, args.samples)
        plain = len(msgspec.json.encode(one))
        body, samples = encode_result(one)
        print(
            f"{args.runs} runs: {size / 2**20:.0f} MiB, {size / args.runs:.0f} bytes a run, "
            f"made or brought up to date in {took:.1f} s."
        )
        print(f"One run: {plain} bytes of JSON, packed {len(body)} + {len(samples)} of its samples.\n")
        print("| opening and | rows | median ms | worst ms | processor ms |\n|---|---|---|---|---|")
        for name, ask in asked(path):
            times, worked, count = timed(ask, args.repeats)
            figures = (median(times), max(times), median(worked))
            print(f"| {name} | {count} | {' | '.join(f'{1000 * figure:.1f}' for figure in figures)} |")
    return 0


def questions() -> list[tuple[str, RunFilter]]:
    """Return what a person asks, with a name."""
    return [
        ("the newest 200", RunFilter()),
        ("rows 50,000 to 50,200", RunFilter(offset=50_000)),
        ("one share", RunFilter(share="nas03:/export/vol17")),
        ("a word of many runs", RunFilter(text="cable")),
        ("two words of few", RunFilter(text="nas03:/export/vol17 firmware")),
        ("a word that is nowhere", RunFilter(text="zzzz")),
        ("two signs that are nowhere", RunFilter(text="zz")),
        ("a long word of all", RunFilter(text="rsize=65536")),
        ("much that is nearly there", RunFilter(text="=1048576,wsize=1048576,namlen=1048576,z")),
        ("a word of one share", RunFilter(share="nas03:/export/vol17", text="cable")),
        ("a tag", RunFilter(tag="before")),
        ("a host", RunFilter(host="desk3")),
        ("a server", RunFilter(server="nas03")),
        ("a kind", RunFilter(kind="file")),
        ("a kind that is nowhere", RunFilter(kind="files")),
        ("baselines", RunFilter(baseline=True)),
        ("a month", RunFilter(since=_START, until=_START + timedelta(days=30))),
    ]


def asked(path: Path) -> Iterator[tuple[str, Callable[[], int]]]:
    """Give what is timed, with a name; each returns how many runs fit."""
    for name, wanted in questions():
        yield name, partial(count_and_rows, path, wanted)
    yield "one run with its samples", partial(one_run, path)
    share = "nas03:/export/vol17"
    for name, text, of in (
        ("nothing typed", "", ""),
        ("a word", "cable", ""),
        ("a word of a share", "cable", share),
    ):
        yield f"the window's list, {name}", partial(shown, text, of)
    for words in (["--version"], ["history"], ["history", "list", "cable"], ["history", "list", "zzzz"]):
        yield f"the program “{' '.join(words)}”", partial(program, words)


def timed(ask: Callable[[], int], repeats: int) -> tuple[list[float], list[float], int]:
    """Return the seconds that it took each time, those that a processor worked, and how many runs fit."""
    times: list[float] = []
    worked: list[float] = []
    count = 0
    for _ in range(repeats):
        began, before = time.perf_counter(), _processor()
        count = ask()
        times.append(time.perf_counter() - began)
        worked.append(_processor() - before)
    return times, worked, count


def _processor() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(item.ru_utime + item.ru_stime for item in used)


def count_and_rows(path: Path, wanted: RunFilter) -> int:
    """Open, find and, if the page is full, count."""
    with HistoryStore.open(path) as store:
        count = len(store.find(wanted))
        return store.count(wanted) if count == wanted.limit else count


def one_run(path: Path) -> int:
    """Open, and get one run."""
    with HistoryStore.open(path) as store:
        return len([store.get(1)])


def shown(text: str, share: str) -> int:
    """Ask as the window does."""
    return queries.find_runs(text, share).total


def program(words: list[str]) -> int:
    """Run the program; return how many lines it prints."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ui.entry", *words], capture_output=True, text=True, check=True
    )
    return done.stdout.count("\n")


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

"""Processor time of one look at 200 mounts: ours, nfsiostat's and mountstats', in one paired run.

    python -P tests/benchmarks/stats_cost.py [--mounts 200] [--rounds 30]

All read the same file. Of nfsiostat and mountstats of nfs-utils only the work of one sample counts, in a
process that already runs: their start-up, and a terminal, do not. In each round all take their turn, in an
order that changes; printed are the median of each and of the ratios of the rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).parents[2]
sys.path[:0] = [str(HERE), str(HERE / "tests/common")]

import nfs_utils  # noqa: E402

from app.kernel.mountstats import parse_one  # noqa: E402
from app.stats.rates import RateMeter  # noqa: E402
from app.stats.speeds import mount_speeds, parse_counters  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDED = HERE / "tests/data/mountstats/nconnect-6.12.txt"


def table(mounts: int, grown: int) -> str:
    """Return the mountstats of so many busy 4.2 mounts, with counters as long as after some weeks."""
    block = next(
        text
        for text in re.split(r"(?m)^(?=device )", RECORDED.read_text())
        if " nfs4 " in text.split("\n")[0]
    ).rstrip("\n")
    block = re.sub(r"bytes:\t.*", f"bytes:\t{123456789012 + grown} 98765432109 0 0 "
                   f"{223456789012 + grown} {198765432109 + grown} 12345678 9876543 ", block)  # fmt: skip
    for name in ("READ", "WRITE"):
        numbers = [98765432 + grown, 98765433 + grown, 1, 12345678901 + grown, 223456789012 + grown,
                   4561234 + grown, 98712345 + grown, 99912345 + grown, 3]  # fmt: skip
        block = re.sub(rf"(?m)^(\s+{name}: ).*$", lambda match: match[1] + " ".join(map(str, numbers)), block)  # noqa: B023
    return "".join(
        re.sub(r"^device \S+ mounted on \S+", f"device nas{i % 10}:/export/{i} mounted on /mnt/{i}", block)
        + "\n"
        for i in range(mounts)
    )


def contenders(old: Path, new: Path) -> dict[str, Callable[[], object]]:
    """Return what takes one sample, by name."""
    theirs, other = nfs_utils.load("nfsiostat"), nfs_utils.load("mountstats")
    before = parse_counters(old.read_bytes())
    earlier = theirs.parse_stats_file(str(old))
    earlier_too = other.parse_stats_file(io.StringIO(old.read_text()))
    meter = RateMeter()
    seconds = iter(range(1, 10**9))

    class Options:
        which, sort, list = 0, False, sys.maxsize

    def nfsiostat() -> None:
        text = theirs.parse_stats_file(str(new))
        theirs.print_iostat_summary(earlier, text, theirs.list_nfs_mounts([], text), 1, Options)

    def mountstats() -> None:
        text = other.parse_stats_file(io.StringIO(new.read_text()))
        other.print_iostat_summary(earlier_too, text, list(text), 1)

    return {
        "all mounts, for the list": lambda: mount_speeds(before, parse_counters(new.read_bytes()), 1.0),
        "one of them, for the Live tab": lambda: meter.update(
            parse_one(new.read_text(), "/mnt/100") or sys.exit("no such mount"), float(next(seconds))
        ),
        "nfsiostat": nfsiostat,
        "mountstats iostat": mountstats,
    }


def main() -> None:
    """Run the rounds and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mounts", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder, "old"), Path(folder, "new")
        old.write_text(table(args.mounts, 0))
        new.write_text(table(args.mounts, 1 << 20))
        sample = contenders(old, new)
        times: dict[str, list[float]] = {name: [] for name in sample}
        rng = random.Random(1)
        for number in range(args.rounds + 1):
            for name in rng.sample(list(sample), len(sample)):
                with contextlib.redirect_stdout(io.StringIO()):
                    begun = time.process_time()
                    sample[name]()
                    if number:  # the first round warms up
                        times[name].append(time.process_time() - begun)
        print(f"{args.mounts} mounts, {new.stat().st_size / 1e6:.2f} MB, {args.rounds} rounds")
        base, *_ = times
        for name, taken in times.items():
            ratios = [b / a for a, b in zip(times[base], taken, strict=True)]
            print(f"{name:32} {statistics.median(taken) * 1000:8.2f} ms   x {statistics.median(ratios):6.1f}")


if __name__ == "__main__":
    main()

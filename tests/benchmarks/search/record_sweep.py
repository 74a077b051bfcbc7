"""Records a full sweep in the lab: ``python -P tests/benchmarks/search/record_sweep.py gigabit OUT.csv``.

Every combination of the factors below is a trial of the experiment engine: a fresh private mount, a small
file written and read, unmounted again. The order is random; in each block of combinations the baseline comes
back at even distances, so that what the computer or the link did meanwhile can be seen. A line of the file is
a trial, written as soon as it is over; started again with the same file, the recording goes on where it was.
The first line tells as JSON what was recorded, and each line the load of the computer at that time: sweeps.py
makes a surface of it.

    LINK       profile of the lab, or a link spelled out
    OUT        file with one line a trial; gzip it into tests/data/search
    --size     bytes of the file; by default what the link carries in a fifth of a second
    --repeats  passes over all combinations
    --sets     only so many of them, drawn by chance: with repeats, how much the trials of one set scatter
    --limit    no more trials than these in this part of the recording
    --until    and none after so many seconds
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import random
import sys
import time
from concurrent.futures import wait
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

sys.path.insert(0, str(Path(__file__).parents[3]))

from advisor.experiment.measurements import READ, WRITE
from advisor.facts import payload_rate_bps
from app.experiment.factors import READ_AHEAD, mount_settings
from app.experiment.model import (
    Experiment,
    ExperimentArgs,
    ExperimentEvent,
    ExperimentPlan,
    ExperimentRunArgs,
    Factor,
    OptionSet,
    WorkloadSpec,
)
from app.lab.guest import Guest
from app.links import parse_link

if TYPE_CHECKING:
    from advisor.experiment.measurements import TrialOutcome

#: 3 x 5 x 5 x 4 x 4 = 1200. A baseline has the first levels but the sizes that the kernel agrees on.
FACTORS = {
    "vers": ["4.2", "4.1", "3"],
    "rsize": ["8192", "32768", "131072", "262144", "1048576"],
    "wsize": ["8192", "32768", "131072", "262144", "1048576"],
    "nconnect": ["1", "2", "4", "8"],
    READ_AHEAD: ["128", "512", "2048", "15360"],
}
BASELINE = {"vers": "4.2", "rsize": "1048576", "wsize": "1048576", "nconnect": "1", READ_AHEAD: "128"}
COLUMNS = ["pass", "block", "baseline", *FACTORS, "write", "read", "state", "at_s", "load"]
#: Combinations of a block: a request of the engine, with a warm-up that is not kept. Requests of a hundred
#: kept stopping the guest's serial line on a busy computer.
BLOCK = 40
#: What a trial copies in each direction, seconds at the link's rate.
SECONDS = 0.2
#: A guest in which nothing moves for so long hangs.
SILENT_S = 90.0
_GRAIN, _LEAST = 2**20, 2**20

Levels = dict[str, str]


def main() -> int:
    """Record as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("link")
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", type=int)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--sets", type=int)
    parser.add_argument("--limit", type=int, default=1_000_000)
    parser.add_argument("--until", type=float, default=1e9)
    args = parser.parse_args()
    link = parse_link(args.link)
    size = args.size or max(_LEAST, int(payload_rate_bps(link.rate_bps) / 8 * SECONDS) // _GRAIN * _GRAIN)
    end = time.monotonic() + args.until
    with Guest.boot(link) as guest:
        recorder = Recorder(guest, args.out, link.name, size)
        for number in range(args.repeats):
            for block, sets in enumerate(blocks(number, args.sets)):
                left = recorder.left(number, sets)[: max(0, args.limit - recorder.done)]
                if left and time.monotonic() < end:
                    recorder.record(number, block, left)
    print(f"{recorder.done} trials recorded", file=sys.stderr)
    return 0


def blocks(number: int, count: int | None = None) -> list[list[Levels]]:
    """Return the combinations, or so many of them, in the order of a pass, in blocks."""
    every = [dict(zip(FACTORS, levels, strict=True)) for levels in itertools.product(*FACTORS.values())]
    if count is not None:
        every = random.Random(f"{count} sets").sample(every, count)
    random.Random(f"pass {number}").shuffle(every)
    return [every[start : start + BLOCK] for start in range(0, len(every), BLOCK)]


class Recorder:
    """Runs blocks in a guest and appends their trials to the file."""

    def __init__(self, guest: Guest, out: Path, link: str, size: int) -> None:
        self._guest = guest
        self._out = out
        self._seen: set[tuple[str, ...]] = set()
        self._began = time.monotonic()
        self._lines = 0
        #: Trials of this part of the recording, without baselines.
        self.done = 0
        self._experiment = Experiment(
            share=guest.share,
            strategy="one-at-a-time",
            factors=[Factor(name=name, levels=each, base=BASELINE[name]) for name, each in FACTORS.items()],
            workloads=[WorkloadSpec(name="sweep", size=size)],
            repeats=1,
        )
        # Every level is tried alone: none may be refused or come out the same as another.
        asked = ExperimentArgs(experiment=self._experiment)
        self._plan: ExperimentPlan = guest.client.submit("experiment.plan", asked).result(300)
        if self._plan.struck:
            raise RuntimeError(f"cannot be varied here: {self._plan.struck}")
        header = {
            "link": link, "size": size, "begun": datetime.now(UTC).isoformat(timespec="seconds"),
            "factors": FACTORS, "baseline": BASELINE, "processors": os.cpu_count(),
            "kernel": self._plan.environment.kernel if self._plan.environment is not None else "",
        }  # fmt: skip
        self._resume(header)

    def left(self, number: int, sets: list[Levels]) -> list[Levels]:
        """Return what is not in the file yet."""
        return [levels for levels in sets if (str(number), *levels.values()) not in self._seen]

    def record(self, number: int, block: int, sets: list[Levels]) -> None:
        """Run a block; each trial is in the file as soon as it is over."""
        experiment = msgspec.structs.replace(self._experiment, seed=1000 * number + block)
        planned: list[OptionSet] = []
        for levels in [BASELINE, *(levels for levels in sets if levels != BASELINE)]:
            mount = mount_settings(experiment, levels)
            one = OptionSet(levels=levels, options=mount.options, read_ahead_kb=mount.read_ahead_kb)
            planned.append(msgspec.structs.replace(one, effective=self._effective(levels), seconds=[1.0]))
        plan = msgspec.structs.replace(self._plan, experiment=experiment, sets=planned)

        def take(event: ExperimentEvent) -> None:
            if event.phase == "done" and event.outcome is not None:
                self._append(number, block, event.outcome, baseline=BASELINE not in sets)

        running = self._guest.client.submit("experiment.run", ExperimentRunArgs(plan=plan), take)
        told = -1
        while not running.future.done():
            if self._lines == told:
                raise RuntimeError(f"no trial has ended in {SILENT_S:.0f} s; start it again to go on")
            told = self._lines
            wait([running.future], SILENT_S)
        running.result(0)

    def _effective(self, levels: Levels) -> dict[str, str]:
        """Return the values that should be in use: what each level alone changes of the baseline's."""
        first, *alone = self._plan.sets
        found = dict(first.effective)
        for one in alone:
            if any(levels[name] == level != BASELINE[name] for name, level in one.levels.items()):
                changed = first.effective.keys() | one.effective.keys()
                for name in changed:
                    if one.effective.get(name) != first.effective.get(name):
                        found.pop(name, None)
                        found |= {name: one.effective[name]} if name in one.effective else {}
        return found

    def _append(self, number: int, block: int, outcome: TrialOutcome, *, baseline: bool) -> None:
        """Add a line; the set that a plan begins with is a trial only where it belongs to the block."""
        watching = outcome.baseline or (baseline and outcome.levels == BASELINE)
        self._line(
            [
                number, block, int(watching), *(outcome.levels[name] for name in FACTORS),
                *(f"{outcome.figures.get(name, 0):.0f}" for name in (WRITE, READ)),
                outcome.state, f"{time.monotonic() - self._began:.1f}", f"{os.getloadavg()[0]:.2f}",
            ]
        )  # fmt: skip
        self.done += not watching

    def _line(self, cells: list[Any]) -> None:
        with self._out.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(cells)
        self._lines += 1

    def _resume(self, header: dict[str, Any]) -> None:
        """Begin the file, or look at what it has."""
        if not self._out.exists():
            self._out.write_text(f"# {json.dumps(header)}\n", encoding="utf-8")
            self._line(COLUMNS)
            return
        with self._out.open(newline="", encoding="utf-8") as file:
            known = json.loads(file.readline().removeprefix("# "))
            same = ("link", "size", "factors", "baseline")
            if any(known[name] != header[name] for name in same):
                raise RuntimeError(f"{self._out} is of another sweep")
            for row in csv.DictReader(file):
                if row["baseline"] == "0":
                    self._seen.add((row["pass"], *(row[name] for name in FACTORS)))


if __name__ == "__main__":
    sys.exit(main())

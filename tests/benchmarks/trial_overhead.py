"""What a trial of an experiment takes beside its workload, part by part, in the lab.

    .venv-test/bin/python -P tests/benchmarks/trial_overhead.py [--trials 9] [--link gigabit] [--size 65536]

It boots a guest in which one session runs trials as an experiment does, the versions in turn. Printed are the
median and the spread (quarter to three quarters) of the milliseconds of each part:

    mount       mount.nfs
    checks      what is in use, read back; the worker, its directory, the free space and the network alone
    workload    the copying that the figures of the trial are about, its fsync and close
    sync        writing back before the unmount
    unmount     until the server has been told
    rest        the cache dropped between write and read, files removed, rounds between the processes
    beyond      all but the workload; the target is less than 1000
    first       the whole first trial, in which helper and worker are started

The guest has one processor and starts programs slowly: on a computer each part takes less. Other work on this
machine shows: the load before and after is printed. On a long way the round trips count, some fifty of a
trial: with 40 ms each way it takes five seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.experiment import measurements
from advisor.experiment.measurements import TrialOutcome
from advisor.facts import ClientFacts, Facts
from app.experiment.context import ExperimentContext
from app.experiment.model import OptionSet, WorkloadSpec
from app.experiment.runner import NextTrial, run_trial
from app.lab import init, supervisor, syscalls, xstate
from app.lab.serial_line import open_terminal
from app.lab.server import SHARE
from app.links import parse_link
from app.process import SYSTEM_PATH
from app.speedtest.mount_session import MountSession
from app.speedtest.private_mount import PrivateMount
from app.tasks import CancelToken

if TYPE_CHECKING:
    from app.speedtest.model import TestEvent

HERE = Path(__file__).resolve()
VERSIONS = ("3", "4.0", "4.1", "4.2")
PARTS = ("mount", "checks", "workload", "sync", "unmount", "rest", "beyond")
#: Round trips of a trial at most, and what it takes beside them on a busy machine: for the time limit alone.
TRIPS, BUSY_S, BOOT_S = 80, 3.0, 60.0
COPYING = (measurements.WRITE_S, measurements.WRITE_SYNC_S, measurements.READ_S)


def trial(version: str, hands: ExperimentContext, size: int) -> dict[str, float]:
    """Carry out one trial; return the milliseconds of each part, and of the whole."""
    begun: list[float] = []

    def watch(event: TestEvent) -> bool:
        if event.phase == "prepare":
            begun.append(time.monotonic())
        return False

    option_set = OptionSet(levels={"vers": version}, options=f"vers={version}", whole=False)
    work = WorkloadSpec(name="file", size=size)
    outcome = TrialOutcome(order=0, block=0, levels=option_set.levels, workload=work.name)
    start = time.monotonic()
    outcome = run_trial(NextTrial("trial", 1, 1, option_set, work, outcome), hands, CancelToken(), watch)
    whole = time.monotonic() - start
    if outcome.state != "ok":
        raise SystemExit(outcome.note)
    figures = outcome.figures
    seconds = {
        "mount": figures[measurements.MOUNT_S],
        "checks": begun[0] - start - figures[measurements.MOUNT_S],
        "workload": sum(figures[name] for name in COPYING),
        "sync": figures[measurements.SYNC_S],
        "unmount": figures[measurements.UNMOUNT_S],
    }
    seconds |= {
        "rest": whole - sum(seconds.values()), "beyond": whole - seconds["workload"], "first": whole,
    }  # fmt: skip
    return {name: 1000 * value for name, value in seconds.items()}


def inside(name: str, count: int, size: int) -> None:
    """Be the init of a guest: measure, tell, power off."""
    os.environ.update(PATH=SYSTEM_PATH, HOME="/tmp", LC_ALL="C.UTF-8")
    fd = open_terminal()
    link = parse_link(name)
    init._boot(link)
    session = MountSession()

    def open_mount(options: str, read_ahead_kb: int | None, token: CancelToken) -> PrivateMount:
        return PrivateMount.open(SHARE, options, read_ahead_kb=read_ahead_kb, token=token, session=session)

    hands = ExperimentContext(open=open_mount, facts=Facts(client=ClientFacts()), link=link.facts())
    found = [{version: trial(version, hands, size) for version in VERSIONS} for _ in range(count + 1)]
    session.close()
    data = json.dumps(found).encode() + b"\n"
    while data:
        data = data[os.write(fd, data) :]
    termios.tcdrain(fd)
    syscalls.power_off()


def limit_s(link: str, count: int, size: int) -> float:
    """Return the seconds after which a guest with this link is given up."""
    facts = parse_link(link).facts()
    rates = (facts.rate_of("write"), facts.rate_of("read"))
    copying_s = sum(2 * 8 * size / rate for rate in rates if rate)
    trial_s = BUSY_S + TRIPS * (facts.rtt_s or 0.0) + copying_s
    return BOOT_S + (count + 1) * len(VERSIONS) * trial_s


def main() -> None:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--trials", type=int, default=9)
    parser.add_argument("--link", default="gigabit")
    parser.add_argument("--size", type=int, default=65536, help="bytes of the file")
    args = parser.parse_args()
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        launcher = Path(name, "init")
        words = [sys.executable, str(HERE), "inside", args.link, str(args.trials), str(args.size)]
        home = shlex.quote(str(HERE.parents[2]))
        launcher.write_text(f"#!/bin/sh\nPYTHONPATH={home} exec {shlex.join(words)}\n")
        launcher.chmod(0o700)
        done = subprocess.run(
            supervisor._command(Path(name), launcher, "1G"),
            env={"HOME": name, "PATH": os.environ["PATH"], **xstate.environment(Path(name))},
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
            timeout=limit_s(args.link, args.trials, args.size),
        )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith(b"[")]
    if not lines:
        raise SystemExit(done.stderr.decode(errors="replace") or "The guest told nothing.")
    first, *found = json.loads(lines[-1])
    print(f"{args.trials} trials a version of {args.size} bytes on {args.link}, milliseconds;"
          f" load {before:.1f} before, {os.getloadavg()[0]:.1f} after")  # fmt: skip
    print(f"{'vers':6}" + "".join(f"{part:>17}" for part in PARTS) + f"{'first':>8}")
    for version in VERSIONS:
        cells = [spread([one[version][part] for one in found]) for part in PARTS]
        print(f"{version:6}" + "".join(f"{cell:>17}" for cell in cells) + f"{first[version]['first']:8.0f}")


def spread(values: list[float]) -> str:
    """Return the median and the middle half of the values."""
    low, _middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{statistics.median(values):.0f} ({low:.0f}-{high:.0f})"


if __name__ == "__main__":
    if sys.argv[1:2] == ["inside"]:
        inside(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()

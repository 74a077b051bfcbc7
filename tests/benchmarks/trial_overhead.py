"""What a trial costs beside its workload: private mount, checks, writing back, unmounting, in the lab.

    .venv-test/bin/python -P tests/benchmarks/trial_overhead.py [--trials 7] [--link gigabit]

It boots a guest in which one helper opens a mount, a worker copies 64 KiB in it, and the helper closes it,
over and over, as in an experiment. Printed are medians of milliseconds; the target for ``beside the copy`` is
1000. The guest has one processor and starts programs slowly: on a computer each part takes less.
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
import time
from pathlib import Path
from typing import TYPE_CHECKING

from app.bench.private_mount import PrivateMount
from app.bench.result import TestSpec
from app.lab import init, supervisor, syscalls
from app.lab.line import SerialLine
from app.lab.links import parse_link
from app.lab.server import SHARE
from app.privileged import HelperClient
from app.process import SYSTEM_PATH
from app.tasks import CancelToken

if TYPE_CHECKING:
    from advisor.facts import LinkFacts

HERE = Path(__file__).resolve()
VERSIONS = ("3", "4.0", "4.1", "4.2")
PARTS = ("mount", "open", "worker", "sync", "unmount", "close", "beside the copy")


def trial(version: str, helper: HelperClient, link: LinkFacts) -> dict[str, float]:
    """Carry out one trial; return the milliseconds of each part."""
    token = CancelToken()
    began = time.monotonic()
    mount = PrivateMount.open(SHARE, f"vers={version}", token=token, helper=helper)
    opened = time.monotonic()
    result = mount.run_test(TestSpec(path="", size=65536), token, lambda _event: None, link)
    tested = time.monotonic()
    closing = mount.close()
    closed = time.monotonic()
    copied = 0.0
    for transfer in (result.write, result.read):
        if transfer is not None:
            copied += transfer.transfer_s + transfer.fsync_s + transfer.close_s
    seconds = (
        mount.mount_s, opened - began, tested - opened - copied, closing.sync_s or 0.0,
        closing.unmount_s or 0.0, closed - tested, closed - began - copied,
    )  # fmt: skip
    return {name: 1000 * value for name, value in zip(PARTS, seconds, strict=True)}


def inside(link: str, trials: int) -> None:
    """Be the init of a guest: measure, tell, power off."""
    os.environ.update(PATH=SYSTEM_PATH, HOME="/tmp", LC_ALL="C.UTF-8")
    line = SerialLine.open()
    emulated = parse_link(link)
    init._boot(emulated)
    helper = HelperClient("bench")
    found = {
        version: [trial(version, helper, emulated.facts()) for _ in range(trials + 1)][1:]
        for version in VERSIONS
    }
    helper.close()
    data = json.dumps(found).encode() + b"\n"
    while data:
        data = data[os.write(line.fd, data) :]
    line.drain()
    syscalls.power_off()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=7)
    parser.add_argument("--link", default="gigabit")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        launcher = Path(name, "init")
        command = shlex.join([sys.executable, str(HERE), "inside", args.link, str(args.trials)])
        launcher.write_text(f"#!/bin/sh\nPYTHONPATH={shlex.quote(str(HERE.parents[2]))} exec {command}\n")
        launcher.chmod(0o700)
        done = subprocess.run(
            supervisor._command(Path(name), launcher, "1G"), env={"HOME": name, "PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL, capture_output=True, timeout=600, check=False,
        )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith(b"{")]
    if not lines:
        raise SystemExit(done.stderr.decode(errors="replace"))
    found = json.loads(lines[-1])
    print(f"{'vers':6}" + "".join(f"{part:>17}" for part in PARTS))
    for version in VERSIONS:
        medians = [statistics.median(trial[part] for trial in found[version]) for part in PARTS]
        print(f"{version:6}" + "".join(f"{value:17.0f}" for value in medians))


if __name__ == "__main__":
    if sys.argv[1:2] == ["inside"]:
        inside(sys.argv[2], int(sys.argv[3]))
    else:
        main()

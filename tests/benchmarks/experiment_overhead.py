"""What a trial of an experiment takes beside its workload: mount, checks, worker, sync, unmount.

Run as ``python -P tests/benchmarks/experiment_overhead.py [LINK]``; boots the lab. Prints medians in seconds.
The target is less than one second beyond the copying, on a machine with nothing else to do.
"""

from __future__ import annotations

import sys
import time
from statistics import median

from advisor.trials import MOUNT_S, READ_S, SYNC_S, UNMOUNT_S, WRITE_S, WRITE_SYNC_S
from app.bench.experiment.model import (
    Experiment,
    ExperimentArgs,
    ExperimentEvent,
    ExperimentRunArgs,
    Factor,
    Work,
)
from app.lab.guest import Guest
from app.lab.links import parse_link

REPEATS = 10


def main() -> None:
    """Run the same small trial on versions 3 and 4.2 and print where its time goes."""
    link = parse_link(sys.argv[1] if len(sys.argv) > 1 else "gigabit")
    with Guest.boot(link) as guest:
        experiment = Experiment(
            share=guest.share,
            factors=[Factor(name="vers", levels=["3", "4.2"])],
            workloads=[Work(name="file", size=2**20)],
            repeats=REPEATS,
        )
        plan = guest.client.submit("experiment.plan", ExperimentArgs(experiment=experiment)).result(60)
        rows: dict[str, list[dict[str, float]]] = {"3": [], "4.2": []}
        ended = time.monotonic()

        def take(event: ExperimentEvent) -> None:
            nonlocal ended
            if event.outcome is None:
                ended = time.monotonic() if event.phase == "warm-up" or not rows["3"] else ended
                return
            now = time.monotonic()
            figures = event.outcome.figures
            copying = sum(figures[name] for name in (WRITE_S, WRITE_SYNC_S, READ_S))
            rows[event.outcome.levels["vers"]].append(
                {
                    "whole": now - ended,
                    "beyond copying": now - ended - copying,
                    "mount": figures[MOUNT_S],
                    "sync": figures[SYNC_S],
                    "unmount": figures[UNMOUNT_S],
                    "worker and checks": now
                    - ended
                    - copying
                    - sum(figures[n] for n in (MOUNT_S, SYNC_S, UNMOUNT_S)),
                }
            )
            ended = now

        guest.client.submit("experiment.run", ExperimentRunArgs(plan=plan), take).result(300)
    for version, measured in rows.items():
        print(f"version {version}, {len(measured)} trials on {link.name}:")
        for name in measured[0]:
            values = [row[name] for row in measured[1:]]
            print(f"  {name:18} median {median(values):6.3f}  greatest {max(values):6.3f}")


if __name__ == "__main__":
    main()

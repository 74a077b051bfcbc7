"""Guest job: an experiment whose agent, helper, worker and window are killed at random moments."""

import contextlib
import random
import threading
import time
from typing import Any

from private_mounts import HELPER, kill, left, open_mount, processes, told

from advisor.experiment.measurements import TrialOutcome
from app.errors import AppError
from app.experiment.model import (
    Experiment,
    ExperimentArgs,
    ExperimentEvent,
    ExperimentPlan,
    ExperimentRunArgs,
    Factor,
    WorkloadSpec,
)
from app.lab.server import SHARE
from app.service.hosts import LocalAgent

#: The window holds the agent's input open, so killing it closes that input.
TARGETS = ("agent", "helper", "worker", "standing", "window")
_LATEST_S = 6.0


def kill_at_random(kills: int, seed: int) -> dict[str, Any]:
    """Run an experiment to its end with a number of kills; return its result."""
    chance = random.Random(seed)
    experiment = Experiment(
        share=SHARE,
        factors=[Factor(name="vers", levels=["3", "4.2"]), Factor(name="rsize", levels=["8192", "65536"])],
        workloads=[WorkloadSpec(name="file", size=2 * 2**20)],
        repeats=max(2, kills // 4),
        seed=seed,
    )
    agent = LocalAgent()
    plan: ExperimentPlan = agent.client.submit(
        "experiment.plan", ExperimentArgs(experiment=experiment)
    ).result(60)
    outcomes: dict[int, TrialOutcome] = {}
    story: list[str] = []
    stray: list[str] = []
    end = time.monotonic() + 200 + 120 * kills
    while (len(outcomes) < plan.trials or len(story) < kills) and time.monotonic() < end:
        if len(outcomes) == plan.trials:
            outcomes.clear()  # the experiment ended before the kill, so it is repeated
        target = chance.choice(TARGETS) if len(story) < kills else ""
        _run_and_kill(agent, plan, outcomes, (target, chance.uniform(0.1, _LATEST_S)))
        if target:
            story.append(f"{target}, {len(outcomes)} done")
        if target in {"agent", "window"}:
            agent.close()
            stray += _not_gone(target)
            agent = LocalAgent()
    agent.close()
    with open_mount("vers=4.2") as mount:
        files = [name for name in told(mount, "/bin/ls", "-A", mount.path) if name.startswith(".")]
    return {
        "story": story,
        "planned": plan.trials,
        "done": sorted(outcomes),
        "stray": stray,
        "left": left() | {"files": files},
    }


def _run_and_kill(
    agent: LocalAgent, plan: ExperimentPlan, outcomes: dict[int, TrialOutcome], deed: tuple[str, float]
) -> None:
    """Run the remaining trials until the experiment ends, by itself or by a kill."""

    def take(event: ExperimentEvent) -> None:
        if event.outcome is not None and event.outcome.state != "failed":
            outcomes[event.outcome.order] = event.outcome

    target, moment_s = deed
    call = agent.client.submit(
        "experiment.run", ExperimentRunArgs(plan=plan, done=list(outcomes.values())), take
    )
    over = threading.Event()
    call.future.add_done_callback(lambda _future: over.set())
    if target:
        over.wait(moment_s)
        _kill(agent, target)
    with contextlib.suppress(AppError):
        call.result(300)


def _kill(agent: LocalAgent, target: str) -> None:
    if target == "window":
        with contextlib.suppress(OSError):
            agent._child.stdin.close()
        return
    names = {"agent": "app.service", "helper": str(HELPER)}
    # If no test runs, the youngest process is the idle worker.
    kill(names.get(target, "app.speedtest.worker.prefork_server"), youngest=target == "worker")


def _not_gone(target: str) -> list[str]:
    """Return the processes that still run some time after the agent or the window has ended."""
    end = time.monotonic() + 40
    while (
        pids := processes("app.service", "app.speedtest", str(HELPER), "mount.nfs")
    ) and time.monotonic() < end:
        time.sleep(0.1)
    return [f"{target}: {pid}" for pid in pids]

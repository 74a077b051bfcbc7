"""Measuring verbs: one test, experiment or plan runs at a time on a host."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from experiment_world import experiment
from waiting import DEADLINE_S, wait_for

from app.errors import AppError, ErrorKind
from app.experiment.model import ExperimentArgs, ExperimentPlan, ExperimentRunArgs, SearchArgs
from app.service import measurements
from app.service.hosts import InProcessHost
from app.service.verbs import HostVerbs
from app.speedtest.model import TestPlanArgs, TestSpec

PLAN = ExperimentPlan(experiment=experiment(), sets=[], struck=[], trials=1, seconds=1, bytes=1, space=1)
MEASURING: dict[str, Any] = {
    "test.run": TestSpec(path="/m"),
    "test.plan": TestPlanArgs(spec=TestSpec(path="", share="nas:/x")),
    "experiment.plan": ExperimentArgs(experiment=experiment()),
    "experiment.run": ExperimentRunArgs(plan=PLAN),
    "experiment.best": SearchArgs(share="nas:/x"),
    "experiment.search": ExperimentRunArgs(plan=PLAN),
}


class Work:
    """Fake measurement: it starts, waits until ``over`` is set, and fails."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.over = threading.Event()

    def __call__(self, *_args: object, **_named: object) -> None:
        self.begun.set()
        wait_for(self.over, "the measuring to be let go")
        raise AppError(ErrorKind.IO, "It is over.")


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    work = Work()
    monkeypatch.setattr(measurements, "run_test", work)
    monkeypatch.setattr(measurements.PrivateMount, "open", work)
    monkeypatch.setattr(measurements, "gather_facts", lambda *_args, **_named: None)
    for name in ("plan_experiment", "run_experiment", "run_search", "resume_search"):
        monkeypatch.setattr(measurements, name, work)
    return work


@pytest.fixture
def host() -> Iterator[InProcessHost]:
    host = InProcessHost(HostVerbs())
    yield host
    host.close()


@pytest.mark.parametrize("first", sorted(MEASURING.keys() - {"test.plan"}))
def test_a_second_measurement_is_refused_while_one_runs(host: InProcessHost, work: Work, first: str) -> None:
    running = host.submit(first, MEASURING[first])
    wait_for(work.begun, "the measuring to begin")
    for verb, args in MEASURING.items():
        second = host.submit(verb, args)
        with pytest.raises(AppError, match=r"already .*on this computer") as busy:
            second.result(DEADLINE_S)
        assert (busy.value.kind, bool(busy.value.hint)) == (ErrorKind.BUSY, True)
    work.over.set()
    with pytest.raises(AppError, match="It is over"):
        running.result(DEADLINE_S)
    with pytest.raises(AppError, match="It is over"):
        host.submit("test.run", MEASURING["test.run"]).result(DEADLINE_S)


@pytest.mark.parametrize(("first", "given_up"), [*((verb, True) for verb in MEASURING), ("test.plan", False)])
def test_a_measurement_about_to_end_is_awaited(
    host: InProcessHost, work: Work, first: str, given_up: bool
) -> None:
    """A cancelled measurement and a test plan are about to end, so the next measurement waits."""
    running = host.submit(first, MEASURING[first])
    wait_for(work.begun, "the measuring to begin")
    work.begun.clear()
    if given_up:
        running.cancel()
    second = host.submit("test.run", MEASURING["test.run"])
    impatient = host.submit("experiment.run", MEASURING["experiment.run"])
    impatient.cancel()
    with pytest.raises(AppError) as caught:
        impatient.result(DEADLINE_S)
    assert caught.value.kind is ErrorKind.CANCELLED
    assert not work.begun.is_set()
    work.over.set()
    for each in (running, second):
        with pytest.raises(AppError, match="It is over"):
            each.result(DEADLINE_S)


def test_a_test_of_a_mounted_share_is_planned_during_an_experiment(
    host: InProcessHost, work: Work, tmp_path: Path
) -> None:
    running = host.submit("experiment.run", MEASURING["experiment.run"])
    wait_for(work.begun, "the measuring to begin")
    plan = host.submit("test.plan", TestPlanArgs(spec=TestSpec(path=str(tmp_path)))).result(DEADLINE_S)
    assert plan.spec.path == str(tmp_path)
    work.over.set()
    with pytest.raises(AppError, match="It is over"):
        running.result(DEADLINE_S)

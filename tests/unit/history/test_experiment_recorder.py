"""Experiment recorder: trials are saved in the order they end, also when Ctrl-C interrupts the saving."""

import threading

import pytest
from waiting import DEADLINE_S, wait_for

from advisor.experiment.measurements import TrialOutcome
from app.history import experiment_store
from app.history.experiment_recorder import ExperimentRecorder
from app.tasks import run_in_thread

OUTCOME = TrialOutcome(levels={"rsize": "4096"}, workload="1 MB", block=0, order=0)


def test_close_waits_for_an_outcome_that_is_being_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second Ctrl-C does not wait for the thread that delivers the outcomes."""
    begun, go_on = threading.Event(), threading.Event()
    saved: list[tuple[int, TrialOutcome]] = []

    def save(number: int, outcome: TrialOutcome) -> None:
        saved.append((number, outcome))
        if len(saved) == 1:
            begun.set()
            wait_for(go_on, "the test to let the saving end")

    monkeypatch.setattr(experiment_store, "save_outcome", save)
    recorder = ExperimentRecorder()
    recorder.number = 7
    recorder.add(OUTCOME)
    recording = run_in_thread("recording", recorder.save)
    wait_for(begun, "the work to begin")
    closing = run_in_thread("closing", recorder.close)
    threading.Event().wait(0.1)
    go_on.set()
    recording.result(DEADLINE_S)
    closing.result(DEADLINE_S)
    assert saved == [(7, OUTCOME)]

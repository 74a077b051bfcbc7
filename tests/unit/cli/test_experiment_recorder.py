"""Recording of trials by the command line, interrupted by Ctrl-C."""

import threading

import pytest
from waiting import DEADLINE_S, wait_for

from advisor.experiment.measurements import TrialOutcome
from app.cli import experiment_run
from app.cli.experiment_run import ExperimentRecorder
from app.cli.experiment_text import ProgressLine
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

    monkeypatch.setattr(experiment_run, "save_outcome", save)
    recorder = ExperimentRecorder(ProgressLine(quiet=True), 7)
    recording = run_in_thread("recording", lambda: recorder.record(OUTCOME))
    wait_for(begun, "the work to begin")
    closing = run_in_thread("closing", recorder.close)
    threading.Event().wait(0.1)
    go_on.set()
    recording.result(DEADLINE_S)
    closing.result(DEADLINE_S)
    assert saved == [(7, OUTCOME)]

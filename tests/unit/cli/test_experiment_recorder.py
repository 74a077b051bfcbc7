"""What keeps the trials of the command line, when Ctrl-C ends it in the middle."""

import threading

import pytest
from waiting import DEADLINE_S, wait_for

from advisor.experiment.measurements import TrialOutcome
from app.cli import experiment_run
from app.cli.experiment_run import ExperimentRecorder
from app.cli.experiment_text import ProgressLine
from app.tasks import run_in_thread

OUTCOME = TrialOutcome(levels={"rsize": "4096"}, workload="1 MB", block=0, order=0)


def test_the_end_waits_for_what_is_just_being_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second Ctrl-C no longer waits for the thread that tells the outcomes."""
    begun, go_on = threading.Event(), threading.Event()
    kept: list[tuple[int, TrialOutcome]] = []

    def keep(number: int, outcome: TrialOutcome) -> None:
        kept.append((number, outcome))
        if len(kept) == 1:
            begun.set()
            wait_for(go_on, "the keeping to be let go")

    monkeypatch.setattr(experiment_run, "save_outcome", keep)
    keeper = ExperimentRecorder(ProgressLine(quiet=True), 7)
    told = run_in_thread("told", lambda: keeper.keep(OUTCOME))
    wait_for(begun, "the work to begin")
    ended = run_in_thread("ended", keeper.close)
    threading.Event().wait(0.1)
    go_on.set()
    told.result(DEADLINE_S)
    ended.result(DEADLINE_S)
    assert kept == [(7, OUTCOME)]

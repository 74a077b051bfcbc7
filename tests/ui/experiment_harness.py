"""Harness of an ExperimentController: its calls end only when the test ends them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import msgspec
from fake_experiments import PLAN, outcomes
from PySide6.QtCore import QObject, Signal

from advisor.facts import LinkFacts
from app.errors import AppError, ErrorKind
from app.experiment.model import SEARCH_NAME, ExperimentEvent, ExperimentResult
from app.experiment.recipes import Recipe, RecipeWorkload
from app.history import experiment_store
from app.history.experiment_store import StoredExperiment
from app.history.store import HistoryStore
from app.service.protocol import HelloResult
from ui.experiments.controller import ExperimentController

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from advisor.experiment.measurements import TrialOutcome

RECIPE = Recipe(title="New", factor=[], workload=[RecipeWorkload(name="", size="64M", quick_size="16M")])
NEW = msgspec.structs.replace(PLAN, experiment=msgspec.structs.replace(PLAN.experiment, share="nas02:/b"))
SEARCHED = msgspec.structs.replace(
    PLAN, experiment=msgspec.structs.replace(PLAN.experiment, recipe=SEARCH_NAME)
)
HELD = AppError(ErrorKind.UNAVAILABLE, "The history is busy.")
CANCELLED = AppError(ErrorKind.CANCELLED, "")
WHOLE = ExperimentResult(done=18, planned=18, failed=0, mismatched=0)


class Call(QObject):
    """Fake BridgeCall of a request or of work on a thread; the test ends it."""

    progressed = Signal(object)
    succeeded = Signal(object)
    failed = Signal(object)
    finished = Signal()
    overdue = Signal()

    def __init__(self, name: str, args: Any = None, work: Callable[[], Any] | None = None) -> None:
        super().__init__()
        self.name, self.args, self.work = name, args, work
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True

    def ok(self, answer: Any = None) -> None:
        self.succeeded.emit(answer)
        self.finished.emit()

    def do(self) -> None:
        """Run the work on the calling thread, and emit its result."""
        assert self.work is not None
        self.ok(self.work())

    def fail(self, error: AppError) -> None:
        self.failed.emit(error)
        self.finished.emit()


class ExperimentHarness:
    """An ExperimentController and its calls; ``kept`` lists the saved trials as (number, order).

    Locks are real; the experiments are not in the history.
    """

    def __init__(self, parent: QObject, monkeypatch: pytest.MonkeyPatch) -> None:
        HistoryStore.open().close()  # lock files are in the directory of the history
        self.calls: list[Call] = []
        self.errors: list[str] = []
        self.kept: list[tuple[int, int]] = []
        self.shown = stored_experiment(0)
        self.number = 1
        self.locked = False
        self.now = ExperimentController(self._submit, self._run, parent)  # type: ignore[arg-type]
        self.now.failed.connect(lambda error: self.errors.append(error.message))
        monkeypatch.setattr(experiment_store, "save_outcome", self._keep)
        monkeypatch.setattr(experiment_store, "start_experiment", self._begin)
        monkeypatch.setattr(experiment_store, "load_experiment", lambda _number: self.shown)

    def _submit(self, verb: str, args: Any) -> Call:
        self.calls.append(Call(verb, args))
        return self.calls[-1]

    def _run(self, name: str, work: Callable[[], Any]) -> Call:
        self.calls.append(Call(name, work=work))
        return self.calls[-1]

    def _begin(self, _plan: Any) -> int:
        if self.locked:
            raise HELD
        return self.number

    def _keep(self, number: int, outcome: TrialOutcome) -> None:
        if self.locked:
            raise HELD
        self.kept.append((number, outcome.order))

    def save_new(self, number: int, save: Call | None = None) -> None:
        """Let the saving of a new experiment succeed with this number in the history."""
        self.number = number
        (save or self.last).do()

    def fail_to_save(self, save: Call | None = None) -> None:
        """Let another program lock the history during a save, the last call if none is given."""
        self.locked = True
        (save or self.last).do()
        self.locked = False

    @property
    def last(self) -> Call:
        return self.calls[-1]

    @property
    def verbs(self) -> list[str]:
        return [call.name for call in self.calls]

    def answer_hello(self, link: str | None = None, *, lock: bool = True) -> None:
        """Answer the request hello, and let the lock of a resumed experiment succeed."""
        facts = LinkFacts(name=link, emulated=True) if link else None
        assert self.last.name == "hello"
        self.last.ok(HelloResult(protocol=1, version="", host="", kernel="", uid=0, link=facts))
        if lock and self.verbs[-1] == "history" and self.now.number:
            self.grant_lock()

    def grant_lock(self, *more: TrialOutcome) -> None:
        """Let the lock succeed; the loaded experiment has these trials of another program in addition."""
        self.shown = dataclasses.replace(self.shown, outcomes=[*self.shown.outcomes, *more])
        self.last.do()

    def load_stored(self, count: int, number: int = 7, plan: Any = PLAN, origin: str = "") -> None:
        self.now.open(number)
        self.shown = stored_experiment(count, number, plan, origin)
        self.last.ok(self.shown)

    def planned(self, plan: Any = PLAN) -> None:
        self.now.make_plan(RECIPE, plan.experiment.share, "quick", None)
        self.last.ok(plan)

    def start_new(self) -> Call:
        """Plan and start an experiment; return the pending call that saves it."""
        self.planned()
        self.now.start()
        self.answer_hello()
        return self.last

    def finish_trial(self, run: Call, place: int) -> None:
        """Emit the event that a trial of a run is done."""
        outcome = msgspec.structs.replace(outcomes()[place], left_s=5.0)
        run.progressed.emit(ExperimentEvent(phase="done", number=place + 1, total=18, outcome=outcome))


def stored_experiment(count: int, number: int = 7, plan: Any = PLAN, origin: str = "") -> StoredExperiment:
    done = [msgspec.structs.replace(one, left_s=9.0) for one in outcomes()[:count]]
    return StoredExperiment(number=number, started_at="", plan=plan, outcomes=done, origin=origin)


def resume_stored(world: ExperimentHarness, done: int) -> Call:
    """Load and resume an experiment with this number of finished trials; return the running call."""
    world.load_stored(done)
    world.now.resume(None)
    world.answer_hello()
    return world.last

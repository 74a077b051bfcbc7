"""Late answers: the result of an outdated request is neither shown nor used for the present selection."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from experiment_harness import SEARCHED, Call, ExperimentHarness
from experiment_steps import show_studies
from fake_experiments import PLAN, SETS, outcomes
from fake_host import configured, mounted
from PySide6.QtWidgets import QCheckBox, QComboBox, QInputDialog, QLabel, QLineEdit, QPushButton, QTableView
from waiting import DEADLINE_S

from advisor.recommendation import MeasuredOption
from app.errors import AppError, ErrorKind
from app.experiment.model import ExperimentEvent
from app.history import experiment_store, queries
from app.history.experiment_lock import is_experiment_locked
from app.history.experiment_store import ExperimentSummary
from ui.experiments import results as experiment_results
from ui.experiments.recipe_dialog import RecipeDialog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from driver import Driver
    from fake_host import FakeHost
    from PySide6.QtWidgets import QApplication

    from app.mounts.model import MountTable
    from app.service.server import Context

HERE, THERE = "nas01:/export/home", "nas01:/media"
HELD = AppError(ErrorKind.UNAVAILABLE, "The history is busy.")


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


class Gate:
    """Wrapper of a function whose calls block, continue or fail when the test decides."""

    def __init__(self, real: Callable[..., Any]) -> None:
        self._real = real
        self._open = threading.Event()
        self._open.set()
        self._error: AppError | None = None
        self.waiting = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.waiting += 1
        self._open.wait(DEADLINE_S)
        self.waiting -= 1
        if self._error is not None:
            raise self._error
        return self._real(*args, **kwargs)

    def shut(self) -> None:
        self._open.clear()

    def open(self, error: AppError | None = None) -> None:
        self._error = error
        self._open.set()


def kept(factor: str) -> int:
    """Save an experiment with one factor; return its number."""
    sets = [msgspec.structs.replace(one, levels={factor: one.levels["rsize"]}) for one in SETS[::2]]
    plan = msgspec.structs.replace(PLAN, sets=sets, trials=9)
    number = experiment_store.start_experiment(plan)
    done = [one for one in outcomes() if one.levels["nconnect"] == "1"]
    for order, one in enumerate(done):
        levels = {factor: one.levels["rsize"]}
        experiment_store.save_outcome(number, msgspec.structs.replace(one, levels=levels, order=order))
    return number


def choose(driver: Driver, name: str, data: object) -> None:
    box = driver.find(QComboBox, name)
    assert isinstance(box, QComboBox)
    driver.wait(lambda: box.findData(data) > 0)
    box.setCurrentIndex(box.findData(data))
    box.activated.emit(box.currentIndex())


def ranking(driver: Driver) -> str:
    """Return the option set of the first row of the ranking."""
    table = driver.find(QTableView, "experiment-ranking")
    assert isinstance(table, QTableView)
    model = table.model()
    return " ".join(str(model.index(0, column).data()) for column in range(model.columnCount()))


@pytest.mark.parametrize("error", [None, HELD], ids=["late", "failed"])
def test_a_ranking_does_not_stand_below_another_experiment(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, error: AppError | None
) -> None:
    first, second = kept("rsize"), kept("wsize")
    gate = Gate(experiment_results.analyze)
    monkeypatch.setattr(experiment_results, "analyze", gate)
    driver.open()
    driver.tab("Experiments")
    results = driver.window._detail.experiment._results

    def offered(number: int) -> bool:
        """Return whether the settings of a set of this experiment can be used for the mount."""
        return not results._use_problem(experiment_store.load_experiment(number).plan.sets[-1].levels)

    choose(driver, "experiment-earlier", first)
    driver.wait(lambda: offered(first))
    assert "1048576" in ranking(driver) or "1 MiB" in ranking(driver)
    gate.shut()
    choose(driver, "experiment-earlier", second)
    driver.wait(lambda: f"Experiment {second}" in driver.text_of("experiment-ended"))
    assert not offered(second)
    assert "None" in ranking(driver)
    gate.open(error)
    if error is None:
        driver.wait(lambda: offered(second))
    else:
        driver.wait(lambda: driver.sees("experiment-warn"))
        assert not offered(second)


def test_what_is_left_of_another_share_s_experiment_is_not_offered(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ExperimentSummary(
        number=3, started_at="2026-03-01T10:00:00+00:00", title="Sizes", done=1, planned=9, unfinished=True
    )
    gate = Gate(lambda share: [line] if share == HERE else [])
    monkeypatch.setattr(experiment_store, "experiments_of_share", gate)
    driver.open()
    driver.window._mounts.choose(HERE, "/home")
    driver.tab("Experiments")
    driver.wait(lambda: driver.sees("experiment-continue"))
    gate.shut()
    driver.window._mounts.choose(THERE, "/media")
    assert not driver.sees("experiment-continue")
    assert not driver.find(QComboBox, "experiment-earlier").isEnabled()
    gate.open()


def test_what_cannot_be_read_of_a_share_that_was_left_is_not_told(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(lambda _share: [])
    monkeypatch.setattr(experiment_store, "experiments_of_share", gate)
    gate.shut()
    driver.open()
    driver.window._mounts.choose(HERE, "/home")
    driver.tab("Experiments")
    driver.wait(lambda: gate.waiting == 1)
    driver.tab("Settings")
    driver.window._mounts.choose(THERE, "/media")
    gate.open(HELD)
    driver.wait(lambda: gate.waiting == 0)
    driver.qtbot.wait(50)
    assert driver.message() == ""


def test_an_experiment_of_one_s_own_runs_on_the_share_that_it_was_made_for(
    driver: Driver, fake: FakeHost
) -> None:
    fake.mounts = [mounted(HERE, "/home"), configured(THERE, "/media")]
    driver.open()
    driver.tab("Experiments")
    choose_recipe = driver.find(QComboBox, "experiment-recipe")
    assert isinstance(choose_recipe, QComboBox)
    driver.wait(lambda: choose_recipe.count() >= 5)
    show_studies(driver)
    driver.click("experiment-change")
    driver.wait(lambda: driver.window.findChild(RecipeDialog) is not None)
    dialog = driver.window.findChild(RecipeDialog)
    assert dialog is not None
    fake.set_mounts([configured(THERE, "/media")])
    driver.wait(lambda: driver.window._detail.place == (THERE, "/media"))
    run = dialog.findChild(QPushButton, "recipe-run")
    assert run is not None
    driver.wait(run.isEnabled)
    run.click()
    driver.wait(lambda: fake.asked("experiment.plan") != [])
    assert fake.asked("experiment.plan")[0].experiment.share == HERE


def test_a_recipe_that_is_asked_for_twice_is_opened_once(driver: Driver) -> None:
    driver.open()
    driver.tab("Experiments")
    recipes = driver.find(QComboBox, "experiment-recipe")
    assert isinstance(recipes, QComboBox)
    driver.wait(lambda: recipes.count() >= 5)
    for _ in range(2):
        show_studies(driver)
        driver.click("experiment-change")
    driver.wait(lambda: driver.window.findChild(RecipeDialog) is not None)
    driver.qtbot.wait(100)
    assert len(driver.window.findChildren(RecipeDialog)) == 1


def test_a_search_of_the_history_that_was_given_up_tells_nothing(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, go, ended = queries.find_runs, threading.Event(), threading.Event()

    def look(text: str, share: str) -> Any:
        if text:
            return real(text, share)
        go.wait(DEADLINE_S)
        ended.set()
        raise HELD

    monkeypatch.setattr(queries, "find_runs", look)
    driver.open()
    driver.tab("History")
    words = driver.find(QLineEdit, "history-words")
    assert isinstance(words, QLineEdit)
    words.setText("rsize")
    driver.wait(lambda: driver.text_of("history-count") == "No test contains these words.")
    go.set()
    driver.wait(ended.is_set)
    driver.qtbot.wait(50)
    assert driver.message() == ""


def test_what_was_measured_on_a_share_that_was_left_is_looked_up_when_it_is_shown_again(
    driver: Driver, fake: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = MeasuredOption(option="rsize", value="4096", status="confirmed", text="It was faster.")
    asked: list[str] = []
    go = threading.Event()

    def learned(share: str, _link: str) -> Sequence[MeasuredOption]:
        asked.append(share)
        if asked == [HERE]:
            go.wait(DEADLINE_S)
            raise HELD
        return (found,) if share == HERE else ()

    monkeypatch.setattr(queries, "load_findings", learned)
    fake.mounts = [mounted(HERE, "/home"), mounted(THERE, "/media")]
    driver.open()
    driver.window._mounts.choose(HERE, "/home")
    driver.wait(lambda: asked == [HERE])
    driver.window._mounts.choose(THERE, "/media")
    driver.wait(lambda: THERE in asked)
    go.set()
    driver.qtbot.wait(50)
    assert driver.message() == ""
    driver.window._mounts.choose(HERE, "/home")
    driver.wait(lambda: asked.count(HERE) == 2)
    driver.wait(lambda: fake.asked("advice.get")[-1].measured == (found,))


@pytest.mark.parametrize("begun", ["test", "mount"])
def test_why_a_host_went_away_is_not_covered_by_what_it_took_along(
    driver: Driver, fake: FakeHost, begun: str
) -> None:
    broken = threading.Event()

    def listed(args: Any, context: Context) -> MountTable:
        if not args.watch:
            return real(args, context)
        context.emit(real(type(args)(), context))
        broken.wait(DEADLINE_S)
        raise AppError(ErrorKind.IO, "The mounts could not be read any more.")

    real = fake.list
    fake.list = listed  # type: ignore[assignment]
    fake.mounts = [mounted()] if begun == "test" else [configured()]
    driver.open()
    fake.hold.clear()
    if begun == "test":
        driver.tab("Test")
        driver.wait(driver.find(QPushButton, "start").isEnabled)
        driver.click("start")
    else:
        driver.click("mount")
    driver.wait(lambda: fake.asked(f"{'test.run' if begun == 'test' else 'mounts.mount'}") != [])
    broken.set()
    driver.wait(lambda: driver.message() == "The mounts could not be read any more.")
    driver.wait(lambda: all(future.done() for future in driver.window.session._closing))
    driver.qtbot.wait(50)
    assert driver.message() == "The mounts could not be read any more."


def searched_and_left(world: ExperimentHarness) -> Call:
    """Reset the controller while the plan of a search is being saved; return the pending call."""
    world.now.search(HERE, "", 60.0, None)
    run = world.last
    run.progressed.emit(ExperimentEvent(phase="warm-up", number=0, total=0, plan=SEARCHED))
    begin = world.last
    world.finish_trial(run, 0)
    world.now.reset()
    return begin


def test_the_trials_of_a_search_that_was_left_are_kept_once_it_is_in_the_history(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = ExperimentHarness(qapp, monkeypatch)
    begin = searched_and_left(world)
    world.save_new(7, begin)
    world.last.do()
    assert world.kept == [(7, 0)]
    assert not is_experiment_locked(7)
    assert (world.now.number, world.now.plan) == (0, None)


def test_a_search_that_was_left_and_could_not_be_kept_is_told_and_stops_no_other_start(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = ExperimentHarness(qapp, monkeypatch)
    begin = searched_and_left(world)
    second = world.start_new()
    world.fail_to_save(begin)
    assert (world.errors, world.now.state) == ([HELD.message], "running")
    world.save_new(8, second)
    assert (world.now.number, world.last.name) == (8, "experiment.run")


def test_a_test_of_a_share_without_a_mount_point_is_named_where_it_is_not_shown(
    driver: Driver, fake: FakeHost
) -> None:
    driver.open()
    driver.window._draft("nas02:/b", "")
    driver.tab("Test")
    fake.hold.clear()
    driver.click("start")
    driver.wait(lambda: fake.asked("test.run") != [])
    driver.window._mounts.choose(HERE, "/home")
    assert driver.text_of("plan").startswith("A test of nas02:/b is running")


def test_what_was_written_of_one_experiment_is_not_said_of_another(driver: Driver, tmp_path: Path) -> None:
    first, second = kept("rsize"), kept("wsize")
    driver.open()
    driver.tab("Experiments")
    choose(driver, "experiment-earlier", first)
    driver.wait(lambda: f"Experiment {first}" in driver.text_of("experiment-ended"))
    driver.window._detail.experiment._results.export_clicked.emit("csv")
    dialog = driver.window.findChild(QInputDialog, "history-ask")
    assert dialog is not None
    dialog.setTextValue(str(tmp_path / "raw.csv"))
    dialog.accept()
    driver.wait(lambda: "Saved " in driver.text_of("experiment-ended"))
    choose(driver, "experiment-earlier", second)
    driver.wait(lambda: f"Experiment {second}" in driver.text_of("experiment-ended"))
    assert "Saved " not in driver.text_of("experiment-ended")
    choose(driver, "experiment-earlier", first)
    driver.wait(lambda: f"Experiment {first}" in driver.text_of("experiment-ended"))


def test_what_was_tried_is_not_taken_back_by_facts_that_come_late(
    driver: Driver, fake: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(fake.facts)
    monkeypatch.setattr(fake, "facts", gate)
    driver.open()
    driver.tab("Experiments")
    recipes = driver.find(QComboBox, "experiment-recipe")
    assert isinstance(recipes, QComboBox)
    driver.wait(lambda: recipes.count() >= 5)
    driver.wait(lambda: gate.waiting == 0)
    gate.shut()
    show_studies(driver)
    driver.click("experiment-change")
    driver.wait(lambda: driver.window.findChild(RecipeDialog) is not None)
    dialog = driver.window.findChild(RecipeDialog)
    assert dialog is not None
    wanted, told = dialog.findChild(QCheckBox, "recipe-try"), dialog.findChild(QLabel, "recipe-told")
    assert wanted is not None
    assert told is not None
    wanted.setChecked(True)
    driver.wait(lambda: fake.asked("experiment.plan") != [])
    driver.wait(lambda: "18 trials" in told.text())
    gate.open()
    driver.wait(lambda: gate.waiting == 0)
    driver.qtbot.wait(100)
    assert "18 trials" in told.text()
    assert "If every set" not in told.text()


def test_another_share_that_is_mounted_at_the_same_place_is_another_watch(
    driver: Driver, fake: FakeHost
) -> None:
    fake.mounts = [mounted("nas01:/a", "/mnt")]
    driver.open()
    driver.tab("Live")
    driver.wait(lambda: len(fake.asked("stats.watch")) == 1)
    fake.set_mounts([mounted("nas02:/b", "/mnt")])
    driver.wait(lambda: driver.window._detail.place == ("nas02:/b", "/mnt"))
    driver.wait(lambda: len(fake.asked("stats.watch")) == 2)

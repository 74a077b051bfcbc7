"""The Experiment tab: a recipe is planned, run, kept, resumed, ranked, and put to use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from fake_experiments import PLAN, outcomes
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QComboBox,
    QInputDialog,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QTableView,
    QTableWidget,
    QTabWidget,
    QWidget,
)

from advisor.experiment_tables import matrices
from app.bench.environment import Environment
from app.bench.experiment import keeping
from app.bench.experiment.findings import figures_in, find
from app.bench.experiment.model import SEARCH
from app.history import desk
from app.history.store import HistoryStore
from ui.models.figure_words import written
from ui.widgets.heat_map import HeatMap
from ui.widgets.sentences import Sentences
from ui.widgets.surface_view import SurfaceView

if TYPE_CHECKING:
    from pathlib import Path

    from driver import Driver
    from fake_host import FakeHost
    from pytestqt.qtbot import QtBot


#: On no link of the lab.
HERE = msgspec.structs.replace(PLAN, environment=Environment(host="testhost"))


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def combo(driver: Driver, name: str) -> QComboBox:
    found = driver.find(QComboBox, name)
    assert isinstance(found, QComboBox)
    return found


def said(driver: Driver, name: str) -> list[str]:
    found = driver.find(Sentences, name)
    assert isinstance(found, Sentences)
    return found.sentences()


def opened(driver: Driver) -> None:
    driver.open()
    driver.tab("Experiment")
    driver.wait(lambda: combo(driver, "experiment-recipe").count() >= 5)


def within(driver: Driver, text: str) -> None:
    """Choose how long it may take."""
    budget = combo(driver, "experiment-budget")
    assert budget.findText(text) >= 0
    budget.setCurrentIndex(budget.findText(text))


def look_at_earlier(driver: Driver) -> None:
    """Open the latest of the history."""
    earlier = combo(driver, "experiment-earlier")
    driver.wait(lambda: earlier.count() == 2)
    earlier.setCurrentIndex(1)
    earlier.activated.emit(1)


def planned(driver: Driver) -> None:
    opened(driver)
    driver.click("experiment-plan")
    driver.wait(lambda: driver.sees("experiment-start"))


def test_the_five_studies_are_offered_with_what_they_found(driver: Driver) -> None:
    opened(driver)
    recipe = combo(driver, "experiment-recipe")
    assert recipe.count() == 6
    for place in range(5):
        recipe.setCurrentIndex(place)
        assert driver.sees("experiment-study")
    driver.click("experiment-study")
    driver.window.grab()


def test_a_plan_strikes_out_what_cannot_be_measured(driver: Driver, fake: FakeHost) -> None:
    planned(driver)
    (args,) = fake.asked("experiment.plan")
    assert args.experiment.share == "nas01:/export/home"
    assert "18 trials" in driver.text_of("experiment-plan-text")
    view = driver.find(QWidget, "experiment-plan-view")
    struck = [label for label in view.findChildren(QLabel) if label.font().strikeOut()]
    assert ["2" in label.text() for label in struck] == [True]


def test_it_runs_is_kept_and_ranked(driver: Driver, fake: FakeHost) -> None:
    planned(driver)
    driver.click("experiment-start")
    driver.wait(lambda: "18 of 18 trials" in driver.text_of("experiment-ended"))
    driver.wait(lambda: any("cannot be told apart" in text for text in said(driver, "experiment-ok")))
    with HistoryStore.open() as store:
        (row,) = store.experiments()
        driver.wait(lambda: len(store.experiment(row.id).outcomes) == 18)
    table = driver.find(QTableView, "experiment-ranking")
    assert isinstance(table, QTableView)
    assert table.model().rowCount() == 6
    places = [table.model().index(row, 0).data() for row in range(6)]
    assert places == ["1", "2  (like 1)", "3", "4  (like 3)", "5", "6  (like 5)"]
    counted = driver.find(QCheckBox, "experiment-counted")
    assert isinstance(counted, QCheckBox)
    counted.setChecked(True)
    driver.wait(lambda: any("counted in" in text for text in said(driver, "experiment-info")))
    driver.window.grab()
    driver.click("experiment-use")
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    assert tabs.tabText(tabs.currentIndex()) == "Settings"
    assert "rsize=1048576" in driver.window.findChild(QLineEdit, "options").text()  # type: ignore[union-attr]
    assert fake.asked("mounts.apply") == []
    # The advisor knows it from now on, in another session too.
    driver.wait(lambda: len(desk.learned("nas01:/export/home", "gigabit")) == 1)
    (finding,) = desk.learned("nas01:/export/home", "gigabit")
    assert (finding.option, finding.value, finding.status) == ("rsize", "1048576", "confirmed")
    driver.wait(lambda: fake.asked("advice.get")[-1].measured == (finding,))


def test_a_stopped_run_goes_on_later(driver: Driver, fake: FakeHost) -> None:
    fake.experiment = HERE
    planned(driver)
    fake.hold.clear()
    driver.click("experiment-start")
    driver.wait(lambda: driver.sees("experiment-stop"))
    driver.wait(lambda: "Trial 1 of 18" in driver.text_of("experiment-progress"))
    bar = driver.find(QProgressBar, "experiment-bar")
    assert isinstance(bar, QProgressBar)
    assert (bar.value(), bar.maximum()) == (0, 18)
    driver.click("experiment-stop")
    driver.wait(lambda: not driver.sees("experiment-stop"))
    fake.hold.set()
    earlier = combo(driver, "experiment-earlier")
    driver.wait(lambda: earlier.count() == 2)
    driver.click("experiment-start")
    driver.wait(lambda: "18 of 18 trials" in driver.text_of("experiment-ended"))


def test_the_best_setting_is_looked_for(driver: Driver, fake: FakeHost) -> None:
    opened(driver)
    recipe = combo(driver, "experiment-recipe")
    recipe.setCurrentIndex(5)
    assert not driver.sees("experiment-size")
    driver.click("experiment-plan")
    driver.wait(lambda: any(text.startswith("Best: vers=4.2") for text in said(driver, "experiment-ok")))
    (args,) = fake.asked("experiment.best")
    assert (args.share, args.budget_s, args.budget_bytes) == ("nas01:/export/home", 300.0, None)
    driver.wait(lambda: "Search 1 of the history: 18 trials" in driver.text_of("experiment-ended"))
    assert not driver.sees("experiment-start")
    with HistoryStore.open() as store:
        driver.wait(lambda: len(store.experiment(1).outcomes) == 18)


def test_a_search_may_be_limited_in_bytes(driver: Driver, fake: FakeHost) -> None:
    opened(driver)
    combo(driver, "experiment-recipe").setCurrentIndex(5)
    within(driver, "10 GiB over the network")
    driver.click("experiment-plan")
    driver.wait(lambda: bool(fake.asked("experiment.best")))
    (args,) = fake.asked("experiment.best")
    assert (args.budget_bytes, args.budget_s) == (10 * 2**30, 86400.0)
    combo(driver, "experiment-recipe").setCurrentIndex(0)
    assert combo(driver, "experiment-budget").findText("10 GiB over the network") < 0


def stopped(recipe: str, *, link: str | None = None) -> None:
    """Keep one that was stopped after five trials."""
    experiment = msgspec.structs.replace(PLAN.experiment, recipe=recipe, title="Sizes")
    environment = Environment(host="testhost", emulated_link=link)
    number = keeping.begin(msgspec.structs.replace(PLAN, experiment=experiment, environment=environment))
    for outcome in outcomes()[:5]:
        keeping.keep(number, msgspec.structs.replace(outcome, left_s=10.0 if recipe == SEARCH else None))


def test_an_unfinished_one_is_offered_and_gone_on_with(driver: Driver, fake: FakeHost) -> None:
    stopped("")
    opened(driver)
    driver.wait(lambda: driver.sees("experiment-continue"))
    assert "“Sizes”" in driver.text_of("experiment-unfinished")
    assert "5 of 18 trials" in driver.text_of("experiment-unfinished")
    driver.click("experiment-continue")
    driver.wait(lambda: "18 of 18 trials" in driver.text_of("experiment-ended"))
    (args,) = fake.asked("experiment.run")
    assert len(args.done) == 5
    assert not driver.sees("experiment-continue")


def test_an_unfinished_search_is_gone_on_with(driver: Driver, fake: FakeHost) -> None:
    stopped(SEARCH)
    opened(driver)
    driver.wait(lambda: driver.sees("experiment-continue"))
    driver.click("experiment-continue")
    driver.wait(lambda: any(text.startswith("Best: vers=4.2") for text in said(driver, "experiment-ok")))
    (args,) = fake.asked("experiment.search")
    assert len(args.done) == 5
    answer = driver.find(QTableWidget, "experiment-answer")
    assert isinstance(answer, QTableWidget)
    names = [item.text() for row in range(2) if (item := answer.item(row, 0)) is not None]
    assert names == ["Best", "Kernel's default"]
    assert driver.text_of("experiment-dropped") == "▸ Dropped: 1"
    driver.click("experiment-dropped")
    driver.window.grab()


def test_what_a_stopped_search_has_found_is_told(driver: Driver) -> None:
    stopped(SEARCH)
    opened(driver)
    look_at_earlier(driver)
    driver.wait(lambda: any("rsize=1048576" in text for text in said(driver, "experiment-warn")))
    assert any(text.startswith("Too few trials to tell") for text in said(driver, "experiment-warn"))
    assert driver.sees("experiment-answer")
    assert driver.sees("experiment-start")  # it can be gone on with


def test_it_is_gone_on_with_over_the_same_link_only(driver: Driver, fake: FakeHost) -> None:
    stopped("", link="wan")
    opened(driver)
    driver.wait(lambda: driver.sees("experiment-continue"))
    driver.click("experiment-continue")
    driver.wait(lambda: "lab's link wan" in driver.message())
    assert fake.asked("experiment.run") == []


def test_an_earlier_one_is_gone_on_with_over_the_same_link_only(driver: Driver, fake: FakeHost) -> None:
    stopped("", link="wan")
    opened(driver)
    look_at_earlier(driver)
    driver.wait(lambda: driver.sees("experiment-start"))
    driver.click("experiment-start")
    driver.wait(lambda: "lab's link wan" in driver.message())
    assert fake.asked("experiment.run") == []


def test_stop_counts_before_the_first_trial_too(driver: Driver, fake: FakeHost) -> None:
    planned(driver)
    experimenting = driver.window._detail.experiment._experimenting
    experimenting.start()
    experimenting.cancel()  # while it is being written into the history
    driver.wait(lambda: not experimenting.busy)
    assert experimenting.number == 1
    assert fake.asked("experiment.run") == []
    assert driver.sees("experiment-start")


def test_the_time_chosen_limits_the_run_and_what_is_left_of_it(driver: Driver, fake: FakeHost) -> None:
    fake.experiment = HERE
    opened(driver)
    within(driver, "15 minutes")
    driver.click("experiment-plan")
    driver.wait(lambda: driver.sees("experiment-start"))
    fake.hold.clear()
    driver.click("experiment-start")
    driver.wait(lambda: "Trial 1 of 18" in driver.text_of("experiment-progress"))
    driver.click("experiment-stop")
    driver.wait(lambda: driver.sees("experiment-start"))
    fake.hold.set()
    driver.click("experiment-start")
    driver.wait(lambda: "18 of 18 trials" in driver.text_of("experiment-ended"))
    assert [args.budget_s for args in fake.asked("experiment.run")] == [900.0, 900.0]


def test_the_time_chosen_limits_one_of_the_history(driver: Driver, fake: FakeHost) -> None:
    stopped("")
    opened(driver)
    driver.wait(lambda: driver.sees("experiment-continue"))
    within(driver, "2 minutes")
    driver.click("experiment-continue")
    driver.wait(lambda: "18 of 18 trials" in driver.text_of("experiment-ended"))
    assert [args.budget_s for args in fake.asked("experiment.run")] == [120.0]


def test_an_earlier_one_is_looked_at(driver: Driver) -> None:
    number = keeping.begin(PLAN)
    for outcome in outcomes():
        keeping.keep(number, outcome)
    opened(driver)
    look_at_earlier(driver)
    driver.wait(lambda: bool(said(driver, "experiment-ok")))
    assert not driver.sees("experiment-start")


def test_an_experiment_is_written_to_a_file(driver: Driver, tmp_path: Path) -> None:
    planned(driver)
    driver.click("experiment-start")
    driver.wait(lambda: "18 of 18 trials" in driver.text_of("experiment-ended"))
    button = driver.find(QPushButton, "experiment-export")
    assert isinstance(button, QPushButton)
    driver.wait(button.isEnabled)
    for action, kind in zip(button.menu().actions(), ("html", "csv", "xlsx", "json"), strict=True):
        action.trigger()
        driver.wait(lambda: driver.window.findChild(QInputDialog, "history-ask") is not None)
        dialog = driver.window.findChild(QInputDialog, "history-ask")
        assert dialog is not None
        file = tmp_path / f"out.{kind}"
        dialog.setTextValue(str(file))
        dialog.accept()
        driver.wait(lambda file=file: str(file) in driver.text_of("experiment-ended"))
        assert file.stat().st_size > 500
        driver.wait(lambda: driver.window.findChild(QInputDialog, "history-ask") is None)


def test_a_recipe_of_one_s_own(driver: Driver) -> None:
    opened(driver)
    driver.click("experiment-change")
    driver.wait(lambda: driver.sees("recipe-as-text"))
    driver.click("recipe-as-text")
    text = driver.window.findChild(QPlainTextEdit, "recipe-text")
    assert text is not None
    whole = text.toPlainText()
    text.setPlainText("title = ")
    assert not driver.find(QWidget, "recipe-save").isEnabled()
    text.setPlainText(whole)
    driver.click("recipe-save")
    recipe = combo(driver, "experiment-recipe")
    driver.wait(lambda: recipe.count() == 7)
    assert "your own" in recipe.currentText()


def test_findings_of_a_full_factorial() -> None:
    assert figures_in(outcomes(), "a file") == ["write", "write_total_s", "unmount_s", "timeouts"]
    found = find(PLAN, outcomes(), "write", "a file", written=written)
    assert found.ranking.standings[0].levels["rsize"] == "1048576"
    assert [matrix.row_factor for matrix in found.matrices] == ["rsize"]
    assert any("no difference that counts" in text for _tone, text in found.said)


def test_heat_map_and_surface(qtbot: QtBot) -> None:
    (matrix,) = matrices(outcomes(), "rsize", "nconnect", "write")
    heat, surface = HeatMap(), SurfaceView()
    for widget in (heat, surface):
        qtbot.addWidget(widget)
        widget.show_matrix(matrix)
        widget.resize(500, 300)
    for part in (heat.horizontalHeader(), heat.verticalHeader(), heat.findChild(QAbstractButton)):
        assert part is not None
        assert part.accessibleName()
        widget.show()
    item = heat.item(2, 0)
    assert item is not None
    assert item.text() == "111 MB/s"
    before = surface.grab().toImage()
    surface.turn(0.3)
    assert surface.grab().toImage() != before

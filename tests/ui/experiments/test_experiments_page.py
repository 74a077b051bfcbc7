"""Experiments page: plan, run, save and rank a recipe, and use its settings."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import msgspec
from experiment_steps import (
    choose_limit,
    combo,
    confirm_use,
    confirmation_text,
    open_page,
    plan_first_recipe,
    sentences_of,
    show_studies,
    use_action,
    use_settings,
)
from fake_experiments import PLAN, SETS, outcomes
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QInputDialog,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QTableView,
    QTabWidget,
    QWidget,
)

from advisor.experiment.tables import matrices
from app.errors import AppError, ErrorKind
from app.experiment.analysis import analyze, figures_in
from app.experiment.model import OptionSet
from app.history import experiment_store, queries
from app.history.store import HistoryStore
from ui.common.figure_text import with_unit
from ui.experiments.charts import HeatMap, SurfaceView
from ui.experiments.interval_chart import IntervalChart
from ui.experiments.use_settings import ChosenSet

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from driver import Driver
    from fake_host import FakeHost
    from pytestqt.qtbot import QtBot

    from advisor.experiment.measurements import TrialOutcome


def test_the_five_studies_are_offered_with_what_they_found(driver: Driver) -> None:
    open_page(driver)
    recipe = combo(driver, "experiment-recipe")
    assert recipe.count() == 6
    for place in range(5):
        recipe.setCurrentIndex(place)
        assert driver.sees("experiment-study")
    show_studies(driver)
    driver.click("experiment-study")
    driver.window.grab()


def test_a_plan_strikes_out_what_cannot_be_measured(driver: Driver, fake: FakeHost) -> None:
    plan_first_recipe(driver)
    (args,) = fake.asked("experiment.plan")
    assert args.experiment.share == "nas01:/export/home"
    assert "18 trials" in driver.text_of("experiment-plan-text")
    view = driver.find(QWidget, "experiment-plan-view")
    struck = [label for label in view.findChildren(QLabel) if label.font().strikeOut()]
    assert ["2" in label.text() for label in struck] == [True]


def test_it_runs_is_kept_and_ranked(driver: Driver, fake: FakeHost) -> None:
    plan_first_recipe(driver, "gigabit")
    driver.click("experiment-start")
    driver.wait(lambda: "18 of 18 trials" in driver.text_of("experiment-ended"))
    driver.wait(lambda: "Read size: 1 MiB is " in driver.text_of("experiment-headline"))
    assert any("No significant difference" in text for text in sentences_of(driver, "experiment-summary"))
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
    driver.wait(
        lambda: any("including the time to sync" in text for text in sentences_of(driver, "experiment-info"))
    )
    driver.window.grab()
    # The check box applies only to speeds of transfers, not to the unmount time.
    figure = combo(driver, "experiment-figure")
    for name, can in (("unmount_s", False), ("write", True)):
        figure.setCurrentIndex(figure.findData(name))
        figure.activated.emit(figure.currentIndex())
        assert counted.isEnabled() == can
    use_settings(driver, SETS[4].levels)
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    assert tabs.tabText(tabs.currentIndex()) == "Settings"
    # Only the varied options, not the others of the set.
    options = driver.window.findChild(QLineEdit, "options")
    assert options is not None
    assert "rsize=1048576" in options.text()
    assert "vers=4.2" not in options.text()
    assert fake.asked("mounts.apply") == []
    # The advisor uses the measurement in this and in later sessions.
    driver.wait(lambda: len(queries.load_findings("nas01:/export/home", "gigabit")) == 1)
    (finding,) = queries.load_findings("nas01:/export/home", "gigabit")
    assert (finding.option, finding.value, finding.status) == ("rsize", "1048576", "confirmed")
    driver.wait(lambda: fake.asked("advice.get")[-1].measured == (finding,))


def test_the_best_setting_is_looked_for(driver: Driver, fake: FakeHost) -> None:
    open_page(driver)
    recipe = combo(driver, "experiment-recipe")
    recipe.setCurrentIndex(5)
    assert not driver.sees("experiment-size")
    show_studies(driver)
    driver.click("experiment-plan")
    driver.wait(lambda: "faster than the present setting" in driver.text_of("experiment-headline"))
    # The gain of the re-test, not the 450% of the search.
    assert "99% faster" in driver.text_of("experiment-headline")
    assert any(
        text.startswith("Tested again in 6 rounds") for text in sentences_of(driver, "experiment-summary")
    )
    (args,) = fake.asked("experiment.best")
    assert (args.share, args.budget_s, args.budget_bytes) == ("nas01:/export/home", 300.0, None)
    driver.wait(lambda: "Search 1 of the history: 18 trials" in driver.text_of("experiment-ended"))
    assert not driver.sees("experiment-start")
    with HistoryStore.open() as store:
        driver.wait(lambda: len(store.experiment(1).outcomes) == 18)


def test_a_search_may_be_limited_in_bytes(driver: Driver, fake: FakeHost) -> None:
    open_page(driver)
    combo(driver, "experiment-recipe").setCurrentIndex(5)
    choose_limit(driver, "10 GiB over the network")
    show_studies(driver)
    driver.click("experiment-plan")
    driver.wait(lambda: bool(fake.asked("experiment.best")))
    (args,) = fake.asked("experiment.best")
    assert (args.budget_bytes, args.budget_s) == (10 * 2**30, 86400.0)
    combo(driver, "experiment-recipe").setCurrentIndex(0)
    assert combo(driver, "experiment-budget").findText("10 GiB over the network") < 0


def test_a_plan_is_run_over_the_link_that_it_was_made_for_only(driver: Driver, fake: FakeHost) -> None:
    plan_first_recipe(driver, "gigabit")
    driver.window.open_host("fast-ethernet")
    driver.wait(lambda: driver.window.session.key == "fast-ethernet")
    driver.click("experiment-start")
    driver.wait(lambda: "planned over the lab's link gigabit" in driver.message())
    assert fake.asked("experiment.run") == []
    with HistoryStore.open() as store:
        assert store.experiments() == []


def look_at_media(driver: Driver) -> None:
    """Select another share in the list."""
    assert driver.window._mounts.choose("nas01:/media", "/media")
    detail = driver.window._detail
    driver.wait(lambda: detail._mount is not None and detail._mount.share == "nas01:/media")


def test_what_was_measured_of_another_share_is_not_used(driver: Driver, fake: FakeHost) -> None:
    plan_first_recipe(driver)
    fake.hold.clear()
    driver.click("experiment-start")
    driver.wait(lambda: driver.sees("experiment-stop"))
    look_at_media(driver)
    fake.hold.set()
    driver.wait(lambda: "18 of 18 trials on nas01:/export/home" in driver.text_of("experiment-ended"))
    driver.wait(lambda: bool(sentences_of(driver, "experiment-info")))
    driver.wait(lambda: "measured on nas01:/export/home" in use_action(driver, SETS[4].levels)[1])
    assert not use_action(driver, SETS[4].levels)[0].isEnabled()
    assert "Share: nas01:/export/home." in driver.text_of("experiment-plan-text")


def test_what_was_measured_is_learned_of_its_share(driver: Driver) -> None:
    plan_first_recipe(driver)
    driver.click("experiment-start")
    driver.wait(lambda: "18 of 18 trials" in driver.text_of("experiment-ended"))
    driver.wait(lambda: not use_action(driver, SETS[4].levels)[1])
    # Settings edited in the form were not measured.
    driver.window._detail.settings.load_entry("nas01:/other", "/home", "vers=4.2")
    use_settings(driver, SETS[4].levels)
    driver.wait(lambda: len(queries.load_findings("nas01:/export/home", "")) == 1)
    assert queries.load_findings("nas01:/other", "") == ()


def test_a_plan_says_of_which_share_it_is(driver: Driver, fake: FakeHost) -> None:
    open_page(driver)
    fake.hold.clear()
    show_studies(driver)
    driver.click("experiment-plan")
    driver.wait(lambda: bool(fake.asked("experiment.plan")))
    look_at_media(driver)
    fake.hold.set()
    driver.wait(lambda: driver.sees("experiment-start"))
    assert "Share: nas01:/export/home." in driver.text_of("experiment-plan-text")


def test_a_readahead_of_nothing_is_taken_too(driver: Driver) -> None:
    open_page(driver)
    detail = driver.window._detail
    request = detail.settings.request()
    detail.settings.load_entry(request.share, request.mount_point, request.options, 4096)
    sets = [
        OptionSet(levels={"read_ahead_kb": level}, options="", read_ahead_kb=int(level))
        for level in ("128", "0")
    ]
    plan = msgspec.structs.replace(PLAN, sets=sets)
    detail._on_use_set(ChosenSet(plan, sets[1], "It was measured.", (), request.share, ""))
    confirm_use(driver)
    assert detail.settings.request().read_ahead_kb == 0


def flat(here: FakeHost) -> None:
    """Give all sets the same speed, except for noise, also in the re-test."""
    chance = random.Random(4)
    here.outcomes = [
        msgspec.structs.replace(one, figures=one.figures | {"write": 80e6 * chance.lognormvariate(0, 0.03)})
        for one in here.outcomes
    ]
    here.again = {"8192": 80e6, "1048576": 80e6}


def test_where_nothing_is_proven_nothing_is_claimed_or_chosen(driver: Driver, fake: FakeHost) -> None:
    flat(fake)
    plan_first_recipe(driver)
    driver.click("experiment-start")
    driver.wait(
        lambda: "No difference found. Keep the present setting." in driver.text_of("experiment-headline")
    )
    table = driver.find(QTableView, "experiment-ranking")
    assert isinstance(table, QTableView)
    assert table.model().rowCount() == 6
    assert not table.selectionModel().hasSelection()
    assert driver.window.findChild(QPushButton, "experiment-use") is None
    # The action is in the menu of a row, and its confirmation repeats the evidence.
    driver.wait(lambda: not use_action(driver, SETS[4].levels)[1])
    use, _why = use_action(driver, SETS[4].levels)
    assert use.isEnabled()
    use.trigger()
    assert "Not proven: " in confirmation_text(driver)
    heat = driver.window.findChild(HeatMap)
    assert heat is not None
    background_colors = {
        item.background().color().name()
        for row in range(heat.rowCount()) for column in range(heat.columnCount())
        if (item := heat.item(row, column)) is not None
    }  # fmt: skip
    assert len(background_colors) == 1  # without significant differences the map has one color
    driver.window.grab()


def test_a_search_whose_winner_gains_nothing_when_it_is_tested_again(driver: Driver, fake: FakeHost) -> None:
    fake.again = {"8192": 80e6, "1048576": 80e6}
    open_page(driver)
    combo(driver, "experiment-recipe").setCurrentIndex(5)
    show_studies(driver)
    driver.click("experiment-plan")
    driver.wait(
        lambda: "No difference found. Keep the present setting." in driver.text_of("experiment-headline")
    )
    assert any(
        "The search had put it at +450%" in text for text in sentences_of(driver, "experiment-summary")
    )
    driver.wait(lambda: "Search 1 of the history" in driver.text_of("experiment-ended"))
    # Sets that were not re-tested cannot be used.
    driver.wait(lambda: not use_action(driver, SETS[4].levels)[1])
    use, why = use_action(driver, SETS[2].levels)
    assert not use.isEnabled()
    assert "not tested again" in why


def test_the_axes_of_the_tables_can_be_chosen(driver: Driver) -> None:
    plan_first_recipe(driver)
    driver.click("experiment-start")
    driver.wait(lambda: driver.sees("experiment-chart-section"))
    driver.click("experiment-chart-section")
    driver.wait(lambda: driver.sees("experiment-rows"))
    rows, columns = combo(driver, "experiment-rows"), combo(driver, "experiment-columns")
    assert (rows.currentData(), columns.currentData()) == ("rsize", "nconnect")
    rows.setCurrentIndex(rows.findData("nconnect"))
    rows.activated.emit(rows.currentIndex())
    assert (rows.currentData(), columns.currentData()) == ("nconnect", "rsize")

    def turned() -> bool:
        heats = [one for one in driver.window.findChildren(HeatMap) if one.isVisible()]
        return [(one.rowCount(), one.columnCount()) for one in heats] == [(2, 3)]

    driver.wait(turned)


def test_trials_that_are_not_in_the_history_are_counted(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = experiment_store.save_outcome

    def fails_at_the_last(number: int, outcome: TrialOutcome) -> None:
        if outcome.order == 17:
            raise AppError(ErrorKind.UNAVAILABLE, "The history is held.")
        keep(number, outcome)

    monkeypatch.setattr(experiment_store, "save_outcome", fails_at_the_last)
    plan_first_recipe(driver)
    driver.click("experiment-start")
    driver.wait(lambda: "1 of the trials are not in it" in driver.text_of("experiment-ended"))
    assert driver.message().startswith("The history is held.")
    assert len(experiment_store.load_experiment(1).outcomes) == 17


def test_an_experiment_is_written_to_a_file(driver: Driver, tmp_path: Path) -> None:
    plan_first_recipe(driver)
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
    open_page(driver)
    show_studies(driver)
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
    found = analyze(PLAN, outcomes(), "write", "a file", written=with_unit)
    assert found.ranking.standings[0].levels["rsize"] == "1048576"
    assert [matrix.row_factor for matrix in found.matrices] == ["rsize"]
    assert any("No relevant difference" in text for _tone, text in found.said)
    alone = msgspec.structs.replace(PLAN.experiment, strategy="one-at-a-time")
    plan = msgspec.structs.replace(PLAN, experiment=alone)
    assert analyze(plan, outcomes(), "write", "a file", written=with_unit).matrices == []


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


# Questions


def test_the_page_begins_with_questions(driver: Driver) -> None:
    driver.open()
    driver.tab("Experiment")
    driver.wait(lambda: driver.sees("question-versions"))
    assert driver.sees("question-fastest")
    assert driver.sees("question-attribute-caching")
    assert not driver.sees("experiment-recipe")
    assert not driver.sees("experiment-back")


def test_a_question_is_planned_and_started_by_one_click(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Experiment")
    driver.wait(lambda: driver.sees("question-versions"))
    driver.click("question-versions")
    driver.wait(lambda: "18 of 18 trials" in driver.text_of("experiment-ended"))
    (args,) = fake.asked("experiment.plan")
    assert args.experiment.recipe == "versions"
    assert args.budget_s == 300.0
    assert not driver.sees("question-versions")
    assert driver.text_of("experiment-title") == PLAN.experiment.title
    driver.click("experiment-back")
    assert driver.sees("question-versions")
    assert not driver.sees("experiment-headline")


def test_the_fastest_settings_are_found_and_used(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Experiment")
    minutes = combo(driver, "question-minutes")
    minutes.setCurrentIndex(minutes.findText("At most 15 min"))
    driver.click("question-fastest")
    driver.wait(lambda: driver.sees("experiment-use-proven"))
    assert driver.text_of("experiment-title") == "Find the Fastest Settings"
    (args,) = fake.asked("experiment.best")
    assert args.budget_s == 900.0
    assert not driver.sees("experiment-longer")
    chart = driver.find(IntervalChart, "experiment-chart")
    assert isinstance(chart, IntervalChart)
    lines = chart.accessibleDescription().splitlines()
    assert lines[0].startswith("Winner: ")
    assert any(line.startswith("Now: ") for line in lines)
    driver.wait(lambda: not use_action(driver, SETS[4].levels)[1])
    driver.click("experiment-use-proven")
    confirm_use(driver)
    assert driver.window._detail.settings.dirty


def test_without_proof_more_trials_are_offered_instead_of_settings(driver: Driver, fake: FakeHost) -> None:
    flat(fake)
    driver.open()
    driver.tab("Experiment")
    driver.wait(lambda: driver.sees("question-versions"))
    driver.click("question-versions")
    driver.wait(lambda: "No difference found." in driver.text_of("experiment-headline"))
    driver.wait(lambda: driver.sees("experiment-longer"))
    assert not driver.sees("experiment-use-proven")
    driver.click("experiment-longer")
    driver.wait(lambda: len(fake.asked("experiment.plan")) == 2)
    first, second = fake.asked("experiment.plan")
    assert second.budget_s is None
    assert second.experiment.repeats == 2 * PLAN.experiment.repeats
    assert second.experiment.recipe == first.experiment.recipe
    driver.wait(lambda: driver.sees("experiment-longer"))

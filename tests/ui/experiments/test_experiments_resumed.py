"""Experiments page: resume stopped experiments, and show saved ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiment_steps import (
    choose_limit,
    combo,
    load_earlier,
    open_page,
    plan_first_recipe,
    save_stopped,
    sentences_of,
    show_studies,
)
from fake_experiments import PLAN, outcomes
from PySide6.QtWidgets import QProgressBar, QPushButton, QTableWidget

from advisor.speeds import SpeedUnit
from app.experiment.model import SEARCH_NAME
from app.history import experiment_store, queries
from app.history.database import default_path
from app.report.export import save_experiment

if TYPE_CHECKING:
    from pathlib import Path

    from driver import Driver
    from fake_host import FakeHost


def test_a_stopped_run_goes_on_later(driver: Driver, fake: FakeHost) -> None:
    plan_first_recipe(driver)
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


def test_an_unfinished_one_is_offered_and_gone_on_with(driver: Driver, fake: FakeHost) -> None:
    save_stopped("")
    open_page(driver)
    driver.wait(lambda: driver.sees("experiment-continue"))
    assert "“Sizes”" in driver.text_of("experiment-unfinished")
    assert "5 of 18 trials" in driver.text_of("experiment-unfinished")
    driver.click("experiment-continue")
    driver.wait(lambda: "18 of 18 trials" in driver.text_of("experiment-ended"))
    (args,) = fake.asked("experiment.run")
    assert len(args.done) == 5
    assert not driver.sees("experiment-continue")


def test_an_unfinished_search_is_gone_on_with(driver: Driver, fake: FakeHost) -> None:
    save_stopped(SEARCH_NAME)
    open_page(driver)
    driver.wait(lambda: driver.sees("experiment-continue"))
    driver.click("experiment-continue")
    driver.wait(lambda: "faster than the present setting" in driver.text_of("experiment-headline"))
    (args,) = fake.asked("experiment.search")
    assert len(args.done) == 5
    answer = driver.find(QTableWidget, "experiment-answer")
    assert isinstance(answer, QTableWidget)
    names = [item.text() for row in range(2) if (item := answer.item(row, 0)) is not None]
    assert names == ["Winner, tested again", "Now, tested again"]
    assert driver.text_of("experiment-dropped") == "Dropped: 1"
    driver.click("experiment-dropped")
    driver.window.grab()


def test_what_a_stopped_search_has_found_is_told(driver: Driver) -> None:
    save_stopped(SEARCH_NAME)
    open_page(driver)
    load_earlier(driver)
    driver.wait(lambda: driver.text_of("experiment-headline").startswith("Nothing is proven: "))
    assert any(
        text.startswith("A re-test takes 4 rounds") for text in sentences_of(driver, "experiment-warn")
    )
    driver.click("experiment-ranking-section")
    assert driver.sees("experiment-answer")
    assert driver.sees("experiment-start")  # it can be resumed


def test_it_is_gone_on_with_over_the_same_link_only(driver: Driver, fake: FakeHost) -> None:
    save_stopped("", link="wan")
    open_page(driver)
    driver.wait(lambda: driver.sees("experiment-continue"))
    driver.click("experiment-continue")
    driver.wait(lambda: "lab's link wan" in driver.message())
    assert fake.asked("experiment.run") == []


def test_an_earlier_one_is_gone_on_with_over_the_same_link_only(driver: Driver, fake: FakeHost) -> None:
    save_stopped("", link="wan")
    open_page(driver)
    load_earlier(driver)
    driver.wait(lambda: driver.sees("experiment-start"))
    driver.click("experiment-start")
    driver.wait(lambda: "lab's link wan" in driver.message())
    assert fake.asked("experiment.run") == []


def test_an_imported_one_is_not_started(driver: Driver, tmp_path: Path) -> None:
    save_stopped("")
    file = tmp_path / "desk.json"
    save_experiment(1, str(file), "json", SpeedUnit.BYTES)
    default_path().unlink()
    queries.import_file(str(file))
    open_page(driver)
    load_earlier(driver)
    driver.wait(lambda: "Imported from desk.json" in driver.text_of("experiment-ended"))
    assert "5 of 18 trials" in driver.text_of("experiment-ended")
    assert not driver.sees("experiment-start")
    driver.wait(driver.find(QPushButton, "experiment-export").isEnabled)


def test_the_time_chosen_limits_the_run_and_what_is_left_of_it(driver: Driver, fake: FakeHost) -> None:
    open_page(driver)
    choose_limit(driver, "At most 15 min")
    show_studies(driver)
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
    save_stopped("")
    open_page(driver)
    driver.wait(lambda: driver.sees("experiment-continue"))
    choose_limit(driver, "At most 2 min")
    driver.click("experiment-continue")
    driver.wait(lambda: "18 of 18 trials" in driver.text_of("experiment-ended"))
    assert [args.budget_s for args in fake.asked("experiment.run")] == [120.0]


def test_an_earlier_one_is_looked_at(driver: Driver) -> None:
    number = experiment_store.start_experiment(PLAN)
    for outcome in outcomes():
        experiment_store.save_outcome(number, outcome)
    open_page(driver)
    load_earlier(driver)
    driver.wait(lambda: bool(driver.text_of("experiment-headline")))
    assert not driver.sees("experiment-start")

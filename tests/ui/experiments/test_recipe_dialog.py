"""Recipe dialog: edit a recipe as form or text, estimate, probe, save and run it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
import pytest
from fake_experiments import PLAN
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from app.errors import AppError, ErrorKind
from app.experiment.recipe_store import find_recipe, readable_recipes, user_recipe_directory
from ui.experiments import live_estimate
from ui.experiments.factor_picker import factor_choices, find_factors
from ui.experiments.plan_view import ExcludedLevels
from ui.experiments.recipe_dialog import RecipeDialog
from ui.experiments.recipe_form import RecipeForm

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost
    from pytestqt.qtbot import QtBot

    from app.experiment.recipes import Recipe

W = TypeVar("W", bound=QWidget)


class Writer:
    """Actions of a user in the recipe dialog."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        driver.open()
        driver.tab("Experiments")
        driver.wait(lambda: self.recipes.count() >= 6)
        driver.click("experiment-new")
        driver.wait(lambda: driver.window.findChild(RecipeDialog) is not None)
        found = driver.window.findChild(RecipeDialog)
        assert found is not None
        self.dialog = found

    @property
    def recipes(self) -> QComboBox:
        found = self.driver.find(QComboBox, "experiment-recipe")
        assert isinstance(found, QComboBox)
        return found

    def find(self, kind: type[W], name: str) -> W:
        found = self.dialog.findChild(kind, name)
        assert found is not None, name
        return found

    def tick(self, words: str) -> None:
        """Search for a factor and check the first match, with the keyboard."""
        search = self.find(QLineEdit, "factor-search")
        search.setText(words)
        QTest.keyClick(search, Qt.Key.Key_Return)
        search.clear()

    def press(self, name: str) -> None:
        button = self.find(QPushButton, name)
        self.driver.wait(button.isEnabled)
        button.click()

    def told(self, words: str) -> None:
        self.driver.wait(lambda: words in self.find(QLabel, "recipe-told").text())

    def look(self, name: str) -> None:
        folder = os.environ.get("MOUNTWRIGHT_PICTURES")
        if folder:
            assert self.dialog.grab().save(str(Path(folder, f"{name}.png")))


@pytest.fixture
def writer(driver: Driver) -> Writer:
    return Writer(driver)


def test_it_is_made_estimated_kept_and_run(writer: Writer, driver: Driver, fake: FakeHost) -> None:
    writer.told("Tick at least one thing")
    assert not writer.find(QPushButton, "recipe-run").isEnabled()
    writer.tick("readahead")
    writer.tick("transport")
    # Levels that the facts exclude are struck out at once and not counted.
    writer.told("3 option sets, 1 workload, 3 repeats")
    udp = writer.find(QCheckBox, "level-proto-udp")
    assert udp.font().strikeOut()
    assert "CONFIG_NFS_DISABLE_UDP_SUPPORT" in udp.toolTip()
    levels = writer.find(QLineEdit, "levels-read_ahead_kb")
    levels.setText("128, many")
    writer.told("“many” is not a number.")
    levels.setText("128, 4096")
    writer.find(QLineEdit, "recipe-title").setText("Reading ahead")
    writer.look("recipe")
    assert writer.find(QLineEdit, "recipe-name").text() == "reading-ahead"
    writer.press("recipe-save")
    driver.wait(lambda: "Reading ahead (your own)" in writer.recipes.currentText())
    recipe = find_recipe("reading-ahead")
    assert [factor.levels for factor in recipe.factor] == [["128", "4096"], ["tcp", "udp"]]
    assert fake.asked("experiment.plan") == []


def test_it_runs_at_once_if_nothing_is_struck_out(writer: Writer, driver: Driver, fake: FakeHost) -> None:
    fake.experiment = msgspec.structs.replace(PLAN, struck=[])
    writer.tick("rsize")
    writer.press("recipe-run")
    driver.wait(lambda: "18 of 18 trials" in driver.text_of("experiment-ended"))
    (args,) = fake.asked("experiment.plan")
    assert [factor.name for factor in args.experiment.factors] == ["rsize"]
    assert (args.experiment.workloads[0].size, args.experiment.title) == (16 * 2**20, "My experiment")


def test_it_waits_if_something_is_struck_out(writer: Writer, driver: Driver, fake: FakeHost) -> None:
    writer.tick("rsize")
    writer.press("recipe-run")
    driver.wait(lambda: driver.sees("experiment-start"))
    assert fake.asked("experiment.run") == []


def test_every_set_is_tried_on_the_share_while_it_is_made(
    writer: Writer, driver: Driver, fake: FakeHost
) -> None:
    writer.tick("rsize")
    writer.find(QCheckBox, "recipe-try").setChecked(True)
    driver.wait(lambda: len(fake.asked("experiment.plan")) == 1)
    writer.told("18 trials with those of the baseline")
    # A newer recipe cancels the running probe of the older one.
    fake.hold.clear()
    writer.find(QLineEdit, "levels-rsize").setText("4096, 8192")
    driver.wait(lambda: len(fake.asked("experiment.plan")) == 2)
    writer.find(QLineEdit, "levels-rsize").setText("4096, 16384")
    fake.hold.set()
    driver.wait(lambda: len(fake.asked("experiment.plan")) == 3)
    assert fake.asked("experiment.plan")[-1].experiment.factors[0].levels == ["4096", "16384"]
    assert fake.asked("experiment.run") == []


def test_an_estimate_that_fails_leaves_no_older_one(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    writer.tick("rsize")
    writer.told("If every set can be mounted")

    def fail(*_args: object) -> None:
        raise AppError(ErrorKind.IO, "The estimate failed.")

    monkeypatch.setattr(live_estimate, "possible_factors", fail)
    writer.find(QLineEdit, "levels-rsize").setText("4096, 8192")
    writer.told("The estimate failed.")


def test_form_and_text_are_one_recipe(writer: Writer, driver: Driver) -> None:
    writer.tick("connections")
    writer.press("recipe-as-text")
    text = writer.find(QPlainTextEdit, "recipe-text")
    whole = text.toPlainText()
    assert 'name = "nconnect"' in whole
    text.setPlainText("title = ")
    assert not writer.find(QPushButton, "recipe-save").isEnabled()
    assert not writer.find(QPushButton, "recipe-as-text").isEnabled()
    text.setPlainText(whole.replace('"1", "2", "4", "8"', '"1", "16"'))
    writer.told("2 option sets")
    writer.press("recipe-as-text")
    driver.wait(lambda: writer.find(QLineEdit, "levels-nconnect").text() == "1, 16")
    writer.find(QLineEdit, "levels-nconnect").setText("1, 17")
    driver.wait(lambda: not writer.find(QPushButton, "recipe-save").isEnabled())


def test_a_recipe_that_cannot_be_read_is_named_and_hides_no_other(driver: Driver) -> None:
    user_recipe_directory().mkdir(parents=True)
    (user_recipe_directory() / "broken.toml").write_text("title = ")
    driver.open()
    driver.tab("Experiments")
    driver.wait(lambda: "broken.toml" in driver.message())
    offered = driver.find(QComboBox, "experiment-recipe")
    assert isinstance(offered, QComboBox)
    assert offered.count() == 6  # five studies and the search


@pytest.mark.parametrize("recipe", readable_recipes(), ids=[recipe.name for recipe in readable_recipes()])
def test_the_form_loses_nothing_of_a_study(recipe: Recipe, qtbot: QtBot) -> None:
    form = RecipeForm()
    qtbot.addWidget(form)
    form.set_recipe(recipe)
    assert form.recipe() == recipe
    assert form.problem() == ""


def test_tab_goes_down_the_form(qtbot: QtBot) -> None:
    form = RecipeForm()
    qtbot.addWidget(form)
    form.set_recipe(readable_recipes()[1])
    form.show()
    names: list[str] = []
    stop = form.findChild(QWidget, "recipe-title")
    while stop is not None and stop.objectName() != "recipe-options" and len(names) < 100:
        names.append(stop.objectName())
        stop = stop.nextInFocusChain()
    wanted = ["recipe-title", "recipe-text", "levels-transfer_size", "base-transfer_size",
              "quick-transfer_size", "levels-block_size", "work-kind", "work-name", "work-add",
              "recipe-strategy", "recipe-repeats"]  # fmt: skip
    assert [name for name in names if name in wanted] == wanted


def test_what_is_offered_can_be_measured() -> None:
    names = [choice.name for choice in factor_choices()]
    assert len(names) == len(set(names)) > 40
    assert not {"ro", "auto", "_netdev", "context"} & set(names)
    for choice in factor_choices():
        assert choice.help
        assert choice.start
        assert bool(choice.offered) != bool(choice.hint)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("parallel", "nconnect"),
        ("read ahead", "read_ahead_kb"),
        ("files at once", "streams"),
        ("udp", "proto"),
    ],
)
def test_factors_are_found_by_what_people_call_them(query: str, name: str) -> None:
    assert name in find_factors(query)


def test_struck_levels_have_their_reason(qtbot: QtBot) -> None:
    shown = ExcludedLevels()
    qtbot.addWidget(shown)
    shown.show_excluded(PLAN.struck)
    labels = shown.findChildren(QLabel)
    assert [label.font().strikeOut() for label in labels] == [True, False]
    shown.show_excluded([])
    assert shown.isHidden()

"""Narrow window (760 px): nothing scrolls horizontally, and nothing widens the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiment_steps import show_studies
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QComboBox, QDialog, QTableView
from sample_results import result
from settings_steps import show_all

from app.history.model import Run
from app.history.store import HistoryStore
from ui.history.table import DIFFERENCE, READ, REMARKS, SETTINGS, SHARE, WHAT, WHEN, WRITE
from ui.settings.text_section import CommandView

if TYPE_CHECKING:
    from pathlib import Path

    from driver import Driver
    from fake_host import FakeHost

_WIDTH = 760
#: Text without spaces that is longer than any line, so that it cannot wrap at a space.
_LONG = "vers=4.2,rsize=1048576,wsize=1048576,nconnect=4,timeo=600,retrans=2,acregmin=3,acregmax=60,hard"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with HistoryStore.open() as store:
        for day, share in enumerate(("nas01:/export/home", "nas01:/export/home", "zeus.example.org:/b"), 1):
            at = f"2026-03-0{day}T10:00:00+00:00"
            store.add(Run(result=result([90e6] * 3, [91e6] * 3, share=share, path="/home", started_at=at)))


def narrow(driver: Driver, tab: str) -> None:
    driver.open()
    driver.window.resize(_WIDTH, 640)
    driver.tab(tab)


def fits(driver: Driver) -> None:
    """Assert that no visible scroll area scrolls horizontally."""
    QApplication.processEvents()
    assert driver.window.width() == _WIDTH
    for area in driver.window.findChildren(QAbstractScrollArea):
        # A wrapped command line may have a trailing space beyond the edge.
        if area.isVisible() and not isinstance(area, CommandView):
            bar = area.horizontalScrollBar()
            assert not bar.maximum(), (type(area).__name__, area.objectName(), bar.maximum())


def test_settings(driver: Driver) -> None:
    narrow(driver, "Settings")
    driver.window._detail.settings.load_entry("", "", _LONG)
    fits(driver)
    show_all(driver.window._detail.settings)
    fits(driver)
    driver.click("as-text")
    fits(driver)
    assert _LONG in driver.text_of("command")


def test_advice(driver: Driver) -> None:
    narrow(driver, "Overview")
    driver.wait(lambda: driver.window._detail.overview._result is not None)
    fits(driver)


def test_quick_test(driver: Driver) -> None:
    narrow(driver, "Test")
    driver.wait(lambda: bool(driver.text_of("plan")))
    fits(driver)
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    fits(driver)


def test_experiment(driver: Driver, fake: FakeHost) -> None:
    narrow(driver, "Experiments")
    recipe = driver.find(QComboBox, "experiment-recipe")
    assert isinstance(recipe, QComboBox)
    driver.wait(lambda: recipe.count() >= 5)
    for place in range(5):
        recipe.setCurrentIndex(place)
        fits(driver)
    show_studies(driver)
    driver.click("experiment-plan")
    driver.wait(lambda: driver.sees("experiment-start"))
    fits(driver)
    driver.click("experiment-start")
    driver.wait(lambda: driver.sees("experiment-statistics"))
    driver.click("experiment-statistics")
    driver.wait(lambda: driver.sees("experiment-effects"))
    fits(driver)


def test_a_recipe_s_form(driver: Driver) -> None:
    narrow(driver, "Experiments")
    recipe = driver.find(QComboBox, "experiment-recipe")
    assert isinstance(recipe, QComboBox)
    driver.wait(lambda: recipe.count() >= 5)
    recipe.setCurrentIndex(2)
    show_studies(driver)
    driver.click("experiment-change")
    driver.wait(lambda: driver.sees("recipe"))
    dialog = driver.find(QDialog, "recipe")
    assert isinstance(dialog, QDialog)
    dialog.resize(dialog.minimumSizeHint())
    fits(driver)
    dialog.reject()


def test_live(driver: Driver) -> None:
    narrow(driver, "Live")
    fits(driver)


def test_history(driver: Driver) -> None:
    narrow(driver, "History")
    table = driver.find(QTableView, "history")
    assert isinstance(table, QTableView)
    driver.wait(lambda: table.model().rowCount() == 2)
    fits(driver)
    assert table.isColumnHidden(SHARE)
    assert not any(table.isColumnHidden(column) for column in (WHEN, SETTINGS, WRITE, READ))
    table.selectRow(0)
    driver.wait(lambda: driver.sees("history-title"))
    fits(driver)
    scope = driver.find(QComboBox, "history-scope")
    assert isinstance(scope, QComboBox)
    scope.setCurrentIndex(1)
    driver.wait(lambda: table.model().rowCount() == 3)
    fits(driver)
    shown = [column for column in range(8) if not table.isColumnHidden(column)]
    assert WHAT not in shown
    assert {WHEN, SHARE, WRITE, READ} < set(shown)
    driver.window.resize(1280, 800)
    QApplication.processEvents()
    assert [column for column in range(8) if table.isColumnHidden(column)] == [DIFFERENCE, REMARKS]

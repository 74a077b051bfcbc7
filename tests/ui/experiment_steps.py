"""Steps on the experiments page: open, plan, load earlier experiments, use their settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from fake_experiments import PLAN, outcomes
from PySide6.QtWidgets import QComboBox, QMessageBox, QPushButton

from app.experiment.model import SEARCH_NAME
from app.history import experiment_store
from app.speedtest.model import Environment
from ui.common.message_list import MessageList

if TYPE_CHECKING:
    from driver import Driver
    from PySide6.QtGui import QAction


def combo(driver: Driver, name: str) -> QComboBox:
    """Return a combo box of the page by its object name."""
    found = driver.find(QComboBox, name)
    assert isinstance(found, QComboBox)
    return found


def sentences_of(driver: Driver, name: str) -> list[str]:
    """Return the sentences of a message list by its object name."""
    found = driver.find(MessageList, name)
    assert isinstance(found, MessageList)
    return found.sentences()


def open_page(driver: Driver, host: str = "") -> None:
    """Open a host and the experiments page, and wait for the recipes."""
    driver.open(host)
    driver.tab("Experiments")
    driver.wait(lambda: combo(driver, "experiment-recipe").count() >= 5)
    show_studies(driver)


def unfold(driver: Driver, section: str, part: str) -> None:
    """Unfold a section of the page, unless the part of it is visible."""
    if not driver.sees(part):
        driver.click(section)


def show_studies(driver: Driver) -> None:
    """Unfold the form with the published studies and the recipes of the user."""
    unfold(driver, "experiment-studies", "experiment-recipe")


def plan_first_recipe(driver: Driver, host: str = "") -> None:
    """Open the page and plan its first recipe."""
    open_page(driver, host)
    driver.click("experiment-plan")
    driver.wait(lambda: driver.sees("experiment-start"))


def choose_limit(driver: Driver, text: str) -> None:
    """Choose a limit by its text."""
    budget = combo(driver, "experiment-budget")
    assert budget.findText(text) >= 0
    budget.setCurrentIndex(budget.findText(text))


def load_earlier(driver: Driver) -> None:
    """Load the only earlier experiment of the list."""
    earlier = combo(driver, "experiment-earlier")
    driver.wait(lambda: earlier.count() == 2)
    earlier.setCurrentIndex(1)
    earlier.activated.emit(1)


def save_stopped(recipe: str, *, link: str | None = None) -> None:
    """Save an experiment that was stopped after five trials."""
    experiment = msgspec.structs.replace(PLAN.experiment, recipe=recipe, title="Sizes")
    environment = Environment(host="testhost", emulated_link=link)
    number = experiment_store.start_experiment(
        msgspec.structs.replace(PLAN, experiment=experiment, environment=environment)
    )
    for outcome in outcomes()[:5]:
        experiment_store.save_outcome(
            number, msgspec.structs.replace(outcome, left_s=10.0 if recipe == SEARCH_NAME else None)
        )


def use_action(driver: Driver, levels: dict[str, str]) -> tuple[QAction, str]:
    """Return the action “Use These Settings” in the menu of a row, and why it is disabled ("" if not)."""
    results = driver.window._detail.experiment._results
    made = results.menu_of(levels)
    use, *why = made.actions()
    return use, why[0].text() if why else ""


def confirmation_text(driver: Driver) -> str:
    """Return the consequence text of the confirmation before settings are used."""
    driver.wait(lambda: driver.window.findChild(QMessageBox, "confirm") is not None)
    box = driver.window.findChild(QMessageBox, "confirm")
    assert box is not None
    return box.informativeText()


def confirm_use(driver: Driver) -> None:
    """Confirm the use of the settings."""
    confirmation_text(driver)
    box = driver.window.findChild(QMessageBox, "confirm")
    button = driver.window.findChild(QPushButton, "confirm-action")
    assert box is not None
    assert button is not None
    button.click()
    driver.wait(lambda: driver.window.findChild(QMessageBox, "confirm") is None)


def use_settings(driver: Driver, levels: dict[str, str]) -> None:
    """Use the settings of an option set by the menu of its row."""
    driver.wait(lambda: not use_action(driver, levels)[1])
    use_action(driver, levels)[0].trigger()
    confirm_use(driver)

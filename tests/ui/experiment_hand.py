"""Opens the Experiment tab, plans, and looks at earlier ones, as a person would."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from fake_experiments import PLAN, outcomes
from PySide6.QtWidgets import QComboBox

from app.bench.environment import Environment
from app.bench.experiment import keeping
from app.bench.experiment.model import SEARCH
from ui.widgets.sentences import Sentences

if TYPE_CHECKING:
    from driver import Driver


def combo(driver: Driver, name: str) -> QComboBox:
    """Return a combo box of the tab."""
    found = driver.find(QComboBox, name)
    assert isinstance(found, QComboBox)
    return found


def said(driver: Driver, name: str) -> list[str]:
    """Return the sentences of a box."""
    found = driver.find(Sentences, name)
    assert isinstance(found, Sentences)
    return found.sentences()


def opened(driver: Driver, host: str = "") -> None:
    """Open the tab, with the recipes in it."""
    driver.open(host)
    driver.tab("Experiment")
    driver.wait(lambda: combo(driver, "experiment-recipe").count() >= 5)


def planned(driver: Driver, host: str = "") -> None:
    """Open the tab and plan what it offers first."""
    opened(driver, host)
    driver.click("experiment-plan")
    driver.wait(lambda: driver.sees("experiment-start"))


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


def stopped(recipe: str, *, link: str | None = None) -> None:
    """Keep one that was stopped after five trials."""
    experiment = msgspec.structs.replace(PLAN.experiment, recipe=recipe, title="Sizes")
    environment = Environment(host="testhost", emulated_link=link)
    number = keeping.begin(msgspec.structs.replace(PLAN, experiment=experiment, environment=environment))
    for outcome in outcomes()[:5]:
        keeping.keep(number, msgspec.structs.replace(outcome, left_s=10.0 if recipe == SEARCH else None))

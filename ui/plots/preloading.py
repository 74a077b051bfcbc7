"""Loads what draws plots while nobody waits for it: the library takes a second or more to import.

On a thread, so that the window goes on meanwhile: the import makes classes and no object of Qt. Whoever wants
a plot before it is done waits for the rest of it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from app.tasks import run_in_thread

if TYPE_CHECKING:
    from concurrent.futures import Future

_MODULES = (
    "ui.plots.factor_plot",
    "ui.plots.expected_plot",
    "ui.plots.live_plot",
    "ui.plots.overlay_plot",
)


def preload() -> Future[None]:
    """Begin to load it; the future ends when it is there."""

    def load() -> None:
        for name in _MODULES:
            importlib.import_module(name)

    return run_in_thread("plots-preload", load)

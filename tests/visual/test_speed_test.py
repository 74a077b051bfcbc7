"""The real window with the real lab: one's own files, a grid, and a share that is not mounted."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit, QMessageBox, QSpinBox, QTabWidget

import resources
from app.speedtest.model import Grid
from ui.common import style, theme
from ui.test import controls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from window_user import WindowUser

    from app.speedtest.model import TestResult

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]


@pytest.fixture
def person(
    at_the_lab: Callable[[str, int, int], AbstractContextManager[WindowUser]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[WindowUser]:
    # The window's own grid takes more than a minute.
    small = partial(Grid, records=(4096,), cell_s=0.3)
    monkeypatch.setattr(controls, "Grid", small)
    # So far away that reading a person's files takes no part of a copy that is worth a note.
    with at_the_lab("rate=100mbit,delay=10ms", 1240, 1000) as made:
        made.sees(QTabWidget).setCurrentWidget(made.window._detail.quick_test)
        yield made


def choose(person: WindowUser, name: str, value: object) -> None:
    panel = person.window._detail.quick_test
    field = panel.findChild(QComboBox, name)
    assert field is not None
    if not field.isVisible():
        person.press(panel, "test-options")
    assert field.isVisible(), name
    field.setCurrentIndex(field.findData(value))


def measured(person: WindowUser) -> TestResult:
    """Start what is chosen and wait for its result."""
    panel = person.window._detail.quick_test
    before = run.result if (run := panel._run()) is not None else None
    person.press(panel, "start")

    def done() -> bool:
        run = panel._run()
        return run is not None and run.result is not None and run.result is not before

    person.wait(done)
    run = panel._run()
    assert run is not None
    person.wait(lambda: run.kept is not None)
    result: TestResult | None = run.result
    assert result is not None
    return result


def look(person: WindowUser, name: str) -> None:
    """Keep a picture in the light and one in the dark."""
    if not person.folder:
        return
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    for appearance in (theme.Appearance.DARK, theme.Appearance.LIGHT):
        style.apply_appearance(app, appearance)
        person.look(person.window, f"{name}-{appearance.name.lower()}")


def test_own_files_a_grid_and_a_share_that_is_not_mounted(person: WindowUser) -> None:
    window, panel = person.window, person.window._detail.quick_test
    folder = Path(resources.__file__).parent / "recipes"
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]

    # One's own files, there and back.
    choose(person, "what", "own")
    choose(person, "duration", "")
    repeats, source = panel.findChild(QSpinBox, "repeats"), panel.findChild(QLineEdit, "source")
    assert repeats is not None
    assert source is not None
    repeats.setValue(1)
    source.setText(str(folder))
    person.wait(lambda: f"These are {len(sizes)} files" in panel._plan.text())
    look(person, "own-ready")
    own = measured(person)
    assert (own.count, own.notes) == (len(sizes), [])
    assert own.read is not None
    assert own.read.server_bytes == own.read.bytes == sum(sizes)
    assert own.bottleneck is not None
    look(person, "own")

    # A grid.
    choose(person, "what", "grid")
    choose(person, "direction", "read")
    choose(person, "size", float(4 * 2**20))
    person.wait(lambda: "fio measures 4 cells" in panel._plan.text())
    look(person, "grid-ready")
    grid = measured(person)
    assert all(cell.bottleneck is not None for cell in grid.grid)
    assert grid.bottleneck is not None
    assert panel._result._verdict.isVisible()
    person.press(panel, "test-figures")
    person.wait(lambda: panel._details._grid.rowCount() == 4)
    look(person, "grid")

    # The share once it is not mounted.
    person.press(window, "unmount")
    person.press(person.sees(QMessageBox), "confirm-action")
    person.wait(lambda: (target := panel._target()) is not None and not target.mounted)
    person.sees(QTabWidget).setCurrentWidget(panel)
    choose(person, "what", 0)
    choose(person, "direction", "both")
    choose(person, "duration", "")
    choose(person, "size", float(4 * 2**20))
    repeats.setValue(1)
    person.wait(lambda: "is not mounted. The test uses a private mount" in panel._plan.text())
    look(person, "private-ready")
    private = measured(person)
    assert (private.path, private.nfs, private.notes) == ("", True, [])
    assert private.read is not None
    assert private.read.server_bytes == private.read.bytes == 4 * 2**20
    assert private.bottleneck is not None
    assert window._mounts.current() is None
    look(person, "private")

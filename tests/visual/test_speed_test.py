"""The real window with the real lab: one's own files, a grid, and a share that is not mounted."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit, QMessageBox, QSpinBox, QTabWidget, QWidget

import resources
from app.speedtest.model import Grid
from ui.common import style, theme
from ui.common.figure_text import verdict
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


def in_sight(person: WindowUser, name: str) -> bool:
    widget = person.window.findChild(QWidget, name)
    assert widget is not None, name
    return widget.isVisible() and widget.visibleRegion().boundingRect() == widget.rect()


def test_the_answer_comes_first_at_1000_by_700(
    at_the_lab: Callable[[str, int, int], AbstractContextManager[WindowUser]],
) -> None:
    with at_the_lab("fast-ethernet", 1000, 700) as person:
        window, panel = person.window, person.window._detail.quick_test
        person.sees(QTabWidget).setCurrentWidget(panel)
        person.wait(lambda: panel._planner.plan is not None)
        look(person, "test-ready")
        person.press(panel, "start")
        progress = re.compile(r"(Writing|Reading|Reading in small calls,) [1-6] of 6 · \d+ s left")
        person.wait(lambda: progress.fullmatch(panel._progress.text()) is not None)
        person.wait(lambda: panel._run().timeline.round >= 3)
        assert 0 < panel._bar.value() < panel._bar.maximum()
        assert in_sight(person, "stop-test")
        assert panel._figures.value("write").endswith("MB/s")
        look(person, "test-running")
        person.wait(lambda: in_sight(person, "test-result"))
        for name in ("figure-write", "figure-read", "verdict", "improve", "compare-test"):
            person.wait(partial(in_sight, person, name))
        look(person, "test-answer")
        person.wait(lambda: panel._run().kept is not None)
        result = panel._run().result
        assert result is not None
        assert panel._result._verdict.title() == verdict(result).text
        # The plot is its table, one row for each transfer.
        rows = panel._plot.plot.accessibleDescription().splitlines()
        assert len(rows) == 1 + len(panel._run().timeline.curves)

        # Live, while the mount is copied to: two curves and no red tile but for a reason.
        live = window._detail.live
        person.sees(QTabWidget).setCurrentWidget(live)
        person.wait(lambda: live._window.latest is not None)
        look(person, "live-tiles")

        # The history, with this test selected.
        person.sees(QTabWidget).setCurrentWidget(panel)
        person.press(panel, "compare-test")
        history = window._detail.history
        person.wait(lambda: [row.id for row in history._chosen()][:1] == [panel._run().kept.id])
        person.wait(history._details.isVisible)
        look(person, "history-one")

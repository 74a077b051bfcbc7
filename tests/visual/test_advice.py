"""The real window with the real lab: advice on a long way, taken, applied, and measured before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from person import Person
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QMessageBox, QTabWidget

from app.bench.compare import REPEATS
from ui.dialogs.apply import ApplyDialog
from ui.dialogs.keep import KeepDialog
from ui.hosts import lab_links, open_host
from ui.main_window import MainWindow
from ui.widgets.trial_box import TrialBox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytestqt.qtbot import QtBot

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]


@pytest.fixture
def person(qtbot: QtBot) -> Iterator[Person]:
    window = MainWindow(open_host, lab_links())
    window.resize(1240, 860)
    window.show()
    made = Person(qtbot, window)
    window.open_host("wan")
    made.wait(lambda: window.session.hello is not None and window._drafting, 120)
    made.press(window, "mount")
    made.wait(lambda: window._mounts.current() is not None)
    yield made
    window.close()
    window.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_readahead_over_a_long_way(person: Person) -> None:
    detail = person.window._detail
    tabs = person.sees(QTabWidget)
    person.wait(lambda: detail.advice._result is not None)
    assert tabs.tabText(1).startswith("Advice •")
    tabs.setCurrentWidget(detail.advice)
    person.press(person.window, "try-recommended")
    question = person.sees(QMessageBox)
    person.look(question, "try")
    person.press(question, "confirm-action")

    # Some tests as it is, then the change, with its questions.
    person.wait(lambda: person.window.findChild(ApplyDialog) is not None, 90)
    # By the round trip measured now, which a busy machine makes longer; 128 KiB is what it has.
    wanted = detail.settings.wish().read_ahead_kb
    assert wanted is not None
    assert wanted >= 1024
    dialog = person.sees(ApplyDialog)
    person.press(dialog, "apply-do")
    person.press(person.sees(KeepDialog), "keep-keep")
    person.gone(ApplyDialog)
    active = person.mount().active
    assert active is not None
    person.wait(lambda: (found := person.mount().active) is not None and found.read_ahead_kb == wanted)

    # As many more, and what came out.
    box = person.sees(TrialBox)
    person.wait(lambda: f"median of {REPEATS}" in box._text.text(), 90)
    assert "From the server" in box._text.text()
    lines = box._text.text().splitlines()
    assert any(line.startswith("From the server") and "faster" in line for line in lines), lines
    person.wait(
        lambda: (
            (found := detail.advice._result) is not None
            and found.agreed.get("read_ahead_kb", "").startswith("Your test: ")
        )
    )
    person.wait(lambda: box.height() > 4 * box.fontMetrics().lineSpacing())
    person.look(person.window, "compared")

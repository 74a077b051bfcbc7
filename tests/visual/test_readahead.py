"""The real window with the real lab: a readahead is set, kept for good, and that is undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QPlainTextEdit

from app.lab.udev import find_udevadm
from ui.apply.dialog import ApplyDialog
from ui.apply.questions import KeepDialog
from ui.mounts.readahead import SaveReadaheadDialog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from window_user import WindowUser

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]


@pytest.fixture
def person(at_the_lab: Callable[[str, int, int], AbstractContextManager[WindowUser]]) -> Iterator[WindowUser]:
    if find_udevadm() is None:
        pytest.skip("udevd is not here: ./test unpacks the package udev for the lab on Debian")
    with at_the_lab("gigabit", 1000, 700) as made:
        yield made


def test_a_readahead_is_kept_for_good_and_that_is_undone(person: WindowUser) -> None:
    detail = person.window._detail

    request = detail.settings.request()
    detail.settings.load_entry(request.share, request.mount_point, request.options, 1024)
    person.press(person.window, "apply")
    dialog = person.sees(ApplyDialog)
    person.choose(dialog, "keeper-nowhere")
    person.wait(lambda: dialog._plan is not None)
    person.press(dialog, "apply-do")
    person.press(person.sees(KeepDialog), "keep-keep")
    person.gone(ApplyDialog)
    person.wait(lambda: detail._read_ahead.text() == "Readahead 1 MiB: until unmounted.")
    person.look(person.window, "until-unmounted")

    person.press(person.window, "read-ahead-keep")
    question = person.sees(SaveReadaheadDialog)
    diff = question.findChild(QPlainTextEdit, "save-readahead-diff")
    assert diff is not None
    assert '# Mount point: "/mnt/lab"' in diff.toPlainText()
    person.look(question, "save-readahead")
    person.press(question, "save-readahead-do")
    person.wait(lambda: "saved" in detail._read_ahead.text())
    person.look(person.window, "saved")

    person.press(person.window, "read-ahead-undo")
    person.wait(lambda: detail._read_ahead.text() == "Readahead 1 MiB: until unmounted.")

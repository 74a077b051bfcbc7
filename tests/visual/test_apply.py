"""The real window with the real lab: a change of a live mount is shown, made, taken back, and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QPlainTextEdit

from ui.apply.dialog import ApplyDialog
from ui.apply.questions import KeepDialog
from ui.mounts.actions import RemoveDialog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from window_user import WindowUser

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]


@pytest.fixture
def person(at_the_lab: Callable[[str, int, int], AbstractContextManager[WindowUser]]) -> Iterator[WindowUser]:
    with at_the_lab("gigabit", 1000, 680) as made:
        yield made


def test_a_change_of_a_live_mount(person: WindowUser) -> None:
    assert person.timeo() == "600"

    # Shown, made, and taken back.
    dialog = person.apply("timeo=300", "fstab")
    diff = dialog.findChild(QPlainTextEdit, "plan-diff")
    assert diff is not None
    assert "+10.9.0.1:/export\t/mnt/lab\tnfs\ttimeo=300,_netdev,nofail,nosuid,nodev" in diff.toPlainText()
    person.look(dialog, "apply")
    person.press(dialog, "apply-do")
    question = person.sees(KeepDialog)
    person.wait(lambda: person.timeo() == "300")
    person.look(dialog, "running")
    person.look(question, "keep")
    person.press(question, "keep-close")
    person.gone(ApplyDialog)
    person.wait(lambda: person.timeo() == "600" and person.mount().configured is None)
    assert person.window._banner.message()
    person.look(person.window, "reverted")

    # Nobody answers.
    dialog = person.apply("timeo=300", "fstab")
    person.press(dialog, "apply-do")
    person.sees(KeepDialog)
    person.gone(ApplyDialog)
    person.wait(lambda: person.timeo() == "600" and person.mount().configured is None)

    # Nobody answered, which is told until it is read.
    assert "was not confirmed" in person.window._banner.message()

    # Made and kept.
    dialog = person.apply("timeo=300", "fstab")
    person.press(dialog, "apply-do")
    person.press(person.sees(KeepDialog), "keep-keep")
    person.gone(ApplyDialog)
    person.wait(lambda: person.timeo() == "300" and person.mount().configured is not None)
    configured = person.mount().configured
    assert configured is not None
    assert (configured.origin, configured.options) == ("/etc/fstab", "timeo=300,_netdev,nofail,nosuid,nodev")
    assert "is mounted with these settings" in person.window._banner.message()
    assert not person.window._detail.settings.dirty
    assert "nofail" in person.window._detail.settings.request().options.split(",")
    person.look(person.window, "kept")

    # And taken out of fstab again.
    person.act("forget")
    forget = person.sees(RemoveDialog)
    person.look(forget, "forget")
    person.press(forget, "forget-do")
    person.wait(lambda: person.mount().configured is None)

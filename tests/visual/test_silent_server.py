"""The real window with the real lab: a cut link is told in list and header, and that it is mended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lab_guest import FaultArgs

from ui.mounts.header import MountHeader, ProblemCard
from ui.mounts.list_model import StateRole

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from window_user import WindowUser


pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]


def test_a_cut_link_is_told_since_when_and_so_is_its_end(
    at_the_lab: Callable[[str, int, int], AbstractContextManager[WindowUser]],
) -> None:
    with at_the_lab("gigabit", 1000, 700) as person:
        window = person.window
        told: list[str] = []
        window.notifications._send = lambda _name, title, _body: told.append(title)

        def word() -> str:
            return str(window._mounts.model.first().data(StateRole))

        header, card = window.findChild(MountHeader), window.findChild(ProblemCard)
        assert header is not None
        assert card is not None
        person.wait(lambda: word() == "Mounted")
        window.session.submit("lab.fault", FaultArgs(fault="link-down"))
        person.wait(lambda: word().startswith("Not responding for "))
        person.wait(lambda: header._state.word().startswith("Not responding for "))
        assert card.isVisible()
        person.look(window, "silent-server")
        assert told == ["10.9.0.1 does not answer"]
        window.session.submit("lab.fault", FaultArgs(fault="link-up"))
        person.wait(lambda: word() == "Mounted")
        person.wait(lambda: not card.isVisible())
        assert told == ["10.9.0.1 does not answer", "10.9.0.1 answers again"]

"""The real window with the real lab: a share is mounted for good by three fields and one click."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from ui.actions import Command
from ui.mounts.mount_share import MountShareDialog

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from window_user import WindowUser

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(1200),
    pytest.mark.qt_log_ignore("This plugin does not support"),  # of the list of completions
]


def test_a_share_is_mounted_for_good(
    at_the_lab: Callable[[str, int, int], AbstractContextManager[WindowUser]],
) -> None:
    with at_the_lab("gigabit", 1000, 700) as person:
        person.window._actions[Command.NEW].trigger()
        dialog = person.sees(MountShareDialog)
        # The server of the lab is there already; its directories are asked for.
        server, directory, point = (
            dialog.findChild(QLineEdit, name)
            for name in ("share-server-text", "share-directory-text", "share-mount-point")
        )
        assert server is not None
        assert directory is not None
        assert point is not None
        assert server.text() == "10.9.0.1"
        person.wait(lambda: bool(dialog._exported()))
        person.look(dialog, "mount-share-begun")
        directory.clear()
        directory.setFocus()
        person.qtbot.keyClicks(directory, "/export")
        point.setFocus()
        person.qtbot.keyClicks(point, "")
        assert point.text() == "/mnt/export"
        person.wait(lambda: dialog._plan is not None)
        person.look(dialog, "mount-share")
        person.qtbot.keyClick(point, Qt.Key.Key_Return)
        person.gone(MountShareDialog)
        person.wait(lambda: person.mount().mount_point == "/mnt/export")
        person.wait(lambda: person.mount().active is not None and person.mount().configured is not None)
        configured = person.mount().configured
        assert configured is not None
        assert configured.origin == "/etc/fstab"
        assert {"_netdev", "nofail"} <= set(configured.options.split(","))
        person.look(person.window, "mounted-for-good")

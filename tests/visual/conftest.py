"""A real window with a real mount in the lab."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from window_user import WindowUser

from ui.common.session import lab_links, open_host
from ui.main_window import MainWindow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from pytestqt.qtbot import QtBot


@pytest.fixture
def at_the_lab(qtbot: QtBot) -> Callable[..., AbstractContextManager[WindowUser]]:
    """Opens a window of a size on a link of the lab and mounts its share, with these options."""

    @contextmanager
    def opened(link: str, width: int, height: int, options: str = "") -> Iterator[WindowUser]:
        window = MainWindow(open_host, lab_links())
        window.resize(width, height)
        window.show()
        made = WindowUser(qtbot, window)
        window.open_host(link)
        made.wait(lambda: window.session.hello is not None and window._drafting)
        if options:
            request = window._detail.settings.request()
            window._detail.settings.load_entry(request.share, request.mount_point, options)
        made.press(window, "mount")
        made.wait(lambda: window._mounts.current() is not None)
        yield made
        window.close()
        window.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    return opened

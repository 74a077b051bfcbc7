"""Interrupted changes: reports those that ended with an earlier run of the program, one after the other."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.mounts.change_model import DismissArgs

if TYPE_CHECKING:
    from app.mounts.model import InterruptedChange, MountTable
    from ui.common.banner import Banner
    from ui.common.session import HostSession


class InterruptedChanges(QObject):
    """Shows each interrupted change once a start; the next start shows it again unless it was dismissed.

    Args:
        banner: the message area. What it shows already is not taken away.
        session: the host, which lists the changes.
        parent: of Qt.
    """

    def __init__(self, banner: Banner, session: HostSession, parent: QObject) -> None:
        super().__init__(parent)
        self._banner = banner
        self._session = session
        self._waiting: list[InterruptedChange] = []
        self._seen: set[str] = set()
        session.table_changed.connect(self._on_table)
        session.starting.connect(self._on_starting)
        banner.closed.connect(self._show_next)

    def _on_starting(self, _key: str) -> None:
        self._waiting = []  # of the host that is left
        self._seen.clear()

    def _on_table(self, table: MountTable) -> None:
        self._waiting = [change for change in table.interrupted if change.id not in self._seen]
        self._show_next()

    def _show_next(self) -> None:
        if not self._waiting or not self._banner.isHidden():
            return
        change = self._waiting.pop(0)
        self._seen.add(change.id)
        self._banner.show_warning(
            change.message,
            change.hint,
            change.detail,
            action_text=self.tr("Dismiss &Report"),
            action=partial(self._dismiss, change),
        )

    def _dismiss(self, change: InterruptedChange) -> None:
        call = self._session.submit("mounts.dismiss", DismissArgs(id=change.id))
        call.failed.connect(self._session.trouble)

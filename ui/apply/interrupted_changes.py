"""Interrupted changes: warnings about changes during which an earlier run of the program ended."""

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
    """Shows each interrupted change once per program start, one at a time, until it is dismissed.

    Args:
        banner: message area; a warning waits until the current message is closed.
        session: session of the host whose mount table lists the changes.
        parent: the Qt parent.
    """

    def __init__(self, banner: Banner, session: HostSession, parent: QObject) -> None:
        super().__init__(parent)
        self._banner = banner
        self._session = session
        self._pending: list[InterruptedChange] = []
        self._shown_ids: set[str] = set()
        session.table_changed.connect(self._on_table)
        session.starting.connect(self._on_starting)
        banner.closed.connect(self._show_next)

    def _on_starting(self, _key: str) -> None:
        self._pending = []  # those of the previous host
        self._shown_ids.clear()

    def _on_table(self, table: MountTable) -> None:
        self._pending = [change for change in table.interrupted if change.id not in self._shown_ids]
        self._show_next()

    def _show_next(self) -> None:
        if not self._pending or not self._banner.isHidden():
            return
        change = self._pending.pop(0)
        self._shown_ids.add(change.id)
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

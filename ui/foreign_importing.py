"""Importing what a unit of others, or a map of autofs, configures: what has no place here is asked first."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from app.mounts.foreign_entries import ForeignArgs
from ui.latest_call import LatestCall
from ui.mounts.unmanaged_import import ask_foreign_import

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from app.mounts.foreign_entries import ForeignEntry
    from ui.common.bridge import BridgeCall


class ForeignImporting(QObject):
    """Has the host read an entry that others made; nothing is written.

    Signals:
        chosen: the ForeignEntry and the options to draft.
        failed: the AppError.
    """

    chosen = Signal(object, str)
    failed = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._call = LatestCall(submit)

    def ask(self, mount_point: str) -> None:
        """Read the entry of a mount point, and ask what is to become of what only root may give."""
        args = ForeignArgs(mount_point=mount_point)
        self._call.ask("mounts.foreign", args, self._on_read, self.failed.emit)

    def forget(self) -> None:
        """The host is gone."""
        self._call.forget()

    def _on_read(self, entry: ForeignEntry) -> None:
        if entry.is_plain:
            self.chosen.emit(entry, entry.options)
        else:
            ask_foreign_import(self._window, entry, partial(self.chosen.emit, entry))

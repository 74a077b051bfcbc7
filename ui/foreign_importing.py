"""Importing what a unit of others, or a map of autofs, configures: what has no place here is asked first."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from app.errors import AppError
from app.mounts.foreign import ForeignArgs
from ui.dialogs.foreign_import import ask_foreign_import

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from app.mounts.foreign import ForeignEntry
    from ui.bridge import BridgeCall


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
        self._submit = submit
        self._window = window
        self._call: BridgeCall | None = None

    def ask(self, mount_point: str) -> None:
        """Read the entry of a mount point, and ask what is to become of what only root may give."""
        try:
            call = self._submit("mounts.foreign", ForeignArgs(mount_point=mount_point))
        except AppError as error:
            self.failed.emit(error)
            return
        self._call = call
        call.succeeded.connect(partial(self._on_read, call))
        call.failed.connect(partial(self._on_failed, call))

    def forget(self) -> None:
        """The host is gone."""
        self._call = None

    def _on_failed(self, call: BridgeCall, error: AppError) -> None:
        if call is self._call:
            self.failed.emit(error)

    def _on_read(self, call: BridgeCall, entry: ForeignEntry) -> None:
        if call is not self._call:
            return
        if entry.is_plain:
            self.chosen.emit(entry, entry.options)
        else:
            ask_foreign_import(self._window, entry, partial(self.chosen.emit, entry))

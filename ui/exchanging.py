"""Export of all mounts to a file and import from one: opens the dialogs, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject

from ui.dialogs.import_mounts import ImportMountsDialog
from ui.mounts.import_export import ExportMountsDialog

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QDialog, QWidget

    from app.mounts.model import MountTable
    from ui.common.bridge import BridgeCall, RunInThread


class Exchanging(QObject):
    """Opens the dialogs above a window.

    Args:
        window: the window.
        submit: sends a request to the agent.
        run: for what reads and writes files.
    """

    def __init__(self, window: QWidget, submit: Callable[[str, Any], BridgeCall], run: RunInThread) -> None:
        super().__init__(window)
        self._window = window
        self._submit = submit
        self._run = run
        self._dialog: QDialog | None = None

    def export(self, table: MountTable, host: str) -> None:
        """Ask for the file to write these mounts to."""
        self._open(ExportMountsDialog(self._window, table, host, self._run))

    def take_in(self) -> None:
        """Ask for a file, show what it would change, and write what is chosen."""
        self._open(ImportMountsDialog(self._window, self._submit, self._run))

    def close(self) -> None:
        """Close the dialog: the host that it was for is left."""
        if self._dialog is not None:
            self._dialog.done(0)

    def _open(self, dialog: QDialog) -> None:
        self.close()
        self._dialog = dialog
        dialog.finished.connect(self._on_closed)
        dialog.open()

    def _on_closed(self, _result: int) -> None:
        self._dialog = None

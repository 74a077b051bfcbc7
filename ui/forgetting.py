"""Taking a mount out of fstab from the window: preview, question, write."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, Signal

from app.agent.protocol import ForgetArgs
from app.errors import AppError
from ui.dialogs.forget import ForgetDialog

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from app.mounts.model import FstabReport
    from ui.bridge import BridgeCall


class Forgetting(QObject):
    """Takes one entry out at a time, after a yes.

    Signals:
        forgotten: the mount point and the FstabReport of what was written.
        failed: the AppError.
    """

    forgotten = Signal(str, object)
    failed = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], parent: QObject) -> None:
        super().__init__(parent)
        self._submit = submit
        self._call: BridgeCall | None = None
        self._dialog: ForgetDialog | None = None

    def ask(self, window: QWidget, mount_point: str, *, active: bool) -> None:
        """Show what would be taken out, and ask."""
        if self._dialog is None:
            args = ForgetArgs(mount_point=mount_point, preview=True)
            self._start(args, partial(self._on_preview, window, args, active))

    def forget(self) -> None:
        """The host is gone."""
        self._call = None
        if self._dialog is not None:
            self._dialog.reject()

    def _start(self, args: ForgetArgs, then: Callable[[FstabReport], None]) -> None:
        try:
            call = self._submit("mounts.forget", args)
        except AppError as error:
            self.failed.emit(error)
            return
        self._call = call
        call.succeeded.connect(partial(self._on_answer, call, then))
        call.failed.connect(partial(self._on_failed, call))

    def _on_answer(self, call: BridgeCall, then: Callable[[FstabReport], None], report: FstabReport) -> None:
        if call is self._call:
            self._call = None
            then(report)

    def _on_failed(self, call: BridgeCall, error: AppError) -> None:
        if call is self._call:
            self._call = None
            self.failed.emit(error)

    def _on_preview(self, window: QWidget, args: ForgetArgs, active: bool, report: FstabReport) -> None:  # noqa: FBT001 - bound
        dialog = ForgetDialog(window, args.mount_point, report, active=active)
        self._dialog = dialog
        # The file has to be the one that was shown.
        real = msgspec.structs.replace(args, preview=False, expected_sha256=report.sha256)
        dialog.agreed.connect(partial(self._start, real, partial(self.forgotten.emit, args.mount_point)))
        dialog.finished.connect(self._on_closed)
        dialog.open()

    def _on_closed(self, _result: int) -> None:
        self._dialog = None

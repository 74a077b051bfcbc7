"""Taking a mount out of fstab from the window: preview, question, write."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, Signal

from app.mounts.change_model import ForgetArgs
from ui.dialogs.forget import ForgetDialog
from ui.latest_call import LatestCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from app.errors import AppError
    from app.mounts.model import FstabReport
    from ui.common.bridge import BridgeCall


class Forgetting(QObject):
    """Takes one entry out at a time, after a yes.

    Signals:
        changed: whether an entry is being taken out is another answer now.
        forgotten: the mount point and the FstabReport of what was written.
        failed: the AppError.
    """

    changed = Signal()
    forgotten = Signal(str, object)
    failed = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], parent: QObject) -> None:
        super().__init__(parent)
        self._call = LatestCall(submit)
        self._dialog: ForgetDialog | None = None
        self._writing = False

    @property
    def is_busy(self) -> bool:
        """Whether an entry is being taken out."""
        return self._writing

    def ask(self, window: QWidget, mount_point: str, *, active: bool) -> None:
        """Show what would be taken out, and ask; not while another entry is being taken out."""
        if self._dialog is None and not self._writing:
            args = ForgetArgs(mount_point=mount_point, preview=True)
            self._start(args, partial(self._on_preview, window, args, active))

    def forget(self) -> None:
        """The host is gone."""
        self._end()
        if self._dialog is not None:
            self._dialog.reject()

    def _start(self, args: ForgetArgs, then: Callable[[FstabReport], None]) -> None:
        if self._call.ask("mounts.forget", args, partial(self._on_answer, then), self._on_failed):
            self._writing = not args.preview
            self.changed.emit()

    def _on_answer(self, then: Callable[[FstabReport], None], report: FstabReport) -> None:
        self._end()
        then(report)

    def _on_failed(self, error: AppError) -> None:
        self._end()
        self.failed.emit(error)

    def _end(self) -> None:
        self._call.forget()
        self._writing = False
        self.changed.emit()

    def _on_preview(self, window: QWidget, args: ForgetArgs, active: bool, report: FstabReport) -> None:  # noqa: FBT001 - bound
        dialog = ForgetDialog(window, args.mount_point, report, active=active)
        self._dialog = dialog
        # The file has to be the one that was shown.
        approved = report.approval is not None
        real = msgspec.structs.replace(args, preview=False, expected_sha256=report.sha256, approved=approved)
        dialog.agreed.connect(partial(self._start, real, partial(self.forgotten.emit, args.mount_point)))
        dialog.finished.connect(self._on_closed)
        dialog.open()

    def _on_closed(self, _result: int) -> None:
        self._dialog = None

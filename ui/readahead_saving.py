"""Saving the readahead of a mount from the window: preview, question, write, and back again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from app.mounts.change_model import ReadaheadArgs
from ui.dialogs.save_readahead import SaveReadaheadDialog
from ui.latest_call import LatestCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from app.errors import AppError
    from app.mounts.model import ReadaheadReport
    from ui.common.bridge import BridgeCall


class ReadaheadSaving(QObject):
    """Saves, or removes what is saved, one mount point at a time, after a yes.

    Signals:
        changed: whether something is being written, or can be undone, is another answer now.
        failed: the AppError.
    """

    changed = Signal()
    failed = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], parent: QObject) -> None:
        super().__init__(parent)
        self._call = LatestCall(submit)
        self._dialog: SaveReadaheadDialog | None = None
        self._writing = False
        self._last: ReadaheadReport | None = None

    @property
    def is_busy(self) -> bool:
        """Whether something is being written."""
        return self._writing

    def can_undo(self, mount_point: str) -> bool:
        """Whether what was written last was for this mount point."""
        return self._last is not None and self._last.mount_point == mount_point

    def ask(self, window: QWidget, mount_point: str, read_ahead_kb: int | None) -> None:
        """Show the rule that would be written, with None removed, and ask."""
        if self._dialog is None and not self._writing:
            args = ReadaheadArgs(mount_point=mount_point, read_ahead_kb=read_ahead_kb, preview=True)
            self._start(args, partial(self._on_preview, window))

    def undo(self) -> None:
        """Let be saved what was saved before the last change."""
        last = self._last
        if last is not None and not self._writing:
            args = ReadaheadArgs(
                mount_point=last.mount_point, read_ahead_kb=last.before, expected_sha256=last.written_sha256
            )
            self._start(args, self._on_undone)

    def look_at(self, mount_point: str) -> None:
        """Another mount is shown: what was done before is not undone from there."""
        if self._last is not None and self._last.mount_point != mount_point:
            self._last = None

    def forget(self) -> None:
        """The host is gone."""
        self._last = None
        self._end()
        if self._dialog is not None:
            self._dialog.reject()

    def _start(self, args: ReadaheadArgs, then: Callable[[ReadaheadReport], None]) -> None:
        if self._call.ask("mounts.readahead", args, partial(self._on_answer, then), self._on_failed):
            self._writing = not args.preview
            self.changed.emit()

    def _on_answer(self, then: Callable[[ReadaheadReport], None], report: ReadaheadReport) -> None:
        then(report)
        self._end()

    def _on_failed(self, error: AppError) -> None:
        self._last = None
        self._end()
        self.failed.emit(error)

    def _end(self) -> None:
        self._call.forget()
        self._writing = False
        self.changed.emit()

    def _on_preview(self, window: QWidget, report: ReadaheadReport) -> None:
        if not report.diff:
            return  # it is so already: the table of mounts says that in a moment
        dialog = SaveReadaheadDialog(window, report)
        self._dialog = dialog
        real = ReadaheadArgs(
            mount_point=report.mount_point, read_ahead_kb=report.after, expected_sha256=report.sha256
        )
        dialog.agreed.connect(partial(self._start, real, self._on_written))
        dialog.finished.connect(self._on_closed)
        dialog.open()

    def _on_written(self, report: ReadaheadReport) -> None:
        self._last = report if report.written else None

    def _on_undone(self, _report: ReadaheadReport) -> None:
        self._last = None

    def _on_closed(self, _result: int) -> None:
        self._dialog = None

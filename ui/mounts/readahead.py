"""Saved readahead: how long a mount's readahead lasts, and the udev rule that saves it.

The kernel resets the readahead at every mount. The udev rule sets it again. A dialog shows the rule before it
is written.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.mounts.change_model import ReadaheadArgs
from app.text.units import format_size
from ui.common.bridge import LatestCall
from ui.common.dialogs import add_buttons, fit_to_text
from ui.common.labels import heading, plain_label
from ui.common.text_view import TextView
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.errors import AppError
    from app.mounts.model import Mount, ReadaheadReport
    from ui.common.bridge import BridgeCall


class ReadaheadBar(QFrame):
    """Bar with the lifetime of the readahead; hidden for the kernel's default and a value from nfs.conf.

    Signals:
        keep_clicked: save the readahead in a udev rule.
        remove_clicked: remove the saved readahead.
        undo_clicked: undo the last change of the saved readahead.
    """

    keep_clicked = Signal()
    remove_clicked = Signal()
    undo_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("read-ahead-bar")
        self._text = plain_label(wrap=True)
        self._text.setObjectName("read-ahead-lasts")
        self._keep = self._button(self.tr("Keep for &Good…"), "read-ahead-keep", self.keep_clicked)
        self._keep.setToolTip(
            self.tr("Save it in a udev rule for this mount point. The rule is shown first.")
        )
        self._remove = self._button(self.tr("Remo&ve…"), "read-ahead-remove", self.remove_clicked)
        self._remove.setToolTip(self.tr("Remove the udev rule that saves it. The rule is shown first."))
        self._undo = self._button(self.tr("Un&do"), "read-ahead-undo", self.undo_clicked)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 4, 16, 4)
        layout.addWidget(self._text, 1)
        for button in (self._undo, self._keep, self._remove):
            layout.addWidget(button)
        self.hide()

    def _button(self, text: str, name: str, clicked: object) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.clicked.connect(clicked)
        return button

    def text(self) -> str:
        """Return the text of the bar."""
        return self._text.text()

    def show_mount(self, mount: Mount | None, *, can_undo: bool, busy: bool) -> None:
        """Show how long the readahead of a mount lasts.

        Args:
            mount: the mount, or None for a draft.
            can_undo: whether the last change of the mount's saved readahead can be undone.
            busy: whether an action, a test or an experiment is running.
        """
        text = lasting_text(mount) if mount is not None else ""
        volatile = mount is not None and is_volatile(mount)
        saved = mount is not None and mount.saved_read_ahead_kb is not None
        self.setVisible(bool(text) or can_undo)
        self._text.setText(text or self.tr("Readahead: no longer saved."))
        self._keep.setVisible(volatile)
        self._undo.setVisible(can_undo)
        self._remove.setVisible(saved and not can_undo)
        for button in (self._keep, self._remove, self._undo):
            button.setEnabled(not busy)


def is_volatile(mount: Mount) -> bool:
    """Return whether the mount loses its readahead when it is unmounted."""
    return mount.active is not None and mount.active.read_ahead_state == "until-unmounted"


def lasting_text(mount: Mount) -> str:
    """Return how long the readahead lasts, or "" if it was neither set nor saved."""
    active, saved = mount.active, mount.saved_read_ahead_kb
    now = (
        format_size(active.read_ahead_kb * 1024)
        if active is not None and active.read_ahead_kb is not None
        else ""
    )
    later = format_size(saved * 1024) if saved is not None else ""
    if is_volatile(mount):
        if later:
            return tr("Readahead {now}: until unmounted, then {later}, which is saved.").format(
                now=now, later=later
            )
        return tr("Readahead {now}: until unmounted.").format(now=now)
    if not later:
        return ""
    return tr("Readahead {size}: saved, for each time it is mounted.").format(size=now or later)


class SaveReadaheadDialog(QDialog):
    """Preview of the udev rule that saves a readahead, or of its removal.

    Args:
        parent: the window.
        report: preview with the difference of the rule file.

    Signals:
        agreed: the user confirmed the change.
    """

    agreed = Signal()

    def __init__(self, parent: QWidget, report: ReadaheadReport) -> None:
        super().__init__(parent)
        self.setObjectName("save-readahead-dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if report.after is None:
            title = self.tr("Remove the Saved Readahead?")
            text = self.tr("The next mount at {path} begins with the kernel's own readahead. A mount that is "
                           "there now keeps its readahead until unmounted.")  # fmt: skip
            action = self.tr("&Remove")
        else:
            title = self.tr("Keep the Readahead for Good?")
            text = self.tr("Each mount at {path} gets a readahead of {size}. A udev rule does that, for this "
                           "mount point alone. Nothing is interrupted.")  # fmt: skip
            action = self.tr("&Keep for Good")
        self.setWindowTitle(title)
        size = format_size(report.after * 1024) if report.after is not None else ""
        diff = TextView(self.tr("What is written to {files}").format(files=report.file), lines=10, diff=True)
        diff.setObjectName("save-readahead-diff")
        diff.show_text(report.diff)
        do = QPushButton(action)
        do.setObjectName("save-readahead-do")
        do.clicked.connect(self._on_confirmed)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(10)
        layout.addWidget(heading(title, scale=1.3))
        layout.addWidget(plain_label(text.format(path=report.mount_point, size=size), wrap=True))
        layout.addWidget(diff)
        add_buttons(self, layout, self.tr("&Cancel"), [do], do if report.after is not None else None)
        fit_to_text(self, 104)

    def _on_confirmed(self) -> None:
        self.accept()
        self.agreed.emit()


class ReadaheadController(QObject):
    """Saves or removes the readahead of one mount point at a time, after its preview was confirmed.

    Signals:
        changed: the values of :attr:`is_busy` and :meth:`can_undo` may have changed.
        failed: the AppError of a failed preview or change.
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
        """Whether a change is being written."""
        return self._writing

    def can_undo(self, mount_point: str) -> bool:
        """Return whether the last change was made for this mount point, so that it can be undone."""
        return self._last is not None and self._last.mount_point == mount_point

    def ask(self, window: QWidget, mount_point: str, read_ahead_kb: int | None) -> None:
        """Show the preview of a change; ``read_ahead_kb`` is in KiB, None removes the saved readahead."""
        if self._dialog is None and not self._writing:
            args = ReadaheadArgs(mount_point=mount_point, read_ahead_kb=read_ahead_kb, preview=True)
            self._start(args, partial(self._on_preview, window))

    def undo(self) -> None:
        """Restore the saved readahead from before the last change."""
        last = self._last
        if last is not None and not self._writing:
            args = ReadaheadArgs(
                mount_point=last.mount_point, read_ahead_kb=last.before, expected_sha256=last.written_sha256
            )
            self._start(args, self._on_undone)

    def look_at(self, mount_point: str) -> None:
        """Forget the last change if it was made for another mount point than the one shown now."""
        if self._last is not None and self._last.mount_point != mount_point:
            self._last = None

    def reset(self) -> None:
        """Close the preview and stop waiting for answers, because the connection to the host is closed."""
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
        self._call.reset()
        self._writing = False
        self.changed.emit()

    def _on_preview(self, window: QWidget, report: ReadaheadReport) -> None:
        if not report.diff:
            return  # already saved so; the next mount table shows it
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

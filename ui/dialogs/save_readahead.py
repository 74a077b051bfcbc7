"""“Keep for Good…” of a readahead, and removing it: the udev rule, shown before it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QPushButton, QVBoxLayout, QWidget

from app.units import format_size
from ui.common.dialogs import add_buttons, fit
from ui.common.labels import heading, plain_label
from ui.common.text_view import TextView

if TYPE_CHECKING:
    from app.mounts.model import ReadaheadReport


class SaveReadaheadDialog(QDialog):
    """Shows what is written.

    Args:
        parent: the window.
        report: the preview.

    Signals:
        agreed: the person wants it.
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
        do.clicked.connect(self._on_do)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(10)
        layout.addWidget(heading(title, scale=1.3))
        layout.addWidget(plain_label(text.format(path=report.mount_point, size=size), wrap=True))
        layout.addWidget(diff)
        add_buttons(self, layout, self.tr("&Cancel"), [do], do if report.after is not None else None)
        fit(self, 104)

    def _on_do(self) -> None:
        self.accept()
        self.agreed.emit()

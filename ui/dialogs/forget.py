"""“Forget…”: what is taken out of fstab, shown before it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QPushButton, QVBoxLayout, QWidget

from app.mounts.approval import sentences
from ui.common.dialogs import add_buttons, fit
from ui.common.labels import heading, plain_label
from ui.common.message_list import Sentences
from ui.common.text_view import TextView

if TYPE_CHECKING:
    from app.mounts.model import FstabReport


class ForgetDialog(QDialog):
    """Shows the change of fstab.

    Args:
        parent: the window.
        mount_point: whose entry it is.
        report: the preview.
        active: whether it is mounted now.

    Signals:
        agreed: the person wants it.
    """

    agreed = Signal()

    def __init__(self, parent: QWidget, mount_point: str, report: FstabReport, *, active: bool) -> None:
        super().__init__(parent)
        self.setObjectName("forget-dialog")
        self.setWindowTitle(self.tr("Forget"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        diff = TextView(self.tr("What is taken out"), lines=14, diff=True)
        diff.setObjectName("forget-diff")
        diff.show_text(report.diff + (report.readahead.diff if report.readahead is not None else ""))
        warnings = Sentences("", "warn")
        approval = sentences(report.approval) if report.approval is not None else []
        warnings.show_sentences([*approval, *report.warnings])
        consequence = self.tr("It will not be mounted by itself any more.")
        if active:
            consequence = self.tr("It stays mounted until it is unmounted or the computer shuts down, and "
                                  "will not be mounted again by itself.")  # fmt: skip
        do = QPushButton(self.tr("&Forget it"))
        do.setObjectName("forget-do")
        do.clicked.connect(self._on_do)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(10)
        layout.addWidget(heading(self.tr("Stop keeping {path}?").format(path=mount_point), scale=1.3))
        layout.addWidget(plain_label(consequence, wrap=True))
        layout.addWidget(plain_label(self.tr("A copy as it is now is kept."), wrap=True))
        if report.readahead is not None:
            told = self.tr("The saved readahead is removed with it.")
            layout.addWidget(plain_label(told, wrap=True))
        layout.addWidget(diff)
        layout.addWidget(warnings)
        add_buttons(self, layout, self.tr("&Cancel"), [do], None)
        fit(self, 104)

    def _on_do(self) -> None:
        self.accept()
        self.agreed.emit()

"""Names on the left, what is said of them on the right; what is said of several is said once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from ui.common.labels import MutedLabel, plain_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Width of the names, letters.
_NAME_WIDTH = 26


class ReasonList(QWidget):
    """Shows reason to names."""

    def __init__(self, reasons: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        width = self.fontMetrics().averageCharWidth() * _NAME_WIDTH
        for row, (reason, names) in enumerate(reasons.items()):
            name = plain_label(", ".join(names), wrap=True)
            name.setFixedWidth(width)
            text = MutedLabel(reason, wrap=True)
            text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(text, row, 1, Qt.AlignmentFlag.AlignTop)

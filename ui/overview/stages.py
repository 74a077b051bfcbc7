"""Stage bar: the stages Before, Change and After, with the present one marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.common import theme

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from app.service.model import BeforeAfterStage

#: Length of the line between two stages and gap beside a dot, in heights of a line of text.
_LINE, _GAP = 2.0, 0.4


class StageBar(QWidget):
    """Three dots with their names; done ones are filled, the present one is in the accent color."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._stage: BeforeAfterStage = "before"
        self.set_stage("before")

    @property
    def stage(self) -> BeforeAfterStage:
        """The present stage."""
        return self._stage

    def set_stage(self, stage: BeforeAfterStage) -> None:
        """Mark the present stage."""
        self._stage = stage
        name = dict(self._stages())[stage]
        self.setAccessibleName(self.tr("Stage: {name}").format(name=name))
        self.update()

    def _stages(self) -> list[tuple[BeforeAfterStage, str]]:
        return [
            ("before", self.tr("Before")),
            ("change", self.tr("Change")),
            ("after", self.tr("After")),
        ]

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: three dots, names and lines between them."""
        metrics = self.fontMetrics()
        unit = metrics.height()
        width = sum(metrics.horizontalAdvance(name) for _stage, name in self._stages())
        return QSize(round(width + unit * (3 * (0.6 + _GAP) + 2 * (_LINE + 2 * _GAP))), unit + 4)

    def minimumSizeHint(self) -> QSize:
        """Qt: as large as the hint."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint dots, names and lines."""
        del event
        colors, unit = theme.colors(), self.fontMetrics().height()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left, middle, size = 1.0, self.height() / 2, unit * 0.6
        passed = True
        for number, (stage, name) in enumerate(self._stages()):
            if number:
                painter.setPen(QPen(QColor(colors.border), 1.5))
                painter.drawLine(round(left), round(middle), round(left + unit * _LINE), round(middle))
                left += unit * (_LINE + _GAP)
            present = stage == self._stage
            passed = passed and not present
            color = colors.accent if present else colors.ok if passed else colors.muted
            painter.setPen(QPen(QColor(color), 1.5))
            painter.setBrush(QColor(color) if present or passed else Qt.BrushStyle.NoBrush)
            painter.drawEllipse(round(left), round(middle - size / 2), round(size), round(size))
            left += size + unit * _GAP
            painter.setPen(QColor(colors.text if present else colors.muted))
            width = self.fontMetrics().horizontalAdvance(name)
            painter.drawText(round(left), 0, width + 2, self.height(), Qt.AlignmentFlag.AlignVCenter, name)
            left += width + unit * _GAP
        painter.end()

"""What the colours of the plot mean, with the speeds in figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from app.units import format_speed
from ui import theme
from ui.widgets.labels import MutedLabel, plain_label

if TYPE_CHECKING:
    from app.bench.result import TestResult

    Meaning = Literal["write", "read", "ok"]


class _Swatch(QWidget):
    """A short line in a curve's colour."""

    def __init__(self, meaning: Meaning) -> None:
        super().__init__()
        self._meaning = meaning
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: as high as the text beside it."""
        return QSize(self.fontMetrics().averageCharWidth() * 2, self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint it."""
        del event
        painter = QPainter(self)
        colour = QColor(getattr(theme.colours_of(self), self._meaning))
        painter.fillRect(0, self.height() // 2 - 1, self.width(), 3, colour)
        painter.end()


class Legend(QWidget):
    """To the server, from the server, and the link's limit."""

    def __init__(self) -> None:
        super().__init__()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(7)
        self._names = {"write": self.tr("To the server"), "read": self.tr("From the server")}
        self._labels = {"write": plain_label(self._names["write"]), "read": plain_label(self._names["read"])}
        for way in ("write", "read"):
            layout.addWidget(_Swatch("write" if way == "write" else "read"))
            layout.addWidget(self._labels[way])
            layout.addSpacing(16)
        self._limit_swatch = _Swatch("ok")
        self._limit = MutedLabel()
        layout.addWidget(self._limit_swatch)
        layout.addWidget(self._limit)
        self.set_limit("")

    def set_speed(self, way: Literal["write", "read"], speed: float | None) -> None:
        """Show the speed of this moment, bytes a second."""
        name = self._names[way]
        self._labels[way].setText(name if speed is None else f"{name}  {format_speed(speed)}")

    def set_result(self, result: TestResult | None) -> None:
        """Show the speeds of the whole test, or none."""
        for way in ("write", "read"):
            transfer = None if result is None else (result.write if way == "write" else result.read)
            self.set_speed("write" if way == "write" else "read",
                           None if transfer is None else transfer.bytes_per_s)  # fmt: skip

    def set_limit(self, text: str) -> None:
        """Show what the reference line is; "" if there is none."""
        self._limit.setText(text)
        self._limit.setVisible(bool(text))
        self._limit_swatch.setVisible(bool(text))

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.update()

"""Axes of all plots: colors, fonts, margins and titles, which follow the theme and the font of the desktop.

A title stands above its axis: beside it, as pyqtgraph places it, a low plot or a large font cuts it off.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtWidgets import QGraphicsSimpleTextItem, QVBoxLayout, QWidget

os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")

import pyqtgraph  # pyright: ignore[reportMissingTypeStubs]

from ui.common import theme

if TYPE_CHECKING:
    from collections.abc import Sequence


#: pyqtgraph has no type hints; Any keeps the type checkers quiet.
pg: Any = pyqtgraph

#: Space between the title of an axis and its highest label, as a fraction of a line.
_TITLE_SPACE = 0.5
_MINUTE_S = 60


class PlotAxis(pg.AxisItem):  # type: ignore[misc]
    """Axis whose labels at its ends are whole; a vertical one has its title above it."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation)  # pyright: ignore[reportUnknownMemberType]
        self._title = QGraphicsSimpleTextItem(self)
        self._overhang = (0.0, 0.0)

    def title(self) -> str:
        """Return the title."""
        return self._title.text()

    def set_title(self, text: str) -> None:
        """Set the title."""
        self._title.setText(text)
        self._place_title()

    def follow(self, font: Any, metrics: Any, colors: theme.Colors) -> None:
        """Take the font and the colors of labels and title."""
        self.setPen(pg.mkPen(colors.border))
        self.setTextPen(pg.mkPen(colors.muted))
        self.setTickFont(font)
        self.label.setFont(font)
        self.label.setDefaultTextColor(colors.muted)
        self._title.setFont(font)
        self._title.setBrush(pg.mkBrush(colors.muted))
        half = metrics.height() / 2
        side = metrics.averageCharWidth() * 4.0
        self._overhang = (0.0, half) if self.orientation in {"left", "right"} else (side, 0.0)
        self.prepareGeometryChange()
        self._place_title()

    def _place_title(self) -> None:
        area = self._title.boundingRect()
        left = 0.0 if self.orientation == "left" else self.size().width() - area.width()
        self._title.setPos(left, -area.height() * (1 + _TITLE_SPACE))

    # pyqtgraph overrides

    def boundingRect(self) -> QRectF:
        """Qt: the axis and the halves of its first and last label beyond its ends, which Qt would cut off."""
        across, down = self._overhang
        area = QRectF(super().boundingRect())  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        return area.adjusted(-across, -down, across, down)

    def resizeEvent(self, event: Any = None) -> None:
        """Qt: keep the title at its place."""
        super().resizeEvent(event)  # pyright: ignore[reportUnknownMemberType]
        if hasattr(self, "_title"):
            self._place_title()


class TimeAxis(PlotAxis):
    """Horizontal axis of a time, whose labels have their unit."""

    def __init__(self) -> None:
        super().__init__("bottom")

    # pyqtgraph overrides

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        """Return the labels: seconds, or minutes where the ticks are whole minutes."""
        if spacing >= _MINUTE_S and spacing % _MINUTE_S == 0:
            return [f"{value * scale / _MINUTE_S:g} min" for value in values]
        digits = 0 if spacing >= 1 else 1 if spacing >= 0.1 else 2
        return [f"{value * scale:.{digits}f} s" for value in values]


class AxesPlot(QWidget):
    """Widget with one plot whose look follows the theme and the font.

    Args:
        parent: parent widget.
        time_axis: whether the horizontal axis is a time.
        lines: height of the plot in lines of text, None for a plot that grows with the page.
    """

    def __init__(
        self, parent: QWidget | None = None, *, time_axis: bool = False, lines: int | None = None
    ) -> None:
        super().__init__(parent)
        self._height_lines = lines
        axes = {"left": PlotAxis("left"), "right": PlotAxis("right")}
        axes["bottom"] = TimeAxis() if time_axis else PlotAxis("bottom")
        self._plot: Any = pg.PlotWidget(self, antialias=False, enableMenu=False, axisItems=axes)
        self._item: Any = self._plot.getPlotItem()
        # pyqtgraph creates its menu without a parent, so it would outlive the plot.
        self._item.ctrlMenu.setParent(self, self._item.ctrlMenu.windowFlags())
        self._item.hideButtons()
        self._item.hideAxis("right")
        self._item.setMouseEnabled(x=False, y=False)
        self._plot.setFrameShape(self._plot.Shape.NoFrame)
        for part in (self._plot, self._plot.viewport()):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        for axis in axes.values():
            axis.enableAutoSIPrefix(enable=False)
        self._axes = axes
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._plot)

    def axis(self, side: str) -> PlotAxis:
        """Return an axis by its side: left, bottom or right."""
        return self._axes[side]

    def describe(self, name: str, rows: Sequence[Sequence[str]]) -> None:
        """Set the accessible name, and the table of the plot as its accessible description.

        Args:
            name: what the plot shows.
            rows: titles of the columns, and the cells of each row.
        """
        self.setAccessibleName(name)
        self.setAccessibleDescription("\n".join(", ".join(cells) for cells in rows))

    def update_appearance(self) -> None:
        """Take colors, fonts and margins from the theme and the font."""
        colors, metrics = theme.colors(), self.fontMetrics()
        self._plot.setBackground(colors.base)
        for axis in self._axes.values():
            axis.follow(self.font(), metrics, colors)
        titled = any(self._axes[side].title() for side in ("left", "right"))
        top = metrics.height() * (1.2 + _TITLE_SPACE if titled else 0.6)
        # At the right is half of the last label of the time.
        self._item.layout.setContentsMargins(1, top, metrics.averageCharWidth() * 3, 1)
        if self._height_lines is not None:
            self.setFixedHeight(metrics.lineSpacing() * self._height_lines)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change of the theme or of the font."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.PaletteChange, QEvent.Type.FontChange} and hasattr(self, "_axes"):
            self.update_appearance()

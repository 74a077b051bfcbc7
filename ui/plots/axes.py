"""Axes of all plots: background and axes in the colors of the palette."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PySide6.QtGui import QFont

    from ui.common.theme import Colors


def color_axes(plot: Any, pg: Any, colors: Colors, font: QFont) -> None:
    """Paint the background and the axes of a ``pyqtgraph.PlotWidget``; ``pg`` is pyqtgraph itself."""
    plot.setBackground(colors.base)
    for side in ("left", "bottom", "right"):
        axis = plot.getPlotItem().getAxis(side)
        axis.setPen(pg.mkPen(colors.border))
        axis.setTextPen(pg.mkPen(colors.muted))
        axis.setTickFont(font)
        axis.label.setFont(font)

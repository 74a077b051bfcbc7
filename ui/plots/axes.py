"""Axes of all plots: colors and fonts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PySide6.QtGui import QFont

    from ui.common.theme import Colors


def color_axes(plot: Any, pg: Any, colors: Colors, font: QFont) -> None:
    """Set the colors of the background and of the axes of a plot, and the font of the axes.

    Args:
        plot: ``pyqtgraph.PlotWidget``.
        pg: module pyqtgraph.
        colors: color table.
        font: font of ticks and labels.
    """
    plot.setBackground(colors.base)
    for side in ("left", "bottom", "right"):
        axis = plot.getPlotItem().getAxis(side)
        axis.setPen(pg.mkPen(colors.border))
        axis.setTextPen(pg.mkPen(colors.muted))
        axis.setTickFont(font)
        axis.label.setFont(font)

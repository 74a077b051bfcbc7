"""What all plots have in common: axes in the colours of the palette."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PySide6.QtGui import QFont

    from ui.common.theme import Colours


def colour_axes(plot: Any, pg: Any, colours: Colours, font: QFont) -> None:
    """Paint the background and the axes of a ``pyqtgraph.PlotWidget``; ``pg`` is pyqtgraph itself."""
    plot.setBackground(colours.base)
    for side in ("left", "bottom", "right"):
        axis = plot.getPlotItem().getAxis(side)
        axis.setPen(pg.mkPen(colours.border))
        axis.setTextPen(pg.mkPen(colours.muted))
        axis.setTickFont(font)
        axis.label.setFont(font)

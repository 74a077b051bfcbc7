"""The curves, heat maps and surfaces of an experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QVBoxLayout, QWidget

from advisor.text.experiment import noise_note
from app.experiment.factors import label
from ui.common.labels import MutedLabel, heading
from ui.experiments.charts import HeatMap
from ui.experiments.plan_view import levels_words
from ui.widgets.surface_view import SurfaceView

if TYPE_CHECKING:
    from app.experiment.analysis import Findings


class ExperimentPictures(QWidget):
    """Draws what was found; made once a run is over, as they cost time that a measurement should have."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("experiment-pictures")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self.hide()

    def show_findings(self, found: Findings | None) -> None:
        """Draw these, or nothing."""
        while (item := self._layout.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.setVisible(found is not None)
        if found is None:
            return
        if found.matrices and found.pooled:
            over = ", ".join(label(name) for name in found.pooled)
            self._add(MutedLabel(self.tr("Medians over: {settings}").format(settings=over), wrap=True))
        for matrix in found.matrices:
            fixed = levels_words(matrix.fixed)
            title = f"{label(matrix.row_factor)} ↓  {label(matrix.column_factor)} →"
            heat = HeatMap()
            heat.show_matrix(matrix)
            self._add(heading(f"{title}, {fixed}" if fixed else title, scale=1.0), heat)
            if note := noise_note(matrix.differs):
                self._add(MutedLabel(note, wrap=True))
            # Of two by two there is no more to see than in the table.
            if min(len(matrix.rows), len(matrix.columns)) > 1 and len(matrix.rows) + len(matrix.columns) > 4:
                surface = SurfaceView()
                surface.show_matrix(matrix)
                self._add(surface)
        if found.curves:
            # A second to import: only once there is something to draw.
            from ui.plots.factor_plot import CurvePlot

            for curve in found.curves:
                plot: Any = CurvePlot()
                plot.draw(curve)
                self._add(heading(label(curve.factor), scale=1.0), plot)

    def _add(self, *widgets: QWidget) -> None:
        for widget in widgets:
            self._layout.addWidget(widget)

"""The cells of a grid that fio measured, a row for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QHeaderView,
    QTableWidgetItem,
)

from app.units import format_duration, format_size
from ui.common.speed_units import speed_text
from ui.common.tables import in_lines
from ui.common.translation import tr
from ui.models.figure_text import kind_text
from ui.widgets.whole_table import WholeTable

if TYPE_CHECKING:
    from app.bench.grid_model import GridCell, GridRun

_JOBS = 2


class GridTable(WholeTable):
    """Hidden while there are none."""

    def __init__(self) -> None:
        titles = [
            tr("Pattern"), tr("Request"), tr("Jobs"), tr("At once"),
            tr("Requests/s"), tr("Speed"), tr("Mean time"), tr("99 % within"), tr("Held back by"),
        ]  # fmt: skip
        super().__init__("grid", tr("Result of the grid"), [in_lines(title) for title in titles])
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.horizontalHeader().setStretchLastSection(True)
        self.hide()

    def show_cells(self, cells: list[GridCell]) -> None:
        """Show these; of several repeats the one with the median number of requests."""
        self.setVisible(bool(cells))
        self.setRowCount(len(cells))
        self.setColumnHidden(_JOBS, all(cell.jobs == 1 for cell in cells))
        names = {
            "seqread": self.tr("Read in order"), "seqwrite": self.tr("Write in order"),
            "randread": self.tr("Read at random"), "randwrite": self.tr("Write at random"),
        }  # fmt: skip
        for row, cell in enumerate(cells):
            texts = [
                names[cell.pattern],
                format_size(cell.record),
                str(cell.jobs),
                str(cell.depth),
                *_figures(cell.middle),
                self._held_text(cell),
            ]
            for column, text in enumerate(texts):
                item = QTableWidgetItem(text)
                if 0 < column < len(texts) - 1:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.setItem(row, column, item)
        self.updateGeometry()

    def _held_text(self, cell: GridCell) -> str:
        found = cell.bottleneck
        if found is None:
            return "—"
        return self.tr("not clear") if found.kind == "unclear" else kind_text(found)


def _figures(run: GridRun | None) -> list[str]:
    if run is None:
        return ["—"] * 4
    p99 = format_duration(run.p99_s) if run.p99_s else "—"
    return [f"{run.iops:,.0f}", speed_text(run.bytes_per_s), format_duration(run.latency_s), p99]

"""The cells of a grid that fio measured, a row for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
)

from app.units import format_duration, format_size
from ui.speed_units import speed_text

if TYPE_CHECKING:
    from app.bench.grid_model import GridCell, GridRun


class GridTable(QTableWidget):
    """As high as its rows; hidden while there are none."""

    def __init__(self) -> None:
        super().__init__()
        titles = [
            self.tr("Pattern"), self.tr("Request"), self.tr("Jobs"), self.tr("At once"),
            self.tr("Requests/s"), self.tr("Speed"), self.tr("Mean time"), self.tr("99 % within"),
        ]  # fmt: skip
        self.setObjectName("grid")
        self.setAccessibleName(self.tr("Result of the grid"))
        self.setColumnCount(len(titles))
        self.setHorizontalHeaderLabels(titles)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setTabKeyNavigation(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.verticalHeader().setDefaultSectionSize(int(self.fontMetrics().lineSpacing() * 1.45))
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setHighlightSections(False)
        self.hide()

    def show_cells(self, cells: list[GridCell]) -> None:
        """Show these; of several repeats the one with the median number of requests."""
        self.setVisible(bool(cells))
        self.setRowCount(len(cells))
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
            ]
            for column, text in enumerate(texts):
                item = QTableWidgetItem(text)
                if column:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.setItem(row, column, item)
        self.updateGeometry()

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: as high as all rows."""
        rows = self.verticalHeader().length() + self.horizontalHeader().sizeHint().height()
        return QSize(super().sizeHint().width(), rows + 4)

    def minimumSizeHint(self) -> QSize:
        """Qt: never less."""
        return QSize(0, self.sizeHint().height())


def _figures(run: GridRun | None) -> list[str]:
    if run is None:
        return ["—"] * 4
    p99 = format_duration(run.p99_s) if run.p99_s else "—"
    return [f"{run.iops:,.0f}", speed_text(run.bytes_per_s), format_duration(run.latency_s), p99]

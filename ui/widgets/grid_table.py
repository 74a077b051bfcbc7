"""The cells of a grid that fio measured, a row for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QSize, Qt
from PySide6.QtWidgets import (
    QHeaderView,
    QSizePolicy,
    QTableWidgetItem,
)

from app.units import format_duration, format_size
from ui.models.figure_text import kind_text
from ui.speed_units import speed_text
from ui.widgets.plain_table import PlainTable

if TYPE_CHECKING:
    from app.bench.grid_model import GridCell, GridRun


class GridTable(PlainTable):
    """As high as its rows; hidden while there are none."""

    def __init__(self) -> None:
        titles = [
            _tr("Pattern"), _tr("Request"), _tr("Jobs"), _tr("At once"),
            _tr("Requests/s"), _tr("Speed"), _tr("Mean time"), _tr("99 % within"), _tr("Held back by"),
        ]  # fmt: skip
        super().__init__("grid", _tr("Result of the grid"), titles)
        for words in (0, len(titles) - 1):
            self.horizontalHeader().setSectionResizeMode(words, QHeaderView.ResizeMode.ResizeToContents)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.verticalHeader().setDefaultSectionSize(int(self.fontMetrics().lineSpacing() * 1.45))
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


def _tr(text: str) -> str:
    # Before the table is there that could translate.
    return QCoreApplication.translate("GridTable", text)

"""The RPC operations of a mount in one second, the busiest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QTableWidgetItem

from app.units import format_duration
from ui.common.speed_units import speed_text
from ui.common.tables import PlainTable
from ui.common.translation import tr

if TYPE_CHECKING:
    from app.stats.model import OperationRate

#: More are seen by scrolling.
_ROWS = 6


class OperationsTable(PlainTable):
    """Shows each operation that was called."""

    def __init__(self) -> None:
        titles = [
            tr("Operation"), tr("a second"), tr("Speed"), tr("Round trip"),
            tr("Waiting"), tr("In all"), tr("Errors"),
        ]  # fmt: skip
        super().__init__("operations", tr("Operations"), titles)

    def show_operations(self, operations: list[OperationRate]) -> None:
        """Show these instead of those before."""
        self.clearSpans()
        self.setRowCount(max(len(operations), 1))
        if not operations:
            self.setItem(0, 0, QTableWidgetItem(self.tr("None was called in the last second.")))
            self.setSpan(0, 0, 1, self.columnCount())
        for row, operation in enumerate(operations):
            texts = [
                operation.name, f"{operation.ops_per_s:.0f}", speed_text(operation.bytes_per_s),
                format_duration(operation.rtt_s), format_duration(operation.queue_s),
                format_duration(operation.execute_s),
                "—" if operation.errors is None else str(operation.errors),
            ]  # fmt: skip
            for column, text in enumerate(texts):
                item = QTableWidgetItem(text)
                if column:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.setItem(row, column, item)
        self.updateGeometry()

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: as high as some rows."""
        rows = max(1, min(self.rowCount(), _ROWS))
        height = (
            self.horizontalHeader().sizeHint().height() + rows * self.verticalHeader().defaultSectionSize()
        )
        return QSize(super().sizeHint().width(), height + 4)

    def minimumSizeHint(self) -> QSize:
        """Qt: never less."""
        return QSize(0, self.sizeHint().height())

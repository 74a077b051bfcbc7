"""The RPC operations of a mount in one second, the busiest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableWidget, QTableWidgetItem

from app.units import format_duration
from ui.speed_units import speed_text

if TYPE_CHECKING:
    from app.agent.protocol import OperationRate

#: More are seen by scrolling.
_ROWS = 6


class OperationsTable(QTableWidget):
    """Shows each operation that was called."""

    def __init__(self) -> None:
        super().__init__()
        titles = [
            self.tr("Operation"), self.tr("a second"), self.tr("Speed"), self.tr("Round trip"),
            self.tr("Waiting"), self.tr("In all"), self.tr("Errors"),
        ]  # fmt: skip
        self.setObjectName("operations")
        self.setAccessibleName(self.tr("Operations"))
        self.setColumnCount(len(titles))
        self.setHorizontalHeaderLabels(titles)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setTabKeyNavigation(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setHighlightSections(False)

    def show_operations(self, operations: list[OperationRate]) -> None:
        """Show these instead of those before."""
        self.setRowCount(len(operations))
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

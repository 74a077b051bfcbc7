"""The table of a test's figures, exactly as tall as its rows; can be copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QKeyEvent, QKeySequence, QPalette
from PySide6.QtWidgets import (
    QFrame,
    QHeaderView,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from ui.common import theme
from ui.common.result_tables import ResultModel, WarnRole
from ui.common.tables import make_calm

if TYPE_CHECKING:
    from app.speedtest.model import TestResult


class _WarnDelegate(QStyledItemDelegate):
    """Colours the cells that deserve a look."""

    # Qt overrides

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Qt: prepare a cell."""
        super().initStyleOption(option, index)
        if index.data(WarnRole):
            palette: QPalette = option.palette
            dark = palette.color(QPalette.ColorRole.Base).lightness() < 128
            palette.setColor(QPalette.ColorRole.Text, QColor((theme.DARK if dark else theme.LIGHT).warn))
            option.palette = palette


class ResultTable(QTableView):
    """Shows a :class:`ResultModel`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = ResultModel(self)
        self.setObjectName("results")
        self.setAccessibleName(self.tr("Result of the test"))
        make_calm(self)
        self.setModel(self._model)
        self.setItemDelegate(_WarnDelegate(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAlternatingRowColors(True)
        self.setCornerButtonEnabled(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        columns = self.horizontalHeader()
        columns.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        columns.setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        rows = self.verticalHeader()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(int(self.fontMetrics().lineSpacing() * 1.45))
        rows.hide()

    def show_result(self, result: TestResult | None) -> None:
        """Show these figures."""
        self._model.show_result(result)
        unit = self.fontMetrics().averageCharWidth()
        for column in range(self._model.columnCount()):
            needed = max(self.sizeHintForColumn(column), self.horizontalHeader().sectionSizeHint(column))
            self.setColumnWidth(column, max(needed + 3 * unit, 20 * unit))
        self.updateGeometry()

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: as large as the whole table."""
        rows, columns = self.verticalHeader(), self.horizontalHeader()
        return QSize(columns.length() + 2, columns.sizeHint().height() + rows.length() + 2)

    def minimumSizeHint(self) -> QSize:
        """Qt: never less than the whole table."""
        return self.sizeHint()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: copy the whole table as tab-separated text."""
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.text())
            return
        super().keyPressEvent(event)

    def text(self) -> str:
        """Return the table as tab-separated text."""
        model = self._model
        columns = range(model.columnCount())
        lines = [[str(model.headerData(column, Qt.Orientation.Horizontal)) for column in columns]]
        lines += [
            [str(model.index(row, column).data()) for column in columns] for row in range(model.rowCount())
        ]
        return "\n".join("\t".join(line) for line in lines)

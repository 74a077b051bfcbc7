"""Suggestion list below the share field: servers or exports, each with a note."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPalette, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from ui.common import theme
from ui.common.labels import plain_tip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ui.settings.discovery_model import Suggestion

NoteRole = Qt.ItemDataRole.UserRole
TextRole = Qt.ItemDataRole.UserRole + 1
KindRole = Qt.ItemDataRole.UserRole + 2
#: Maximum height of the list, rows.
_MAX_ROWS = 10


class SuggestionList(QListView):
    """List that overlays the window below a line edit, which keeps the focus.

    It is a child widget, not a popup window, so that it does not grab the keyboard.

    Args:
        line: the line edit above the list.
        span: widget that has the width of the list.
    """

    def __init__(self, line: QLineEdit, span: QWidget) -> None:
        super().__init__(line)
        self._line = line
        self._span = span
        self._rows = QStandardItemModel(self)
        self._suggestions: list[Suggestion] = []
        self.setModel(self._rows)
        self.setItemDelegate(SuggestionDelegate(self))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameStyle(QFrame.Shape.Box | QFrame.Shadow.Plain)
        self.hide()

    def rows(self) -> list[tuple[str, str]]:
        """Return the labels and notes of the selectable rows."""
        return [(row.label, row.note) for row in self._suggestions if row.kind != "status"]

    def status(self) -> str:
        """Return the text of the rows about the search, or ""."""
        return " ".join(row.label for row in self._suggestions if row.kind == "status")

    def show_rows(self, rows: Sequence[Suggestion]) -> None:
        """Show these rows and keep the selection; hide the list if there are none."""
        if list(rows) != self._suggestions:
            self._fill(rows)
        if rows:
            self._update_geometry()
        self.setVisible(bool(rows))

    def _fill(self, rows: Sequence[Suggestion]) -> None:
        index = self.currentIndex()
        chosen = (index.data(KindRole), index.data(TextRole))
        self._suggestions = list(rows)
        self._rows.clear()
        for row in rows:
            item = QStandardItem(row.label)
            item.setData(row.note, NoteRole)
            item.setData(row.text, TextRole)
            item.setData(row.kind, KindRole)
            item.setToolTip(plain_tip(f"{row.text}\n{row.note}".strip()))
            accessible_text = f"{row.label}, {row.note}" if row.note else row.label
            item.setData(accessible_text, Qt.ItemDataRole.AccessibleTextRole)
            item.setEditable(False)
            item.setEnabled(row.kind != "status")
            item.setSelectable(row.kind != "status")
            self._rows.appendRow(item)
            if (row.kind, row.text) == chosen:
                self.setCurrentIndex(item.index())

    def step(self, rows: int) -> None:
        """Move the selection down by a number of selectable rows; above the first row, select none."""
        selectable = [number for number, row in enumerate(self._suggestions) if row.kind != "status"]
        current = self.currentIndex().row()
        position = selectable.index(current) if current in selectable else -1
        target = min(len(selectable) - 1, position + rows)
        if target < 0:
            self.setCurrentIndex(QModelIndex())
        else:
            self.setCurrentIndex(self._rows.index(selectable[target], 0))

    def _update_geometry(self) -> None:
        window = self._line.window()
        if self.parentWidget() is not window:
            self.setParent(window)
        corner = self._line.mapTo(window, self._line.rect().bottomLeft())
        full_height = self.sizeHintForRow(0) * min(_MAX_ROWS, self._rows.rowCount()) + 2 * self.frameWidth()
        height = max(self.sizeHintForRow(0), min(full_height, window.height() - corner.y() - 8))
        # As wide as the line edit and its buttons, because the list of an export's clients can be long.
        width = self._span.width()
        theme.tint(self, theme.colors().border, QPalette.ColorRole.WindowText)
        self.setGeometry(corner.x(), corner.y() + 2, width, height)
        self.raise_()


class SuggestionDelegate(QStyledItemDelegate):
    """Paints a suggestion, and its note at the right in a muted color."""

    # Qt overrides

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """Qt: the text with a vertical margin."""
        size = super().sizeHint(option, index)
        return QSize(size.width(), size.height() + 6)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Qt: paint one row."""
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        palette: QPalette = option.palette
        area: QRect = option.rect
        metrics = option.fontMetrics
        painter.save()
        if selected:
            painter.fillRect(area, palette.color(QPalette.ColorRole.Highlight))
        inner = area.adjusted(8, 0, -8, 0)
        width = int(inner.width() * 0.62) if index.data(NoteRole) else inner.width()
        label = metrics.elidedText(str(index.data()), Qt.TextElideMode.ElideMiddle, width)
        middle = Qt.AlignmentFlag.AlignVCenter
        role = QPalette.ColorRole.HighlightedText if selected else QPalette.ColorRole.Text
        is_status = index.data(KindRole) == "status"
        painter.setPen(QColor(theme.colors().muted) if is_status else palette.color(role))
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignLeft, label)
        if not selected:
            painter.setPen(QColor(theme.colors().muted))
        rest = inner.adjusted(metrics.horizontalAdvance(label) + metrics.averageCharWidth() * 2, 0, 0, 0)
        note = metrics.elidedText(str(index.data(NoteRole)), Qt.TextElideMode.ElideRight, rest.width())
        painter.drawText(rest, middle | Qt.AlignmentFlag.AlignRight, note)
        painter.restore()

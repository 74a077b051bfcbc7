"""Suggestion list below the share field: servers or exports, each with what is known of it."""

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
_MAX_ROWS = 10


class SuggestionList(QListView):
    """Lies over the window below a field that keeps the focus: no window of its own, and no grab of keys.

    Args:
        line: the field.
        span: is as wide as the list is to be.
    """

    def __init__(self, line: QLineEdit, span: QWidget) -> None:
        super().__init__(line)
        self._line = line
        self._span = span
        self._rows = QStandardItemModel(self)
        self._shown: list[Suggestion] = []
        self.setModel(self._rows)
        self.setItemDelegate(SuggestionDelegate(self))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameStyle(QFrame.Shape.Box | QFrame.Shadow.Plain)
        self.hide()

    def rows(self) -> list[tuple[str, str]]:
        """Return the labels and notes of what can be chosen."""
        return [(row.label, row.note) for row in self._shown if row.kind != "status"]

    def status(self) -> str:
        """Return what is said of the search, "" if nothing."""
        return " ".join(row.label for row in self._shown if row.kind == "status")

    def show_rows(self, rows: Sequence[Suggestion]) -> None:
        """Show these rows, the chosen one still chosen; without rows, hide."""
        if list(rows) != self._shown:
            self._fill(rows)
        if rows:
            self._place()
        self.setVisible(bool(rows))

    def _fill(self, rows: Sequence[Suggestion]) -> None:
        index = self.currentIndex()
        chosen = (index.data(KindRole), index.data(TextRole))
        self._shown = list(rows)
        self._rows.clear()
        for row in rows:
            item = QStandardItem(row.label)
            item.setData(row.note, NoteRole)
            item.setData(row.text, TextRole)
            item.setData(row.kind, KindRole)
            item.setToolTip(plain_tip(f"{row.text}\n{row.note}".strip()))
            spoken = f"{row.label}, {row.note}" if row.note else row.label
            item.setData(spoken, Qt.ItemDataRole.AccessibleTextRole)
            item.setEditable(False)
            item.setEnabled(row.kind != "status")
            item.setSelectable(row.kind != "status")
            self._rows.appendRow(item)
            if (row.kind, row.text) == chosen:
                self.setCurrentIndex(item.index())

    def step(self, rows: int) -> None:
        """Choose the row that is so many further down, sentences not counted; above the first one, none."""
        places = [place for place, row in enumerate(self._shown) if row.kind != "status"]
        now = self.currentIndex().row()
        place = min(len(places) - 1, (places.index(now) if now in places else -1) + rows)
        if place < 0:
            self.setCurrentIndex(QModelIndex())
        else:
            self.setCurrentIndex(self._rows.index(places[place], 0))

    def _place(self) -> None:
        window = self._line.window()
        if self.parentWidget() is not window:
            self.setParent(window)
        corner = self._line.mapTo(window, self._line.rect().bottomLeft())
        wanted = self.sizeHintForRow(0) * min(_MAX_ROWS, self._rows.rowCount()) + 2 * self.frameWidth()
        height = max(self.sizeHintForRow(0), min(wanted, window.height() - corner.y() - 8))
        # As wide as the line and its buttons: who may mount an export can be a long list.
        width = self._span.width()
        theme.tint(self, theme.colors().border, QPalette.ColorRole.WindowText)
        self.setGeometry(corner.x(), corner.y() + 2, width, height)
        self.raise_()


class SuggestionDelegate(QStyledItemDelegate):
    """Paints a suggestion, and its note at the right in a quieter color."""

    # Qt overrides

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """Qt: a little air around the text."""
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
        said = index.data(KindRole) == "status"
        painter.setPen(QColor(theme.colors().muted) if said else palette.color(role))
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignLeft, label)
        if not selected:
            painter.setPen(QColor(theme.colors().muted))
        rest = inner.adjusted(metrics.horizontalAdvance(label) + metrics.averageCharWidth() * 2, 0, 0, 0)
        note = metrics.elidedText(str(index.data(NoteRole)), Qt.TextElideMode.ElideRight, rest.width())
        painter.drawText(rest, middle | Qt.AlignmentFlag.AlignRight, note)
        painter.restore()

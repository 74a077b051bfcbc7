"""Read-only tables: base classes and common styles of tables without editing."""

from __future__ import annotations

import textwrap
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QSizePolicy,
    QTableView,
    QTableWidget,
    QWidget,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Maximum length of a line in a column title, characters.
_TITLE_CHARACTERS = 13


class ReadOnlyTable(QTableWidget):
    """Table without selection and editing, initially empty.

    Args:
        name: Qt object name.
        accessible: accessible name.
        titles: column titles.
    """

    def __init__(self, name: str, accessible: str, titles: Sequence[str]) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(accessible)
        self.setColumnCount(len(titles))
        self.setHorizontalHeaderLabels(titles)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAlternatingRowColors(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        style_read_only(self)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)


def style_as_list(table: QTableView) -> None:
    """Style a table as a list: whole rows are selected; no frame, row titles or wrapped texts."""
    style_read_only(table)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setFrameShape(QFrame.Shape.NoFrame)
    table.setAlternatingRowColors(True)
    table.setWordWrap(False)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(int(table.fontMetrics().lineSpacing() * 1.5))


def style_read_only(table: QTableView) -> None:
    """Style a table without grid and highlighted titles; Tab leaves it; its parts get accessible names."""
    table.setShowGrid(False)
    table.setTabKeyNavigation(False)
    table.horizontalHeader().setHighlightSections(False)
    table.horizontalHeader().setAccessibleName(QCoreApplication.translate("ReadOnlyTable", "Column titles"))
    table.verticalHeader().setAccessibleName(QCoreApplication.translate("ReadOnlyTable", "Row titles"))
    corner = table.findChild(QAbstractButton)
    if corner is not None:
        corner.setAccessibleName(QCoreApplication.translate("ReadOnlyTable", "Corner between the titles"))


def wrapped_title(title: str) -> str:
    """Wrap a long column title, because a column is at least as wide as its title."""
    return "\n".join(textwrap.wrap(title, _TITLE_CHARACTERS))


class AutoHeightTable(ReadOnlyTable):
    """Read-only table as high as all of its rows; see :class:`ReadOnlyTable` for the arguments."""

    def __init__(self, name: str, accessible: str, titles: list[str]) -> None:
        super().__init__(name, accessible, titles)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.verticalHeader().setDefaultSectionSize(int(self.fontMetrics().lineSpacing() * 1.45))

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: height of all rows, and of the horizontal scroll bar if it is needed."""
        header, bar = self.horizontalHeader(), self.horizontalScrollBar()
        bar_height = bar.sizeHint().height() if bar.maximum() else 0
        rows = self.verticalHeader().length() + header.sizeHint().height()
        return QSize(super().sizeHint().width(), rows + bar_height + 4)

    def minimumSizeHint(self) -> QSize:
        """Qt: the full height, so that no row is cut off."""
        return QSize(0, self.sizeHint().height())


class ColumnWidths(QObject):
    """Widths of table columns that the user dragged; they outlive the window.

    Args:
        page: widget whose tables with an object name are watched.
    """

    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self._page = page
        self._widths: dict[str, list[int]] = {}
        for table in page.findChildren(QTableView):
            if table.objectName():
                table.horizontalHeader().sectionResized.connect(partial(self._on_resized, table))

    def widths(self) -> dict[str, list[int]]:
        """Return the widths of all columns by the table's object name, for tables that the user changed."""
        return dict(self._widths)

    def restore(self, widths: Mapping[str, list[int]]) -> None:
        """Set widths of an earlier window; those of a table with other columns are left out."""
        for name, columns in widths.items():
            table = self._page.findChild(QTableView, name)
            if table is not None and table.horizontalHeader().count() == len(columns):
                self._widths[name] = list(columns)
                for column, width in enumerate(columns):
                    if width > 0:
                        table.setColumnWidth(column, width)

    def _on_resized(self, table: QTableView, _column: int, _before: int, _width: int) -> None:
        # Only a drag is the user's wish: the tables also fit their columns to the window.
        if (
            QGuiApplication.mouseButtons() & Qt.MouseButton.LeftButton
            and table.horizontalHeader().underMouse()
        ):
            header = table.horizontalHeader()
            self._widths[table.objectName()] = [header.sectionSize(n) for n in range(header.count())]

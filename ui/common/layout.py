"""Layout widgets: scrolling page, column of a page, collapsible section, list splitter, tab bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QFontInfo, QIcon
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSplitter,
    QStyle,
    QTabBar,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from ui.common.icons import icon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QResizeEvent


class PageScrollArea(QScrollArea):
    """Scroll area for one page that scrolls only vertically.

    Args:
        page: content; its minimum width may change.
        name: accessible name.
    """

    def __init__(self, page: QWidget, name: str) -> None:
        super().__init__()
        self._page = page
        self.setAccessibleName(name)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(page)

    # Qt overrides

    def minimumSizeHint(self) -> QSize:
        """Qt: width of the page and of the scroll bar."""
        bar = self.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent, None, self)
        return QSize(self._page.minimumSizeHint().width() + bar, super().minimumSizeHint().height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: update the width when the layout of the page changes."""
        if watched is self._page and event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)


#: Largest width of a page's content at a font of 15 px, px.
_COLUMN_WIDTH, _COLUMN_FONT = 880, 15


class PageColumn(QWidget):
    """Content of a page, centered and not wider than what is easy to read.

    Attributes:
        body: layout of the content.
    """

    def __init__(self) -> None:
        super().__init__()
        self._column = QWidget()
        self.body = QVBoxLayout(self._column)
        self.body.setContentsMargins(0, 0, 0, 0)
        self.body.setSpacing(16)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(24, 16, 24, 16)
        layout.addStretch(1)
        layout.addWidget(self._column, 1000)  # everything up to its largest width
        layout.addStretch(1)
        self._limit_width()

    def _limit_width(self) -> None:
        scale = max(1.0, QFontInfo(self.font()).pixelSize() / _COLUMN_FONT)
        self._column.setMaximumWidth(round(_COLUMN_WIDTH * scale))

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: grow with the font."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_column"):
            self._limit_width()


class CollapsibleSection(QWidget):
    """Section with a title button that shows or hides its content; initially closed.

    Args:
        name: Qt object name of the title button.
        parts: content, from top to bottom.

    Signals:
        toggled: the user opened or closed the section; whether it is open.
    """

    toggled = Signal(bool)

    def __init__(self, name: str, parts: Sequence[QWidget]) -> None:
        super().__init__()
        self._button = QPushButton()
        self._button.setObjectName(name)
        self._button.setFlat(True)
        self._button.setAutoDefault(False)  # in a dialog, Enter keeps pressing its default button
        self._body = QWidget()
        body = QVBoxLayout(self._body)
        body.setContentsMargins(24, 2, 0, 4)
        for part in parts:
            body.addWidget(part)
        top = QHBoxLayout()
        top.addWidget(self._button)
        top.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(top)
        layout.addWidget(self._body)
        self._button.clicked.connect(self._on_clicked)
        self._open = False
        self._show()

    def set_title(self, title: str) -> None:
        """Set the title."""
        self._button.setText(title)

    def is_open(self) -> bool:
        """Return whether the section is open."""
        return self._open

    def set_open(self, *, on: bool) -> None:
        """Open or close the section."""
        self._open = on
        self._show()

    def _on_clicked(self) -> None:
        self.set_open(on=not self._open)
        self.toggled.emit(self._open)

    def _show(self) -> None:
        self._button.setIcon(icon("chevron-down" if self._open else "chevron-right"))
        self._body.setVisible(self._open)


#: Preferred width of the list, characters, and its maximum fraction of the window.
_LIST_CHARACTERS, _LIST_FRACTION = 38, 0.27


class ListSplitter(QSplitter):
    """Splitter of a list and its details; the list keeps its width when the window grows.

    Args:
        listed: list, at the left.
        chosen: details of the selected row, at the right.
    """

    def __init__(self, listed: QWidget, chosen: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setChildrenCollapsible(False)
        self.setHandleWidth(1)
        self.addWidget(listed)
        self.addWidget(chosen)
        self.setStretchFactor(0, 0)
        self.setStretchFactor(1, 1)
        self._list_width: int | None = None
        self.splitterMoved.connect(self._on_moved)

    def _on_moved(self, place: int, _handle: int) -> None:
        self._list_width = place

    def list_width(self) -> int | None:
        """Return the width of the list that the user chose, None for that of the program's choice."""
        return self._list_width

    def set_list_width(self, width: int) -> None:
        """Set the width of the list."""
        self._list_width = width
        self._fit()

    def _fit(self) -> None:
        width = self.width()
        if self._list_width is not None:
            left = self._list_width
        else:
            left = min(
                self.fontMetrics().averageCharWidth() * _LIST_CHARACTERS, round(width * _LIST_FRACTION)
            )
        self.setSizes([left, width - left])

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: set the widths of both parts."""
        super().resizeEvent(event)
        self._fit()


class TabBar(QTabBar):
    """Tab bar with larger tabs than those of the style."""

    # Qt overrides

    def tabSizeHint(self, index: int) -> QSize:
        """Qt: size of the style plus half a line in both directions."""
        unit = self.fontMetrics().height() // 2
        return super().tabSizeHint(index) + QSize(unit, unit)


class PageTabs(QTabWidget):
    """Tab widget of the pages; the tabs lose their icons where they would not fit otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.setTabBar(TabBar())
        self.setDocumentMode(True)
        self._icons: list[QIcon] = []
        self._shows_icons = True

    def add_page(self, page: QWidget, icon_name: str, title: str) -> None:
        """Add a page behind the others."""
        self._icons.append(icon(icon_name))
        self.addTab(page, self._icons[-1], title)

    def _fit(self) -> None:
        bar = self.tabBar()
        side = bar.iconSize().width() + bar.style().pixelMetric(QStyle.PixelMetric.PM_TabBarTabHSpace) // 3
        visible = sum(self.isTabVisible(number) for number in range(self.count()))
        needed = bar.sizeHint().width() + (0 if self._shows_icons else visible * side)
        shows_icons = needed <= self.width()
        if shows_icons != self._shows_icons:
            self._shows_icons = shows_icons
            for number, picture in enumerate(self._icons):
                self.setTabIcon(number, picture if shows_icons else QIcon())

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: show or hide the icons."""
        super().resizeEvent(event)
        self._fit()

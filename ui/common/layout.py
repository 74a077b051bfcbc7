"""Layout widgets: a page that scrolls up and down only, a collapsible section, a splitter, and a tab bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSplitter,
    QStyle,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QResizeEvent


class PageScrollArea(QScrollArea):
    """Shows one page.

    Args:
        page: what is on it; it may change.
        name: what that is, for people who do not see it.
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
        """Qt: as wide as the page, and the bar beside it."""
        bar = self.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent, None, self)
        return QSize(self._page.minimumSizeHint().width() + bar, super().minimumSizeHint().height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: what is added to the page may be wider."""
        if watched is self._page and event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)


class CollapsibleSection(QWidget):
    """Closed at first.

    Args:
        name: of the object.
        parts: what it holds.
    """

    def __init__(self, name: str, parts: Sequence[QWidget]) -> None:
        super().__init__()
        self._title = ""
        self._button = QPushButton()
        self._button.setObjectName(name)
        self._button.setFlat(True)
        self._body = QWidget()
        body = QVBoxLayout(self._body)
        body.setContentsMargins(14, 2, 0, 4)
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
        """Say what it holds."""
        self._title = title
        self._show()

    def set_open(self, *, on: bool) -> None:
        """Open or close it."""
        self._open = on
        self._show()

    def _on_clicked(self) -> None:
        self.set_open(on=not self._open)

    def _show(self) -> None:
        self._button.setText(f"{'▾' if self._open else '▸'} {self._title}")
        self._body.setVisible(self._open)


#: Letters of the list where there is room, and its part of a narrow window.
_LETTERS, _PART = 38, 0.27


class ListSplitter(QSplitter):
    """Shares its width out until a person does.

    Args:
        listed: at the left.
        chosen: at the right.
    """

    def __init__(self, listed: QWidget, chosen: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setChildrenCollapsible(False)
        self.setHandleWidth(1)
        self.addWidget(listed)
        self.addWidget(chosen)
        self.setStretchFactor(0, 0)
        self.setStretchFactor(1, 1)
        self._moved = False
        self.splitterMoved.connect(self._on_moved)

    def _on_moved(self, _place: int, _handle: int) -> None:
        self._moved = True

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: share another width out."""
        super().resizeEvent(event)
        if not self._moved:
            width = self.width()
            left = min(self.fontMetrics().averageCharWidth() * _LETTERS, round(width * _PART))
            self.setSizes([left, width - left])


class TabBar(QTabBar):
    """A tab bar, a little higher and wider than the style's own."""

    # Qt overrides

    def tabSizeHint(self, index: int) -> QSize:
        """Qt: the style's size and a margin."""
        unit = self.fontMetrics().height() // 2
        return super().tabSizeHint(index) + QSize(unit, unit)

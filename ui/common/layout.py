"""A page that scrolls up and down only: it is never narrower than what is on it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QStyle, QWidget


class PageScroll(QScrollArea):
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

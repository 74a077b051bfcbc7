"""Focus order: the controls of a window as they stand on it, from top to bottom.

Qt visits widgets in the order of their creation, and appends what a page creates later. Here, Tab follows the
layouts, so that cards and rows that come with an answer are visited where they are seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QGridLayout,
    QLayout,
    QPlainTextEdit,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QTextEdit,
    QWidget,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Widgets that are one stop of Tab with all of their parts.
_SINGLE = (QAbstractItemView, QAbstractSpinBox, QComboBox, QPlainTextEdit, QTextEdit)


def move_focus(window: QWidget, *, forward: bool) -> bool:
    """Move the focus to the next or previous control of a window; return whether there is another one."""
    stops = list(focus_order(window))
    if not stops:
        return False
    widget = QApplication.focusWidget()
    while widget is not None and widget not in stops:
        widget = widget.parentWidget()
    step = 1 if forward else -1
    place = (stops.index(widget) + step if widget is not None else 0) % len(stops)
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    stops[place].setFocus(reason)
    return True


def focus_order(widget: QWidget) -> Iterator[QWidget]:
    """Return the visible controls that Tab visits in a widget, in the order of its layout."""
    if not widget.isVisible() or not widget.isEnabled():
        return
    if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.focusProxy() is None:
        yield widget
    if not isinstance(widget, _SINGLE):
        for part in _parts(widget):
            yield from focus_order(part)


def _parts(widget: QWidget) -> Iterator[QWidget]:
    if isinstance(widget, QTabWidget):
        yield widget.tabBar()
        yield from _existing(widget.currentWidget())
    elif isinstance(widget, QStackedWidget):
        yield from _existing(widget.currentWidget())
    elif isinstance(widget, QScrollArea):
        yield from _existing(widget.widget())
    elif isinstance(widget, QSplitter):
        for number in range(widget.count()):
            yield from _existing(widget.widget(number))
    else:
        layout = widget.layout()
        if layout is not None:
            yield from _parts_of_layout(layout)
        else:
            yield from (child for child in widget.children() if isinstance(child, QWidget))


def _existing(widget: QWidget | None) -> Iterator[QWidget]:
    if widget is not None:
        yield widget


def _parts_of_layout(layout: QLayout) -> Iterator[QWidget]:
    numbers = list(range(layout.count()))
    if isinstance(layout, QGridLayout):
        places: dict[int, tuple[int, int]] = {}
        for number in numbers:
            place: Any = layout.getItemPosition(number)  # row, column and spans, as an untyped tuple
            places[number] = place[0], place[1]
        numbers.sort(key=places.__getitem__)
    for number in numbers:
        item = layout.itemAt(number)
        inner = item.layout() if item is not None else None
        if inner is not None:
            yield from _parts_of_layout(inner)
        elif item is not None:
            yield from _existing(item.widget())

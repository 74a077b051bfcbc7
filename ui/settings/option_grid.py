"""A group of options in the settings form: a heading, what is always shown, and the rest behind a click."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QToolButton

from ui.common.labels import enlarge, heading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtWidgets import QLabel

    from advisor.catalogue import Option


class OptionSection(QObject):
    """Says which options of a group are to be seen.

    Args:
        title: of the group.
        options: all of them, in their order.
        always: names of those that are always shown; without any, the heading itself opens the group.

    Signals:
        toggled: the person opened or closed it.
    """

    toggled = Signal()

    def __init__(
        self, title: str, options: Iterable[Option], always: frozenset[str], parent: QObject
    ) -> None:
        super().__init__(parent)
        options = list(options)
        self.always = [option for option in options if option.name in always]
        self.more = [option for option in options if option.name not in always]
        self.is_open = False
        self._pinned = False
        self.label: QLabel | None = heading(title) if self.always else None
        self.button = QToolButton()
        self.button.setObjectName(f"more-{options[0].group}")
        self.button.setAutoRaise(True)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._text = title if self.label is None else self.tr("More of {group}").format(group=title)
        if self.label is None:
            enlarge(self.button, 1.15, bold=True)
        self.button.clicked.connect(self._on_clicked)
        self.show_given(0)
        self._show()

    def names(self) -> set[str]:
        """Return the names of all its options."""
        return {option.name for option in (*self.always, *self.more)}

    def open(self) -> None:
        """Open it, because something in it is to be seen."""
        self.is_open = True
        self._show()

    def settle(self) -> None:
        """Close it, unless the person opened it."""
        self.is_open = self._pinned
        self._show()

    def show_given(self, count: int) -> None:
        """Say how many of its options there are, and how many of them have a value."""
        text = f"{self._text} ({len(self.more)})"
        self.button.setText(
            text if not count else self.tr("{text}, {count} set").format(text=text, count=count)
        )

    def _show(self) -> None:
        state = self.tr("opened") if self.is_open else self.tr("closed")
        self.button.setAccessibleDescription(state)
        self.button.setArrowType(Qt.ArrowType.DownArrow if self.is_open else Qt.ArrowType.RightArrow)

    def _on_clicked(self) -> None:
        self.is_open = self._pinned = not self.is_open
        self._show()
        self.toggled.emit()

"""A part of a page that is opened and closed by its title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

if TYPE_CHECKING:
    from collections.abc import Sequence


class Fold(QWidget):
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

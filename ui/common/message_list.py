"""Message list: sentences below a title, each with a symbol, so that color is not the only cue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from ui.common import theme
from ui.common.labels import UnitAwareLabel, enlarge, plain_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.message import Message

    Meaning = Literal["ok", "warn", "error", "info"]

_SIGNS: dict[str, str] = {"ok": "✓", "warn": "⚠", "error": "✖", "info": "ℹ"}  # noqa: RUF001 - the sign


class MessageList(QWidget):
    """List of sentences with a title; hidden while it is empty.

    Args:
        title: title, "" for none.
        meaning: severity, which determines symbol and color of the sentences.
    """

    def __init__(self, title: str, meaning: Meaning) -> None:
        super().__init__()
        self._meaning = meaning
        self._title = plain_label(title)
        self._title.setVisible(bool(title))
        enlarge(self._title, 1.0, bold=True)
        self._sentences: list[str | Message] = []
        self._labels: list[UnitAwareLabel] = []
        self._signs: list[QLabel] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(3)
        self._grid.setColumnStretch(1, 1)
        self._grid.addWidget(self._title, 0, 0, 1, 2)
        self.hide()

    def sentences(self) -> list[str]:
        """Return the shown sentences, with speeds in the chosen unit."""
        return [label.text() for label in self._labels]

    def show_sentences(self, sentences: Sequence[str | Message]) -> None:
        """Replace the sentences and messages."""
        if list(sentences) == self._sentences:
            return
        self._sentences = list(sentences)
        for label in (*self._signs, *self._labels):
            self._grid.removeWidget(label)
            label.hide()
            label.deleteLater()
        self._signs = [plain_label(_SIGNS[self._meaning]) for _ in sentences]
        self._labels = [UnitAwareLabel(text) for text in sentences]
        for row, (sign, label) in enumerate(zip(self._signs, self._labels, strict=True), 1):
            self._grid.addWidget(sign, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(label, row, 1)
        self._update_colors()
        self.setVisible(bool(sentences))

    def _update_colors(self) -> None:
        color: str = getattr(theme.colors(), self._meaning)
        for sign in self._signs:
            theme.tint(sign, color)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_signs"):
            self._update_colors()

"""What an experiment shows, in one large sentence with a sign, so that color is not needed."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from ui.common import theme
from ui.common.labels import enlarge, plain_label
from ui.widgets.spoken_label import SpokenLabel

#: Sign and meaning (a field of ui.common.theme.Colours) of each verdict; those that are not here are unknown.
_SIGNS = {
    "better": ("▲", "ok"), "effect": ("▲", "ok"),
    "no-difference": ("=", "info"), "none-better": ("=", "info"), "present": ("=", "info"),
    "worse": ("=", "info"),
}  # fmt: skip
_UNKNOWN = ("?", "warn")


class Headline(QWidget):
    """Shows one sentence; hidden without."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._meaning = "info"
        self._sign = plain_label()
        self._text = SpokenLabel()
        self._text.setObjectName(name)
        for part in (self._sign, self._text):
            enlarge(part, 1.25, bold=True)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 2, 0, 2)
        layout.setSpacing(10)
        layout.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self._text, 1)
        self.hide()

    def show_verdict(self, verdict: str, text: str) -> None:
        """Show a sentence with the sign of its verdict, "" for none."""
        sign, self._meaning = _SIGNS.get(verdict, _UNKNOWN)
        self._sign.setText(sign)
        self._text.say(text)
        self._color()
        self.setVisible(bool(text))

    def _color(self) -> None:
        color: str = getattr(theme.colours(), self._meaning)
        theme.tint(self._sign, color)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_sign"):
            self._color()

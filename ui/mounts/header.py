"""The free space of a mount in a few words; a warning has a sign, a colour and the reason as its tool tip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from app.mounts.space import space_text
from ui.common import theme
from ui.common.labels import ElidedLabel, plain_tip

if TYPE_CHECKING:
    from app.mounts.space import Space


class SpaceLabel(ElidedLabel):
    """Shows what is free; hidden while nothing is known."""

    def __init__(self) -> None:
        super().__init__(mode=Qt.TextElideMode.ElideRight)
        self.setObjectName("space")
        self._warns = False
        self.show_space(None)

    def show_space(self, space: Space | None) -> None:
        """Show this, None for a mount of which nothing is known yet."""
        self.setVisible(space is not None)
        if space is None:
            self.setText("")
            return
        line, warning = space_text(space)
        self._warns = bool(warning) or space.state in {"no-answer", "failed"}
        self.setText(f"⚠ {line}" if self._warns else line)
        self.setToolTip(plain_tip(warning or line))
        self.setAccessibleName(warning or line)

    def ink(self) -> QColor:
        """Return the colour of the text."""
        colours = theme.colours()
        return QColor(colours.warn if self._warns else colours.muted)

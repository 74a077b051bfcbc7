"""Buttons of dialogs: the row at the foot, without the style's pictures, and choices seen in the dark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QDialogButtonBox, QPushButton

from ui.common import theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QAbstractButton, QDialog, QVBoxLayout


def add_buttons(
    dialog: QDialog,
    layout: QVBoxLayout,
    close_text: str,
    actions: list[QPushButton],
    default: QPushButton | None,
) -> QPushButton:
    """Add the actions and a button that rejects the dialog; return that one.

    Args:
        dialog: the dialog.
        layout: its layout, to whose end the row goes.
        close_text: of the button that rejects.
        actions: connected by the caller.
        default: the one that Enter presses; None for the one that rejects.
    """
    box = QDialogButtonBox()
    close = QPushButton(close_text)
    close.setObjectName(f"{dialog.objectName()}-close")
    box.addButton(close, QDialogButtonBox.ButtonRole.RejectRole)
    for action in actions:
        box.addButton(action, QDialogButtonBox.ButtonRole.ActionRole)
    box.rejected.connect(dialog.reject)
    layout.addWidget(box)
    for button in (close, *actions):
        button.setAutoDefault(False)
    (default or close).setDefault(True)
    return close


def show_outline(button: QAbstractButton) -> None:
    """Make a radio button or check box stand out from a dark window: Fusion's outline is darker still."""
    _Outline(button)


class _Outline(QObject):
    """Gives a button its outline, and another one when it gets dark or light."""

    def __init__(self, button: QAbstractButton) -> None:
        super().__init__(button)
        self._button = button
        button.installEventFilter(self)
        self._colour()

    def _colour(self) -> None:
        colours = theme.colours()
        colour = colours.border if colours is theme.DARK else colours.base
        if self._button.palette().color(QPalette.ColorRole.Base).name() != colour:
            theme.tint(self._button, colour, QPalette.ColorRole.Base)

    # Qt overrides

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: follow a change between light and dark."""
        if event.type() == QEvent.Type.PaletteChange:
            self._colour()
        return super().eventFilter(watched, event)


def fit(dialog: QDialog, letters: int) -> None:
    """Make a dialog so many average letters wide, and as high as its wrapped text needs."""
    width = dialog.fontMetrics().averageCharWidth() * letters
    layout = dialog.layout()
    height = layout.totalHeightForWidth(width) if layout is not None else 0
    dialog.resize(width, height)

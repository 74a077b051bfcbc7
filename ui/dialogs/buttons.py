"""Buttons of dialogs: the row at the foot, without the style's pictures, and choices seen in the dark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication, QPalette
from PySide6.QtWidgets import QDialogButtonBox, QPushButton

from ui import theme

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
    # The program's palette: the button's own is what an earlier call has made of it, and changes later.
    dark = QGuiApplication.palette().color(QPalette.ColorRole.Base).lightness() < 128
    theme.tint(button, theme.DARK.border if dark else theme.LIGHT.base, QPalette.ColorRole.Base)


def fit(dialog: QDialog, letters: int) -> None:
    """Make a dialog so many average letters wide, and as high as its wrapped text needs."""
    width = dialog.fontMetrics().averageCharWidth() * letters
    layout = dialog.layout()
    height = layout.totalHeightForWidth(width) if layout is not None else 0
    dialog.resize(width, height)

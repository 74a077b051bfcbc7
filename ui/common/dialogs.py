"""Dialog parts: the row of buttons, outlines of check boxes, size by text, and a confirmation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QDialogButtonBox, QGridLayout, QMessageBox, QPushButton, QSpacerItem, QWidget

from ui.common import theme

if TYPE_CHECKING:
    from collections.abc import Callable

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
        self._update_colors()

    def _update_colors(self) -> None:
        colors = theme.colors()
        color = colors.border if colors is theme.DARK else colors.base
        if self._button.palette().color(QPalette.ColorRole.Base).name() != color:
            theme.tint(self._button, color, QPalette.ColorRole.Base)

    # Qt overrides

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: follow a change between light and dark."""
        if event.type() == QEvent.Type.PaletteChange:
            self._update_colors()
        return super().eventFilter(watched, event)


def fit_to_text(dialog: QDialog, letters: int) -> None:
    """Make a dialog so many average letters wide, and as high as its wrapped text needs."""
    width = dialog.fontMetrics().averageCharWidth() * letters
    layout = dialog.layout()
    height = layout.totalHeightForWidth(width) if layout is not None else 0
    dialog.resize(width, height)


#: Width of the text.
_LETTERS = 50


def confirm(
    parent: QWidget, question: str, consequence: str, action: str, agreed: Callable[[], None]
) -> None:
    """Ask, and run ``agreed`` if the person chooses the action; Esc and Cancel do nothing.

    Args:
        parent: the window.
        question: one sentence.
        consequence: what will happen.
        action: text of the button that does it.
        agreed: runs on the main thread.
    """
    box = QMessageBox(parent)
    box.setObjectName("confirm")
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setWindowTitle(action.replace("&", "").rstrip("…"))
    box.setText(question)
    box.setInformativeText(consequence)
    button = QPushButton(action, box)
    button.setObjectName("confirm-action")
    box.addButton(button, QMessageBox.ButtonRole.AcceptRole)
    cancel = QPushButton(QCoreApplication.translate("confirm", "&Cancel"), box)
    box.addButton(cancel, QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    button.clicked.connect(agreed)
    layout = box.layout()
    if isinstance(layout, QGridLayout):  # a short question would be broken into lines of a few words
        room = QSpacerItem(box.fontMetrics().averageCharWidth() * _LETTERS, 0)
        layout.addItem(room, layout.rowCount(), 0, 1, layout.columnCount())
    box.open()

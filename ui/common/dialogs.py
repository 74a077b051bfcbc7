"""Dialog parts: row of buttons, size by text, confirmation dialog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QDialogButtonBox, QGridLayout, QMessageBox, QPushButton, QSpacerItem, QWidget

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QDialog, QVBoxLayout


def add_buttons(
    dialog: QDialog,
    layout: QVBoxLayout,
    close_text: str,
    actions: list[QPushButton],
    default: QPushButton | None,
) -> QPushButton:
    """Add a row with action buttons and a button that rejects the dialog; return the latter.

    Args:
        dialog: the dialog.
        layout: layout of the dialog, to which the row is appended.
        close_text: text of the button that rejects the dialog.
        actions: action buttons; the caller connects them.
        default: button that Enter presses, None for the one that rejects.
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


def fit_to_text(dialog: QDialog, letters: int) -> None:
    """Resize a dialog to a width in average characters, and to the height of its wrapped text."""
    width = dialog.fontMetrics().averageCharWidth() * letters
    layout = dialog.layout()
    height = layout.totalHeightForWidth(width) if layout is not None else 0
    dialog.resize(width, height)


#: Minimum width of the text of a confirmation, characters.
_MIN_CHARACTERS = 50


def confirm(
    parent: QWidget, question: str, consequence: str, action: str, agreed: Callable[[], None]
) -> None:
    """Ask for a confirmation; Esc and Cancel close the dialog without effect.

    Args:
        parent: the window.
        question: one sentence, the main text.
        consequence: what the action does, in a smaller font.
        action: text of the confirming button, also the title of the dialog.
        agreed: called, on the main thread, if the user confirms.
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
    if isinstance(layout, QGridLayout):  # otherwise a short question wraps after a few words
        spacer = QSpacerItem(box.fontMetrics().averageCharWidth() * _MIN_CHARACTERS, 0)
        layout.addItem(spacer, layout.rowCount(), 0, 1, layout.columnCount())
    box.open()

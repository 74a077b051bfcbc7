"""A question that is answered by a click, without holding anything else up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QPushButton, QWidget

if TYPE_CHECKING:
    from collections.abc import Callable


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
    box.setIcon(QMessageBox.Icon.Question)
    box.setWindowTitle(action.replace("&", "").rstrip("…"))
    box.setText(question)
    box.setInformativeText(consequence)
    button = QPushButton(action, box)
    button.setObjectName("confirm-action")
    box.addButton(button, QMessageBox.ButtonRole.AcceptRole)
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    button.clicked.connect(agreed)
    box.open()

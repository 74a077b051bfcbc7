"""A question that is answered by a click, without holding anything else up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QGridLayout, QMessageBox, QPushButton, QSpacerItem, QWidget

if TYPE_CHECKING:
    from collections.abc import Callable

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

"""The question before an import: what cannot be written, and what only root may give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QGridLayout, QMessageBox, QPushButton, QSpacerItem, QWidget

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.foreign_entries import ForeignEntry

#: Width of the text.
_LETTERS = 60


def ask_foreign_import(parent: QWidget, entry: ForeignEntry, chosen: Callable[[str], None]) -> None:
    """Ask, and call ``chosen`` with the options to draft; Esc and Cancel do nothing.

    Args:
        parent: the window.
        entry: what others configure.
        chosen: runs on the main thread.
    """

    def tr(text: str) -> str:
        return QCoreApplication.translate("ForeignImport", text)

    box = QMessageBox(parent)
    box.setObjectName("foreign-import")
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setWindowTitle(tr("Import"))
    box.setText(tr("Import {path}?").format(path=entry.mount_point))
    parts: list[str] = []
    if entry.reserved:
        approve = tr("An administrator has to approve these options if you keep them.")
        parts.append("\n".join([*entry.reserved, approve]))
    if entry.lost:
        parts.append("\n".join([tr("Left out in any case:"), *entry.lost]))
    parts.append(tr("Nothing is written yet. {origin} stays as it is.").format(origin=entry.origin))
    box.setInformativeText("\n\n".join(parts))
    buttons = [(tr("&Import"), "foreign-import-do", entry.options)]
    if entry.reserved:
        buttons = [
            (tr("&Leave Out Options"), "foreign-import-leave-out", entry.plain_options),
            (tr("&Keep Options"), "foreign-import-keep", entry.options),
        ]
    for text, name, options in buttons:
        button = QPushButton(text, box)
        button.setObjectName(name)
        box.addButton(button, QMessageBox.ButtonRole.AcceptRole)
        button.clicked.connect(lambda _checked=False, options=options: chosen(options))
    cancel = QPushButton(tr("&Cancel"), box)
    cancel.setObjectName("foreign-import-cancel")
    box.addButton(cancel, QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    layout = box.layout()
    if isinstance(layout, QGridLayout):
        room = QSpacerItem(box.fontMetrics().averageCharWidth() * _LETTERS, 0)
        layout.addItem(room, layout.rowCount(), 0, 1, layout.columnCount())
    box.open()

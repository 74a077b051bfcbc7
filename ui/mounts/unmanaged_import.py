"""Import of a mount that Mountwright does not manage (another program's unit, an autofs map) into a draft.

A dialog lists the options that the draft cannot hold, and asks about those that only root may set.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QMessageBox, QPushButton, QSpacerItem, QWidget

from app.mounts.change_model import ForeignArgs
from ui.common.bridge import LatestCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.change_model import ForeignEntry
    from ui.common.bridge import BridgeCall

#: Width of the text, characters.
_LETTERS = 60


def ask_unmanaged_import(parent: QWidget, entry: ForeignEntry, chosen: Callable[[str], None]) -> None:
    """Ask which options to import, and call ``chosen`` with them; Esc and Cancel do nothing.

    Args:
        parent: the window.
        entry: the entry that Mountwright does not manage.
        chosen: receives the option string of the draft; runs on the main thread.
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
        spacer = QSpacerItem(box.fontMetrics().averageCharWidth() * _LETTERS, 0)
        layout.addItem(spacer, layout.rowCount(), 0, 1, layout.columnCount())
    box.open()


class UnmanagedImport(QObject):
    """Reads an entry that Mountwright does not manage, through the agent, and asks which options to import.

    Signals:
        chosen: the ForeignEntry and the option string of the draft.
        failed: the AppError of a failed read.
    """

    chosen = Signal(object, str)
    failed = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._call = LatestCall(submit)

    def ask(self, mount_point: str) -> None:
        """Read the entry of a mount point; ask about options that are dropped or that only root may set."""
        args = ForeignArgs(mount_point=mount_point)
        self._call.ask("mounts.foreign", args, self._on_read, self.failed.emit)

    def reset(self) -> None:
        """Cancel the request, because the connection to the host is closed."""
        self._call.reset()

    def _on_read(self, entry: ForeignEntry) -> None:
        if entry.is_plain:
            self.chosen.emit(entry, entry.options)
        else:
            ask_unmanaged_import(self._window, entry, partial(self.chosen.emit, entry))

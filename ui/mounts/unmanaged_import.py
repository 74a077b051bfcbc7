"""Import of a mount that Mountwright does not manage (another program's unit, an autofs map) into a draft.

Options that have no place in the draft, or that only root may give, are asked about first.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QObject, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QMessageBox, QPushButton, QSpacerItem, QWidget

from app.mounts.foreign_entries import ForeignArgs
from ui.common.bridge import LatestCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.foreign_entries import ForeignEntry
    from ui.common.bridge import BridgeCall

#: Width of the text.
_LETTERS = 60


def ask_unmanaged_import(parent: QWidget, entry: ForeignEntry, chosen: Callable[[str], None]) -> None:
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


class UnmanagedImport(QObject):
    """Has the host read an entry that others made; nothing is written.

    Signals:
        chosen: the ForeignEntry and the options to draft.
        failed: the AppError.
    """

    chosen = Signal(object, str)
    failed = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._call = LatestCall(submit)

    def ask(self, mount_point: str) -> None:
        """Read the entry of a mount point, and ask what is to become of what only root may give."""
        args = ForeignArgs(mount_point=mount_point)
        self._call.ask("mounts.foreign", args, self._on_read, self.failed.emit)

    def reset(self) -> None:
        """The host is gone."""
        self._call.reset()

    def _on_read(self, entry: ForeignEntry) -> None:
        if entry.is_plain:
            self.chosen.emit(entry, entry.options)
        else:
            ask_unmanaged_import(self._window, entry, partial(self.chosen.emit, entry))

"""Actions of the main window: commands with texts and shortcuts, and the menu that has them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from app.text.translate import mark
from ui.common.icons import icon

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Command(StrEnum):
    """Commands of the main window; the value is part of the action's object name."""

    NEW = "new"
    PASTE = "paste"
    EXPORT = "export"
    IMPORT = "import"
    REFRESH = "refresh"
    UNMOUNT = "unmount"
    PALETTE = "palette"
    PREFERENCES = "preferences"
    SHORTCUTS = "shortcuts"
    HELP = "help"
    ABOUT = "about"
    DISMISS = "dismiss"
    QUIT = "quit"


@dataclass(frozen=True, slots=True)
class _CommandSpec:
    text: str
    icon: str
    keys: tuple[str, ...] = ()


_SPECS = {
    Command.NEW: _CommandSpec(mark("&Mount a Share…"), "plus", ("Ctrl+N",)),
    Command.PASTE: _CommandSpec(mark("&Paste a Mount…"), "paste", ("Ctrl+Shift+V",)),
    Command.EXPORT: _CommandSpec(mark("&Export Mounts…"), "up"),
    Command.IMPORT: _CommandSpec(mark("&Import Mounts…"), "down"),
    Command.REFRESH: _CommandSpec(mark("&Refresh"), "redo", ("F5",)),
    Command.UNMOUNT: _CommandSpec(mark("Unm&ount…"), "eject"),
    Command.PALETTE: _CommandSpec(mark("&Find a Command…"), "search", ("Ctrl+K",)),
    Command.PREFERENCES: _CommandSpec(mark("Prefere&nces…"), "gear", ("Ctrl+,",)),
    Command.SHORTCUTS: _CommandSpec(mark("&Keyboard Shortcuts"), "list", ("Ctrl+?",)),
    Command.HELP: _CommandSpec(mark("&Help"), "help", ("F1",)),
    Command.ABOUT: _CommandSpec(mark("&About Mountwright"), "info"),
    Command.DISMISS: _CommandSpec(mark("&Close the Message"), "close", ("Esc",)),
    Command.QUIT: _CommandSpec(mark("&Quit"), "close", ("Ctrl+Q",)),
}

#: Groups of the menu, from top to bottom, with a line between two of them.
_MENU = (
    (Command.NEW, Command.PASTE, Command.REFRESH, Command.UNMOUNT),
    (Command.EXPORT, Command.IMPORT),
    (Command.PALETTE, Command.PREFERENCES),
    (Command.SHORTCUTS, Command.HELP, Command.ABOUT),
    (Command.QUIT,),
)


def _text(source: str) -> str:
    return QCoreApplication.translate("actions", source)


def make_actions(window: QWidget, handlers: Mapping[Command, Callable[[], None]]) -> dict[Command, QAction]:
    """Create the actions of the window, each with its shortcuts and connected to its handler."""
    actions: dict[Command, QAction] = {}
    for command, spec in _SPECS.items():
        action = QAction(_text(spec.text), window)
        action.setObjectName(f"action-{command}")
        action.setIcon(icon(spec.icon))
        action.setShortcuts([QKeySequence(key) for key in spec.keys])
        action.triggered.connect(handlers[command])
        window.addAction(action)
        actions[command] = action
    return actions


def make_menu(window: QWidget, actions: Mapping[Command, QAction]) -> QMenu:
    """Create the menu of the window from the actions of its commands."""
    menu = QMenu(window)
    for number, group in enumerate(_MENU):
        if number:
            menu.addSeparator()
        for command in group:
            menu.addAction(actions[command])
    return menu

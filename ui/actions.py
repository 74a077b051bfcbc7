"""Actions of the main window: commands with texts and shortcuts, and the menu that has them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from app.text.translate import mark
from ui.common.theme import Appearance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Command(StrEnum):
    """Commands of the main window; the value is part of the action's object name."""

    NEW = "new"
    PASTE = "paste"
    EXPORT = "export"
    IMPORT = "import"
    REFRESH = "refresh"
    UNMOUNT = "unmount"
    DISMISS = "dismiss"
    QUIT = "quit"


@dataclass(frozen=True, slots=True)
class _CommandSpec:
    text: str
    keys: tuple[str, ...]


_SPECS = {
    Command.NEW: _CommandSpec(mark("&New mount"), ("Ctrl+N",)),
    Command.PASTE: _CommandSpec(mark("&Paste a mount…"), ("Ctrl+Shift+V",)),
    Command.EXPORT: _CommandSpec(mark("&Export Mounts…"), ()),
    Command.IMPORT: _CommandSpec(mark("&Import Mounts…"), ()),
    Command.REFRESH: _CommandSpec(mark("&Refresh"), ("F5",)),
    Command.UNMOUNT: _CommandSpec(mark("Unm&ount…"), ()),
    Command.DISMISS: _CommandSpec(mark("&Close the message"), ("Esc",)),
    Command.QUIT: _CommandSpec(mark("&Quit"), ("Ctrl+Q",)),
}

_APPEARANCES = {
    Appearance.SYSTEM: mark("As the &system"),
    Appearance.LIGHT: mark("&Light"),
    Appearance.DARK: mark("&Dark"),
}


def _text(source: str) -> str:
    return QCoreApplication.translate("actions", source)


def make_actions(window: QWidget, handlers: Mapping[Command, Callable[[], None]]) -> dict[Command, QAction]:
    """Create the actions of the window, each with its shortcuts and connected to its handler."""
    actions: dict[Command, QAction] = {}
    for command, spec in _SPECS.items():
        action = QAction(_text(spec.text), window)
        action.setObjectName(f"action-{command}")
        action.setShortcuts([QKeySequence(key) for key in spec.keys])
        action.triggered.connect(handlers[command])
        window.addAction(action)
        actions[command] = action
    return actions


def make_menu(
    window: QWidget,
    actions: Mapping[Command, QAction],
    current: Appearance,
    choose: Callable[[Appearance], None],
    switches: Sequence[QAction] = (),
) -> QMenu:
    """Create the menu of the window.

    Args:
        window: parent of the menu.
        actions: actions of the commands.
        current: present appearance, which is checked in the menu.
        choose: called with the appearance that the user chooses.
        switches: checkable actions at the end of the menu.
    """
    menu = QMenu(window)
    for command in (Command.NEW, Command.PASTE, Command.REFRESH, Command.UNMOUNT):
        menu.addAction(actions[command])
    menu.addSeparator()
    for command in (Command.EXPORT, Command.IMPORT):
        menu.addAction(actions[command])
    menu.addSeparator()
    appearance_menu = menu.addMenu(_text("&Appearance"))
    group = QActionGroup(window)
    for appearance, source in _APPEARANCES.items():
        action = QAction(_text(source), window)
        action.setCheckable(True)
        action.setChecked(appearance is current)
        action.setData(str(appearance))
        group.addAction(action)
        appearance_menu.addAction(action)

    def on_chosen(action: QAction) -> None:
        choose(Appearance(str(action.data())))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]

    group.triggered.connect(on_chosen)
    for switch in switches:
        menu.addAction(switch)
    menu.addSeparator()
    menu.addAction(actions[Command.QUIT])
    return menu

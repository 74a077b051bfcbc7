"""The button that offers to write the mount as other programs and systems do."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QPushButton

from advisor.dialects import DIALECTS


class CopyAsButton(QPushButton):
    """A menu of all dialects.

    Signals:
        dialect_chosen: a dialect's name.
    """

    dialect_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setText(self.tr("Cop&y as"))
        self.setObjectName("copy-as")
        self.setAccessibleName(self.tr("Copy the mount as another program or system writes it"))
        menu = QMenu(self)
        for dialect in DIALECTS.values():
            action = menu.addAction(dialect.label)
            action.setObjectName(f"copy-as-{dialect.name}")
            action.triggered.connect(partial(self._on_chosen, dialect.name))
        self.setMenu(menu)

    def _on_chosen(self, name: str, _checked: bool = False) -> None:  # noqa: FBT001, FBT002 - a slot
        self.dialect_chosen.emit(name)

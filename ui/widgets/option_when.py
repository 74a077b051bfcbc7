"""When a share is mounted: one choice that stands for several words of the option string."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from ui.widgets.option_cells import OptionCells, RowTexts
from ui.widgets.option_editor import CalmComboBox

if TYPE_CHECKING:
    from PySide6.QtWidgets import QGridLayout, QWidget

    from advisor.dialects.entry import When

#: The options that the choice edits.
WHEN_OPTIONS = frozenset({"auto", "x-systemd.automount"})


class OptionWhen(QObject):
    """Fills one row of a grid.

    Signals:
        edited: the When that the person chose.
    """

    edited = Signal(str)

    def __init__(self, grid: QGridLayout, row: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._texts: dict[When, str] = {
            "start-up": self.tr("At start-up"),
            "on demand": self.tr("On demand (automount)"),
            "by hand": self.tr("By hand"),
        }
        self._was: When = "start-up"
        self.combo = CalmComboBox()
        self.combo.setObjectName("option-when")
        self.combo.setAccessibleName(self.tr("When to mount"))
        for when, text in self._texts.items():
            self.combo.addItem(text, when)
        tip = self.tr("For what is kept in fstab. At start-up: with the computer. On demand: systemd mounts "
                      "it when somebody enters the mount point (x-systemd.automount). By hand: only when it "
                      "is asked for (noauto).")  # fmt: skip
        self.help = tip
        self.cells = OptionCells(
            self.combo, RowTexts(self.tr("When to mount"), "auto/noauto", tip), grid, row
        )
        self.cells.show_default(self._texts["start-up"])
        self.combo.currentIndexChanged.connect(self._on_changed)
        self.cells.reverted.connect(self._on_reverted)

    def show_value(self, when: When, was: When, *, waits: bool) -> None:
        """Show the choice.

        Args:
            when: now.
            was: before the edits.
            waits: whether the start of the computer waits for an absent server.
        """
        self._was = was
        if self.combo.currentData() != when:
            self.combo.blockSignals(True)  # noqa: FBT003
            self.combo.setCurrentIndex(self.combo.findData(when))
            self.combo.blockSignals(False)  # noqa: FBT003
        self.cells.show_change(self._texts[was] if when != was else None, given=False)
        held_up = when == "start-up" and not waits
        self.cells.show_note(
            self.tr("An absent server does not hold up the start (nofail).") if held_up else ""
        )

    def _on_changed(self, _index: int) -> None:
        self.edited.emit(self.combo.currentData())

    def _on_reverted(self) -> None:
        self.edited.emit(self._was)

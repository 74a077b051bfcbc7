"""Dialogs during a change: programs that block the unmount, and the confirmation of the new settings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QDeadlineTimer, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QButtonGroup,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QRadioButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from ui.common.dialogs import add_buttons, fit_to_text
from ui.common.labels import MutedLabel, enlarge, heading, plain_label
from ui.common.tables import style_read_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.mounts.change_model import BusyChoice
    from app.mounts.model import Holder

#: Maximum number of program names in a sentence.
_MAX_NAMES = 4


class BusyDialog(QDialog):
    """Dialog about programs that use a mount: wait for them, postpone the mount, stop them, or detach it.

    Args:
        parent: the window.
        mount_point: the mount point in use.
        holders: the processes that use it; empty if they could not be found.
        can_wait_for_start: whether the change is saved, so that it can take effect at the next boot.
        wait_s: time limit of the choice “wait”, s.

    Signals:
        chosen: the BusyChoice that the user confirmed.
    """

    chosen = Signal(str)

    def __init__(
        self,
        parent: QWidget,
        mount_point: str,
        holders: Sequence[Holder],
        *,
        can_wait_for_start: bool,
        wait_s: float,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("busy")
        self.setWindowTitle(self.tr("Mount in Use"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._group = QButtonGroup(self)
        self._choices: dict[BusyChoice, QRadioButton] = {}
        self._confirm = QPushButton()
        self._confirm.setObjectName("busy-go-on")
        self._confirm.clicked.connect(self._on_confirmed)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(4)
        layout.addWidget(heading(self.tr("Programs Use {path}").format(path=mount_point), scale=1.3))
        layout.addWidget(plain_label(
            self.tr("The mount cannot be unmounted while programs use it.") if holders else
            self.tr("The mount cannot be unmounted. The programs that use it are unknown: they may belong to "
                    "another user or to a container."), wrap=True))  # fmt: skip
        layout.addSpacing(6)
        if holders:
            layout.addWidget(_table(self, holders))
        layout.addSpacing(8)
        self._add(layout, "wait", self.tr("&Wait until the programs end"),
                  self.tr("For {count} s at most. If programs still use the mount then, nothing changes.")
                  .format(count=round(wait_s)))  # fmt: skip
        self._add(layout, "next-boot", self.tr("&Leave the mount alone"),
                  self.tr("Only the saved entry changes. It takes effect at the next boot.")
                  if can_wait_for_start else
                  self.tr("Possible only for a mount that is saved in fstab or as systemd units."),
                  possible=can_wait_for_start)  # fmt: skip
        foreign = [holder for holder in holders if not holder.own]
        self._add(layout, "stop", self.tr("&Stop the programs"), self._stop_text(holders, foreign),
                  possible=bool(holders) and not foreign)  # fmt: skip
        self._add(layout, "lazy", self.tr("&Detach the mount"),
                  self.tr("The mount disappears at once. The programs keep their open files and may write "
                          "through the old mount, which cannot be seen or unmounted any more. Until it ends, "
                          "the new mount may inherit its settings."))  # fmt: skip
        layout.addSpacing(6)
        layout.addStretch(1)
        add_buttons(self, layout, self.tr("&Cancel"), [self._confirm], self._confirm)
        self._choices["wait"].setChecked(True)
        self._group.buttonClicked.connect(self._show_action)
        self._show_action()
        fit_to_text(self, 88)

    def _stop_text(self, holders: Sequence[Holder], foreign: Sequence[Holder]) -> str:
        if not holders:
            return self.tr("Possible only if the programs are known.")
        if foreign:
            return self.tr("Only your own programs can be stopped. Of other users: {names}.").format(
                names=_names(foreign)
            )
        return self.tr("{names} are told to end. Unsaved data in them will be lost.").format(
            names=_names(holders)
        )

    def _add(
        self, layout: QVBoxLayout, choice: BusyChoice, text: str, consequence: str, *, possible: bool = True
    ) -> None:
        button = QRadioButton(text)
        button.setObjectName(f"busy-{choice}")
        button.setAccessibleDescription(consequence)
        button.setEnabled(possible)
        self._group.addButton(button)
        self._choices[choice] = button
        label = MutedLabel(consequence, wrap=True)
        label.setContentsMargins(self.fontMetrics().averageCharWidth() * 3, 0, 0, 4)
        layout.addWidget(button)
        layout.addWidget(label)

    def _choice(self) -> BusyChoice:
        return next(choice for choice, button in self._choices.items() if button.isChecked())

    def _show_action(self, *_button: object) -> None:
        self._confirm.setText(
            {
                "wait": self.tr("&Wait"),
                "next-boot": self.tr("Change the &Saved Entry"),
                "stop": self.tr("&Stop Programs and Apply"),
                "lazy": self.tr("&Detach and Apply"),
                "ask": "",
            }[self._choice()]
        )

    def _on_confirmed(self) -> None:
        choice = self._choice()
        self.accept()
        self.chosen.emit(choice)


def _names(holders: Sequence[Holder]) -> str:
    names = [f"{holder.command} ({holder.pid})" for holder in holders[:_MAX_NAMES]]
    return ", ".join([*names, "…"] if len(holders) > _MAX_NAMES else names)


def _table(dialog: QDialog, holders: Sequence[Holder]) -> QTableWidget:
    headings = [dialog.tr("Program"), dialog.tr("Process"), dialog.tr("Of"), dialog.tr("Uses")]
    table = QTableWidget(len(holders), len(headings))
    table.setObjectName("busy-holders")
    table.setAccessibleName(dialog.tr("Programs that use it"))
    style_read_only(table)
    table.setHorizontalHeaderLabels(headings)
    table.verticalHeader().hide()
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
    for row, holder in enumerate(holders):
        texts = (holder.command, str(holder.pid), holder.user or dialog.tr("unknown"), holder.use)
        for column, text in enumerate(texts):
            table.setItem(row, column, QTableWidgetItem(text))
    table.resizeColumnsToContents()
    table.resizeRowsToContents()
    table.horizontalHeader().setSectionResizeMode(3, QHeaderView.ResizeMode.Stretch)
    table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    rows = min(6, len(holders))
    table.setFixedHeight(table.horizontalHeader().sizeHint().height() + rows * table.rowHeight(0) + 4)
    return table


#: Update interval of the countdown, ms.
_TICK_MS = 100


class KeepDialog(QDialog):
    """Countdown to confirm the new settings; without an answer the agent rolls the change back.

    Signals:
        kept: the user keeps the new settings.
        reverted: the user wants the previous settings back now.
    """

    kept = Signal()
    reverted = Signal()

    def __init__(self, parent: QWidget, mount_point: str, seconds: float) -> None:
        super().__init__(parent)
        self.setObjectName("keep")
        self.setWindowTitle(self.tr("Keep These Settings?"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._answered = False
        self._deadline = QDeadlineTimer(int(seconds * 1000))
        self._seconds = plain_label()
        self._seconds.setObjectName("keep-seconds")
        enlarge(self._seconds, 3.2, bold=True)
        self._seconds.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._seconds.setMinimumWidth(self._seconds.fontMetrics().horizontalAdvance("000"))
        self._text = plain_label(
            self.tr("{path} is mounted with the new settings. Check that everything works. Without an "
                    "answer, the previous settings return.").format(path=mount_point), wrap=True
        )  # fmt: skip
        self._keep = QPushButton(self.tr("&Keep These Settings"))
        self._keep.setObjectName("keep-keep")
        self._keep.clicked.connect(self._on_keep)
        texts = QVBoxLayout()
        texts.addWidget(heading(self.tr("Keep These Settings?"), scale=1.3))
        texts.addWidget(self._text)
        top = QHBoxLayout()
        top.setSpacing(18)
        top.addWidget(self._seconds)
        top.addLayout(texts, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 18, 18, 14)
        layout.setSpacing(14)
        layout.addLayout(top)
        self._back = add_buttons(self, layout, self.tr("&Revert Now"), [self._keep], None)
        self._tick = QTimer(self)
        self._tick.setInterval(_TICK_MS)
        self._tick.timeout.connect(self._show_seconds)
        self._tick.start()
        self._show_seconds()
        fit_to_text(self, 76)

    def set_remaining(self, seconds: float) -> None:
        """Set the remaining time in seconds, as the agent reports it."""
        self._deadline = QDeadlineTimer(int(seconds * 1000))

    def done(self, result: int) -> None:
        """Qt: closing the dialog without Keep reverts the change."""
        self._tick.stop()
        if not self._answered:
            self._answered = True
            self.reverted.emit()
        super().done(result)

    def finish(self) -> None:
        """Close the dialog because the change ended; emits no signal."""
        self._answered = True
        self.reject()

    def _show_seconds(self) -> None:
        left = math.ceil(self._deadline.remainingTime() / 1000)
        if left == 0:
            self._keep.setEnabled(False)
            self._back.setEnabled(False)
            self._text.setText(self.tr("No answer. Restoring the previous settings…"))
            self._answered = True  # the agent rolls back by itself, so no signal is needed
            self._tick.stop()
        if self._seconds.text() != str(left):
            self._seconds.setText(str(left))
            self._seconds.setAccessibleName(self.tr("{count} seconds left").format(count=left))

    def _on_keep(self) -> None:
        self._answered = True
        self.kept.emit()
        self.accept()

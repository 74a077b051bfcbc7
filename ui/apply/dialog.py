"""What a person chooses of a change: where it is kept, and when it takes effect."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QCheckBox, QGridLayout, QHBoxLayout, QRadioButton, QWidget

from advisor.options import YES, MountOptions
from app.mounts.entry_options import BOOT_WORDS
from ui.common.dialogs import show_outline
from ui.common.labels import plain_label

if TYPE_CHECKING:
    from app.mounts.change_model import ApplyArgs, Keeper

#: Time to say that the new settings are to stay, in seconds.
KEEP_S = 15.0


class ApplyChoices(QWidget):
    """Two questions with radio buttons.

    Args:
        args: the change with the answers to begin with.
        active: whether it is mounted now.
        kept: where it is kept now.

    Signals:
        changed: an answer is another now.
    """

    changed = Signal()

    def __init__(self, args: ApplyArgs, *, active: bool, kept: Keeper) -> None:
        super().__init__()
        self._args = args
        self._active = active
        nowhere = self.tr("&not at all: until it is unmounted or the computer stops")
        if kept != "nowhere":
            nowhere = self.tr("&not at all: what is set up stays as it is")
        keepers: list[tuple[Keeper, str]] = [
            ("fstab", self.tr("in /etc/&fstab")),
            ("systemd", self.tr("as &systemd units")),
            ("nowhere", nowhere),
        ]
        times = [
            (True, self.tr("n&ow: it is unmounted and mounted again") if active else self.tr("n&ow")),
            (False, self.tr("&later: at the next start, or when it is mounted next")),
        ]  # fmt: skip
        self._keepers: dict[Keeper, QRadioButton] = {}
        self._times: dict[bool, QRadioButton] = {}
        group, when = QButtonGroup(self), QButtonGroup(self)
        first, second = QHBoxLayout(), QHBoxLayout()
        for keeper, text in keepers:
            self._keepers[keeper] = _choice(text, f"keeper-{keeper}", keeper == args.keeper, group, first)
        for now, text in times:
            self._times[now] = _choice(text, "mount-now" if now else "mount-later", now == args.mount, when,
                                       second)  # fmt: skip
        # An absent server must not keep the computer from starting; what is set up already stays as it is.
        options = MountOptions.parse(args.options)
        self._missing = [name for name in BOOT_WORDS if kept == "nowhere" and options.get(name) != YES]
        self._is_new = kept == "nowhere"
        self._is_question = False
        self._gentle = QCheckBox(
            self.tr("an absent server does not &hold up the start of the computer ({options})").format(
                options=", ".join(self._missing)
            )
        )
        self._gentle.setObjectName("apply-nofail")
        self._gentle.setChecked(True)
        self._gentle.clicked.connect(self._on_clicked)
        show_outline(self._gentle)
        self._save_read_ahead = QCheckBox()
        self._save_read_ahead.setObjectName("apply-save-readahead")
        self._save_read_ahead.clicked.connect(self._on_clicked)
        self._is_lost = False
        show_outline(self._save_read_ahead)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        grid.addWidget(plain_label(self.tr("Keep it")), 0, 0)
        grid.addLayout(first, 0, 1)
        grid.addWidget(self._gentle, 1, 1)
        self._can_wait: bool | None = None
        self._when = plain_label(self.tr("Mount it"))
        grid.addWidget(self._save_read_ahead, 2, 1)
        grid.addWidget(self._when, 3, 0)
        grid.addLayout(second, 3, 1)
        for row in (first, second):
            row.setSpacing(18)
            row.addStretch(1)
        group.buttonClicked.connect(self._on_clicked)
        when.buttonClicked.connect(self._on_clicked)
        self._settle()

    def args(self) -> ApplyArgs:
        """Return the change with these answers."""
        keeper = next(name for name, button in self._keepers.items() if button.isChecked())
        mount = self._times[True].isChecked()
        # With the same options there is nothing to go back to.
        keep_s = KEEP_S if mount and self._active and not self._args.again else 0.0
        options = MountOptions.parse(self._args.options)
        if not self._gentle.isHidden():
            with contextlib.suppress(ValueError):  # broken options: the plan says so
                for name in self._missing if self._gentle.isChecked() else []:
                    options.set(name, YES)
                if self._is_question:
                    options.set("_netdev", YES)
                    if not self._gentle.isChecked():
                        options.remove("nofail")
        return msgspec.structs.replace(
            self._args, keeper=keeper, mount=mount, keep_s=keep_s, options=str(options),
            save_read_ahead=not self._save_read_ahead.isHidden() and self._save_read_ahead.isChecked(),
        )  # fmt: skip

    def offer_read_ahead(self, lost_kb: int | None) -> bool:
        """Offer to save a readahead that would be lost; return whether the answer is another now.

        Args:
            lost_kb: what the mount would lose when it is unmounted, KiB; None for nothing.
        """
        if self._is_lost or lost_kb is None:
            return False
        self._is_lost = True
        self._save_read_ahead.setChecked(True)
        self._settle()
        if self._save_read_ahead.isHidden():
            return False
        self.changed.emit()
        return True

    def ask_nofail(self) -> bool:
        """Ask whether the computer may start without the mount; return whether the answer is another now."""
        if self._is_question or not self._is_new:
            return False
        self._is_question = True
        # The form of a new mount has it, and nobody has said so.
        self._missing = ["nofail"]
        self._gentle.setText(self.tr("the computer may start w&ithout this mount (nofail)"))
        self._gentle.setChecked(False)
        self._settle()
        if self._gentle.isHidden():
            return False
        self.changed.emit()
        return True

    def set_can_wait(self, *, can_wait: bool) -> bool:
        """Offer to mount later where that is another thing; return whether the answer is another now."""
        before = self.args()
        self._can_wait = can_wait
        self._settle()
        if self.args() == before:
            return False
        self.changed.emit()
        return True

    def _settle(self) -> None:
        """What is kept nowhere can only be mounted now, and what needs no mount has no moment for it."""
        nowhere = self._keepers["nowhere"].isChecked()
        if nowhere or self._can_wait is False:
            self._times[True].setChecked(True)
        self._times[False].setEnabled(not nowhere)
        for shown in (self._when, *self._times.values()):
            shown.setVisible(bool(self._can_wait) and not nowhere)
        self._gentle.setVisible(bool(self._missing) and not nowhere)
        where = self.tr("fstab") if self._keepers["fstab"].isChecked() else self.tr("a unit")
        text = self.tr("Readahead cannot stand in {where}. Save it in a &udev rule, too").format(where=where)
        self._save_read_ahead.setText(text)
        self._save_read_ahead.setVisible(self._is_lost and not nowhere)

    def _on_clicked(self, *_button: object) -> None:
        self._settle()
        self.changed.emit()


def _choice(
    text: str,
    name: str,
    checked: bool,  # noqa: FBT001 - as the style's own
    group: QButtonGroup,
    row: QHBoxLayout,
) -> QRadioButton:
    button = QRadioButton(text)
    button.setObjectName(name)
    button.setChecked(checked)
    show_outline(button)
    group.addButton(button)
    row.addWidget(button)
    return button

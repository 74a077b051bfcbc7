"""The line that says how long a mount's readahead lasts, with what saves it, or removes what is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton

from app.units import format_size
from ui.common.labels import plain_label
from ui.common.translation import tr

if TYPE_CHECKING:
    from app.mounts.model import Mount


class ReadAheadBar(QFrame):
    """Hidden while the readahead is the kernel's own, or nfs.conf's.

    Signals:
        keep_clicked: the readahead is to be saved.
        remove_clicked: what is saved is to be removed.
        undo_clicked: what was saved last is to be as it was before.
    """

    keep_clicked = Signal()
    remove_clicked = Signal()
    undo_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("read-ahead-bar")
        self._text = plain_label(wrap=True)
        self._text.setObjectName("read-ahead-lasts")
        self._keep = self._button(self.tr("Keep for &Good…"), "read-ahead-keep", self.keep_clicked)
        self._keep.setToolTip(
            self.tr("Save it in a udev rule for this mount point. The rule is shown first.")
        )
        self._remove = self._button(self.tr("Remo&ve…"), "read-ahead-remove", self.remove_clicked)
        self._remove.setToolTip(self.tr("Remove the udev rule that saves it. The rule is shown first."))
        self._undo = self._button(self.tr("Un&do"), "read-ahead-undo", self.undo_clicked)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 4, 16, 4)
        layout.addWidget(self._text, 1)
        for button in (self._undo, self._keep, self._remove):
            layout.addWidget(button)
        self.hide()

    def _button(self, text: str, name: str, clicked: object) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.clicked.connect(clicked)
        return button

    def text(self) -> str:
        """Return what is said."""
        return self._text.text()

    def show_mount(self, mount: Mount | None, *, can_undo: bool, busy: bool) -> None:
        """Show what becomes of the readahead of this mount, None for a draft.

        Args:
            mount: the mount.
            can_undo: whether this window saved or removed it last.
            busy: whether something else is under way.
        """
        text = lasting_text(mount) if mount is not None else ""
        volatile = mount is not None and is_volatile(mount)
        saved = mount is not None and mount.saved_read_ahead_kb is not None
        self.setVisible(bool(text) or can_undo)
        self._text.setText(text or self.tr("Readahead: no longer saved."))
        self._keep.setVisible(volatile)
        self._undo.setVisible(can_undo)
        self._remove.setVisible(saved and not can_undo)
        for button in (self._keep, self._remove, self._undo):
            button.setEnabled(not busy)


def is_volatile(mount: Mount) -> bool:
    """Whether the mount loses its readahead when it is unmounted."""
    return mount.active is not None and mount.active.read_ahead_state == "until-unmounted"


def lasting_text(mount: Mount) -> str:
    """Return how long the readahead lasts, "" if nobody set or saved one."""
    active, saved = mount.active, mount.saved_read_ahead_kb
    now = (
        format_size(active.read_ahead_kb * 1024)
        if active is not None and active.read_ahead_kb is not None
        else ""
    )
    later = format_size(saved * 1024) if saved is not None else ""
    if is_volatile(mount):
        if later:
            return tr("Readahead {now}: until unmounted, then {later}, which is saved.").format(
                now=now, later=later
            )
        return tr("Readahead {now}: until unmounted.").format(now=now)
    if not later:
        return ""
    return tr("Readahead {size}: saved, for each time it is mounted.").format(size=now or later)

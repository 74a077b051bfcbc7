"""Header of a mount: share and mount point, state, free space, actions, and a card for a server problem."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QMenu,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from advisor.dialects import DIALECTS
from advisor.dialects.linux import FSTAB_FILE as FSTAB
from advisor.options import MountOptions
from app.mounts.space import space_text
from app.text.mounts import mount_state_text, trouble_text
from ui.common import theme
from ui.common.cards import Card, CardKind, primary_button, text_button
from ui.common.fonts import TextSize, set_text_size
from ui.common.icons import icon
from ui.common.labels import ElidedLabel, MutedLabel, StateLabel, plain_label, plain_tip
from ui.common.status_text import boot_text
from ui.mounts.delegate import STATE_ICON, STATE_MEANING

if TYPE_CHECKING:
    from PySide6.QtGui import QAction

    from app.mounts.change_model import SaveTarget
    from app.mounts.model import Configured, Mount, Space, WaitingProcesses
    from app.text.mounts import Remedy


class FreeSpaceLabel(ElidedLabel):
    """Free space of the mount; hidden while it is unknown."""

    def __init__(self) -> None:
        super().__init__(mode=Qt.TextElideMode.ElideRight)
        self.setObjectName("space")
        self._warns = False
        self.show_space(None)

    def show_space(self, space: Space | None) -> None:
        """Show the free space, or hide the label for None (unknown)."""
        self.setVisible(space is not None)
        if space is None:
            self.setText("")
            return
        line, warning = space_text(space)
        self._warns = bool(warning) or space.state in {"no-answer", "failed"}
        self.setText(f"⚠ {line}" if self._warns else line)
        self.setToolTip(plain_tip(warning or line))
        self.setAccessibleName(warning or line)

    def text_color(self) -> QColor:
        """Qt: a warning color if the file system is nearly full."""
        colors = theme.colors()
        return QColor(colors.warn if self._warns else colors.muted)


class ProblemCard(Card):
    """Problem of a mount (server not responding, stale mount) with its remedies; hidden without a problem.

    Signals:
        force_clicked: a forced unmount is requested.
        detach_clicked: a lazy unmount is requested.
        remount_clicked: an unmount followed by a mount is requested.
    """

    force_clicked = Signal()
    detach_clicked = Signal()
    remount_clicked = Signal()

    def __init__(self) -> None:
        super().__init__(CardKind.ERROR)
        self.setObjectName("trouble")
        self._message = plain_label(wrap=True)
        self._message.setObjectName("trouble-message")
        self._message.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._choices = QGridLayout()
        self._choices.setColumnStretch(1, 1)
        self._choices.setHorizontalSpacing(12)
        self._choices.setVerticalSpacing(4)
        self._remedies: list[Remedy] = []
        self._buttons: list[QPushButton] = []
        self.body.addWidget(self._message)
        self.body.addLayout(self._choices)
        self.hide()

    def show_problem(self, mount: Mount | None, now: float, waiting: WaitingProcesses | None) -> None:
        """Show the problem of a mount, or hide the card if it has none.

        Args:
            mount: the mount shown, or None for a draft.
            now: time on the host's clock, seconds since the epoch.
            waiting: processes that wait for the server, or None while they are unknown.
        """
        text = trouble_text(mount, now, waiting) if mount is not None else None
        if text is None:
            self.hide()
            return
        if self._message.text() != text.message:
            self._message.setText(text.message)
        if text.choices != self._remedies:
            self._show_remedies(text.choices)
        self.show()

    def enable_actions(self, *, busy: bool) -> None:
        """Enable the buttons; disable them while an action is running."""
        for button in self._buttons:
            button.setEnabled(not busy)

    def _show_remedies(self, choices: list[Remedy]) -> None:
        self._remedies = choices
        self._buttons = []
        while (item := self._choices.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        actions = {
            "Unmount by force": (self.tr("Unmount by &Force…"), "trouble-force", self.force_clicked),
            "Detach": (self.tr("De&tach…"), "trouble-detach", self.detach_clicked),
            "Remount": (self.tr("&Remount…"), "trouble-remount", self.remount_clicked),
        }
        for row, choice in enumerate(choices):
            action = actions.get(choice.name)
            if action is None:
                name: QWidget = plain_label(choice.name)
            else:
                text, object_name, clicked = action
                button = QPushButton(text)
                button.setObjectName(object_name)
                button.setAccessibleDescription(choice.meaning)
                button.clicked.connect(clicked)
                self._buttons.append(button)
                name = button
            self._choices.addWidget(name, row, 0)
            self._choices.addWidget(MutedLabel(choice.meaning, wrap=True), row, 1)


#: Interval at which the duration in the state text is updated, ms.
_TICK_MS = 1000


class MountHeader(QWidget):
    """Title, state and actions of a mount or of a draft.

    Attributes:
        trouble: card that shows the problem of the mount.

    Signals:
        mount_clicked: mount with the values of the form.
        apply_clicked: preview how a mount is saved.
        remove_clicked: remove the mount from fstab, or remove its systemd units.
        import_clicked: open the mount as a draft for fstab.
        unmount_clicked: unmount.
        cancel_clicked: cancel the running action.
        log_clicked: show the lines of the system log about the mount.
        discard_clicked: discard the draft of a new mount.
        dialect_chosen: name of the dialect for which the Copy As dialog is wanted.
    """

    mount_clicked = Signal()
    apply_clicked = Signal()
    remove_clicked = Signal()
    import_clicked = Signal()
    unmount_clicked = Signal()
    cancel_clicked = Signal()
    log_clicked = Signal()
    discard_clicked = Signal()
    dialect_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._title = ElidedLabel()
        set_text_size(self._title, TextSize.TITLE, bold=True)
        self._state = StateLabel()
        self._detail = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self._detail.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._space = FreeSpaceLabel()
        self.trouble = ProblemCard()
        self._mount: Mount | None = None
        self._waiting: WaitingProcesses | None = None
        self._clock_ahead_s = 0.0
        #: Runs while the state text contains a duration ("not responding for 12 s").
        self._tick = QTimer(self)
        self._tick.setInterval(_TICK_MS)
        self._tick.timeout.connect(self._show_state)
        self._mount_button = _named(primary_button(self.tr("&Mount")), "mount", self.mount_clicked)
        self._save_button = _named(
            QPushButton(self.tr("Mount and Save…")), "mount-and-save", self.apply_clicked
        )
        self._keep_button = _named(text_button(self.tr("Save…")), "save", self.apply_clicked)
        self._keep_button.setToolTip(self.tr("Save the mount, so that it is there after a restart."))
        self._discard_button = _named(
            QPushButton(icon("trash"), self.tr("Discard Draf&t")), "discard", self.discard_clicked
        )
        self._unmount_button = _named(
            QPushButton(icon("eject"), self.tr("Unm&ount…")), "unmount", self.unmount_clicked
        )
        self._make_menu()
        self._busy_bar, self._busy_text, self._busy_row = QProgressBar(), plain_label(), QFrame()
        self._busy_bar.setTextVisible(False)
        self._busy_bar.setMaximumWidth(self.fontMetrics().averageCharWidth() * 16)
        self._cancel = _named(QPushButton(self.tr("&Cancel")), "cancel", self.cancel_clicked)
        self._lay_out()

    def _make_menu(self) -> None:
        self._menu = QMenu(self)
        self._save_action = self._add_action("save-mount", "bookmark", self.tr("&Save or Remount…"))
        self._save_action.triggered.connect(self.apply_clicked)
        self._import_action = self._add_action("import", "plus", self.tr("&Import into fstab…"))
        self._import_action.triggered.connect(self.import_clicked)
        self._remove_action = self._add_action("forget", "trash", self.tr("&Remove from fstab…"))
        self._remove_action.triggered.connect(self.remove_clicked)
        self._menu.addSeparator()
        copy_menu = self._menu.addMenu(icon("copy"), self.tr("&Copy As"))
        for dialect in DIALECTS.values():
            action = copy_menu.addAction(dialect.label)
            action.triggered.connect(partial(self._on_dialect, dialect.name))
        self._log_action = self._add_action("log", "list", self.tr("Show &Log"))
        self._log_action.setToolTip(
            self.tr("Show what this computer's log says about the mount and its server.")
        )
        self._log_action.triggered.connect(self.log_clicked)
        self._more_button = QPushButton(icon("more"), "")
        self._more_button.setObjectName("more-actions")
        self._more_button.setAccessibleName(self.tr("More actions"))
        self._more_button.setToolTip(self.tr("More actions"))
        self._more_button.setMenu(self._menu)

    def _add_action(self, name: str, icon_name: str, text: str) -> QAction:
        action = self._menu.addAction(icon(icon_name), text)
        action.setObjectName(name)
        return action

    def _on_dialect(self, name: str, _checked: bool = False) -> None:  # noqa: FBT001, FBT002 - a slot
        self.dialect_chosen.emit(name)

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self._title, 1)
        for button in (
            self._discard_button,
            self._save_button,
            self._mount_button,
            self._unmount_button,
            self._more_button,
        ):
            top.addWidget(button)
        state = QHBoxLayout()
        state.setSpacing(8)
        state.addWidget(self._state)
        state.addWidget(self._detail)
        state.addWidget(self._keep_button)
        # The free space gets what is left, because what a restart does is more important.
        self._space.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._detail.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        state.addWidget(self._space, 1)
        state.addStretch()
        busy = QHBoxLayout(self._busy_row)
        busy.setContentsMargins(0, 0, 0, 0)
        busy.addWidget(self._busy_bar)
        busy.addWidget(self._busy_text, 1)
        busy.addWidget(self._cancel)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 12, 16, 8)
        layout.setSpacing(6)
        layout.addLayout(top)
        layout.addLayout(state)
        layout.addWidget(self.trouble)
        layout.addWidget(self._busy_row)

    @property
    def can_mount(self) -> bool:
        """Whether the Mount button is visible and enabled."""
        return self._mount_button.isVisible() and self._mount_button.isEnabled()

    def actions_menu(self) -> QMenu:
        """Return the menu of the less frequent actions."""
        return self._menu

    def set_clock(self, ahead_s: float) -> None:
        """Set the offset of the host's clock from this computer's clock, s; positive if the host is ahead."""
        self._clock_ahead_s = ahead_s

    def show_draft(self) -> None:
        """Show the title of a draft."""
        self._mount = None
        self._tick.stop()
        self._title.setText(self.tr("New Mount"))
        self._show_state()

    def show_mount(self, mount: Mount) -> None:
        """Show the title and state of a mount."""
        self._mount = mount
        if mount.since is not None:
            self._tick.start()
        else:
            self._tick.stop()
        self._title.setText(f"{mount.share}  →  {mount.mount_point}")
        self._show_state()

    def _now(self) -> float:
        return time.time() + self._clock_ahead_s

    def show_waiting(self, waiting: WaitingProcesses | None) -> None:
        """Show the processes that wait for the server, or None while they are unknown."""
        self._waiting = waiting
        self._show_state()

    def _show_state(self) -> None:
        mount = self._mount
        self.trouble.show_problem(mount, self._now(), self._waiting)
        if mount is None:
            self._state.set_state(STATE_ICON["not-mounted"], self.tr("Not mounted"), "muted")
            self._detail.setText("")
        else:
            word, detail = self._state_texts(mount)
            self._state.set_state(STATE_ICON[mount.state], word, STATE_MEANING[mount.state])
            self._detail.setText(detail)

    def show_space(self, space: Space | None) -> None:
        """Show the free space of the mount, or None while it is unknown."""
        self._space.show_space(space)

    def show_busy(self, text: str) -> None:
        """Show the running action with a Cancel button; "" hides them."""
        self._busy_row.setVisible(bool(text))
        # The range (0, 0) animates the bar, which would cost time even while it is hidden.
        self._busy_bar.setRange(0, 0 if text else 1)
        self._busy_bar.setAccessibleName(text)
        self._busy_text.setText(text)

    def show_buttons(self, mount: Mount | None, *, busy: bool, complete: bool, typed: bool = False) -> None:
        """Show and enable the buttons and actions that apply now.

        Args:
            mount: the mount shown, or None for a draft.
            busy: whether an action, a test or an experiment is running.
            complete: whether the form has a share and a mount point.
            typed: whether the form holds unsaved edits.
        """
        active = mount is not None and mount.active is not None
        configured = mount.configured if mount is not None else None
        target = config_target_of(configured)
        self._unmount_button.setVisible(active)
        self.trouble.enable_actions(busy=busy)
        on_demand = configured is not None and configured.keeper == "autofs"
        self._mount_button.setVisible(not active and not on_demand)
        self._mount_button.setEnabled(not busy and complete)
        self._save_button.setVisible(mount is None)
        self._save_button.setEnabled(not busy and complete)
        self._keep_button.setVisible(active and configured is None)
        self._discard_button.setVisible(mount is None and typed)
        self._save_action.setVisible(mount is not None)
        self._log_action.setVisible(mount is not None)
        self._import_action.setVisible(configured is not None and not configured.ours)
        self._remove_action.setVisible(target != "nowhere")
        self._remove_action.setText(
            self.tr("&Remove from fstab…") if target == "fstab" else self.tr("&Remove Units…")
        )
        for part in (
            self._unmount_button, self._keep_button, self._discard_button, self._save_action,
            self._import_action, self._remove_action,
        ):  # fmt: skip
            part.setEnabled(not busy)

    def state_text(self, mount: Mount) -> str:
        """Return the state of a mount, its NFS version, and what happens to it at the next boot."""
        return " · ".join(self._state_texts(mount))

    def _state_texts(self, mount: Mount) -> tuple[str, str]:
        """Return the word of the state, and what stands beside it."""
        word, details = mount_state_text(mount, self._now()), [boot_text(mount)]
        if mount.configured is not None and not mount.configured.ours:
            if mount.active is None:
                word = self.tr("Not mounted")
            details.insert(0, self.tr("Read only: {file}").format(file=mount.configured.origin))
        elif mount.state == "not-mounted" and mount.configured is not None:
            details.insert(0, self.tr("Saved in {file}").format(file=mount.configured.origin))
        if mount.active is not None:
            version = MountOptions.parse(mount.active.options).get("vers")
            if version:
                details.insert(0, self.tr("NFS {version}").format(version=version))
        return word, " · ".join(details)


def config_target_of(configured: Configured | None) -> SaveTarget:
    """Return where a mount is saved; "nowhere" also for entries that Mountwright does not manage."""
    if configured is None or not configured.ours:
        return "nowhere"
    return "fstab" if configured.origin == FSTAB else "systemd"


def _named(button: QPushButton, name: str, clicked: SignalInstance) -> QPushButton:
    button.setObjectName(name)
    button.clicked.connect(clicked)
    return button

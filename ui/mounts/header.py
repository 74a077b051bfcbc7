"""Header of a mount: share and mount point, state, free space, actions, and a card for a server problem."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from advisor.dialects.linux import FSTAB_FILE as FSTAB
from advisor.options import MountOptions
from app.mounts.space import space_text
from app.text.mounts import mount_state_text, trouble_text
from ui.common import theme
from ui.common.labels import ElidedLabel, MutedLabel, StateLabel, enlarge, plain_label, plain_tip
from ui.common.status_text import boot_text
from ui.mounts.delegate import STATE_MEANING

if TYPE_CHECKING:
    from app.mounts.change_model import SaveTarget
    from app.mounts.model import Configured, Mount
    from app.mounts.mount_users import WaitingProcesses
    from app.mounts.space import Space
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


#: Width of the colored bar at the left of the card, px.
_BAR_WIDTH = 4


class ProblemCard(QFrame):
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
        super().__init__()
        self.setObjectName("trouble")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAutoFillBackground(True)
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self._bar = QWidget()
        self._bar.setFixedWidth(_BAR_WIDTH)
        self._bar.setAutoFillBackground(True)
        self._message = plain_label(wrap=True)
        self._message.setObjectName("trouble-message")
        self._message.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._choices = QGridLayout()
        self._choices.setColumnStretch(1, 1)
        self._choices.setHorizontalSpacing(12)
        self._choices.setVerticalSpacing(4)
        self._remedies: list[Remedy] = []
        self._buttons: list[QPushButton] = []
        texts = QVBoxLayout()
        texts.setContentsMargins(12, 8, 12, 8)
        texts.setSpacing(8)
        texts.addWidget(self._message)
        texts.addLayout(self._choices)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._bar)
        layout.addLayout(texts, 1)
        self._update_colors()
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

    def _update_colors(self) -> None:
        theme.tint(self._bar, theme.colors().error, QPalette.ColorRole.Window, QPalette.ColorRole.Base)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_bar"):
            self._update_colors()


#: Interval at which the duration in the state text is updated, ms.
_TICK_MS = 1000


class MountHeader(QWidget):
    """Title, state and action buttons of a mount or of a draft.

    Attributes:
        trouble: card that shows the problem of the mount.

    Signals:
        mount_clicked: mount with the values of the form.
        apply_clicked: preview a change, or a new mount that is saved.
        remove_clicked: remove the mount from fstab, or remove its systemd units.
        import_clicked: open the mount as a draft for fstab.
        unmount_clicked: unmount.
        cancel_clicked: cancel the running action.
        log_clicked: show the lines of the system log about the mount.
        discard_clicked: discard the draft of a new mount.
    """

    mount_clicked = Signal()
    apply_clicked = Signal()
    remove_clicked = Signal()
    import_clicked = Signal()
    unmount_clicked = Signal()
    cancel_clicked = Signal()
    log_clicked = Signal()
    discard_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._title = ElidedLabel()
        enlarge(self._title, 1.4, bold=True)
        self._state = StateLabel()
        self._space = FreeSpaceLabel()
        self.trouble = ProblemCard()
        self._mount: Mount | None = None
        self._waiting: WaitingProcesses | None = None
        self._clock_ahead_s = 0.0
        #: Runs while the state text contains a duration ("not responding for 12 s").
        self._tick = QTimer(self)
        self._tick.setInterval(_TICK_MS)
        self._tick.timeout.connect(self._show_state)
        self._mount_button = _button(self.tr("&Mount"), "mount", self.mount_clicked)
        self._apply_button = _button(self.tr("&Apply…"), "apply", self.apply_clicked)
        self._remove_button = _button(self.tr("&Forget…"), "forget", self.remove_clicked)
        self._remove_button.setToolTip(self.tr("Take it out of fstab, or remove its systemd units."))
        self._discard_button = _button(self.tr("Discard Draf&t"), "discard", self.discard_clicked)
        self._discard_button.hide()
        self._import_button = _button(self.tr("&Import into fstab…"), "import", self.import_clicked)
        self._unmount_button = _button(self.tr("Unm&ount…"), "unmount", self.unmount_clicked)
        self._log_button = _button(self.tr("Lo&g"), "log", self.log_clicked)
        self._log_button.setToolTip(
            self.tr("Show what this computer's log says about the mount and its server.")
        )
        #: Buttons that can be the primary one, and whether each is (shown in the accent color).
        self._primary = {self._mount_button: False, self._apply_button: False}
        self._busy_bar, self._busy_text, self._busy_row = QProgressBar(), plain_label(), QFrame()
        self._busy_bar.setTextVisible(False)
        self._busy_bar.setMaximumWidth(self.fontMetrics().averageCharWidth() * 16)
        self._cancel = _button(self.tr("&Cancel"), "cancel", self.cancel_clicked)
        self._lay_out()

    def _lay_out(self) -> None:
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self._title)
        texts.addWidget(self._state, 0, Qt.AlignmentFlag.AlignLeft)
        # On a separate line, because the state text can be long.
        texts.addWidget(self._space)
        top = QHBoxLayout()
        top.setSpacing(10)
        top.addLayout(texts, 1)
        for button in (
            self._log_button,
            self._discard_button,
            self._import_button,
            self._remove_button,
            self._unmount_button,
            self._apply_button,
            self._mount_button,
        ):
            top.addWidget(button)
        busy = QHBoxLayout(self._busy_row)
        busy.setContentsMargins(0, 0, 0, 0)
        busy.addWidget(self._busy_bar)
        busy.addWidget(self._busy_text, 1)
        busy.addWidget(self._cancel)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 16, 8)
        layout.addLayout(top)
        layout.addWidget(self.trouble)
        layout.addWidget(self._busy_row)

    @property
    def can_mount(self) -> bool:
        """Whether the Mount button is visible and enabled."""
        return self._mount_button.isVisible() and self._mount_button.isEnabled()

    def set_clock(self, ahead_s: float) -> None:
        """Set the offset of the host's clock from this computer's clock, s; positive if the host is ahead."""
        self._clock_ahead_s = ahead_s

    def show_draft(self) -> None:
        """Show the title of a draft."""
        self._mount = None
        self._tick.stop()
        self._show_state()
        self._title.setText(self.tr("New mount"))
        self._state.set_state(self.tr("Not mounted"), "muted")

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
        self.trouble.show_problem(self._mount, self._now(), self._waiting)
        if self._mount is not None:
            self._state.set_state(self.state_text(self._mount), STATE_MEANING[self._mount.state])

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

    def show_buttons(
        self, mount: Mount | None, *, busy: bool, complete: bool, dirty: bool, typed: bool = False
    ) -> None:
        """Show and enable the buttons that apply now.

        Args:
            mount: the mount shown, or None for a draft.
            busy: whether an action, a test or an experiment is running.
            complete: whether the form has a share and a mount point.
            dirty: whether the form differs from the mount's settings.
            typed: whether the form holds unsaved edits.
        """
        active = mount is not None and mount.active is not None
        configured = mount.configured if mount is not None else None
        self._unmount_button.setVisible(active)
        self._unmount_button.setEnabled(not busy)
        self.trouble.enable_actions(busy=busy)
        self._log_button.setVisible(mount is not None)
        on_demand = configured is not None and configured.keeper == "autofs"
        self._mount_button.setVisible(not active and not on_demand)
        self._mount_button.setEnabled(not busy and complete)
        self._apply_button.setText(self.tr("&Apply…") if mount is not None else self.tr("Mount and &keep…"))
        self._apply_button.setEnabled(not busy and complete)
        self._remove_button.setVisible(config_target_of(configured) != "nowhere")
        self._remove_button.setEnabled(not busy)
        self._discard_button.setVisible(mount is None and typed)
        self._discard_button.setEnabled(not busy)
        self._import_button.setVisible(configured is not None and not configured.ours)
        self._import_button.setEnabled(not busy)
        self._primary = {self._mount_button: not active, self._apply_button: active and dirty}
        self._update_colors()

    def state_text(self, mount: Mount) -> str:
        """Return the state of a mount, its NFS version, and what happens to it at the next boot."""
        text = mount_state_text(mount, self._now())
        if mount.state == "not-mounted" and mount.configured is not None:
            text = self.tr("Not mounted, saved in {file}").format(file=mount.configured.origin)
        if mount.configured is not None and not mount.configured.ours:
            text = self.tr("{state} (read only: {file})").format(
                state=self.tr("Not mounted") if mount.active is None else text, file=mount.configured.origin
            )
        if mount.active is not None:
            version = MountOptions.parse(mount.active.options).get("vers")
            text = f"{text}, NFS {version}" if version else text
        return f"{text} · {self._next_boot_text(mount)}"

    def _next_boot_text(self, mount: Mount) -> str:
        """Return what happens to a mount at the next boot, with a note if the mount is not saved."""
        text = boot_text(mount)
        return self.tr("{text}, not saved").format(text=text) if mount.configured is None else text

    def _update_colors(self) -> None:
        colors = theme.colors()
        for button, is_primary in self._primary.items():
            accented = is_primary and button.isEnabled()
            theme.tint(button, colors.accent if accented else colors.raised, QPalette.ColorRole.Button)
            text = colors.text if button.isEnabled() else colors.muted
            theme.tint(button, colors.on_accent if accented else text, QPalette.ColorRole.ButtonText)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_loud"):
            self._update_colors()


def config_target_of(configured: Configured | None) -> SaveTarget:
    """Return where a mount is saved; "nowhere" also for entries that Mountwright does not manage."""
    if configured is None or not configured.ours:
        return "nowhere"
    return "fstab" if configured.origin == FSTAB else "systemd"


def _button(text: str, name: str, clicked: SignalInstance) -> QPushButton:
    button = QPushButton(text)
    button.setObjectName(name)
    button.clicked.connect(clicked)
    return button

"""Apply dialog: where a change is saved, when it takes effect, its plan, and its progress."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from advisor.options import YES, MountOptions
from app.mounts.entry_options import BOOT_OPTIONS
from app.text.mounts import interruption_text
from ui.apply.plan_view import PlanView
from ui.common.cards import primary_button
from ui.common.dialogs import add_buttons
from ui.common.fonts import TextSize, set_text_size
from ui.common.icons import IconLabel
from ui.common.labels import ElidedLabel, breakable, plain_label

if TYPE_CHECKING:
    from app.errors import AppError
    from app.mounts.change_model import ApplyArgs, ApplyEvent, ApplyPlan, SaveTarget

#: Time to confirm the new settings before they are rolled back, s.
KEEP_S = 15.0


class ApplyChoices(QWidget):
    """Radio buttons and check boxes for where a change is saved and when it is mounted.

    Args:
        args: the change, with the initial answers.
        active: whether the share is mounted now.
        saved_in: where the mount is saved now.

    Signals:
        changed: the user or the plan changed an answer.
    """

    changed = Signal()

    def __init__(self, args: ApplyArgs, *, active: bool, saved_in: SaveTarget) -> None:
        super().__init__()
        self._args = args
        self._active = active
        nowhere = self.tr("&Not saved: until unmounted or the next restart")
        if saved_in != "nowhere":
            nowhere = self.tr("&Not saved: the saved entry stays as it is")
        save_targets: list[tuple[SaveTarget, str]] = [
            ("fstab", self.tr("In /etc/&fstab")),
            ("systemd", self.tr("As &systemd units")),
            ("nowhere", nowhere),
        ]
        times = [
            (True, self.tr("N&ow: unmount and mount again") if active else self.tr("N&ow")),
            (False, self.tr("&Later: at the next boot or the next mount")),
        ]  # fmt: skip
        self._target_buttons: dict[SaveTarget, QRadioButton] = {}
        self._time_buttons: dict[bool, QRadioButton] = {}
        target_group, time_group = QButtonGroup(self), QButtonGroup(self)
        target_row, time_row = QHBoxLayout(), QHBoxLayout()
        for target, text in save_targets:
            self._target_buttons[target] = _choice(
                text, f"keeper-{target}", target == args.keeper, target_group, target_row
            )
        for now, text in times:
            self._time_buttons[now] = _choice(
                text, "mount-now" if now else "mount-later", now == args.mount, time_group, time_row
            )
        # A new entry gets the options that keep an absent server from delaying the boot.
        options = MountOptions.parse(args.options)
        self._boot_options_missing = [
            name for name in BOOT_OPTIONS if saved_in == "nowhere" and options.get(name) != YES
        ]
        self._is_new = saved_in == "nowhere"
        self._asks_nofail = False
        self._nofail_box = QCheckBox(
            self.tr("Boot even if t&he server is absent ({options})").format(
                options=", ".join(self._boot_options_missing)
            )
        )
        self._nofail_box.setObjectName("apply-nofail")
        self._nofail_box.setChecked(True)
        self._nofail_box.clicked.connect(self._on_clicked)
        self._save_read_ahead = QCheckBox()
        self._save_read_ahead.setObjectName("apply-save-readahead")
        self._save_read_ahead.clicked.connect(self._on_clicked)
        self._readahead_is_lost = False
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        grid.addWidget(plain_label(self.tr("Save")), 0, 0)
        grid.addLayout(target_row, 0, 1)
        grid.addWidget(self._nofail_box, 1, 1)
        self._can_wait: bool | None = None
        self._when_label = plain_label(self.tr("Mount"))
        grid.addWidget(self._save_read_ahead, 2, 1)
        grid.addWidget(self._when_label, 3, 0)
        grid.addLayout(time_row, 3, 1)
        for row in (target_row, time_row):
            row.setSpacing(18)
            row.addStretch(1)
        target_group.buttonClicked.connect(self._on_clicked)
        time_group.buttonClicked.connect(self._on_clicked)
        self._update_visibility()

    def args(self) -> ApplyArgs:
        """Return the change with the current answers."""
        target = next(name for name, button in self._target_buttons.items() if button.isChecked())
        mount = self._time_buttons[True].isChecked()
        # A remount with the same options needs no confirmation, because there is nothing to roll back.
        keep_s = KEEP_S if mount and self._active and not self._args.again else 0.0
        options = MountOptions.parse(self._args.options)
        if not self._nofail_box.isHidden():
            with contextlib.suppress(ValueError):  # invalid options: the plan reports them
                for name in self._boot_options_missing if self._nofail_box.isChecked() else []:
                    options.set(name, YES)
                if self._asks_nofail:
                    options.set("_netdev", YES)
                    if not self._nofail_box.isChecked():
                        options.remove("nofail")
        return msgspec.structs.replace(
            self._args, keeper=target, mount=mount, keep_s=keep_s, options=str(options),
            save_read_ahead=not self._save_read_ahead.isHidden() and self._save_read_ahead.isChecked(),
        )  # fmt: skip

    def offer_read_ahead(self, lost_kb: int | None) -> bool:
        """Offer to save a readahead that would be lost; return whether that changed the answers.

        Args:
            lost_kb: readahead that the mount loses when it is unmounted, KiB; None if it loses none.
        """
        if self._readahead_is_lost or lost_kb is None:
            return False
        self._readahead_is_lost = True
        self._save_read_ahead.setChecked(True)
        self._update_visibility()
        if self._save_read_ahead.isHidden():
            return False
        self.changed.emit()
        return True

    def ask_nofail(self) -> bool:
        """Ask whether to add nofail (boot without the mount); return whether that changed the answers."""
        if self._asks_nofail or not self._is_new:
            return False
        self._asks_nofail = True
        # The form of a new mount contains nofail by default, so the user has not decided about it yet.
        self._boot_options_missing = ["nofail"]
        self._nofail_box.setText(self.tr("Boot w&ithout this mount if it fails (nofail)"))
        self._nofail_box.setChecked(False)
        self._update_visibility()
        if self._nofail_box.isHidden():
            return False
        self.changed.emit()
        return True

    def set_can_wait(self, *, can_wait: bool) -> bool:
        """Offer to mount later, where that differs from mounting now; return whether a choice changed."""
        before = self.args()
        self._can_wait = can_wait
        self._update_visibility()
        if self.args() == before:
            return False
        self.changed.emit()
        return True

    def _update_visibility(self) -> None:
        """Show only the answers that the current choice allows.

        A mount that is not saved can only be mounted now. A change without a mount has no time to choose.
        """
        nowhere = self._target_buttons["nowhere"].isChecked()
        if nowhere or self._can_wait is False:
            self._time_buttons[True].setChecked(True)
        self._time_buttons[False].setEnabled(not nowhere)
        for widget in (self._when_label, *self._time_buttons.values()):
            widget.setVisible(bool(self._can_wait) and not nowhere)
        self._nofail_box.setVisible(bool(self._boot_options_missing) and not nowhere)
        where = self.tr("fstab") if self._target_buttons["fstab"].isChecked() else self.tr("a unit")
        text = self.tr("Save the readahead in a &udev rule too, because {where} cannot contain it").format(
            where=where
        )
        self._save_read_ahead.setText(text)
        self._save_read_ahead.setVisible(self._readahead_is_lost and not nowhere)

    def _on_clicked(self, *_button: object) -> None:
        self._update_visibility()
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
    group.addButton(button)
    row.addWidget(button)
    return button


class ApplyDialog(QDialog):
    """Dialog of a change: its answers, the plan that follows from them, and the progress while it is applied.

    Args:
        parent: the window.
        args: the change, with the initial answers.
        active: whether the share is mounted now.
        saved_in: where the mount is saved now.

    Signals:
        plan_wanted: the ApplyArgs for which a plan is needed.
        agreed: the ApplyArgs and the ApplyPlan that the user confirmed.
        cancel_wanted: the user cancels the running change.
    """

    plan_wanted = Signal(object)
    agreed = Signal(object, object)
    cancel_wanted = Signal()

    def __init__(self, parent: QWidget, args: ApplyArgs, *, active: bool, saved_in: SaveTarget) -> None:
        super().__init__(parent)
        self.setObjectName("apply-dialog")
        self.setWindowTitle(self.tr("Apply Changes") if active else self.tr("Mount and Save"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._active = active
        self._plan: ApplyPlan | None = None
        self._running = False
        self._title = ElidedLabel(f"{args.share}  →  {args.mount_point}")
        self._title.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        #: What the change interrupts: the first thing to read.
        self._interruption = plain_label(wrap=True)
        self._interruption.setObjectName("plan-interruption")
        self._interruption_icon = IconLabel("check", "ok")
        for label in (self._interruption, self._interruption_icon):
            set_text_size(label, TextSize.TITLE, bold=True)
            label.hide()
        self.choices = ApplyChoices(args, active=active, saved_in=saved_in)
        self.choices.changed.connect(self._ask_plan)
        self.view = PlanView()
        self._progress = QProgressBar()
        self._progress.setTextVisible(False)
        self._progress.setMaximumWidth(self.fontMetrics().averageCharWidth() * 16)
        self._status = plain_label(wrap=True)
        self._status.setObjectName("apply-status")
        self._back_button = QPushButton(self.tr("&Back"))
        self._back_button.setObjectName("apply-back")
        self._back_button.clicked.connect(self._ask_plan)
        self._do = primary_button("")
        self._do.setObjectName("apply-do")
        self._do.clicked.connect(self._on_confirmed)
        self._lay_out()

    def _lay_out(self) -> None:
        self._scroll = QScrollArea()
        self._scroll.setWidget(self.view)
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        status = QHBoxLayout()
        status.addWidget(self._progress)
        status.addWidget(self._status, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(12)
        consequence = QHBoxLayout()
        consequence.addWidget(self._interruption_icon, 0, Qt.AlignmentFlag.AlignTop)
        consequence.addWidget(self._interruption, 1)
        layout.addLayout(consequence)
        layout.addWidget(self._title)
        layout.addWidget(self.choices)
        layout.addWidget(self._scroll, 1)
        layout.addLayout(status)
        self._close = add_buttons(self, layout, self.tr("&Cancel"), [self._back_button, self._do], self._do)
        self.resize(self.fontMetrics().averageCharWidth() * 112, self.fontMetrics().lineSpacing() * 32)

    def start(self) -> None:
        """Open the dialog and request the first plan."""
        self.open()
        self._ask_plan()

    # Called by the controller

    def show_plan(self, args: ApplyArgs, plan: ApplyPlan) -> None:
        """Show the plan for these answers; ignore it if the answers changed since."""
        if self._running or args != self.choices.args():
            return
        if plan.restricted and self.choices.ask_nofail():
            return  # the answers changed, so another plan is requested
        if self.choices.set_can_wait(can_wait=plan.can_wait):
            return
        if self.choices.offer_read_ahead(plan.volatile_kb):
            return
        self._plan = plan
        self.view.show_plan(plan)
        self._interruption.setText(breakable(interruption_text(plan.interruption)))
        interrupts = plan.interruption.effect == "interrupts"
        self._interruption_icon.set_icon(*(("warning", "warn") if interrupts else ("check", "ok")))
        self._show_interruption(shown=plan.interruption.effect != "nothing")
        self._show_status(
            "" if plan.steps else self.tr("Nothing to change. These settings are in use already.")
        )
        self._do.setText(self._action_text())
        self._do.setEnabled(bool(plan.steps))
        self._do.setFocus()

    def show_no_plan(self, args: ApplyArgs, error: AppError) -> None:
        """Show why there is no plan for these answers."""
        if self._running or args != self.choices.args():
            return
        self.view.clear()
        self._show_interruption(shown=False)
        self.view.show_problem(error)
        self._show_status("")

    def start_running(self) -> None:
        """Show the progress instead of the answers, because the change starts."""
        self._running = True
        self.choices.hide()
        self._show_interruption(shown=False)
        self.view.show_progress_only()
        self._scroll.verticalScrollBar().setValue(0)
        self._do.hide()
        self._back_button.hide()
        self._show_status(self.tr("Applying…"), busy=True)

    def take_event(self, event: ApplyEvent) -> None:
        """Show a progress event of the change."""
        if event.kind == "revert":
            self._show_status(event.text or self.tr("Restoring the previous settings…"), busy=True)
        if event.kind == self.view.steps.kind(event.step):
            self.view.steps.set_state(event.step, event.state, event.text)
        self.view.show_waiting_for(event.holders)
        if event.holders:
            self._show_status(self.tr("Waiting for the programs to end…"), busy=True)
        elif event.kind == "keep" and event.state == "begun":
            self._show_status(self.tr("Waiting for your answer…"), busy=True)
        elif event.kind != "revert":
            self._show_status(self.tr("Applying…"), busy=True)

    def show_failed(self, error: AppError) -> None:
        """Show the error of a failed change; the Back button returns to the answers."""
        self._running = False
        self.view.show_problem(error)
        self.view.show_waiting_for([])
        self._close.setText(self.tr("C&lose"))
        self._close.setEnabled(True)
        self._back_button.show()
        self._back_button.setFocus()
        self._show_status("")
        self._scroll.verticalScrollBar().setValue(0)

    def show_cancelling(self) -> None:
        """Show that the change is being cancelled and rolled back."""
        self._close.setEnabled(False)
        self._show_status(self.tr("Restoring the previous settings…"), busy=True)

    def finish(self) -> None:
        """Close the dialog after the change, or when the connection to the host is closed."""
        self._running = False
        self.accept()

    # User actions

    def _ask_plan(self) -> None:
        self._plan = None
        self.choices.show()
        self._back_button.hide()
        self._close.setText(self.tr("&Cancel"))
        self._do.show()
        self._do.setText(self._action_text())
        self._do.setEnabled(False)
        self._show_status(self.tr("Planning the change…"), busy=True)
        self.plan_wanted.emit(self.choices.args())

    def _on_confirmed(self) -> None:
        if self._plan is not None:
            self.agreed.emit(self.choices.args(), self._plan)

    def _action_text(self) -> str:
        """Return the text of the button that applies the change."""
        args = self.choices.args()
        if args.mount:
            if self._active:
                return self.tr("&Apply Changes")
            return {
                "fstab": self.tr("&Mount and Save in fstab"),
                "systemd": self.tr("&Mount and Save as Units"),
                "nowhere": self.tr("&Mount"),
            }[args.keeper]
        return self.tr("&Save as Units") if args.keeper == "systemd" else self.tr("&Save in fstab")

    def _show_interruption(self, *, shown: bool) -> None:
        for label in (self._interruption, self._interruption_icon):
            label.setVisible(shown)

    def _show_status(self, text: str, *, busy: bool = False) -> None:
        self._status.setText(text)
        # The range (0, 0) animates the bar, which would cost time even while it is hidden.
        self._progress.setRange(0, 0 if busy else 1)
        self._progress.setAccessibleName(text)
        self._progress.setVisible(busy)

    # Qt overrides

    def reject(self) -> None:
        """Qt: Esc and the close button cancel a running change; without one they close the dialog."""
        if self._running:
            self.cancel_wanted.emit()
        else:
            super().reject()

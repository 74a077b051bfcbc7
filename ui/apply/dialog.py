"""Apply dialog: where a change is saved and when it takes effect, what it would do, and its progress."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import Qt, Signal
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
from ui.common.dialogs import add_buttons, show_outline
from ui.common.labels import ElidedLabel, breakable, enlarge, plain_label

if TYPE_CHECKING:
    from app.errors import AppError
    from app.mounts.change_model import ApplyArgs, ApplyEvent, ApplyPlan, SaveTarget

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

    def __init__(self, args: ApplyArgs, *, active: bool, kept: SaveTarget) -> None:
        super().__init__()
        self._args = args
        self._active = active
        nowhere = self.tr("&not at all: until it is unmounted or the computer stops")
        if kept != "nowhere":
            nowhere = self.tr("&not at all: what is set up stays as it is")
        keepers: list[tuple[SaveTarget, str]] = [
            ("fstab", self.tr("in /etc/&fstab")),
            ("systemd", self.tr("as &systemd units")),
            ("nowhere", nowhere),
        ]
        times = [
            (True, self.tr("n&ow: it is unmounted and mounted again") if active else self.tr("n&ow")),
            (False, self.tr("&later: at the next start, or when it is mounted next")),
        ]  # fmt: skip
        self._keepers: dict[SaveTarget, QRadioButton] = {}
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
        self._missing = [name for name in BOOT_OPTIONS if kept == "nowhere" and options.get(name) != YES]
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


class ApplyDialog(QDialog):
    """Asks, shows a plan for every answer, and then follows the change.

    Args:
        parent: the window.
        args: the change, with the answers to begin with.
        active: whether it is mounted now.
        kept: where it is kept now.

    Signals:
        plan_wanted: the ApplyArgs to make a plan for.
        agreed: the ApplyArgs and the Plan that the person has seen and agreed to.
        cancel_wanted: what is under way is to be given up.
    """

    plan_wanted = Signal(object)
    agreed = Signal(object, object)
    cancel_wanted = Signal()

    def __init__(self, parent: QWidget, args: ApplyArgs, *, active: bool, kept: SaveTarget) -> None:
        super().__init__(parent)
        self.setObjectName("apply-dialog")
        self.setWindowTitle(self.tr("Apply") if active else self.tr("Mount and keep"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._active = active
        self._plan: ApplyPlan | None = None
        self._running = False
        self._title = ElidedLabel(f"{args.share}  →  {args.mount_point}")
        enlarge(self._title, 1.3, bold=True)
        self._interruption = plain_label(wrap=True)
        self._interruption.setObjectName("plan-interruption")
        enlarge(self._interruption, 1.1, bold=True)
        self._interruption.hide()
        self.choices = ApplyChoices(args, active=active, kept=kept)
        self.choices.changed.connect(self._ask_plan)
        self.view = PlanView()
        self._progress = QProgressBar()
        self._progress.setTextVisible(False)
        self._progress.setMaximumWidth(self.fontMetrics().averageCharWidth() * 16)
        self._status = plain_label(wrap=True)
        self._status.setObjectName("apply-status")
        self._again = QPushButton(self.tr("&Back"))
        self._again.setObjectName("apply-back")
        self._again.clicked.connect(self._ask_plan)
        self._do = QPushButton()
        self._do.setObjectName("apply-do")
        self._do.clicked.connect(self._on_do)
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
        layout.addWidget(self._title)
        layout.addWidget(self._interruption)
        layout.addWidget(self.choices)
        layout.addWidget(self._scroll, 1)
        layout.addLayout(status)
        self._close = add_buttons(self, layout, self.tr("&Cancel"), [self._again, self._do], self._do)
        self.resize(self.fontMetrics().averageCharWidth() * 112, self.fontMetrics().lineSpacing() * 38)

    def start(self) -> None:
        """Open it and ask for the first plan."""
        self.open()
        self._ask_plan()

    # What the window tells

    def show_plan(self, args: ApplyArgs, plan: ApplyPlan) -> None:
        """Show the plan of these answers; an outdated one is passed over."""
        if self._running or args != self.choices.args():
            return
        if plan.restricted and self.choices.ask_nofail():
            return  # its answer is another one now, and has a plan of its own
        if self.choices.set_can_wait(can_wait=plan.can_wait):
            return
        if self.choices.offer_read_ahead(plan.volatile_kb):
            return
        self._plan = plan
        self.view.show_plan(plan)
        self._interruption.setText(breakable(interruption_text(plan.interruption)))
        self._interruption.setVisible(plan.interruption.effect != "nothing")
        self._say("" if plan.steps else self.tr("There is nothing to do: it is so already."))
        self._do.setText(self._action())
        self._do.setEnabled(bool(plan.steps))
        self._do.setFocus()

    def show_no_plan(self, args: ApplyArgs, error: AppError) -> None:
        """Say why there is no plan for these answers."""
        if self._running or args != self.choices.args():
            return
        self.view.clear()
        self._interruption.hide()
        self.view.show_problem(error)
        self._say("")

    def start_running(self) -> None:
        """The change is being made."""
        self._running = True
        self.choices.hide()
        self._interruption.hide()
        self.view.show_progress_only()
        self._scroll.verticalScrollBar().setValue(0)
        self._do.hide()
        self._again.hide()
        self._say(self.tr("Applying…"), busy=True)

    def take_event(self, event: ApplyEvent) -> None:
        """Show how far it is."""
        if event.kind == "revert":
            self._say(event.text or self.tr("Going back to what was…"), busy=True)
        if event.kind == self.view.steps.kind(event.step):
            self.view.steps.set_state(event.step, event.state, event.text)
        self.view.show_waiting_for(event.holders)
        if event.holders:
            self._say(self.tr("Waiting until they have finished…"), busy=True)
        elif event.kind == "keep" and event.state == "begun":
            self._say(self.tr("Waiting for your answer…"), busy=True)
        elif event.kind != "revert":
            self._say(self.tr("Applying…"), busy=True)

    def show_failed(self, error: AppError) -> None:
        """Say that it failed; the person may change an answer and try again."""
        self._running = False
        self.view.show_problem(error)
        self.view.show_waiting_for([])
        self._close.setText(self.tr("C&lose"))
        self._close.setEnabled(True)
        self._again.show()
        self._again.setFocus()
        self._say("")
        self._scroll.verticalScrollBar().setValue(0)

    def show_cancelling(self) -> None:
        """The person has given up; it may take a moment."""
        self._close.setEnabled(False)
        self._say(self.tr("Going back to what was…"), busy=True)

    def finish(self) -> None:
        """Close it: the change is made, or the host is gone."""
        self._running = False
        self.accept()

    # What the person does

    def _ask_plan(self) -> None:
        self._plan = None
        self.choices.show()
        self._again.hide()
        self._close.setText(self.tr("&Cancel"))
        self._do.show()
        self._do.setText(self._action())
        self._do.setEnabled(False)
        self._say(self.tr("Looking what this would do…"), busy=True)
        self.plan_wanted.emit(self.choices.args())

    def _on_do(self) -> None:
        if self._plan is not None:
            self.agreed.emit(self.choices.args(), self._plan)

    def _action(self) -> str:
        """Return what the button does, in words."""
        args = self.choices.args()
        if args.mount:
            if self._active:
                return self.tr("&Apply")
            return {
                "fstab": self.tr("&Mount and write to fstab"),
                "systemd": self.tr("&Mount and write units"),
                "nowhere": self.tr("&Mount"),
            }[args.keeper]
        return self.tr("&Write units") if args.keeper == "systemd" else self.tr("&Write to fstab")

    def _say(self, text: str, *, busy: bool = False) -> None:
        self._status.setText(text)
        # A hidden bar must not go on moving.
        self._progress.setRange(0, 0 if busy else 1)
        self._progress.setAccessibleName(text)
        self._progress.setVisible(busy)

    # Qt overrides

    def reject(self) -> None:
        """Qt: Esc and the closing button give up what is under way, and close the dialog when nothing is."""
        if self._running:
            self.cancel_wanted.emit()
        else:
            super().reject()

"""“Apply…”: what is chosen of a change, what it would do, and how it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.mounts.interruption import interruption_text
from ui.apply.dialog import ApplyChoices
from ui.common.dialogs import add_buttons
from ui.common.labels import ElidedLabel, breakable, enlarge, plain_label
from ui.dialogs.plan_view import PlanView

if TYPE_CHECKING:
    from app.errors import AppError
    from app.mounts.change_model import ApplyArgs, ApplyEvent, Keeper, Plan


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

    def __init__(self, parent: QWidget, args: ApplyArgs, *, active: bool, kept: Keeper) -> None:
        super().__init__(parent)
        self.setObjectName("apply-dialog")
        self.setWindowTitle(self.tr("Apply") if active else self.tr("Mount and keep"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._active = active
        self._plan: Plan | None = None
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

    def show_plan(self, args: ApplyArgs, plan: Plan) -> None:
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

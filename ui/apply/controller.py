"""Apply controller: requests the plan of a change, applies the change, and opens the dialogs for it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, Signal

from app.errors import AppError, ErrorKind
from app.mounts.change_model import KeepArgs
from resources.decoding import converted
from ui.apply.dialog import ApplyDialog
from ui.apply.questions import BusyDialog, KeepDialog

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from app.mounts.change_model import ApplyArgs, ApplyEvent, ApplyPlan, ApplyReport, SaveTarget
    from app.mounts.model import Holder
    from ui.common.bridge import BridgeCall


class ApplyController(QObject):
    """Plans and applies one change at a time, and only after the user confirmed the plan.

    Signals:
        changed: the value of :attr:`is_busy` may have changed.
        closed: the apply dialog closed; after a successful change, ``applied`` follows.
        applied: the ApplyArgs and the ApplyReport of a change that was applied and kept.
        reverted: the AppError of a change that was rolled back, and whether the user requested that.
    """

    changed = Signal()
    closed = Signal()
    applied = Signal(object, object)
    reverted = Signal(object, bool)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], parent: QObject) -> None:
        super().__init__(parent)
        self._submit = submit
        self._dialog: ApplyDialog | None = None
        self._question: BusyDialog | KeepDialog | None = None
        self._plan_call: BridgeCall | None = None
        self._call: BridgeCall | None = None
        self._keep_was_asked = False
        self._revert_failed = False
        self._cancelled = False
        #: Programs that blocked an unmount, or None if no unmount failed; empty if they could not be found.
        self._blocking_holders: list[Holder] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a change is being applied."""
        return self._call is not None

    def open(self, window: QWidget, args: ApplyArgs, *, active: bool, saved_in: SaveTarget) -> bool:
        """Open the apply dialog for a change.

        Args:
            window: parent of the dialog.
            args: the change, with the initial answers.
            active: whether the share is mounted now.
            saved_in: where the mount is saved now.

        Returns:
            False if an apply dialog is open already.
        """
        if self._dialog is not None:
            return False
        dialog = ApplyDialog(window, args, active=active, saved_in=saved_in)
        self._dialog = dialog
        dialog.plan_wanted.connect(self._plan)
        dialog.agreed.connect(self._on_agreed)
        dialog.cancel_wanted.connect(self._cancel)
        dialog.finished.connect(self._on_closed)
        dialog.start()
        return True

    def reset(self) -> None:
        """Close the dialogs, because the connection to the host is closed.

        The host's agent rolls back a change that was not confirmed.
        """
        self._plan_call = None
        self._call = None
        self._close_question()
        if self._dialog is not None:
            self._dialog.finish()
        self.changed.emit()

    # The plan

    def _plan(self, args: ApplyArgs) -> None:
        if self._plan_call is not None:
            self._plan_call.cancel()
        call = self._start("mounts.plan", args, partial(self._on_no_plan, args))
        self._plan_call = call
        if call is not None:
            call.succeeded.connect(partial(self._on_plan, call, args))
            call.failed.connect(partial(self._on_plan_failed, call, args))

    def _on_plan(self, call: BridgeCall, args: ApplyArgs, plan: ApplyPlan) -> None:
        if call is self._plan_call and self._dialog is not None:
            self._dialog.show_plan(args, plan)

    def _on_plan_failed(self, call: BridgeCall, args: ApplyArgs, error: AppError) -> None:
        if call is self._plan_call:
            self._on_no_plan(args, error)

    def _on_no_plan(self, args: ApplyArgs, error: AppError) -> None:
        if self._dialog is not None:
            self._dialog.show_no_plan(args, error)

    # The change

    def _on_agreed(self, args: ApplyArgs, plan: ApplyPlan) -> None:
        approved = plan.approval is not None
        args = msgspec.structs.replace(args, expected_sha256=plan.sha256, approved=approved)
        unmounts = any(step.kind == "unmount" for step in plan.steps)
        if plan.holders and unmounts:
            self._ask_busy(args, plan.holders)
        else:
            self._apply(args)

    def _apply(self, args: ApplyArgs) -> None:
        if self._dialog is None:
            return
        self._keep_was_asked = self._revert_failed = self._cancelled = False
        self._blocking_holders = None
        call = self._start("mounts.apply", args, self._dialog.show_failed)
        if call is None:
            return
        self._call = call
        self._dialog.start_running()
        call.progressed.connect(self._on_event)
        call.succeeded.connect(partial(self._on_applied, call, args))
        call.failed.connect(partial(self._on_failed, call, args))
        self.changed.emit()

    def _on_event(self, event: ApplyEvent) -> None:
        if self._call is None or self._dialog is None:
            return
        if event.kind == "unmount" and event.state == "failed":
            self._blocking_holders = event.holders or self._blocking_holders or []
        if event.kind == "keep" and event.state == "begun" and event.keep_s > 0:
            self._ask_keep(event.keep_s)
        elif event.kind == "revert":
            self._revert_failed = self._revert_failed or event.state == "failed"
            self._close_question()
        self._dialog.take_event(event)

    def _on_applied(self, call: BridgeCall, args: ApplyArgs, report: ApplyReport) -> None:
        if call is self._call:
            self._end()
            if self._dialog is not None:
                self._dialog.finish()
            self.applied.emit(args, report)

    def _on_failed(self, call: BridgeCall, args: ApplyArgs, error: AppError) -> None:
        if call is not self._call:
            return
        self._end()
        if self._dialog is None:
            return
        if error.kind is ErrorKind.CANCELLED and self._keep_was_asked and not self._revert_failed:
            self._dialog.finish()
            self.reverted.emit(error, self._cancelled)
            return
        self._dialog.show_failed(error)
        if error.kind is ErrorKind.BUSY and self._blocking_holders is not None:
            self._ask_busy(args, self._blocking_holders)

    def _end(self) -> None:
        self._call = None
        self._close_question()
        self.changed.emit()

    def _cancel(self) -> None:
        if self._call is not None and self._dialog is not None:
            self._cancelled = True
            self._dialog.show_cancelling()
            self._call.cancel()

    # Programs that block the unmount

    def _ask_busy(self, args: ApplyArgs, holders: list[Holder]) -> None:
        if self._dialog is None:
            return
        is_saved = args.keeper != "nowhere"
        question = BusyDialog(
            self._dialog, args.mount_point, holders, can_wait_for_start=is_saved, wait_s=args.wait_s
        )
        question.chosen.connect(partial(self._on_busy_chosen, args))
        self._question = question
        question.finished.connect(partial(self._on_question_closed, question))
        question.open()

    def _on_busy_chosen(self, args: ApplyArgs, choice: str) -> None:
        self._apply(converted({**msgspec.to_builtins(args), "busy": choice}, type(args)))

    # Confirmation of the new settings

    def _ask_keep(self, seconds: float) -> None:
        if isinstance(self._question, KeepDialog):
            self._question.set_remaining(seconds)
            return
        if self._dialog is None:
            return
        self._keep_was_asked = True
        question = KeepDialog(self._dialog, self._dialog.choices.args().mount_point, seconds)
        question.kept.connect(self._on_kept)
        question.reverted.connect(self._cancel)
        self._question = question
        question.finished.connect(partial(self._on_question_closed, question))
        question.open()

    def _on_kept(self) -> None:
        call_id = self._call.id if self._call is not None else None
        if call_id is not None:
            # An answer after the deadline fails. That needs no message: the change reports its rollback.
            self._start("mounts.keep", KeepArgs(id=call_id), lambda _error: None)

    def _on_question_closed(self, question: QObject, _result: int) -> None:
        if question is self._question:
            self._question = None

    def _close_question(self) -> None:
        question, self._question = self._question, None
        if isinstance(question, KeepDialog):
            question.finish()
        elif question is not None:
            question.reject()

    # Calls

    def _start(self, verb: str, args: Any, failed: Callable[[AppError], None]) -> BridgeCall | None:
        try:
            return self._submit(verb, args)
        except AppError as error:
            failed(error)
            return None

    def _on_closed(self, _result: int) -> None:
        self._dialog = None
        if self._plan_call is not None:
            self._plan_call.cancel()
            self._plan_call = None
        self.changed.emit()
        self.closed.emit()

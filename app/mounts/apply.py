"""Applying a change of a mount, and rolling it back after a failure.

A change runs on the thread of its request. Each step pushes its undo function on a stack before it begins.
An undo function reads the mount table first, so it also undoes a step that failed halfway.
"""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from advisor.dialects.linux import mount_command
from advisor.options import MountOptions
from app.errors import AppError, CancelledError, ErrorKind, internal_error
from app.helper.errors import Refusal
from app.helper.mount_permission import uncatalogued_options
from app.helper.options import load
from app.mounts.actions import wait_for_client_release
from app.mounts.approval import not_approved_error
from app.mounts.change_model import ApplyEvent, ApplyReport, ApplyStep
from app.mounts.findings import refusal_error
from app.mounts.model import Active, Configured, Mount, MountReport, ReadaheadReport
from app.mounts.mount_point import this_caller
from app.mounts.mount_users import terminate_processes
from app.mounts.option_changes import remount_options
from app.mounts.option_comparison import compare_options, configuration_differences
from app.mounts.plan import UNMOUNT_TIMEOUT_S, build_plan, inspect_change, mount_options_now
from app.mounts.requested_options import live_options
from app.tasks import CancelToken
from app.text.errors import ErrorCode
from app.text.message import message_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.message import Message
    from app.mounts.actions import MountActions
    from app.mounts.change_model import ApplyArgs, ApplyPlan, StepState
    from app.mounts.config_store import WrittenConfig
    from app.mounts.interrupted_changes import ChangeRecords
    from app.mounts.model import Holder
    from app.mounts.plan import HostView, InspectedChange

#: Interval between two checks for processes that use the mount, and for the confirmation, seconds.
_POLL_S = 1.0
#: Time that udev may take to set the readahead of a new mount, seconds.
_UDEV_S = 0.3
#: File that exists while udev handles events (udevadm(8), settle).
_UDEV_QUEUE = "/run/udev/queue"
#: Longest wait for udev, seconds: nfsrahead(5) alone waits 0.25 s for the mount.
_UDEV_TIMEOUT_S = 5.0
#: Time for the kernel to end an operation, such as an unmount, that a killed helper began, seconds.
_SETTLE_S = 1.0
#: Timeout of each mount of a rollback, seconds. A rollback cannot be cancelled, so it waits longer.
_ROLLBACK_TIMEOUT_S = 60.0
#: How long terminated programs may take to release the mount, seconds.
TERMINATION_S = 20.0


class ChangeRunner:
    """Applies one change, and rolls it back after a failure.

    Args:
        args: the request.
        view: reads the state of the host.
        actions: the privileged actions.
        token: cancels the change, which then rolls back.
        emit: receives the ApplyEvents.
        records: records of changes, by which the next start of the program reports an interrupted change.
        decide: returns whether the change of a live mount stays, in place of a person's confirmation; it is
            called once, has ``keep_s`` of the request, and may raise an AppError, which rolls back too.
    """

    def __init__(
        self,
        args: ApplyArgs,
        view: HostView,
        actions: MountActions,
        token: CancelToken,
        emit: Callable[[ApplyEvent], None],
        *,
        records: ChangeRecords,
        decide: Callable[[], bool] | None = None,
    ) -> None:
        self._args = args
        self._view = view
        self._actions = actions
        self._token = token
        self._emit = emit
        self._records = records
        self._decide = decide
        self._confirmed = threading.Event()
        self._undo_stack: list[tuple[str, int, Callable[[], None]]] = []
        self._warnings: list[str] = []
        self._differences: list[Message] = []
        #: One sentence for each step that could not be undone.
        self._problems: list[str] = []
        self._backup = ""
        self._written: WrittenConfig | None = None
        self._saved: ReadaheadReport | None = None
        self._index = 0

    def keep(self) -> None:
        """Confirm the change: it stays."""
        self._confirmed.set()

    @property
    def rollback_problems(self) -> tuple[str, ...]:
        """One sentence for each step that the rollback could not undo."""
        return tuple(self._problems)

    def run(self) -> ApplyReport:
        """Apply the change and return its report.

        Raises:
            AppError: if the change failed; the message states the result of the rollback.
        """
        inspected = inspect_change(self._args, self._view)
        self._args = inspected.args
        plan = build_plan(inspected, [])
        _check_reversible(inspected)
        points = list(dict.fromkeys([self._args.mount_point, inspected.old_point]))
        record = self._records.begin(points, self._view.table().mounts) if plan.steps else None
        self._actions.begin(
            inspected, live_options(inspected.old) if inspected.old is not None else MountOptions()
        )
        try:
            report = self._carry_out(inspected, plan)
        except BaseException:
            if record is not None and not self._problems:
                self._records.end(record, complete=False)
            raise
        finally:
            self._actions.end()
        if record is not None:
            self._records.end(record, complete=True)
        return report

    def _carry_out(self, inspected: InspectedChange, plan: ApplyPlan) -> ApplyReport:
        try:
            for self._index, step in enumerate(plan.steps):
                self._token.check()
                self._do(inspected, step)
            report = self._report(inspected)
        except BaseException as error:
            self._emit = _ignoring_errors(self._emit)
            self._emit_step(self._index, plan.steps[self._index].kind, "failed", _error_text(error))
            if isinstance(error, AppError) and error.kind is ErrorKind.HELPER_FAILED:
                threading.Event().wait(_SETTLE_S)  # before the rollback reads the mount table
            self._problems = self._roll_back()
            raise self._with_rollback_result(error, self._problems) from error
        return ApplyReport(
            plan=plan,
            report=report,
            backup=self._backup,
            diff=plan.diff,
            warnings=self._warnings,
            differences=self._differences,
        )

    def _do(self, inspected: InspectedChange, step: ApplyStep) -> None:
        work: dict[str, Callable[[InspectedChange], str]] = {
            "verify": self._verify,
            "back-up": self._no_action,  # the write step makes the copy
            "write": self._write,
            "reload": self._no_action,  # the write step reloads systemd
            "tune": self._tune,
            "save": self._save,
            "remount": self._remount,
            "unmount": self._unmount,
            "mount": self._mount,
            "check": self._check,
            "keep": self._wait_for_confirmation,
        }
        self._emit_step(self._index, step.kind, "begun", step.text)
        text = work[step.kind](inspected)
        self._emit_step(self._index, step.kind, "done", text or step.text)

    def _emit_step(
        self, index: int, kind: str, state: StepState, text: str = "", holders: list[Holder] | None = None
    ) -> None:
        self._emit(ApplyEvent(step=index, kind=kind, state=state, text=text, holders=holders or []))  # type: ignore[arg-type]

    # Steps. Each returns the sentence of its result, or "" for the sentence of the plan.

    def _no_action(self, _found: InspectedChange) -> str:
        return ""

    def _verify(self, inspected: InspectedChange) -> str:
        self._actions.try_mount(
            self._args.share, mount_options_now(inspected), self._args.timeout_s, self._token
        )
        return ""

    def _write(self, inspected: InspectedChange) -> str:
        self._undo_stack.append(("write", self._index, lambda: self._undo_write(inspected)))
        self._written = written = self._actions.write(self._args, inspected.config.sha256, self._token)
        self._backup = written.backup
        self._warnings += written.warnings
        return f"The file as it was: {written.backup}" if written.backup else ""

    def _remount(self, inspected: InspectedChange) -> str:
        point, words = inspected.old_point, remount_options(inspected.changes, back=True)
        self._undo_stack.append(
            ("remount", self._index, lambda: self._undo_remount(point, words, _options_before(inspected)))
        )
        self._actions.remount(point, remount_options(inspected.changes), self._args.timeout_s, self._token)
        self._actions.remember(self._active(point).mount_id, mount_options_now(inspected))
        return ""

    def _unmount(self, inspected: InspectedChange) -> str:
        point = inspected.old_point
        self._undo_stack.append(("unmount", self._index, lambda: self._undo_unmount(inspected)))
        if self._args.busy == "lazy":
            self._actions.unmount(point, UNMOUNT_TIMEOUT_S, self._token, lazy=True)
            return ""
        wait_s = {"wait": self._args.wait_s, "stop": TERMINATION_S}.get(self._args.busy, 0.0)
        end = time.monotonic() + wait_s
        while not self._is_unmounted(point):
            holders = self._actions.holders(point, self._token)
            if self._args.busy == "stop":
                self._emit_step(self._index, "unmount", "begun", "Ending the programs that use it.", holders)
                terminate_processes(holders)
            if time.monotonic() >= end or (
                self._args.busy == "stop" and any(not holder.own for holder in holders)
            ):
                self._emit_step(self._index, "unmount", "begun", "Programs use it.", holders)
                raise AppError(
                    ErrorCode.MOUNT_IN_USE,
                    detail="\n".join(
                        f"{holder.command} (process {holder.pid}, {holder.user}): {holder.use}"
                        for holder in holders
                    ),
                    mount_point=point,
                )
            self._emit_step(self._index, "unmount", "begun", "Waiting until nobody uses it.", holders)
            self._token.wait(_POLL_S)
        return ""

    def _is_unmounted(self, point: str) -> bool:
        try:
            self._actions.unmount(point, UNMOUNT_TIMEOUT_S, self._token)
        except AppError as error:
            if error.kind is not ErrorKind.BUSY:
                raise
            return False
        return True

    def _mount(self, inspected: InspectedChange) -> str:
        point = self._args.mount_point
        self._undo_stack.append(("mount", self._index, lambda: self._undo_mount(point)))
        if inspected.old is not None and inspected.old.active is not None:
            wait_for_client_release(inspected.old.active, self._view)
        self._actions.mount(
            self._args.share, point, mount_options_now(inspected), self._args.timeout_s, self._token
        )
        if inspected.rule.read_ahead_kb is not None:
            self._await_udev()
        return ""

    def _tune(self, inspected: InspectedChange) -> str:
        point, kb = self._args.mount_point, inspected.tune_kb or 0
        if inspected.live_action in {"none", "remount"}:
            old = _read_ahead_before(inspected)
            self._undo_stack.append(("tune", self._index, lambda: self._restore_readahead(point, old)))
        self._actions.tune(point, kb, self._token)
        if inspected.live_action in {"mount", "again"}:
            self._await_udev()
            self._restore_readahead(point, kb, self._token)
        return ""

    def _save(self, inspected: InspectedChange) -> str:
        point, rule, kb = self._args.mount_point, inspected.rule, inspected.save_kb or 0
        # Without an answer of the helper, the undo function needs a report that makes it read the rule.
        self._saved = ReadaheadReport(
            mount_point=point, file=rule.path, diff=inspected.rule_diff, sha256=rule.sha256,
            before=rule.read_ahead_kb, after=kb,
        )  # fmt: skip
        self._undo_stack.append(("save", self._index, self._undo_save))
        self._saved = self._actions.save(point, kb, rule.sha256, self._token)
        self._warnings += self._saved.warnings
        return f"Saved in {rule.path}."

    def _undo_save(self) -> None:
        if self._saved is not None:
            self._actions.unsave(self._saved)

    def _await_udev(self) -> None:
        """Wait until udev has applied its rules to a new mount."""
        end = time.monotonic() + _UDEV_TIMEOUT_S
        self._token.wait(_UDEV_S)
        while Path(_UDEV_QUEUE).exists() and time.monotonic() < end:
            self._token.wait(_UDEV_S or 0.01)

    def _check(self, inspected: InspectedChange) -> str:
        point = self._args.mount_point
        active = self._active(point)
        if inspected.tune_kb is not None and active.read_ahead_kb != inspected.tune_kb:
            raise AppError(
                ErrorCode.READAHEAD_DIFFERS,
                mount_point=point,
                used_kb=active.read_ahead_kb,
                requested_kb=inspected.tune_kb,
            )
        if inspected.live_action == "none":
            return ""
        requested = Configured(
            origin="",
            line=0,
            share=self._args.share,
            fstype=self._args.fstype,
            options=str(mount_options_now(inspected)),
        )
        self._differences = configuration_differences(requested, active)
        return " ".join(map(message_text, self._differences))

    def _wait_for_confirmation(self, _found: InspectedChange) -> str:
        if self._decide is not None:
            if self._decide():
                return "The change stays."
            raise CancelledError(ErrorCode.CHANGE_REVERTED)
        end = time.monotonic() + self._args.keep_s
        with self._token.on_cancel(self._confirmed.set):
            while (left := end - time.monotonic()) > 0:
                self._emit(ApplyEvent(step=self._index, kind="keep", state="begun", keep_s=left))
                if self._confirmed.wait(min(_POLL_S, left)):
                    self._token.check()
                    return "The change stays."
        raise CancelledError(ErrorCode.CHANGE_NOT_CONFIRMED)

    def _report(self, inspected: InspectedChange) -> MountReport | None:
        row = self._row(self._args.mount_point)
        if row is None or row.active is None:
            return None
        added = self._view.added(self._args.share, self._args.mount_point, mount_options_now(inspected))
        values = compare_options(inspected.options, row.active, added)
        command = mount_command(self._args.share, self._args.mount_point, mount_options_now(inspected))
        return MountReport(mount=row, values=values, command=command)

    # Rollback. Each undo function reads the present state first.

    def _roll_back(self) -> list[str]:
        """Undo the steps in reverse order; return one sentence for each step that could not be undone."""
        problems: list[str] = []
        for kind, index, undo in reversed(self._undo_stack):
            try:
                undo()
            except Exception as error:  # noqa: BLE001 - the other steps are still undone
                if isinstance(error, AppError):
                    problems.append(error.message)
                else:
                    problems.append(f"The step “{kind}” could not be undone: {error}.")
                self._emit_step(index, "revert", "failed", problems[-1])
            else:
                self._emit_step(index, "revert", "done", _ROLLED_BACK[kind])
        return problems

    def _undo_write(self, inspected: InspectedChange) -> None:
        if self._written is not None:
            self._written.undo()
            return
        now = self._view.kept.preview(msgspec.structs.replace(self._args, expected_sha256=""))
        if now.sha256 != inspected.config.sha256:
            # The helper ended between the write and its answer, or another program wrote the file.
            raise AppError(ErrorCode.CONFIG_MAY_BE_CHANGED, names=" and ".join(inspected.config.names))
        if left := self._records.temporaries():
            raise AppError(ErrorKind.HELPER_FAILED, " ".join(left))

    def _undo_remount(self, point: str, words: list[str], before: MountOptions) -> None:
        try:
            self._actions.remount(point, words, _ROLLBACK_TIMEOUT_S, CancelToken())
            self._actions.remember(self._active(point).mount_id, before)
        except AppError as error:
            raise AppError(
                ErrorCode.FLAGS_NOT_RESTORED, kind=error.kind, mount_point=point, problem=error
            ) from error

    def _undo_unmount(self, inspected: InspectedChange) -> None:
        point, old = inspected.old_point, inspected.old.active if inspected.old is not None else None
        row = self._row(point)
        if old is None or (row is not None and row.active is not None):
            return
        wait_for_client_release(old, self._view)
        try:
            self._actions.mount(
                old.share, point, _options_before(inspected), _ROLLBACK_TIMEOUT_S, CancelToken()
            )
            self._restore_readahead(point, old.read_ahead_kb)
        except AppError as error:
            raise AppError(
                ErrorCode.OLD_MOUNT_NOT_RESTORED,
                kind=error.kind,
                share=old.share,
                mount_point=point,
                problem=error,
            ) from error

    def _undo_mount(self, point: str) -> None:
        # The old mount is gone when this step begins, so a present mount is the new one. Its mount id proves
        # nothing, because the kernel reuses the id of the old mount.
        row = self._row(point)
        if row is None or row.active is None:
            return
        try:
            self._actions.unmount(point, UNMOUNT_TIMEOUT_S, CancelToken())
        except AppError as error:
            raise AppError(
                ErrorCode.NEW_MOUNT_REMAINS, kind=error.kind, mount_point=point, problem=error
            ) from error

    def _restore_readahead(self, point: str, kb: int | None, token: CancelToken | None = None) -> None:
        """Set a readahead, KiB, unless it is unknown or in use already."""
        if kb is not None and self._active(point).read_ahead_kb != kb:
            self._actions.tune(point, kb, token or CancelToken())

    def _with_rollback_result(self, error: BaseException, problems: list[str]) -> BaseException:
        """Return the error with a sentence about the result of the rollback."""
        if not isinstance(error, AppError):
            if not problems:
                return error
            error = internal_error(error)
        code = ErrorCode.ROLLED_BACK if self._undo_stack else ErrorCode.NOTHING_CHANGED
        if problems:
            code = ErrorCode.ROLLBACK_INCOMPLETE
        make = CancelledError if isinstance(error, CancelledError) else AppError
        return make(code, detail=error.detail, kind=error.kind, problem=error, left=" ".join(problems))

    # Present state.

    def _row(self, point: str) -> Mount | None:
        rows = [row for row in self._view.table().mounts if row.mount_point == point]
        return next((row for row in rows if row.active is not None), rows[0] if rows else None)

    def _active(self, point: str) -> Active:
        row = self._row(point)
        if row is None or row.active is None:
            raise AppError(ErrorCode.MOUNT_GONE, mount_point=point)
        return row.active


_ROLLED_BACK = {
    "write": "What is kept is as it was.",
    "remount": "The flags are as they were.",
    "unmount": "It is mounted as it was.",
    "mount": "The new mount is gone.",
    "tune": "The readahead is as it was.",
    "save": "The saved readahead is as it was.",
}


def _ignoring_errors(emit: Callable[[ApplyEvent], None]) -> Callable[[ApplyEvent], None]:
    """Return an emit function that ignores errors: a lost connection must not stop the rollback."""

    def emit_or_ignore(event: ApplyEvent) -> None:
        with contextlib.suppress(Exception):
            emit(event)

    return emit_or_ignore


def _check_reversible(inspected: InspectedChange) -> None:
    """Check that the change may be made and can be rolled back.

    Raises:
        AppError: if not; nothing was changed.
    """
    if inspected.approval is not None and not inspected.args.approved:
        raise not_approved_error(inspected.approval)
    problem = (
        refusal_error(inspected.findings, inspected.args.options)
        if inspected.live_action in {"mount", "again"}
        else None
    )
    if problem is not None:
        raise AppError(ErrorCode.NOTHING_CHANGED, kind=problem.kind, detail=problem.detail, problem=problem)
    if inspected.server_error is not None:
        raise AppError(
            ErrorCode.CHANGE_SERVER_SILENT,
            detail=f"{inspected.server_error.message}\n{inspected.server_error.detail}".strip(),
            mount_point=inspected.old_point,
        )
    if inspected.live_action == "again":
        try:
            words = [word for word in _options_before(inspected) if word]
            caller = this_caller()._replace(system=inspected.approval is not None)
            load().build(
                words, uncatalogued_options(caller, words, _share_before(inspected), inspected.old_point)
            )
        except Refusal as refused:
            raise AppError(
                ErrorCode.OPTIONS_NOT_RESTORABLE, mount_point=inspected.old_point, problem=refused.message
            ) from refused


def _share_before(inspected: InspectedChange) -> str:
    return inspected.old.share if inspected.old is not None else inspected.args.share


def _options_before(inspected: InspectedChange) -> MountOptions:
    return live_options(inspected.old) if inspected.old is not None else MountOptions()


def _read_ahead_before(inspected: InspectedChange) -> int | None:
    return (
        inspected.old.active.read_ahead_kb
        if inspected.old is not None and inspected.old.active is not None
        else None
    )


def _error_text(error: BaseException) -> str:
    return error.message if isinstance(error, AppError) else type(error).__name__

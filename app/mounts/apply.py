"""Applying a change of a mount, and rolling it back if anything fails on the way.

Plain code on the thread of its request: each step puts its undoing on a stack before it begins, and the
undoing looks at the table of mounts first, so that it also fits a step that was broken off half-way.
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
from app.errors import AppError, ErrorKind, internal_error
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
from app.tasks import CancelledError, CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.actions import MountActions
    from app.mounts.change_model import ApplyArgs, ApplyPlan, StepState
    from app.mounts.config_store import WrittenConfig
    from app.mounts.interrupted_changes import ChangeRecords
    from app.mounts.model import Holder
    from app.mounts.plan import HostView, InspectedChange

#: How often programs in the way, and the person's answer, are looked for.
_POLL_S = 1.0
#: A rule of udev may set the read-ahead of a new mount this long after it appeared.
_UDEV_S = 0.3
#: There while udev works on events (udevadm(8), settle).
_UDEV_QUEUE = "/run/udev/queue"
#: For a udev that is slow, or has more to do: nfsrahead alone waits a quarter of a second for the mount.
_QUEUE_S = 5.0
#: For what a helper that was killed had begun in the kernel to end: an unmount, for example.
_SETTLE_S = 1.0
#: The way back is not cancelled, and waits longer than the way there.
_ROLLBACK_S = 60.0
#: Programs that end, and what they leave to be cleared up, have this long, seconds.
TERMINATION_S = 20.0


class ChangeRunner:
    """One change under way.

    Args:
        args: what is asked for.
        around: what it looks at.
        hands: what it acts with.
        token: cancels it, which goes back to what was.
        emit: takes its ApplyEvents.
        records: tell the next start of a change that was not ended.
    """

    def __init__(
        self,
        args: ApplyArgs,
        around: HostView,
        hands: MountActions,
        token: CancelToken,
        emit: Callable[[ApplyEvent], None],
        *,
        records: ChangeRecords,
    ) -> None:
        self._args = args
        self._around = around
        self._hands = hands
        self._token = token
        self._emit = emit
        self._records = records
        self._answered = threading.Event()
        self._back: list[tuple[str, int, Callable[[], None]]] = []
        self._warnings: list[str] = []
        #: What could not be undone, a sentence each.
        self._problems: list[str] = []
        self._backup = ""
        self._written: WrittenConfig | None = None
        self._saved: ReadaheadReport | None = None
        self._index = 0

    def keep(self) -> None:
        """The person has said that it is to stay."""
        self._answered.set()

    def run(self) -> ApplyReport:
        """Make the change.

        Raises:
            AppError: it says whether everything is as it was, and if not, what is not.
        """
        found = inspect_change(self._args, self._around)
        self._args = found.args
        plan = build_plan(found, [])
        _check_reversible(found)
        self._warnings = list(plan.warnings)
        points = list(dict.fromkeys([self._args.mount_point, found.old_point]))
        record = self._records.begin(points, self._around.table().mounts) if plan.steps else None
        self._hands.begin(found, live_options(found.old) if found.old is not None else MountOptions())
        try:
            report = self._carry_out(found, plan)
        except BaseException:
            if record is not None and not self._problems:
                self._records.end(record, complete=False)
            raise
        finally:
            self._hands.end()
        if record is not None:
            self._records.end(record, complete=True)
        return report

    def _carry_out(self, found: InspectedChange, plan: ApplyPlan) -> ApplyReport:
        try:
            for self._index, step in enumerate(plan.steps):
                self._token.check()
                self._do(found, step)
            report = self._report(found)
        except BaseException as error:
            self._emit = _without_failing(self._emit)
            self._say(self._index, plan.steps[self._index].kind, "failed", _error_text(error))
            if isinstance(error, AppError) and error.kind is ErrorKind.HELPER_FAILED:
                threading.Event().wait(_SETTLE_S)  # before what is there is looked at
            self._problems = self._roll_back()
            raise self._told(error, self._problems) from error
        return ApplyReport(
            plan=plan, report=report, backup=self._backup, diff=plan.diff, warnings=self._warnings
        )

    def _do(self, found: InspectedChange, step: ApplyStep) -> None:
        work: dict[str, Callable[[InspectedChange], str]] = {
            "verify": self._verify,
            "back-up": self._nothing,  # the writer keeps the copy before it writes
            "write": self._write,
            "reload": self._nothing,  # the writer has systemd read it
            "tune": self._tune,
            "save": self._save,
            "remount": self._remount,
            "unmount": self._unmount,
            "mount": self._mount,
            "check": self._check,
            "keep": self._wait_for_confirmation,
        }
        self._say(self._index, step.kind, "begun", step.text)
        text = work[step.kind](found)
        self._say(self._index, step.kind, "done", text or step.text)

    def _say(
        self, index: int, kind: str, state: StepState, text: str = "", holders: list[Holder] | None = None
    ) -> None:
        self._emit(ApplyEvent(step=index, kind=kind, state=state, text=text, holders=holders or []))  # type: ignore[arg-type]

    # The steps: each returns a sentence, or "" for that of the plan.

    def _nothing(self, _found: InspectedChange) -> str:
        return ""

    def _verify(self, found: InspectedChange) -> str:
        self._hands.try_mount(self._args.share, mount_options_now(found), self._args.timeout_s, self._token)
        return ""

    def _write(self, found: InspectedChange) -> str:
        self._back.append(("write", self._index, lambda: self._undo_write(found)))
        self._written = written = self._hands.write(self._args, found.kept.sha256, self._token)
        self._backup = written.backup
        self._warnings += written.warnings
        return f"The file as it was: {written.backup}" if written.backup else ""

    def _remount(self, found: InspectedChange) -> str:
        point, words = found.old_point, remount_options(found.changes, back=True)
        self._back.append(
            ("remount", self._index, lambda: self._undo_remount(point, words, _options_before(found)))
        )
        self._hands.remount(point, remount_options(found.changes), self._args.timeout_s, self._token)
        self._hands.remember(self._active(point).mount_id, mount_options_now(found))
        return ""

    def _unmount(self, found: InspectedChange) -> str:
        point = found.old_point
        self._back.append(("unmount", self._index, lambda: self._undo_unmount(found)))
        if self._args.busy == "lazy":
            self._hands.unmount(point, UNMOUNT_TIMEOUT_S, self._token, lazy=True)
            return ""
        wait_s = {"wait": self._args.wait_s, "stop": TERMINATION_S}.get(self._args.busy, 0.0)
        end = time.monotonic() + wait_s
        while not self._is_unmounted(point):
            holders = self._hands.holders(point, self._token)
            if self._args.busy == "stop":
                self._say(self._index, "unmount", "begun", "Ending the programs that use it.", holders)
                terminate_processes(holders)
            if time.monotonic() >= end or (self._args.busy == "stop" and any(not one.own for one in holders)):
                self._say(self._index, "unmount", "begun", "Programs use it.", holders)
                raise AppError(
                    ErrorKind.BUSY,
                    f"{point} is in use, so it was not unmounted.",
                    hint="Close the programs that use it, or choose another way to deal with them.",
                    detail="\n".join(
                        f"{one.command} (process {one.pid}, {one.user}): {one.use}" for one in holders
                    ),
                )
            self._say(self._index, "unmount", "begun", "Waiting until nobody uses it.", holders)
            self._token.wait(_POLL_S)
        return ""

    def _is_unmounted(self, point: str) -> bool:
        try:
            self._hands.unmount(point, UNMOUNT_TIMEOUT_S, self._token)
        except AppError as error:
            if error.kind is not ErrorKind.BUSY:
                raise
            return False
        return True

    def _mount(self, found: InspectedChange) -> str:
        point = self._args.mount_point
        self._back.append(("mount", self._index, lambda: self._undo_mount(point)))
        if found.old is not None and found.old.active is not None:
            wait_for_client_release(found.old.active, self._around)
        self._hands.mount(
            self._args.share, point, mount_options_now(found), self._args.timeout_s, self._token
        )
        if found.rule.read_ahead_kb is not None:
            self._await_udev()
        return ""

    def _tune(self, found: InspectedChange) -> str:
        point, kb = self._args.mount_point, found.tune_kb or 0
        if found.way in {"none", "remount"}:
            old = _read_ahead_before(found)
            self._back.append(("tune", self._index, lambda: self._undo_tune(point, old)))
        self._hands.tune(point, kb, self._token)
        if found.way in {"mount", "again"}:
            self._await_udev()
            if self._active(point).read_ahead_kb != kb:
                self._hands.tune(point, kb, self._token)
        return ""

    def _save(self, found: InspectedChange) -> str:
        point, rule, kb = self._args.mount_point, found.rule, found.save_kb or 0
        # Until the answer comes, it is not known what is there.
        self._saved = ReadaheadReport(
            mount_point=point, file=rule.path, diff=found.rule_diff, sha256=rule.sha256,
            before=rule.read_ahead_kb, after=kb,
        )  # fmt: skip
        self._back.append(("save", self._index, self._undo_save))
        self._saved = self._hands.save(point, kb, rule.sha256, self._token)
        self._warnings += self._saved.warnings
        return f"Saved in {rule.path}."

    def _undo_save(self) -> None:
        if self._saved is not None:
            self._hands.unsave(self._saved)

    def _await_udev(self) -> None:
        """Wait until udev has set what its rules say for a new mount."""
        end = time.monotonic() + _QUEUE_S
        self._token.wait(_UDEV_S)
        while Path(_UDEV_QUEUE).exists() and time.monotonic() < end:
            self._token.wait(_UDEV_S or 0.01)

    def _check(self, found: InspectedChange) -> str:
        point = self._args.mount_point
        active = self._active(point)
        if found.tune_kb is not None and active.read_ahead_kb != found.tune_kb:
            raise AppError(
                ErrorKind.IO,
                f"The readahead of {point} is {active.read_ahead_kb} KiB, not {found.tune_kb} KiB: "
                "something else sets it.",
                hint="Look for a rule of udev, or nfs.conf of nfs-utils, that sets read_ahead_kb.",
            )
        if found.way == "none":
            return ""
        asked = Configured(
            origin="the request",
            line=0,
            share=self._args.share,
            fstype=self._args.fstype,
            options=str(mount_options_now(found)),
        )
        told = [sentence[0].upper() + sentence[1:] for sentence in configuration_differences(asked, active)]
        self._warnings += told
        return " ".join(told)

    def _wait_for_confirmation(self, _found: InspectedChange) -> str:
        end = time.monotonic() + self._args.keep_s
        with self._token.on_cancel(self._answered.set):
            while (left := end - time.monotonic()) > 0:
                self._emit(ApplyEvent(step=self._index, kind="keep", state="begun", keep_s=left))
                if self._answered.wait(min(_POLL_S, left)):
                    self._token.check()
                    return "The change stays."
        raise CancelledError("Nobody said that the change is to stay.")

    def _report(self, found: InspectedChange) -> MountReport | None:
        row = self._row(self._args.mount_point)
        if row is None or row.active is None:
            return None
        added = self._around.added(self._args.share, self._args.mount_point, mount_options_now(found))
        values = compare_options(found.options, row.active, added)
        command = mount_command(self._args.share, self._args.mount_point, mount_options_now(found))
        return MountReport(mount=row, values=values, command=command)

    # The way back: each looks at what is there first.

    def _roll_back(self) -> list[str]:
        """Undo what was begun, the last first; return a sentence for each thing that could not be."""
        problems: list[str] = []
        for kind, index, undo in reversed(self._back):
            try:
                undo()
            except Exception as error:  # noqa: BLE001 - whatever it is, the others are still to be undone
                if isinstance(error, AppError):
                    problems.append(error.message)
                else:
                    problems.append(f"The step “{kind}” could not be undone: {error}.")
                self._say(index, "revert", "failed", problems[-1])
            else:
                self._say(index, "revert", "done", _ROLLED_BACK[kind])
        return problems

    def _undo_write(self, found: InspectedChange) -> None:
        if self._written is not None:
            self._written.undo()
            return
        now = self._around.kept.preview(msgspec.structs.replace(self._args, expected_sha256=""))
        if now.sha256 != found.kept.sha256:
            # The helper was lost between the deed and its answer, or somebody else wrote.
            raise AppError(
                ErrorKind.HELPER_FAILED,
                f"{' and '.join(found.kept.names)} may have been changed: it is not what it was.",
            )
        if left := self._records.temporaries():
            raise AppError(ErrorKind.HELPER_FAILED, " ".join(left))

    def _undo_remount(self, point: str, words: list[str], before: MountOptions) -> None:
        try:
            self._hands.remount(point, words, _ROLLBACK_S, CancelToken())
            self._hands.remember(self._active(point).mount_id, before)
        except AppError as error:
            raise AppError(
                error.kind,
                f"{point} could not be given its old flags again: {error.message}",
                hint=error.hint,
            ) from error

    def _undo_unmount(self, found: InspectedChange) -> None:
        point, old = found.old_point, found.old.active if found.old is not None else None
        row = self._row(point)
        if old is None or (row is not None and row.active is not None):
            return
        wait_for_client_release(old, self._around)
        try:
            self._hands.mount(old.share, point, _options_before(found), _ROLLBACK_S, CancelToken())
            if old.read_ahead_kb is not None and self._active(point).read_ahead_kb != old.read_ahead_kb:
                self._hands.tune(point, old.read_ahead_kb, CancelToken())
        except AppError as error:
            raise AppError(
                error.kind,
                f"{old.share} could not be mounted again at {point}: {error.message}",
                hint=error.hint,
            ) from error

    def _undo_mount(self, point: str) -> None:
        # The old mount is gone when this step begins, so what is there is the new one. Its number says
        # nothing: the kernel gives the one of the old mount out again.
        row = self._row(point)
        if row is None or row.active is None:
            return
        try:
            self._hands.unmount(point, UNMOUNT_TIMEOUT_S, CancelToken())
        except AppError as error:
            raise AppError(
                error.kind, f"{point} is still mounted with the new options: {error.message}", hint=error.hint
            ) from error

    def _undo_tune(self, point: str, kb: int | None) -> None:
        if kb is not None and self._active(point).read_ahead_kb != kb:
            self._hands.tune(point, kb, CancelToken())

    def _told(self, error: BaseException, problems: list[str]) -> BaseException:
        """Return the failure with what became of the way back."""
        if not isinstance(error, AppError):
            if not problems:
                return error
            error = internal_error(error)
        if problems:
            state = "Not everything is as it was: " + " ".join(problems)
        else:
            state = "Everything is as it was." if self._back else "Nothing was changed."
        hint = error.hint if not problems else "Put right by hand what is named here."
        message = f"{error.message} {state}"
        if isinstance(error, CancelledError):
            return CancelledError(message)
        return AppError(error.kind, message, hint=hint, detail=error.detail)

    # What is there now.

    def _row(self, point: str) -> Mount | None:
        rows = [row for row in self._around.table().mounts if row.mount_point == point]
        return next((row for row in rows if row.active is not None), rows[0] if rows else None)

    def _active(self, point: str) -> Active:
        row = self._row(point)
        if row is None or row.active is None:
            raise AppError(
                ErrorKind.NOT_MOUNTED, f"Nothing is mounted at {point}, although it was a moment ago."
            )
        return row.active


_ROLLED_BACK = {
    "write": "What is kept is as it was.",
    "remount": "The flags are as they were.",
    "unmount": "It is mounted as it was.",
    "mount": "The new mount is gone.",
    "tune": "The readahead is as it was.",
    "save": "The saved readahead is as it was.",
}


def _without_failing(emit: Callable[[ApplyEvent], None]) -> Callable[[ApplyEvent], None]:
    """Return what tells an event, or not: nothing untold may stop the way back."""

    def tell(event: ApplyEvent) -> None:
        with contextlib.suppress(Exception):
            emit(event)

    return tell


def _check_reversible(found: InspectedChange) -> None:
    """Refuse what could not be undone.

    Raises:
        AppError: nothing was changed.
    """
    if found.approval is not None and not found.args.approved:
        raise not_approved_error(found.approval)
    problem = refusal_error(found.findings, found.args.options) if found.way in {"mount", "again"} else None
    if problem is not None:
        raise AppError(
            problem.kind,
            f"{problem.message} Nothing was changed.",
            hint=problem.hint,
            detail=problem.detail,
        )
    if found.silent is not None:
        raise AppError(
            ErrorKind.NOT_RESPONDING,
            f"The server of {found.old_point} does not answer, so the mount was left alone. "
            "Nothing was changed.",
            hint="Try again when the server is back, or change only what counts from the next start.",
            detail=f"{found.silent.message}\n{found.silent.detail}".strip(),
        )
    if found.way == "again":
        try:
            words = [word for word in _options_before(found) if word]
            caller = this_caller()._replace(system=found.approval is not None)
            load().build(words, uncatalogued_options(caller, words, _share_before(found), found.old_point))
        except Refusal as refused:
            raise AppError(
                ErrorKind.OPTION_REJECTED,
                f"{found.old_point} has options that this program could not give it again if the change "
                f"failed: {refused.message} Nothing was changed.",
                hint="Keep the change for the next start, or unmount it by hand first.",
            ) from refused


def _share_before(found: InspectedChange) -> str:
    return found.old.share if found.old is not None else found.args.share


def _options_before(found: InspectedChange) -> MountOptions:
    return live_options(found.old) if found.old is not None else MountOptions()


def _read_ahead_before(found: InspectedChange) -> int | None:
    return found.old.active.read_ahead_kb if found.old is not None and found.old.active is not None else None


def _error_text(error: BaseException) -> str:
    return error.message if isinstance(error, AppError) else type(error).__name__

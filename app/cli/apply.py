"""Command "apply": plans a change of a mount, applies it step by step, and rolls it back on failure."""

from __future__ import annotations

import contextlib
import select
import sys
from typing import TYPE_CHECKING, get_args

import msgspec

from app.cli.findings import finding_lines, print_findings
from app.cli.persist import add_exact
from app.cli.prompts import APPROVABLE, add_yes, confirm_approval, confirm_nofail, has_terminal
from app.cli.table import table
from app.cli.text import report_text
from app.errors import AppError
from app.mounts.change_model import ApplyArgs, ApplyPlan, ApplyReport, BusyChoice, KeepArgs, SaveTarget
from app.mounts.change_text import approval_sentences
from app.mounts.entry_options import added_sentences, with_nofail
from app.mounts.findings import findings_before_writing
from app.service.protocol import ListArgs
from app.text.message import message_text
from app.text.mounts import interruption_text
from app.text.units import format_size

if TYPE_CHECKING:
    import argparse

    from app.mounts.change_model import ApplyEvent, PlannedOptionChange
    from app.service.client import Call, Host

#: Interval of checks for the end of the change and for an answer on standard input, s.
_POLL_S = 0.2
#: After Ctrl-C, longest wait for the rollback, s: an unmount and a mount at their slowest.
_ROLLBACK_TIMEOUT_S = 90.0
#: Texts of the column TAKES, by how a change of an option takes effect.
_STEP_TEXTS = {
    "live": "at once",
    "remount": "remount",
    "mount": "unmount and mount",
    "host": "for the whole computer",
    "boot": "next time",
}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of "apply" to its parser."""
    command.add_argument(
        "-o", dest="options", default=None, metavar="OPTIONS",
        help="as in fstab (default: those that the mount has). A new entry gets _netdev,nofail too, or the "
        "question whether nofail. An old entry keeps its _netdev and nofail",
    )  # fmt: skip
    add_exact(command)
    command.add_argument("share", metavar="SHARE", help="server:/export")
    command.add_argument("mount_point", metavar="MOUNTPOINT", help="absolute path")
    command.add_argument(
        "--keep-in",
        choices=get_args(SaveTarget),
        default="nowhere",
        help="where to save the mount (default: nowhere)",
    )
    command.add_argument(
        "--preview", action="store_true", help="show the steps and what is written, and do nothing"
    )
    command.add_argument(
        "--busy", choices=get_args(BusyChoice), default="ask",
        help="when programs use it: fail and name them (ask), wait a minute, change only what takes effect "
        "at the next boot, stop those of this user, or detach the mount (lazy)",
    )  # fmt: skip
    command.add_argument(
        "--confirm", type=float, default=0.0, metavar="SECONDS",
        help="ask whether to keep the change of a live mount, and revert it after this time (at most 480)",
    )  # fmt: skip
    command.add_argument(
        "--again", action="store_true",
        help="unmount and mount it even if nothing changes, as for a stale mount",
    )  # fmt: skip
    command.add_argument(
        "--read-ahead",
        type=int,
        default=None,
        metavar="KIB",
        help="readahead of the mount until unmounted",
    )
    command.add_argument(
        "--save-readahead", action="store_true",
        help="save that readahead, or the current one, for every later mount (a udev rule)",
    )  # fmt: skip
    add_yes(command)


def run_apply(host: Host, args: argparse.Namespace) -> ApplyPlan | ApplyReport:
    """Return the plan (--preview), or apply it and print its steps on standard error."""
    query = ApplyArgs(
        share=args.share,
        mount_point=args.mount_point,
        options=_options(host, args),
        exact=args.exact,
        keeper=args.keep_in,
        busy=args.busy,
        keep_s=args.confirm,
        again=args.again,
        read_ahead_kb=args.read_ahead,
        save_read_ahead=args.save_readahead,
    )
    plan: ApplyPlan = host.submit("mounts.plan", query).result()
    if args.preview:
        return plan
    if not args.json:
        # Findings that the kernel refuses are left out: applying the change fails with that error.
        print_findings(one for one in findings_before_writing(plan.findings) if one.before_mount != "refuse")
    if plan.asks_nofail and confirm_nofail(query.mount_point, yes=args.yes):
        query = msgspec.structs.replace(query, options=with_nofail(query.options))
    try:
        return _carry_out(host, query, quiet=args.json)
    except AppError as error:
        if error.kind not in APPROVABLE or not (args.yes or has_terminal()):
            raise
        if plan.approval is None:
            raise
        confirm_approval(plan.approval, yes=args.yes)
    return _carry_out(host, msgspec.structs.replace(query, approved=True), quiet=args.json)


def _carry_out(host: Host, query: ApplyArgs, *, quiet: bool) -> ApplyReport:
    step_printer = _StepPrinter(quiet=quiet)
    call = host.submit("mounts.apply", query, step_printer)
    try:
        return _wait(host, call, step_printer)
    except KeyboardInterrupt:
        print("Rolling back…", file=sys.stderr, flush=True)
        call.cancel()
        with contextlib.suppress(AppError, TimeoutError):
            call.result(_ROLLBACK_TIMEOUT_S)
        raise


def _options(host: Host, args: argparse.Namespace) -> str:
    if args.options is not None:
        return str(args.options)
    rows = host.submit("mounts.list", ListArgs()).result().mounts
    for row in rows:
        if row.mount_point == args.mount_point:
            return str(row.requested)
    return ""


class _StepPrinter:
    """Prints the steps of a change on standard error.

    Attributes:
        asked: whether the user has been asked to keep the change.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self.asked = False

    def __call__(self, event: ApplyEvent) -> None:
        if event.kind == "keep" and event.keep_s:
            if not self.asked:
                print(f"Keep it? [y/N, {event.keep_s:.0f} s] ", end="", file=sys.stderr, flush=True)
            self.asked = True
        elif not self._quiet and (event.state != "begun" or event.holders):
            print(f"{event.kind}: {event.text} ({event.state})", file=sys.stderr, flush=True)
            for one in event.holders:
                print(f"  {one.command} (process {one.pid}, {one.user}): {one.use}", file=sys.stderr)


def _wait(host: Host, call: Call, step_printer: _StepPrinter) -> ApplyReport:
    """Wait for the end of the change, and pass on the answer to whether to keep it."""
    listening = True
    while True:
        try:
            report: ApplyReport = call.result(_POLL_S)
        except TimeoutError:
            if not (step_printer.asked and listening and select.select([sys.stdin], [], [], 0)[0]):
                continue
            listening = False
            if sys.stdin.readline().strip().lower() in {"y", "yes"}:
                host.submit("mounts.keep", KeepArgs(id=call.id)).result()
            else:
                call.cancel()
        else:
            return report


def apply_text(result: ApplyPlan | ApplyReport) -> str:
    """Return the text of a plan, or of the result of applying it."""
    if isinstance(result, ApplyPlan):
        return _plan_text(result)
    lines = [] if result.plan.steps else ["Nothing to apply. The mount already uses these settings."]
    if result.report is not None and result.plan.steps:
        lines.append(report_text(result.report))
    lines += [f"Backup of the old file: {result.backup}"] if result.backup else []
    lines += [*result.plan.warnings, *result.warnings, *map(message_text, result.differences)]
    return "\n".join([*lines, *_volatile_lines(result.plan)])


def _plan_text(plan: ApplyPlan) -> str:
    if not plan.steps:
        notes = [
            *finding_lines(findings_before_writing(plan.findings)),
            *plan.warnings,
            *_volatile_lines(plan),
        ]
        return "\n".join(["Nothing to do.", *notes])
    lines = [interruption_text(plan.interruption), ""]
    if plan.changes:
        rows = [["OPTION", "BEFORE", "AFTER", "TAKES", ""]]
        unmounts = any(step.kind == "unmount" for step in plan.steps)
        rows += [_change_cells(change, unmounts=unmounts) for change in plan.changes]
        lines += [table(rows), ""]
    for number, step in enumerate(plan.steps, 1):
        lines.append(f"{number}. {step.text}")
        lines += [f"     {step.command}"] if step.command else []
    lines += ["", plan.diff.rstrip("\n")] if plan.diff else []
    lines += ["", plan.rule_diff.rstrip("\n")] if plan.rule_diff else []
    notes = added_sentences(plan.for_safety, plan.for_boot)
    notes += approval_sentences(plan.approval) if plan.approval is not None else []
    notes += [f"Shares the connections to the server: {', '.join(plan.sharing)}."] if plan.sharing else []
    notes += [f"In use by {one.command} (process {one.pid}, {one.user}): {one.use}." for one in plan.holders]
    notes += [*finding_lines(findings_before_writing(plan.findings)), *plan.warnings, *_volatile_lines(plan)]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _volatile_lines(plan: ApplyPlan) -> list[str]:
    if plan.volatile_kb is None:
        return []
    size = format_size(plan.volatile_kb * 1024)
    note = f"The readahead of {size} is lost at unmount: fstab and units cannot store it."
    return [f"{note} To save it, apply with --save-readahead."]


def _change_cells(change: PlannedOptionChange, *, unmounts: bool) -> list[str]:
    before, after = ("—" if value is None else value or "yes" for value in (change.before, change.after))
    takes = _STEP_TEXTS[change.takes] if unmounts or change.takes != "mount" else "mount"
    return [change.name, before, after, takes, message_text(change.note)]

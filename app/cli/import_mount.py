"""Command "import": saves a mount that a foreign systemd unit or an autofs map configures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from app.cli.apply import apply_text
from app.cli.prompts import ask_consent, confirm_approval
from app.errors import AppError
from app.mounts.change_model import ApplyArgs, ApplyPlan, ForeignArgs
from app.mounts.change_text import approval_sentences
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    import argparse

    from app.mounts.change_model import ApplyReport, ForeignEntry
    from app.service.client import Host

#: Longest wait for one request, s.
_TIMEOUT_S = 120.0


def add_import_mount(command: argparse.ArgumentParser) -> None:
    """Add the arguments of "import" to its parser."""
    command.add_argument("mount_point", metavar="MOUNTPOINT", help="as “list” shows it")
    command.add_argument(
        "--keep-in", choices=("fstab", "systemd"), default="fstab", help="where to save it (default: fstab)"
    )
    command.add_argument(
        "--reserved", choices=("leave-out", "keep"), default=None,
        help="what to do with options that only root may give: leave them out, or keep them, which "
        "an administrator has to approve (default: name them, and write nothing)",
    )  # fmt: skip
    command.add_argument("--dry-run", action="store_true", help="show the change and write nothing")
    command.add_argument("--yes", action="store_true", help="write without asking")


def run_import_mount(host: Host, args: argparse.Namespace) -> tuple[ForeignEntry, ApplyPlan | ApplyReport]:
    """Show the change, ask, and save the mount; nothing is mounted or unmounted.

    Raises:
        AppError: OPTION_RESERVED for options that only root may give, unless --reserved says what to do with
            them; CANCELLED after the answer no; or an error of a request. Nothing is written then.
    """
    entry: ForeignEntry = host.submit("mounts.foreign", ForeignArgs(mount_point=args.mount_point)).result(
        _TIMEOUT_S
    )
    if entry.reserved and args.reserved is None:
        raise AppError(ErrorCode.RESERVED_OPTIONS, origin=entry.origin, reserved=" ".join(entry.reserved))
    query = ApplyArgs(
        share=entry.share,
        mount_point=entry.mount_point,
        options=entry.options if args.reserved == "keep" else entry.plain_options,
        fstype=entry.fstype,
        keeper=args.keep_in,
        mount=False,
    )
    plan: ApplyPlan = host.submit("mounts.plan", query).result(_TIMEOUT_S)
    if args.dry_run or not plan.diff:
        return entry, plan
    if args.yes and plan.approval is not None:
        confirm_approval(plan.approval, yes=True)
    if not args.yes:
        ask_consent(
            "\n".join([plan.diff.rstrip("\n"), *import_warnings(entry, plan), ""]),
            "Write this?",
            hint="Look at the change with --dry-run, then give --yes.",
            refused="Nothing was written.",
        )
    query = msgspec.structs.replace(query, expected_sha256=plan.sha256, approved=plan.approval is not None)
    return entry, host.submit("mounts.apply", query).result(_TIMEOUT_S)


def import_warnings(entry: ForeignEntry, plan: ApplyPlan) -> list[str]:
    """Return options that are lost, parts that need approval, and warnings of the plan."""
    approval = approval_sentences(plan.approval) if plan.approval is not None else []
    return [*entry.lost, *approval, *plan.warnings]


def import_mount_text(entry: ForeignEntry, result: ApplyPlan | ApplyReport) -> str:
    """Return the text of the plan, or of the saved mount."""
    saved = [] if isinstance(result, ApplyPlan) else [f"Saved {entry.share} at {entry.mount_point}."]
    return "\n".join([*saved, *entry.lost, apply_text(result)])

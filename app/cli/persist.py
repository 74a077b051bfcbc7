"""Commands "persist" and "forget": show a change of fstab or systemd units, and write it after consent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from app.cli.findings import print_findings
from app.cli.prompts import ask_consent, confirm_approval, confirm_nofail
from app.mounts.change_model import PersistArgs, RemoveArgs
from app.mounts.change_text import approval_sentences
from app.mounts.entry_options import added_sentences, with_nofail
from app.mounts.findings import findings_before_writing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from app.mounts.model import SavedEntryReport

    Ask = Callable[[str, Any], SavedEntryReport]


def add_persist(command: argparse.ArgumentParser) -> None:
    """Add the arguments of "persist" to its parser."""
    command.add_argument(
        "-o", dest="options", default=None, metavar="OPTIONS",
        help="as in fstab (default: those of the old entry, or of the live mount). A new entry gets "
        "_netdev,nofail too, or the question whether nofail. An old entry keeps its _netdev and nofail",
    )  # fmt: skip
    add_exact(command)
    command.add_argument("share", metavar="SHARE", help="server:/export")
    command.add_argument("mount_point", metavar="MOUNTPOINT", help="absolute path")
    _add_consent(command)


def add_remove(command: argparse.ArgumentParser) -> None:
    """Add the arguments of "forget" to its parser."""
    command.add_argument("mount_point", metavar="MOUNTPOINT", help="as fstab has it")
    _add_consent(command)


def add_exact(command: argparse.ArgumentParser) -> None:
    """Add the option --exact, which suppresses the automatic _netdev and nofail."""
    command.add_argument(
        "--exact", action="store_true", help="save only the options given: add neither _netdev nor nofail"
    )


def _add_consent(command: argparse.ArgumentParser) -> None:
    command.add_argument("--dry-run", action="store_true", help="show the change and write nothing")
    command.add_argument("--yes", action="store_true", help="write without asking")


def run_persist(ask: Ask, args: argparse.Namespace) -> SavedEntryReport:
    """Show the change on standard error, ask, and write it; return the report of the change."""
    query: PersistArgs | RemoveArgs
    if args.command == "persist":
        query = PersistArgs(
            share=args.share,
            mount_point=args.mount_point,
            options=args.options,
            exact=args.exact,
            preview=True,
        )
        verb = "mounts.persist"
    else:
        query = RemoveArgs(mount_point=args.mount_point, preview=True)
        verb = "mounts.forget"
    report = ask(verb, query)
    if (
        isinstance(query, PersistArgs)
        and report.asks_nofail
        and not args.dry_run
        and confirm_nofail(args.mount_point, yes=args.yes)
    ):
        query = msgspec.structs.replace(query, options=with_nofail(report.given or query.options))
        report = ask(verb, query)
    if not args.json:
        print_findings(findings_before_writing(report.findings))
    diff = _combined_diff(report)
    if args.dry_run or not diff:
        return report
    approval = report.approval
    if args.yes and approval is not None:
        confirm_approval(approval, yes=True)
    if not args.yes:
        ask_consent(
            "\n".join([diff, *_warnings(report), ""]),
            "Write this?",
            hint="Look at the change with --dry-run, then give --yes.",
            refused="Nothing was written.",
        )
    # The checksum makes sure that the file has not changed since it was shown.
    approved = approval is not None
    query = msgspec.structs.replace(query, preview=False, expected_sha256=report.sha256, approved=approved)
    return ask(verb, query)


def _warnings(report: SavedEntryReport) -> list[str]:
    """Return the options that were added, and the parts that need approval."""
    added = added_sentences(report.for_safety, report.for_boot)
    return [*added, *(approval_sentences(report.approval) if report.approval is not None else [])]


def report_text(report: SavedEntryReport) -> str:
    """Return the report of a change as text."""
    diff = _combined_diff(report)
    if not diff:
        return "The file already contains this entry. Nothing changed."
    if not report.written:
        return "\n".join([diff, *_warnings(report)])
    lines = [f"Wrote: {report.line}" if report.line else "Removed the saved mount."] if report.diff else []
    lines += added_sentences(report.for_safety, report.for_boot)
    lines += [f"Backup of the old file: {report.backup}"] if report.backup else []
    if report.readahead is not None and report.readahead.written:
        lines.append(f"Removed the saved readahead: {report.readahead.file}")
    return "\n".join([*lines, *report.warnings])


def _combined_diff(report: SavedEntryReport) -> str:
    """Return the diff of fstab or units, and of the udev rule that saves the readahead."""
    readahead_diff = report.readahead.diff if report.readahead is not None else ""
    return "\n".join(diff.rstrip("\n") for diff in (report.diff, readahead_diff) if diff)

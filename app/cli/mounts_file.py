"""Commands "export-mounts" and "import-mounts": write all mounts to a file, and save those of a file."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from app.cli.input_file import read_input
from app.cli.prompts import ask_consent
from app.cli.table import table
from app.cli.text import terminal_safe
from app.errors import AppError, ErrorKind, printable
from app.files.safe_write import save_file
from app.mounts.change_model import (
    ImportArgs,
    ImportChoice,
    ImportItem,
    ImportPlan,
    ImportPlanArgs,
    ImportProgress,
    ImportReport,
    SaveIn,
)
from app.mounts.change_text import approval_sentences, import_report_lines, import_status_text, prompts_text
from app.mounts.mounts_file import MAX_BYTES, entries_of_table, from_toml, to_toml
from app.mounts.table import plain_path
from app.service.protocol import HelloResult, ListArgs
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from app.service.client import Host

    Ask = Callable[[str, Any], Any]

#: After Ctrl-C, longest wait until the entry being written is complete or undone, s.
_ROLLBACK_TIMEOUT_S = 90.0


def add_export(command: argparse.ArgumentParser) -> None:
    """Add the arguments of "export-mounts" to its parser."""
    command.add_argument("file", metavar="FILE", help="a new file, - for standard output")


def add_import(command: argparse.ArgumentParser) -> None:
    """Add the arguments of "import-mounts" to its parser."""
    command.add_argument("file", metavar="FILE", help="of export-mounts, - for standard input")
    command.add_argument("--dry-run", action="store_true", help="show what would be written, and do nothing")
    command.add_argument("--yes", action="store_true", help="write without asking")
    command.add_argument(
        "--only", action="append", default=[], metavar="MOUNTPOINT",
        help="only this entry (can be repeated; default: all that are new or differ and have no error)",
    )  # fmt: skip
    command.add_argument(
        "--save-in", choices=[word for word in get_args(SaveIn) if word], default="",
        help="where to save the entries (default: where the file says)",
    )  # fmt: skip
    command.add_argument(
        "--mount",
        action="store_true",
        help="mount the saved entries that are not mounted (default: mount nothing)",
    )


def run_export_mounts(ask: Ask, args: argparse.Namespace) -> str:
    """Write all mounts to a new file; return the text to print.

    Raises:
        AppError: if the file exists or cannot be written.
    """
    hello: HelloResult = ask("hello", None)
    entries = entries_of_table(ask("mounts.list", ListArgs()))
    data = to_toml(entries, hello.host)
    if args.file == "-":
        return data.decode().rstrip("\n")
    path = os.path.abspath(args.file)  # noqa: PTH100 - Path.resolve() would access the file system
    save_file(path, data)
    if args.json:
        return msgspec.json.encode({"file": printable(path), "mounts": len(entries)}).decode()
    count = "1 mount" if len(entries) == 1 else f"{len(entries)} mounts"
    return f"Exported {count} to {printable(path)}."


def run_import_mounts(host: Host, args: argparse.Namespace) -> str:
    """Show the changes, ask, and save the entries of a file; return the text to print.

    Raises:
        AppError: if the file cannot be read or decoded, the user refuses, or an entry could not be written.
    """
    name = "standard input" if args.file == "-" else printable(args.file)
    raw = read_input(args.file, MAX_BYTES, expected="a file of mounts")
    entries = from_toml(raw, name)
    plan: ImportPlan = host.submit(
        "mounts.import-plan", ImportPlanArgs(entries=entries, save_in=args.save_in)
    ).result()
    if args.dry_run:
        return _json(plan) if args.json else plan_text(plan)
    chosen = _chosen(plan, args.only)
    if not chosen:
        return _json(ImportReport(outcomes=[])) if args.json else f"{plan_text(plan)}\nNothing to write."
    prompts = prompts_text([plan.items[index] for index in chosen], mount=args.mount, root=plan.root)
    if not args.yes:
        count = "1 entry" if len(chosen) == 1 else f"{len(chosen)} entries"
        ask_consent(
            "\n".join([plan_text(plan), *filter(None, [prompts]), ""]),
            f"Write {count}{' and mount' if args.mount else ''}?",
            hint="Look at the import with --dry-run, then give --yes.",
            refused="Nothing was written.",
        )
    elif prompts and not args.json:
        print(prompts, file=sys.stderr, flush=True)
    query = ImportArgs(
        entries=entries, save_in=args.save_in, mount=args.mount, approved=True,
        choices=[ImportChoice(index=index, diff=plan.items[index].diff) for index in chosen],
    )  # fmt: skip
    report = _carry_out(host, query, args)
    text = _json(report) if args.json else "\n".join(map(terminal_safe, import_report_lines(report)))
    if report.complete:
        return text
    print(text, flush=True)
    failed = sum(one.result in {"failed", "not-begun"} for one in report.outcomes)
    message = (
        f"{failed} of {len(chosen)} entries were not written."
        if failed
        else "Not all entries could be mounted."
    )
    raise AppError(ErrorKind.FSTAB_FAILED, message, hint="The lines of the report say why.")


def _carry_out(host: Host, query: ImportArgs, args: argparse.Namespace) -> ImportReport:
    def show(event: ImportProgress) -> None:
        if not args.json and sys.stderr.isatty():
            print(
                f"{event.number} of {event.count}: {terminal_safe(event.mount_point)}…",
                file=sys.stderr,
                flush=True,
            )

    call = host.submit("mounts.import", query, show)
    try:
        report: ImportReport = call.result()
    except KeyboardInterrupt:
        print("Stopping after this entry…", file=sys.stderr, flush=True)
        call.cancel()
        report = call.result(_ROLLBACK_TIMEOUT_S)
    return report


def _chosen(plan: ImportPlan, only: list[str]) -> list[int]:
    """Return the indexes of the items to write.

    Raises:
        AppError: USAGE if a mount point of --only is not in the file or its entry is refused.
    """
    if not only:
        return [index for index, item in enumerate(plan.items) if item.chosen]
    found: list[int] = []
    for point in map(plain_path, only):
        indexes = [index for index, item in enumerate(plan.items) if item.entry.mount_point == point]
        if not indexes:
            raise AppError(ErrorCode.NO_MOUNT_IN_FILE, mount_point=printable(point))
        item = plan.items[indexes[0]]
        if item.status == "refused":
            raise AppError(ErrorKind.USAGE, f"{point} cannot be imported. {item.error}", hint=item.hint)
        found += indexes[:1] if item.diff else []
    return sorted(set(found))


def plan_text(plan: ImportPlan) -> str:
    """Return a table of the entries of an import, with their findings and changes below."""
    if not plan.items:
        return "The file has no mounts."
    rows = [["", "SHARE", "MOUNT POINT", "SAVED IN", "OPTIONS"]]
    rows += [
        [
            import_status_text(item),
            item.entry.share,
            item.entry.mount_point,
            item.saved_in,
            item.options or "—",
        ]
        for item in plan.items
    ]
    blocks = [table(rows)]
    blocks += [block for item in plan.items if (block := _details(item))]
    return terminal_safe("\n\n".join(blocks))


def _details(item: ImportItem) -> str:
    lines = [f"{item.error} {item.hint}".strip()] if item.error else []
    lines += [f"{found.severity}: {found.title} {found.why}" for found in item.findings]
    if item.diff:
        lines += item.notes
        lines += approval_sentences(item.approval) if item.approval is not None else []
        lines += item.diff.rstrip("\n").split("\n")
    return "\n".join([f"{item.entry.mount_point}:", *(f"  {line}" for line in lines)]) if lines else ""


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()

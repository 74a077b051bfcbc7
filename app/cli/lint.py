"""Command "lint": checks a file of mounts or one option string by the advisor's rules."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from advisor.facts import Facts
from advisor.lint import SEVERITIES, LintContext, apply_fix, lint
from advisor.options import MountOptions
from app.cli.input_file import read_input
from app.cli.lint_files import read_entries
from app.cli.text import terminal_safe
from app.errors import AppError, printable
from app.facts.client import client_facts
from app.facts.prerequisites import prerequisite_facts
from app.mounts.findings import connections_by_version
from app.mounts.table import read_table
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from advisor.finding import Finding
    from app.mounts.model import Mount

_ICONS = {"error": "✖ ", "warning": "⚠ ", "info": "• "}
#: Longest file that is checked, bytes.
_MAX_BYTES = 16 * 2**20


class LintedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Entry of a file, or an option string, with its findings.

    Attributes:
        line: line number in the file, from 1; 0 for a systemd unit or an option string.
        share: server:/export, "" for an option string.
        mount_point: mount point, or the key of an entry of an indirect map; "" for an option string.
        options: option string as written.
        findings: findings about the entry, errors first.
    """

    line: int
    share: str
    mount_point: str
    options: str
    findings: list[Finding]


class LintReport(msgspec.Struct, frozen=True, kw_only=True):
    """Findings about all entries of a file, or about an option string.

    Attributes:
        file: name of the file, "" for an option string.
        entries: NFS entries in the order of the file.
        warnings: parts of the file that mount, systemd or autofs cannot use, one sentence each.
    """

    file: str
    entries: list[LintedEntry]
    warnings: list[str]

    @property
    def counts(self) -> dict[str, int]:
        """Number of findings by severity."""
        found = [finding.severity for entry in self.entries for finding in entry.findings]
        return {severity: found.count(severity) for severity in SEVERITIES}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument(
        "what",
        metavar="FILE|OPTIONS",
        help="a file (fstab, a systemd mount unit, an autofs map, a script of mount commands, "
        "nfsmount.conf), - for standard input, or options as after mount -o",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--file", dest="as_file", action="store_true", help="the argument is a file")
    kind.add_argument(
        "--options", dest="as_options", action="store_true", help="the argument is an option string"
    )
    parser.add_argument(
        "--no-facts",
        action="store_true",
        help="ignore facts about this computer",
    )


def run_lint(args: argparse.Namespace) -> int:
    """Check a file or options, and print the report; return 1 if a finding is an error, else 0.

    Raises:
        AppError: if the file cannot be read.
    """
    facts = None if args.no_facts else Facts(client=client_facts(), prerequisites=prerequisite_facts())
    mounts = [] if args.no_facts else read_table().mounts
    if _is_file(args):
        raw = read_input(
            args.what,
            _MAX_BYTES,
            expected="an fstab, a unit or a map",
            hint="If it is an option string and not a file, say so with --options.",
        )
        report = lint_file(args.what, raw, facts, mounts)
    else:
        report = lint_options(args.what, facts)
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(report), indent=2).decode(), flush=True)
    else:
        print(report_text(report, icons=sys.stdout.isatty()), flush=True)
    return 1 if report.counts["error"] else 0


def lint_options(text: str, facts: Facts | None) -> LintReport:
    """Check an option string as options of a mount command."""
    text = printable(text)
    findings = lint(MountOptions.parse(text), context=LintContext(), facts=facts)
    entry = LintedEntry(line=0, share="", mount_point="", options=text, findings=findings)
    return LintReport(file="", entries=[entry], warnings=[])


def lint_file(name: str, raw: bytes, facts: Facts | None, mounts: Sequence[Mount]) -> LintReport:
    """Check the NFS entries of a file.

    Args:
        name: name of the file for messages, "-" for standard input.
        raw: content of the file.
        facts: facts about this computer, None to check for any computer.
        mounts: mounts of this computer, for findings about shared connections.

    Raises:
        AppError: USAGE if it is a binary file.
    """
    name = "standard input" if name == "-" else printable(name)
    found, warnings = read_entries(name, raw)
    if b"\0" in raw and not any(entry.context.place in {"fstab", "unit"} for entry in found):
        # Apparent map entries in binary data are chance.
        raise AppError(ErrorCode.INPUT_IS_BINARY, name=name)
    entries: list[LintedEntry] = []
    for entry in found:
        share, point = entry.context.share, entry.context.mount_point
        context = replace(entry.context, connections=connections_by_version(mounts, share, point))
        findings = lint(MountOptions.parse(entry.options), context=context, facts=facts)
        entries.append(
            LintedEntry(
                line=entry.line, share=share, mount_point=point, options=entry.options, findings=findings
            )
        )
    return LintReport(file=name, entries=entries, warnings=[printable(warning) for warning in warnings])


def _is_file(args: argparse.Namespace) -> bool:
    """Return whether the argument is a file: by option, or if it exists, or looks like a path."""
    if args.as_file or args.as_options:
        return bool(args.as_file)
    text: str = args.what
    if text == "-" or ("/" in text and not set(text) & {",", "="}):
        return True
    try:
        return Path(text).is_file()
    except OSError:  # an option string can be longer than a file name
        return False


def report_text(report: LintReport, *, icons: bool) -> str:
    """Return the report as text, for a terminal with an icon before each severity."""
    blocks = [f"{'⚠ ' if icons else ''}warning: {warning}" for warning in report.warnings]
    for entry in report.entries:
        blocks += _entry_blocks(report.file, entry, icons=icons)
    counts = ", ".join(_counted(number, word) for word, number in report.counts.items() if number)
    number = len(report.entries)
    subject = ("1 NFS entry" if number == 1 else f"{number} NFS entries") + f" of {report.file}"
    blocks.append(f"{subject if report.file else 'The options'}: {counts or 'no problems found'}.")
    return terminal_safe("\n\n".join(blocks))


def _entry_blocks(file: str, entry: LintedEntry, *, icons: bool) -> Iterator[str]:
    line = f":{entry.line}" if entry.line else ""
    place = f"{file}{line}: {entry.mount_point}: " if file else ""
    for finding in entry.findings:
        icon = _ICONS[finding.severity] if icons else ""
        lines = [f"{icon}{finding.severity}: {place}{finding.title}", f"    Why: {finding.why}"]
        if finding.fields:
            changes = ", ".join(f"{field} → {text}" for field, text in finding.fields.items())
            lines.append(f"    Fix: {changes}")
        if finding.fix is not None:
            fixed = apply_fix(MountOptions.parse(entry.options), finding)
            lines.append(
                f"    Fix: {finding.change} → {fixed}" if len(fixed) else f"    Fix: {finding.change}"
            )
        lines += [f"    Command: {command}" for command in finding.mend]
        lines.append(f"    Source: {finding.source} [{finding.rule}]")
        yield "\n".join(lines)


def _counted(number: int, word: str) -> str:
    word = {"info": "note"}.get(word, word)
    return f"{number} {word}" if number == 1 else f"{number} {word}s"

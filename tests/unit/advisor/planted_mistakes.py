"""Benchmark of the lint: a TOML list of entries with planted mistakes, and correct entries as controls.

A file has a table ``[[item]]`` for each item:

- ``id``: unique.
- ``kind``: ``fstab`` (a line or several), ``options``, ``unit``, ``autofs`` (a map), ``command`` or
  ``nfsmount`` (nfsmount.conf).
- ``text``: the entry to check.
- ``file``: name of the file, where it matters (a unit: ``mnt-a.mount``).
- ``context``: free text with facts for the lint: “kernel 4.18”, “cachefilesd is not installed”, “Filestore,
  basic tier”, or “direct map /etc/auto.direct”, the file of the map.
- ``mistake``: true for a mistake, false for a control, which is correct although it may look odd.
- ``severity``: error, warning or info, from an administrator's view.
- ``what``: the mistake as a sentence.
- ``words``: words that identify the finding: names of options or fields, or a part of its text.
- ``source``: document that shows the mistake to be one.

A mistake is detected if a finding of severity error or warning (or info, if the item has that severity) has
one of the words in its options, fields or title. An option (``nfsvers=3``) matches under any of its names.
A control is flagged by any error or warning.

Run: ``PYTHONPATH=. python tests/unit/advisor/planted_mistakes.py FILE``.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor.facts import ClientFacts, Facts, PrerequisiteFacts, ServerFacts
from advisor.lint import LintContext, lint
from advisor.options import MountOptions, catalogue
from app.cli.lint import lint_file

if TYPE_CHECKING:
    from advisor.finding import Finding

_FILES = {
    "fstab": "fstab",
    "unit": "unit",
    "autofs": "auto.nfs",
    "command": "mounts.sh",
    "nfsmount": "nfsmount.conf",
}
_KERNEL = re.compile(r"\bkernel[ :=]*([0-9]+(?:\.[0-9]+)+)", re.IGNORECASE)
_NO_CACHEFILESD = re.compile(r"\bcachefilesd is not installed")
_BASIC_FILESTORE = re.compile(r"\bFilestore\b.*\bbasic(?![a-z])", re.IGNORECASE)
_MAP_FILE = re.compile(r"\bmap (/etc/[\w./-]+)")


@dataclass(frozen=True)
class Result:
    """Result for one item.

    Attributes:
        item: the item from the file.
        told: whether a mistake was detected, or a control was not flagged.
        said: severity, rule and title of every finding, and the warnings about unreadable lines.
    """

    item: dict[str, Any]
    told: bool
    said: list[tuple[str, str, str]]


def load(path: Path) -> list[dict[str, Any]]:
    """Return the items of a list."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    items: list[dict[str, Any]] = document.get("item") or document.get("items") or []
    return items


def judge(item: dict[str, Any]) -> Result:
    """Run the lint on one item and return the result."""
    context = str(item.get("context", ""))
    kernel = _KERNEL.search(context)
    missing = _without_cachefilesd() if _NO_CACHEFILESD.search(context) else None
    server = ServerFacts(kind="filestore-basic") if _BASIC_FILESTORE.search(context) else None
    facts = None
    if kernel or missing or server:
        client = ClientFacts(kernel=kernel[1] if kernel else "")
        facts = Facts(client=client, server=server, prerequisites=missing)
    findings, warnings = _findings(item, facts)
    said = [(finding.severity, finding.rule, finding.title) for finding in findings]
    said += [("warning", "unreadable", warning) for warning in warnings]
    if not item["mistake"]:
        return Result(item, all(severity == "info" for severity, _, _ in said), said)
    levels = {"error", "warning"} | ({"info"} if item.get("severity") == "info" else set())
    words = [name for word in item.get("words", []) for name in _names(str(word).lower())]
    texts = [
        " ".join([finding.title, *finding.options, *finding.fields, *map(str, finding.values.values())])
        for finding in findings
        if finding.severity in levels
    ]
    told = any(word in text.lower() for text in [*texts, *warnings] for word in words)
    return Result(item, told, said)


def _without_cachefilesd() -> PrerequisiteFacts:
    return PrerequisiteFacts(cachefilesd_installed=False, cachefilesd_running=False)


def _names(word: str) -> list[str]:
    """Return a word, and the canonical name if the word is an option."""
    option, name, _value = catalogue().read_item(word)
    return [word] if option is None else [word, name]


def _findings(item: dict[str, Any], facts: Facts | None) -> tuple[list[Finding], list[str]]:
    text = str(item["text"])
    if item["kind"] == "options":
        return lint(MountOptions.parse(text.strip()), context=LintContext(), facts=facts), []
    named = _MAP_FILE.search(str(item.get("context", ""))) if item["kind"] == "autofs" else None
    name = str(item.get("file") or (named[1] if named else _FILES[str(item["kind"])]))
    report = lint_file(name, text.encode(), facts, [])
    return [finding for entry in report.entries for finding in entry.findings], report.warnings


def report(results: list[Result]) -> str:
    """Return a text with the missed mistakes, the flagged controls, and the counts."""
    lines: list[str] = []
    mistakes = [one for one in results if one.item["mistake"]]
    controls = [one for one in results if not one.item["mistake"]]
    for heading, group in (("MISSED", mistakes), ("FLAGGED", controls)):
        for one in group:
            if not one.told:
                lines += [
                    f"{heading} {one.item['id']}: {one.item.get('what', '')}",
                    f"    {one.item['text']!r}",
                ]
                lines += [f"    {severity}: {title} [{rule}]" for severity, rule, title in one.said]
    told, left = sum(one.told for one in mistakes), sum(one.told for one in controls)
    lines.append(f"Mistakes told: {told} of {len(mistakes)}. Controls left alone: {left} of {len(controls)}.")
    if told + len(controls) - left:
        lines.append(f"Precision: {told / (told + len(controls) - left):.1%}.")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report([judge(item) for item in load(Path(sys.argv[1]))]))

"""Findings printed before a command continues: from the lint, and missing prerequisites of a mount."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from app.cli.text import terminal_safe
from app.service.protocol import CheckArgs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from advisor.finding import Finding
    from app.mounts.change_model import ApplyArgs
    from app.service.protocol import CheckResult, MountArgs


def print_missing_prerequisites(ask: Callable[[str, Any], Any], query: MountArgs | ApplyArgs) -> None:
    """Print the findings that may make a mount fail.

    Args:
        ask: sends a request: verb and arguments.
        query: the mount to be made.

    Raises:
        AppError: if the kernel will refuse the mount.
    """
    check = CheckArgs(share=query.share, mount_point=query.mount_point, options=query.options)
    result: CheckResult = ask("mounts.check", check)
    print_findings([one for one in result.findings if one.before_mount == "tell"])


def print_findings(findings: Iterable[Finding]) -> None:
    """Print findings on standard error."""
    for line in finding_lines(findings):
        print(line, file=sys.stderr, flush=True)


def finding_lines(findings: Iterable[Finding]) -> list[str]:
    """Return the lines of findings: severity and title, reason, and fix."""
    lines: list[str] = []
    for finding in findings:
        lines += [f"{finding.severity}: {finding.title}", f"  {finding.why}"]
        lines += [f"  Fix: {finding.change}"] if finding.change else []
        lines += [f"  Command: {command}" for command in finding.mend]
    return [terminal_safe(line) for line in lines]

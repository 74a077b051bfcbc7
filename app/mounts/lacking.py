"""What a computer lacks for a mount: in words, and as the refusal of a mount that cannot come about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.lint import apply_fix
from advisor.options import MountOptions
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.lint import Finding


def refusal(findings: Sequence[Finding], options: str) -> AppError | None:
    """Return the error of a mount that the kernel is sure to refuse, None if it may be tried."""
    finding = next((one for one in findings if one.before_mount == "refuse"), None)
    if finding is None:
        return None
    left = apply_fix(MountOptions.parse(options), finding)
    hint = f"Use the options “{left}” instead." if len(left) else "Leave the option out."
    return AppError(
        ErrorKind.OPTION_REJECTED,
        finding.title,
        hint=f"{finding.why} {hint}",
        detail="\n".join([finding.rule, *finding.mend]),
    )


def finding_text(finding: Finding) -> str:
    """Return what is lacking, why it is needed, and the commands that mend it, a line each."""
    return "\n".join([f"{finding.title} {finding.why}", *finding.mend])

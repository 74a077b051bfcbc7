"""Finding of the lint: one problem of a mount's settings, its severity and its fix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import msgspec

Severity = Literal["error", "warning", "info"]
BeforeMount = Literal["", "tell", "refuse"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Fix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of options that resolves a finding.

    Attributes:
        remove: names of the options to remove.
        set: items to set; each replaces the previous item of its option, or is appended.
    """

    remove: tuple[str, ...] = ()
    set: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [f"remove {name}" for name in self.remove] + [f"set {item}" for item in self.set]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One problem found by a lint rule.

    Attributes:
        rule: id of the rule.
        severity: error (data at risk, or the mount will fail), warning, info.
        options: canonical names of the options concerned.
        title: the problem, one sentence.
        why: the reason.
        source: document or measurement behind the rule.
        fix: change of options for :func:`apply_fix`, None where no change is safe.
        change: the fix in words, with options as written: “remove nolock”; "" without a fix.
        fields: other fields of the entry to change, see LintMatch.
        before_mount: consequence for a mount: "" none, tell (shown before mounting), refuse (not mounted).
        mend: shell commands that solve the problem or show more.
        values: values for the placeholders in the rule's texts, by name.
    """

    rule: str
    severity: Severity
    options: tuple[str, ...]
    title: str
    why: str
    source: str
    fix: Fix | None
    before_mount: BeforeMount = ""
    mend: tuple[str, ...] = ()
    values: dict[str, str] = field(default_factory=dict[str, str])
    change: str = ""
    fields: dict[str, str] = field(default_factory=dict[str, str])

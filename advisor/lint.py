"""Lint: findings about wrong, risky or ineffective settings of a mount, and their fixes.

The input is the mount options and the entry that contains them, such as a line of fstab. The rules are data
(lint*.toml and prerequisites.toml in resources/rules). No rule applies where a fact that it needs is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.finding import SEVERITIES, Finding, Fix, Severity
from advisor.lint_checks import LINT_CHECKS
from advisor.lint_rules import EntrySource, LintContext, LintInput, LintRule, NeighborEntry, lint_rules
from advisor.options import MountOptions, catalogue, check_item

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.facts import Facts
    from advisor.lint_rules import LintMatch

__all__ = [
    "SEVERITIES",
    "EntrySource",
    "Finding",
    "Fix",
    "LintContext",
    "NeighborEntry",
    "Severity",
    "apply_fix",
    "lint",
    "prerequisite_findings",
]  # fmt: skip


def lint(options: MountOptions, *, context: LintContext, facts: Facts | None = None) -> list[Finding]:
    """Return the findings: errors first, then warnings, then infos; each group in the order of the rules.

    Args:
        options: mount options to check.
        context: the entry that contains the options.
        facts: observed facts, None if there are none.
    """
    situation = LintInput(options, context, facts)
    findings = [
        finding
        for rule_id, rule in lint_rules().items()
        if situation.holds(rule.when)
        for finding in _rule_findings(situation, rule_id, rule)
    ]
    fired = {finding.rule for finding in findings}
    findings = [f for f in findings if fired.isdisjoint(lint_rules()[f.rule].unless)]
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def prerequisite_findings(
    options: MountOptions, *, context: LintContext, facts: Facts | None
) -> list[Finding]:
    """Return the findings to report before mounting, such as packages missing on this computer."""
    return [finding for finding in lint(options, context=context, facts=facts) if finding.before_mount]


def apply_fix(options: MountOptions, finding: Finding) -> MountOptions:
    """Return the options after the finding's fix, or an equal copy if the finding has none.

    Raises:
        ValueError: if the options cannot contain the fix, for example of a finding for other options.
    """
    return _with_fix(options, finding.fix or Fix())


def _rule_findings(situation: LintInput, rule_id: str, rule: LintRule) -> Iterator[Finding]:
    for match in LINT_CHECKS[rule.find](situation, rule):
        fix = _effective_fix(situation.options, rule, match)
        yield Finding(
            rule=rule_id,
            severity=rule.severity,
            options=match.options,
            title=rule.title.format_map(match.words),
            why=rule.why.format_map(match.words),
            source=rule.source,
            fix=fix,
            before_mount=rule.before_mount,
            mend=tuple(command.format_map(match.words) for command in rule.mend),
            values=match.words,
            change=_fix_text(situation, fix) if fix is not None else "",
            fields=dict(match.fields),
        )


def _fix_text(situation: LintInput, fix: Fix) -> str:
    removed = [
        item if "=" not in (item := situation.written.get(name, [name])[-1]) else name for name in fix.remove
    ]
    return str(Fix(tuple(removed), fix.set))


def _effective_fix(options: MountOptions, rule: LintRule, match: LintMatch) -> Fix | None:
    """Return the fix of a match without removals of absent options; None if it is impossible or no change."""
    fix = match.fix
    if fix is None and rule.fix is not None:
        items = tuple(item.format_map(match.words) for item in rule.fix.set)
        fix = Fix(tuple(name.format_map(match.words) for name in rule.fix.remove), items)
    if fix is None:
        return None
    fix = Fix(tuple(name for name in fix.remove if name in options or name in match.options), fix.set)
    if any(check_item(item, catalogue()) is not None for item in fix.set):
        return None  # the new value would itself be wrong
    try:
        changed = _with_fix(options, fix)
    except ValueError:  # for example an unclosed quotation mark, which would include the new item
        return None
    return fix if changed != options else None


def _with_fix(options: MountOptions, fix: Fix) -> MountOptions:
    changed = options.copy()
    for name in fix.remove:
        changed.remove(name)
    for item in fix.set:
        _, name, value = catalogue().read_item(item)
        changed.set(name, value)
    return changed

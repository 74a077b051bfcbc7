"""Proposed options: changes to a mount's options by an option set, limited to varied options, with lint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from advisor.finding import Finding  # noqa: TC001 - msgspec reads the annotations at run time
from advisor.lint import LintContext, lint
from advisor.options import MountOptions
from app.experiment.analysis import levels_of_plan
from app.experiment.factors import DEFAULT, READ_AHEAD, TEST_FACTORS, mount_settings, options_of_factor

if TYPE_CHECKING:
    from app.experiment.model import ExperimentPlan, OptionSet


class ProposedChange(msgspec.Struct, frozen=True, kw_only=True):
    """Change of one option.

    Attributes:
        option: canonical name of the option, or ``read_ahead_kb``.
        before: present value, None if the option is not set.
        after: proposed value, None to remove the option.
    """

    option: str
    before: str | None
    after: str | None


class OptionProposal(msgspec.Struct, frozen=True, kw_only=True):
    """Proposed options of a mount.

    Attributes:
        options: all mount options, with those that were not varied unchanged.
        read_ahead_kb: proposed readahead, KiB; None to leave it.
        changes: options that change.
        study: options that were common to all sets of the experiment, and are not adopted.
        findings: lint findings that the present options do not have, errors first.
    """

    options: str
    read_ahead_kb: int | None
    changes: list[ProposedChange]
    study: str
    findings: list[Finding]


def propose_options(
    plan: ExperimentPlan,
    option_set: OptionSet,
    options: str,
    *,
    read_ahead_kb: int | None = None,
    context: LintContext | None = None,
) -> OptionProposal:
    """Return the options of a mount after adopting an option set, with new lint findings.

    Args:
        plan: plan that contains the set.
        option_set: option set to adopt.
        options: present mount options.
        read_ahead_kb: present readahead, KiB; None if unknown.
        context: kind of configuration that contains the options, for lint.
    """
    before = MountOptions.parse(options)
    after = before.copy()
    factors = {factor.name: factor.levels for factor in plan.experiment.factors}
    varied = [name for name in levels_of_plan(plan) if name not in TEST_FACTORS]
    for name in varied:
        for option in options_of_factor(name, factors.get(name, ())):
            after.remove(option)
    without_common = msgspec.structs.replace(plan.experiment, options="")
    levels = {
        name: option_set.levels[name] for name in varied if name in option_set.levels and name != READ_AHEAD
    }
    chosen = {name: level for name, level in levels.items() if level != DEFAULT}
    after = MountOptions([*after, *MountOptions.parse(mount_settings(without_common, chosen).options)])
    proposed_readahead = option_set.read_ahead_kb if READ_AHEAD in varied else None
    old, new = before.values(), after.values()
    changes = [
        ProposedChange(option=name, before=old.get(name), after=new.get(name))
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]
    if proposed_readahead is not None and proposed_readahead != read_ahead_kb:
        known = None if read_ahead_kb is None else str(read_ahead_kb)
        changes.append(ProposedChange(option=READ_AHEAD, before=known, after=str(proposed_readahead)))
    findings = _lint_warnings(after, context)
    known_findings = {(finding.rule, finding.options) for finding in _lint_warnings(before, context)}
    return OptionProposal(
        options=str(after) if new != old else options,
        read_ahead_kb=proposed_readahead,
        changes=changes,
        study=plan.experiment.options,
        findings=[finding for finding in findings if (finding.rule, finding.options) not in known_findings],
    )


def matching_set(plan: ExperimentPlan, options: str, read_ahead_kb: int | None) -> OptionSet | None:
    """Return the option set that a mount with these options has, None if several or none match.

    Args:
        plan: plan with the sets.
        options: mount options.
        read_ahead_kb: readahead, KiB; None if unknown.
    """
    matching = [
        option_set
        for option_set in plan.sets
        if not propose_options(plan, option_set, options, read_ahead_kb=read_ahead_kb).changes
    ]
    return matching[0] if len(matching) == 1 else None


def _lint_warnings(options: MountOptions, context: LintContext | None) -> list[Finding]:
    found = lint(options, context=context or LintContext())
    return [one for one in found if one.severity != "info"]

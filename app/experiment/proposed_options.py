"""Proposed options: what using an option set changes of a mount; only what was varied, checked by lint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from advisor.lint import Finding, LintContext, lint
from advisor.options import MountOptions
from app.experiment.analysis import levels_of_plan
from app.experiment.factors import DEFAULT, READ_AHEAD, TEST_FACTORS, mount_settings, options_of_factor

if TYPE_CHECKING:
    from app.experiment.model import ExperimentPlan, OptionSet


class ProposedChange(msgspec.Struct, frozen=True, kw_only=True):
    """One option that becomes another.

    Attributes:
        option: its canonical name, or ``read_ahead_kb``.
        before: its value, None where it is not given.
        after: likewise.
    """

    option: str
    before: str | None
    after: str | None


class OptionProposal(msgspec.Struct, frozen=True, kw_only=True):
    """What using a set makes of a mount's options.

    Attributes:
        options: all of them, those that were not varied as they are.
        read_ahead_kb: KiB, None to leave it.
        changes: what becomes other than it is.
        study: options that all sets had in common: they are not taken over.
        findings: what lint has against the new options and had not against the old ones; errors first.
    """

    options: str
    read_ahead_kb: int | None
    changes: list[ProposedChange]
    study: str
    findings: list[Finding]


def propose_options(
    plan: ExperimentPlan,
    one: OptionSet,
    options: str,
    *,
    read_ahead_kb: int | None = None,
    context: LintContext | None = None,
) -> OptionProposal:
    """Return what using a set makes of a mount's options; lint has seen it.

    Args:
        plan: that the set is of.
        one: the set.
        options: of the mount, as they are.
        read_ahead_kb: of the mount, None if nobody knows.
        context: where the options stand, for lint.
    """
    before = MountOptions.parse(options)
    after = before.copy()
    factors = {factor.name: factor.levels for factor in plan.experiment.factors}
    varied = [name for name in levels_of_plan(plan) if name not in TEST_FACTORS]
    for name in varied:
        for option in options_of_factor(name, factors.get(name, ())):
            after.remove(option)
    bare = msgspec.structs.replace(plan.experiment, options="")
    levels = {name: one.levels[name] for name in varied if name in one.levels and name != READ_AHEAD}
    chosen = {name: level for name, level in levels.items() if level != DEFAULT}
    after = MountOptions([*after, *MountOptions.parse(mount_settings(bare, chosen).options)])
    wanted = one.read_ahead_kb if READ_AHEAD in varied else None
    old, new = before.values(), after.values()
    changes = [
        ProposedChange(option=name, before=old.get(name), after=new.get(name))
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]
    if wanted is not None and wanted != read_ahead_kb:
        known = None if read_ahead_kb is None else str(read_ahead_kb)
        changes.append(ProposedChange(option=READ_AHEAD, before=known, after=str(wanted)))
    found = _lint_warnings(after, context)
    had = {(each.rule, each.options) for each in _lint_warnings(before, context)}
    return OptionProposal(
        options=str(after) if new != old else options,
        read_ahead_kb=wanted,
        changes=changes,
        study=plan.experiment.options,
        findings=[each for each in found if (each.rule, each.options) not in had],
    )


def _lint_warnings(options: MountOptions, context: LintContext | None) -> list[Finding]:
    found = lint(options, context=context or LintContext())
    return [one for one in found if one.severity != "info"]

"""Confirmation before measured settings go into the form: changed options, evidence and lint findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from app.experiment.factors import READ_AHEAD, factor_label, level_label
from ui.common.dialogs import confirm
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from advisor.recommendation import MeasuredOption
    from app.experiment.model import ExperimentPlan, OptionSet
    from app.experiment.proposed_options import OptionProposal, ProposedChange


class ChosenSet(NamedTuple):
    """Option set whose settings the user wants to use.

    Attributes:
        plan: plan of the experiment that measured it.
        chosen: the option set.
        shown: sentence with the measured difference and its certainty.
        measured: measured effect of each option, for the advisor.
        share: server:/export that was measured.
        link: name of the lab's emulated link, "" for a real one.
    """

    plan: ExperimentPlan
    chosen: OptionSet
    shown: str
    measured: tuple[MeasuredOption, ...]
    share: str
    link: str


def ask_use_settings(
    parent: QWidget, wanted: ChosenSet, proposal: OptionProposal, agreed: Callable[[], None]
) -> None:
    """Ask whether to put measured settings into the form.

    Args:
        parent: the window.
        wanted: option set and its evidence.
        proposal: changes to the options of the mount, and their lint findings.
        agreed: called if the user confirms; puts the settings into the form.
    """
    changes = "\n".join(_change(change) for change in proposal.changes)
    lines = [changes or tr("These settings are in use already."), wanted.shown]
    if proposal.study and proposal.changes:
        lines.append(
            tr("All sets had these options, which are not taken over: {options}").format(
                options=proposal.study
            )
        )
    templates = {"error": tr("Error: {text}"), "warning": tr("Warning: {text}")}
    lines += [
        templates[finding.severity].format(text=finding.title)
        for finding in proposal.findings
        if finding.severity in templates
    ]
    lines.append(tr("Nothing is mounted by that: “Apply…” does."))
    confirm(
        parent,
        tr("Put these settings into the form of {share}?").format(share=wanted.share),
        "\n\n".join(line for line in lines if line),
        tr("&Use in Settings"),
        agreed,
    )


def _change(change: ProposedChange) -> str:
    name, default = factor_label(change.option), tr("default")
    before = default if change.before is None else _value(change.option, change.before)
    if change.option == READ_AHEAD and change.before is None:
        return f"{name}: {_value(change.option, change.after or '')}"
    after = default if change.after is None else _value(change.option, change.after)
    return f"{name}: {before} → {after}"


def _value(option: str, value: str) -> str:
    return level_label(option, value) or tr("on")

"""Question before measured settings are used: what changes, how certain that is, and lint findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from app.experiment.factors import READ_AHEAD, factor_label, level_label
from ui.common.dialogs import confirm
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from advisor.recommend import MeasuredOption
    from app.experiment.model import ExperimentPlan, OptionSet
    from app.experiment.proposed_options import OptionProposal, ProposedChange


class ChosenSet(NamedTuple):
    """An option set that a person wants to use.

    Attributes:
        plan: of the experiment.
        chosen: the set.
        shown: what was shown of it, in one sentence.
        measured: the same for the advisor.
        share: that it was measured on.
        link: the lab's link that it was measured over, "" for a real one.
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
    """Ask; run ``agreed`` on a yes.

    Args:
        parent: the window.
        wanted: the set.
        proposal: what it makes of the mount's options.
        agreed: puts them into the settings.
    """
    changes = "\n".join(_change(one) for one in proposal.changes)
    lines = [changes or tr("These settings are in use already."), wanted.shown]
    if proposal.study and proposal.changes:
        lines.append(
            tr("All sets had these options, which are not taken over: {options}").format(
                options=proposal.study
            )
        )
    words = {"error": tr("Error: {text}"), "warning": tr("Warning: {text}")}
    lines += [
        words[one.severity].format(text=one.title) for one in proposal.findings if one.severity in words
    ]
    lines.append(tr("Nothing is mounted by that: “Apply…” does."))
    confirm(
        parent,
        tr("Put these settings into the form of {share}?").format(share=wanted.share),
        "\n\n".join(line for line in lines if line),
        tr("&Use in Settings"),
        agreed,
    )


def _change(one: ProposedChange) -> str:
    name, default = factor_label(one.option), tr("default")
    before = default if one.before is None else _value(one.option, one.before)
    if one.option == READ_AHEAD and one.before is None:
        return f"{name}: {_value(one.option, one.after or '')}"
    after = default if one.after is None else _value(one.option, one.after)
    return f"{name}: {before} → {after}"


def _value(option: str, value: str) -> str:
    return level_label(option, value) or tr("on")

"""Sentences on experiments that several parts of the window say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.text.experiment import set_text
from app.experiment.factors import SPOKEN
from app.experiment.model import SEARCH
from app.units import format_duration, format_size
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.experiment.model import ExperimentPlan, PlannedSet


def size_sentence(plan: ExperimentPlan) -> str:
    """Return how much a plan is, in trials, time and bytes."""
    experiment = plan.experiment
    if experiment.recipe == SEARCH:
        over = tr("{bytes} over the network").format(bytes=format_size(plan.bytes))
        limit = over if plan.bytes else format_duration(plan.seconds)
        return tr(
            "{sets} option sets to choose among. Trials for {limit} at most, each with {space} on the server."
        ).format(sets=len(plan.sets), limit=limit, space=format_size(plan.space))
    parts = [
        _count(len(plan.sets), tr("1 option set"), tr("{count} option sets")),
        _count(len(experiment.workloads), tr("1 workload"), tr("{count} workloads")),
        _count(experiment.repeats, tr("1 repeat"), tr("{count} repeats")),
    ]
    return tr(
        "{parts}: {trials} trials with those of the baseline. About {time}, {bytes} over the network, "
        "{space} on the server at a time."
    ).format(
        parts=", ".join(parts), trials=plan.trials, time=format_duration(plan.seconds),
        bytes=format_size(plan.bytes), space=format_size(plan.space),
    )  # fmt: skip


def levels_words(levels: Mapping[str, str]) -> str:
    """Return the levels of a set, each with its factor."""
    return set_text(levels, names=SPOKEN) if levels else ""


def setting_text(one: PlannedSet) -> str:
    """Return what a set is mounted with."""
    options = one.options or tr("the default options")
    if one.read_ahead_kb is None:
        return options
    return tr("{options}, readahead {size} KiB").format(options=options, size=one.read_ahead_kb)


def _count(count: int, one: str, many: str) -> str:
    return one if count == 1 else many.format(count=count)

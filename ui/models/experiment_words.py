"""Sentences on experiments that several parts of the window say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from app.units import format_duration, format_size

if TYPE_CHECKING:
    from app.bench.experiment.model import ExperimentPlan


def size_sentence(plan: ExperimentPlan) -> str:
    """Return how much a plan is, in trials, time and bytes."""
    experiment = plan.experiment
    parts = [
        _count(len(plan.sets), _tr("1 option set"), _tr("{count} option sets")),
        _count(len(experiment.workloads), _tr("1 workload"), _tr("{count} workloads")),
        _count(experiment.repeats, _tr("1 repeat"), _tr("{count} repeats")),
    ]
    return _tr(
        "{parts}: {trials} trials with those of the baseline. About {time}, {bytes} over the network, "
        "{space} on the server at a time."
    ).format(
        parts=", ".join(parts), trials=plan.trials, time=format_duration(plan.seconds),
        bytes=format_size(plan.bytes), space=format_size(plan.space),
    )  # fmt: skip


def _count(count: int, one: str, many: str) -> str:
    return one if count == 1 else many.format(count=count)


def _tr(text: str) -> str:
    return QCoreApplication.translate("experiment_words", text)

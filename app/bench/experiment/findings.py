"""What the window shows of an experiment: one figure of one workload, ranked, drawn and said in words."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from advisor.experiment_analysis import drifts, ranking
from advisor.experiment_effects import effects, interactions, place_sums
from advisor.experiment_tables import comparison, curve, matrices, steadiness
from advisor.experiment_text import (
    against_text,
    answer_text,
    best_line,
    comparison_text,
    counted_text,
    drift_text,
    effect_text,
    interaction_text,
    is_shown,
    place_text,
    row_text,
    steady_text,
    unmeasured_text,
    winner_text,
)
from advisor.experiment_values import levels_of, of_workload, value
from advisor.options import MountOptions
from advisor.recommend import Measured
from advisor.trials import QUANTITIES, READ, READ_TOTAL_S, WRITE, WRITE_TOTAL_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.experiment_analysis import Ranking
    from advisor.experiment_tables import Curve, Matrix
    from advisor.experiment_text import Format
    from advisor.trials import Outcome
    from app.bench.experiment.model import BestResult, Experiment, ExperimentPlan, PlannedSet

Tone = Literal["ok", "info", "warn"]

#: Figures that people choose among, if the outcomes have them.
FIGURES = (
    WRITE, READ, WRITE_TOTAL_S, READ_TOTAL_S, "create", "stat", "delete", "write_calls", "write_sync_s",
    "unmount_s", "timeouts",
)  # fmt: skip
#: Pictures are of two factors; of more matrices than this nobody finds one.
_MATRICES = 12
_INTERACTIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """One figure of one workload.

    Attributes:
        figure: a name of advisor.trials.
        workload: its name.
        counted: whether sync and unmount time count in.
        ranking: the option sets, the best first.
        said: sentences with their tone, the most important first.
        curves: the figure against each factor alone, if factors were varied so.
        matrices: the figure over the two factors that do most.
    """

    figure: str
    workload: str
    counted: bool
    ranking: Ranking
    said: list[tuple[Tone, str]]
    curves: list[Curve]
    matrices: list[Matrix]


def figures_in(outcomes: Sequence[Outcome], workload: str) -> list[str]:
    """Return the names of the figures that a workload has, the most wanted first."""
    chosen = of_workload(outcomes, workload)
    return [name for name in FIGURES if any(value(outcome, name) is not None for outcome in chosen)]


def find(
    plan: ExperimentPlan,
    outcomes: Sequence[Outcome],
    figure: str,
    workload: str,
    *,
    written: Format,
    counted: bool = False,
) -> Findings:
    """Return what the outcomes so far say.

    Args:
        plan: that they are of.
        outcomes: of all workloads.
        figure: a name of advisor.trials.
        workload: its name.
        written: writes a figure with its unit.
        counted: count the time to sync and unmount in.
    """
    experiment, base = plan.experiment, plan.sets[0].levels
    chosen = of_workload(outcomes, workload)
    chance = random.Random(experiment.seed)  # noqa: S311 - for a bootstrap
    ranked = ranking(chosen, figure, chance=chance, counted=counted)
    effect = effects(chosen, figure, chance=chance, counted=counted)
    said: list[tuple[Tone, str]] = [("ok", winner_text(ranked, written))]
    if missing := unmeasured_text(ranked):
        said.append(("warn", missing))
    said += _infos(against_text(ranked, base, "The baseline", written))
    if counted and ranked.standings:
        said += _infos(_counted(chosen, ranked, figure, written, experiment.seed))
    said += _infos(*(effect_text(one) for one in effect))
    together = interactions(chosen, figure, chance=chance, counted=counted)
    said += _infos(*(interaction_text(one) for one in together[:_INTERACTIONS] if one.notable))
    if experiment.strategy == "full":
        said += _infos(*(place_text(one) for one in place_sums(chosen, figure, counted=counted)))
    curves = _curves(experiment, chosen, base, figure, chance)
    if curves and experiment.strategy == "one-at-a-time":
        said += _infos(row_text(curves))
    tables = _matrices(chosen, [one.factor for one in effect], figure)
    if tables:
        said += _infos(steady_text(steadiness(tables)))
    if len(levels_of(chosen)) == 1:
        factor = next(iter(levels_of(chosen)))
        rows = comparison(chosen, factor, base[factor], chance=chance, figures=(figure,), counted=counted)
        said += _infos(*(comparison_text(row, written) for row in rows))
    said += _troubles(outcomes)
    return Findings(
        figure=figure, workload=workload, counted=counted, ranking=ranked, said=said, curves=curves,
        matrices=tables,
    )  # fmt: skip


def figure_label(figure: str) -> str:
    """Return a figure's name for people."""
    quantity = QUANTITIES.get(figure)
    text = quantity.label if quantity is not None else figure
    return text[:1].upper() + text[1:]


def winner(found: Findings, sets: Sequence[PlannedSet]) -> PlannedSet | None:
    """Return the option set in the first place, None if nothing was measured."""
    if not found.ranking.standings:
        return None
    return set_of(found.ranking.standings[0].levels, sets)


def measured(
    found: Findings, plan: ExperimentPlan, chosen: PlannedSet, written: Format
) -> tuple[Measured, ...]:
    """Return what was found of the options in which a set differs from the baseline, for the advisor.

    They were measured together: that one of them alone would do as well is not said. Of a speed only: a set
    that does best by the time of one phase may be the slowest of all.
    """
    if found.figure not in {WRITE, READ}:
        return ()
    base = plan.sets[0]
    one, other = found.ranking.of(chosen.levels), found.ranking.of(base.levels)
    if one is None or other is None or chosen is base:
        return ()
    # The pair itself: of two neighbouring groups, the last of one may equal the first of the other.
    better = one.method != "range" and other.method != "range" and one.low > other.high
    text = (
        f"Your experiment: {written(found.figure, one.median)} with these settings, "
        f"{written(found.figure, other.median)} with the baseline ({figure_label(found.figure).lower()}, "
        f"{found.workload})."
    )
    before, after = _values(base), _values(chosen)
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if len(names) > 1:
        text += f" {', '.join(names)} were tested together."
    return tuple(
        Measured(option=name, value=after.get(name), status="confirmed" if better else "untested", text=text)
        for name in names
    )


def _values(one: PlannedSet) -> dict[str, str]:
    """Return canonical option names and values of a set, the readahead among them."""
    values = MountOptions.parse(one.options).values()
    return values if one.read_ahead_kb is None else values | {"read_ahead_kb": str(one.read_ahead_kb)}


def answer_said(result: BestResult, written: Format) -> list[tuple[Tone, str]]:
    """Return what a search found: the winner first, and how sure that is last."""
    options, ahead = result.options or "the default options", result.read_ahead_kb
    tail = "" if ahead is None else f", readahead {ahead} KiB"
    first, *others = answer_text(result.answer, WRITE, written)
    *others, sure = others
    return [
        ("ok" if is_shown(result.answer) else "warn", best_line(result.answer, f"{options}{tail}")),
        *_infos(first, *others),
        ("info" if result.answer.decided else "warn", sure),
    ]


def set_of(levels: dict[str, str], sets: Sequence[PlannedSet]) -> PlannedSet | None:
    """Return the option set with these levels."""
    return next((one for one in sets if one.levels == levels), None)


def _infos(*texts: str) -> list[tuple[Tone, str]]:
    return [("info", text) for text in texts if text]


def _counted(chosen: Sequence[Outcome], ranked: Ranking, figure: str, written: Format, seed: int) -> str:
    """Return what counting in makes of the set that is first when only the transfer counts."""
    chance = random.Random(seed)  # noqa: S311 - for a bootstrap
    alone = ranking(chosen, figure, chance=chance)
    first = alone.standings[0]
    now = ranked.of(first.levels)
    if now is None:
        return ""
    name = ", ".join(f"{factor}={level}" for factor, level in first.levels.items())
    return counted_text(name, figure, first.median, now.median, written)


def _curves(
    experiment: Experiment,
    chosen: Sequence[Outcome],
    base: dict[str, str],
    figure: str,
    chance: random.Random,
) -> list[Curve]:
    """Return the figure against each factor that has more than two levels, the others at their base."""
    found = (curve(chosen, factor.name, base, figure, chance=chance) for factor in experiment.factors)
    return [one for one in found if one is not None and len(one.points) > 2]


def _matrices(chosen: Sequence[Outcome], factors: Sequence[str], figure: str) -> list[Matrix]:
    """Return the figure over the two strongest factors, apart for each version of NFS."""
    if len(factors) < 2:
        return []
    strongest = [name for name in factors if name != "vers"][:2]
    if len(strongest) < 2:
        strongest = list(factors[:2])
    split = [name for name in factors if name not in strongest and name == "vers"]
    return matrices(chosen, strongest[0], strongest[1], figure, split=split)[:_MATRICES]


def _troubles(outcomes: Sequence[Outcome]) -> list[tuple[Tone, str]]:
    """Return what is to be known before the rest is believed."""
    said: list[tuple[Tone, str]] = [
        ("warn" if drift.notable else "info", drift_text(drift)) for drift in drifts(outcomes, (WRITE, READ))
    ]
    for state, text in (("failed", "failed"), ("mismatch", "ran with other values in use than planned")):
        notes = [outcome.note for outcome in outcomes if outcome.state == state]
        if notes:
            plural = "1 trial" if len(notes) == 1 else f"{len(notes)} trials"
            said.append(("warn", f"{plural} {text}. The first: {notes[0]}"))
    return list(dict.fromkeys(said))

"""What the window shows of an experiment: one figure of one workload, ranked, drawn and said in words."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from advisor.experiment_analysis import drifts, ranking
from advisor.experiment_effects import effects, interactions, place_sums
from advisor.experiment_noise import of_several
from advisor.experiment_tables import comparison, curve, matrices, steadiness
from advisor.experiment_text import (
    AS_WRITTEN,
    against_text,
    comparison_text,
    counted_text,
    drift_text,
    effect_texts,
    interaction_text,
    place_texts,
    row_text,
    set_text,
    steady_text,
    unmeasured_text,
    winner_text,
)
from advisor.experiment_values import can_count_in, levels_of, of_workload, value
from advisor.options import MountOptions
from advisor.recommend import Measured
from advisor.search_text import answer_text, best_line, is_shown
from advisor.trials import QUANTITIES, READ, READ_TOTAL_S, WRITE, WRITE_TOTAL_S
from app.bench.experiment.factors import READ_AHEAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.experiment_analysis import Ranking
    from advisor.experiment_effects import Effect, Interaction, PlaceSums
    from advisor.experiment_tables import Curve, Matrix
    from advisor.experiment_text import Format, Names
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
        effects: what each factor does, the strongest first.
        places: of every combination, the sums of places of each factor's levels.
        curves: the figure against each factor alone, if factors were varied so.
        matrices: the figure over the two factors that do most.
    """

    figure: str
    workload: str
    counted: bool
    ranking: Ranking
    said: list[tuple[Tone, str]]
    effects: list[Effect]
    places: list[PlaceSums]
    curves: list[Curve]
    matrices: list[Matrix]


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelRow:
    """What a level of a factor does, where every combination was tried.

    Attributes:
        factor: its name.
        level: of the factor.
        beside: its figure beside the average of the factor's levels: ``+35 %``; “—” if that is not known.
        best: whether it does best, by more than chance.
        sum: of the places of its trials, the lower the better.
        mean: of them.
        ahead: whether it is usually ahead, by more than chance.
    """

    factor: str
    level: str
    beside: str
    best: bool
    sum: float
    mean: float
    ahead: bool


def level_rows(found: Findings) -> list[LevelRow]:
    """Return what each level does, the strongest factor first.

    None where not all combinations were tried, nor where all trials came out the same, as without time-outs.
    """
    if len({number for one in found.ranking.standings for number in one.values}) < 2:
        return []
    effects = {one.factor: one for one in found.effects}
    places = {one.factor: one for one in found.places}
    rows: list[LevelRow] = []
    # Of some there are sums of places alone: time-outs of 0 have no ratio.
    for factor in [name for name in dict.fromkeys([*effects, *places]) if name in places]:
        effect, sums = effects.get(factor), places[factor]
        ratios = {one.level: one.ratio for one in effect.levels} if effect is not None else {}
        best = effect.best if effect is not None and effect.notable else None
        rows += [
            LevelRow(
                factor=factor, level=one.level,
                beside=_beside(ratios[one.level]) if one.level in ratios else "—",
                best=one.level == best, sum=one.sum, mean=one.mean,
                ahead=sums.notable and one.level == sums.best,
            )
            for one in sums.levels
        ]  # fmt: skip
    return rows


def _beside(ratio: float) -> str:
    """Return a ratio as what it is more or less."""
    percent = round(100 * (ratio - 1))
    sign = {1: "+", -1: "−"}.get((percent > 0) - (percent < 0), "")  # noqa: RUF001 - the sign
    return f"{sign}{abs(percent)} %"


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
    names: Names = AS_WRITTEN,
    counted: bool = False,
) -> Findings:
    """Return what the outcomes so far say.

    Args:
        plan: that they are of.
        outcomes: of all workloads.
        figure: a name of advisor.trials.
        workload: its name.
        written: writes a figure with its unit.
        names: of factors and levels, in the sentences.
        counted: count the time to sync and unmount in, where the figure has any.
    """
    experiment, base = plan.experiment, plan.sets[0].levels
    chosen = of_workload(outcomes, workload)
    counted = counted and can_count_in(chosen, figure)
    chance = random.Random(experiment.seed)  # noqa: S311 - for a bootstrap
    ranked = ranking(chosen, figure, chance=chance, counted=counted)
    effect = effects(chosen, figure, chance=chance, counted=counted)
    said: list[tuple[Tone, str]] = [("ok", winner_text(ranked, written, names))]
    if missing := unmeasured_text(ranked):
        said.append(("warn", missing))
    said += _infos(against_text(ranked, base, "The baseline", written))
    if counted and ranked.standings:
        said += _infos(_counted(chosen, ranked, written, names, experiment.seed))
    said += _infos(*effect_texts(effect, names))
    together = interactions(chosen, figure, chance=chance, counted=counted)
    said += _infos(*(interaction_text(one, names) for one in together[:_INTERACTIONS] if one.notable))
    places = place_sums(chosen, figure, counted=counted) if experiment.strategy == "full" else []
    said += _infos(*place_texts(places, names))
    curves = _curves(experiment, chosen, base, figure, chance, counted=counted)
    if curves and experiment.strategy == "one-at-a-time":
        said += _infos(row_text(curves, names))
    # One at a time gives a cross of cells, which is no matrix.
    crossed = [] if experiment.strategy == "one-at-a-time" else _crossed(effect, ranked)
    tables = _matrices(chosen, crossed, figure, counted=counted)
    if tables and _acts(tables[0].row_factor, effect, together):
        said += _infos(steady_text(steadiness(tables), tables[0].row_factor, names))
    if len(levels_of(chosen)) == 1:
        factor = next(iter(levels_of(chosen)))
        rows = comparison(chosen, factor, base[factor], chance=chance, figures=(figure,), counted=counted)
        said += _infos(*(comparison_text(row, written) for row in rows))
    said += _troubles(outcomes)
    return Findings(
        figure=figure, workload=workload, counted=counted, ranking=ranked, said=said, effects=effect,
        places=places, curves=curves, matrices=tables,
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
    # The pair itself, too: of two neighbouring groups, the last of one may equal the first of the other. Of
    # many sets that are the same, the luckiest alone would often be told apart from the baseline.
    apart = one.group != other.group and one.low > other.high
    better = apart and one.method != "range" and other.method != "range"
    text = (
        f"Your experiment: {written(found.figure, one.median)} with these settings, "
        f"{written(found.figure, other.median)} with the baseline ({figure_label(found.figure).lower()}, "
        f"{found.workload})."
    )
    before, after = _values(base), _values(chosen)
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if len(names) > 1:
        text += f" {', '.join(name.replace(READ_AHEAD, 'readahead') for name in names)} were tested together."
    return tuple(
        Measured(option=name, value=after.get(name), status="confirmed" if better else "untested", text=text)
        for name in names
    )


def _values(one: PlannedSet) -> dict[str, str]:
    """Return canonical option names and values of a set, the readahead among them."""
    values = MountOptions.parse(one.options).values()
    return values if one.read_ahead_kb is None else values | {"read_ahead_kb": str(one.read_ahead_kb)}


def answer_said(result: BestResult, written: Format, names: Names = AS_WRITTEN) -> list[tuple[Tone, str]]:
    """Return what a search found: the winner first, and how sure that is last."""
    options, ahead = result.options or "the default options", result.read_ahead_kb
    tail = "" if ahead is None else f", readahead {ahead} KiB"
    first, *others = answer_text(result.answer, WRITE, written, names)
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


def _counted(chosen: Sequence[Outcome], ranked: Ranking, written: Format, names: Names, seed: int) -> str:
    """Return what counting in makes of the set that is first when only the transfer counts."""
    chance = random.Random(seed)  # noqa: S311 - for a bootstrap
    alone = ranking(chosen, ranked.figure, chance=chance)
    first = alone.standings[0]
    now = ranked.of(first.levels)
    if now is None:
        return ""
    name = set_text(first.levels, names=names)
    return counted_text(name, ranked.figure, first.median, now.median, written)


def _curves(
    experiment: Experiment,
    chosen: Sequence[Outcome],
    base: dict[str, str],
    figure: str,
    chance: random.Random,
    *,
    counted: bool,
) -> list[Curve]:
    """Return the figure against each factor that has more than two levels, the others at their base."""
    sure = of_several(len(experiment.factors))
    found = (
        curve(chosen, factor.name, base, figure, chance=chance, counted=counted, confidence=sure)
        for factor in experiment.factors
    )
    return [one for one in found if one is not None and len(one.points) > 2]


def _crossed(effect: Sequence[Effect], ranked: Ranking) -> list[str]:
    """Return the factors for pictures, the strongest first; in their order where 0 tells of no effects."""
    values = [number for one in ranked.standings for number in one.values]
    if values and min(values) <= 0 < max(values):
        first = ranked.standings[0].levels
        return [name for name in first if len({one.levels.get(name) for one in ranked.standings}) > 1]
    return [one.factor for one in effect]


def _acts(factor: str, alone: Sequence[Effect], together: Sequence[Interaction]) -> bool:
    """Return whether a factor does anything: where none does, one level is the steadiest all the same."""
    return any(one.notable for one in alone if one.factor == factor) or any(
        one.notable for one in together if factor in one.factors
    )


def _matrices(
    chosen: Sequence[Outcome], factors: Sequence[str], figure: str, *, counted: bool
) -> list[Matrix]:
    """Return the figure over the two strongest factors, apart for each version of NFS."""
    if len(factors) < 2:
        return []
    strongest = [name for name in factors if name != "vers"][:2]
    if len(strongest) < 2:
        strongest = list(factors[:2])
    split = [name for name in factors if name not in strongest and name == "vers"]
    first, second = strongest
    return matrices(chosen, first, second, figure, split=split, counted=counted)[:_MATRICES]


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

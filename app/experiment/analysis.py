"""Analysis of an experiment: ranking, effects, tables and sentences for one figure of one workload.

Window, command line, JSON and report all take their conclusions from here, so that they agree.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from advisor.experiment.conclusions import Retest  # noqa: TC001 - msgspec reads the annotations at run time
from advisor.experiment.effects import (
    FactorEffect,
    Interaction,
    RankSums,
    factor_effects,
    interactions,
    rank_sums,
)
from advisor.experiment.error_model import bonferroni_confidence, estimate_error_model
from advisor.experiment.intervals import confidence_interval, median
from advisor.experiment.measurements import (
    CREATE,
    DELETE,
    FIGURE_INFO,
    READ,
    READ_TOTAL_S,
    STAT,
    WRITE,
    WRITE_TOTAL_S,
    figure_value,
    outcomes_of_workload,
    repeats_by_set,
    sync_time_matters,
    varied_levels,
)
from advisor.experiment.ranking import (
    Conclusion,
    Ranking,
    baseline_drifts,
    conclude,
    is_significantly_better,
    rank_sets,
    reference_levels,
    with_effects,
)
from advisor.experiment.search import SearchVerdict, search_verdict
from advisor.experiment.tables import (
    ComparisonRow,
    FactorCurve,
    Matrix,
    compare_with_base,
    factor_curve,
    level_consistency,
    matrices,
)
from advisor.options import MountOptions
from advisor.recommendation import MeasuredOption
from app.errors import AppError
from app.experiment.factors import FILE_SIZE, READ_AHEAD, TEST_FACTORS
from app.experiment.model import SEARCH_NAME
from app.text.errors import ErrorCode
from app.text.experiment import (
    RECIPE_NAMES,
    best_levels_text,
    compared_with_best_text,
    comparison_text,
    consistency_text,
    drift_text,
    effect_texts,
    gain_text,
    headline_text,
    interaction_text,
    rank_texts,
    retest_texts,
    search_headline,
    search_texts,
    set_text,
    sync_time_text,
    unmeasured_text,
    winner_text,
)
from app.text.units import format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.experiment.conclusions import SetEstimate
    from advisor.experiment.error_model import ErrorModel
    from advisor.experiment.measurements import TrialOutcome
    from app.experiment.model import BestSettings, Experiment, ExperimentPlan, OptionSet
    from app.text.experiment import FactorNames, FigureFormat

Tone = Literal["ok", "info", "warn"]

#: Figures offered for choice, where the outcomes contain them.
CHOOSABLE_FIGURES = (
    WRITE, READ, WRITE_TOTAL_S, READ_TOTAL_S, CREATE, STAT, DELETE, "write_calls", "write_sync_s",
    "unmount_s", "timeouts",
)  # fmt: skip
#: Figures that the command line reports, in this order.
MAIN_FIGURES = (WRITE, READ, CREATE, STAT, DELETE)
#: A matrix shows two factors. Further factors split it into several matrices, at most this many.
_MAX_MATRICES = 12
_MAX_INTERACTIONS = 3


class WorkloadPart(NamedTuple):
    """Subset of an experiment in which option sets are compared: one workload with one file size.

    Attributes:
        workload: name of the workload.
        file_size: bytes of the files, as a factor level; "" if the file size is not varied.
    """

    workload: str
    file_size: str = ""

    @property
    def label(self) -> str:
        """Name of the part for display."""
        if not self.file_size:
            return self.workload
        return f"{self.workload}, files of {format_size(int(self.file_size))}"


class FigureAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """Analysis of one figure of one workload part.

    Attributes:
        figure: name of the figure, one of advisor.experiment.measurements.
        workload: name of the workload.
        file_size: bytes of the compared files, as a factor level; "" if the file size is not varied.
        counted: whether sync and unmount time are included in the figure.
        conclusion: statistical conclusion on the best option set.
        headline: the conclusion as a sentence.
        said: sentences with their tone, the most important first.
        ranking: option sets, the best first.
        effects: effect of each factor with intervals, the strongest first.
        interactions: interactions of pairs of factors, the strongest first.
        places: rank sums of each factor's levels; only in a full factorial experiment.
        curves: figure against the levels of one factor, the other factors at their base.
        comparison: levels compared with the reference, if only one factor was varied.
        axes: the two factors of the matrices, rows first; empty without matrices.
        axis_choices: factors that can be chosen as axes.
        pooled: factors over which each cell of the matrices is the median.
        matrices: figure by the levels of both axes.
    """

    figure: str
    workload: str
    file_size: str
    counted: bool
    conclusion: Conclusion
    headline: str
    said: list[tuple[Tone, str]]
    ranking: Ranking
    effects: list[FactorEffect]
    interactions: list[Interaction]
    places: list[RankSums]
    curves: list[FactorCurve]
    comparison: list[ComparisonRow]
    axes: list[str]
    axis_choices: list[str]
    pooled: list[str]
    matrices: list[Matrix]

    @property
    def part(self) -> WorkloadPart:
        """Workload and file size of the analysis."""
        return WorkloadPart(self.workload, self.file_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelRow:
    """Effect and rank sum of one level of a factor, in a full factorial experiment.

    Attributes:
        factor: name of the factor.
        level: level of the factor.
        beside: difference from the mean of the factor's levels, such as ``+35 %``; “—” if unknown.
        best: whether this level is significantly better than the factor's other levels.
        sum: sum of the ranks of the level's trials; lower is better.
        mean: mean rank of the level's trials.
        ahead: whether the rank sum of this level is significantly the lowest.
    """

    factor: str
    level: str
    beside: str
    best: bool
    sum: float
    mean: float
    ahead: bool


def level_rows(analysis: FigureAnalysis) -> list[LevelRow]:
    """Return the effect of each level, the strongest factor first.

    The list is empty unless all combinations were measured and their values differ.
    """
    if len({number for one in analysis.ranking.standings for number in one.values}) < 2:
        return []
    effects = {one.factor: one for one in analysis.effects}
    sums_by_factor = {one.factor: one for one in analysis.places}
    rows: list[LevelRow] = []
    # A figure that contains zeros (timeouts) has rank sums, but no ratios.
    for factor in [name for name in dict.fromkeys([*effects, *sums_by_factor]) if name in sums_by_factor]:
        effect, sums = effects.get(factor), sums_by_factor[factor]
        ratios = {one.level: one.ratio for one in effect.levels} if effect is not None else {}
        best = effect.best if effect is not None and effect.notable else None
        rows += [
            LevelRow(
                factor=factor, level=one.level,
                beside=_relative_text(ratios[one.level]) if one.level in ratios else "—",
                best=one.level == best, sum=one.sum, mean=one.mean,
                ahead=sums.notable and one.level == sums.best,
            )
            for one in sums.levels
        ]  # fmt: skip
    return rows


def _relative_text(ratio: float) -> str:
    """Return a ratio as a signed percentage."""
    percent = round(100 * (ratio - 1))
    sign = {1: "+", -1: "−"}.get((percent > 0) - (percent < 0), "")  # noqa: RUF001 - the sign
    return f"{sign}{abs(percent)} %"


def parts_of_plan(plan: ExperimentPlan) -> list[WorkloadPart]:
    """Return each workload of a plan, split by file size where that is varied."""
    sizes = levels_of_plan(plan).get(FILE_SIZE, [""])
    return [WorkloadPart(work.name, size) for work in plan.experiment.workloads for size in sizes]


def levels_of_plan(plan: ExperimentPlan) -> dict[str, list[str]]:
    """Return each varied factor with its measured levels, in the order of the experiment."""
    found: dict[str, dict[str, None]] = {}
    for one in plan.sets:
        for name, level in one.levels.items():
            found.setdefault(name, {})[level] = None
    order = {factor.name: factor.levels for factor in plan.experiment.factors}
    return {
        name: sorted(levels, key=lambda level, name=name: _level_index(level, order.get(name, ())))  # type: ignore[misc]
        for name, levels in found.items() if len(levels) > 1
    }  # fmt: skip


def _level_index(level: str, order: Sequence[str]) -> int:
    return order.index(level) if level in order else -1


def figures_in(outcomes: Sequence[TrialOutcome], workload: str) -> list[str]:
    """Return the names of the figures measured in a workload, the most important first."""
    chosen = outcomes_of_workload(outcomes, workload)
    return [
        name
        for name in CHOOSABLE_FIGURES
        if any(figure_value(outcome, name) is not None for outcome in chosen)
    ]


def analyze(
    plan: ExperimentPlan,
    outcomes: Sequence[TrialOutcome],
    figure: str,
    workload: str,
    *,
    written: FigureFormat,
    names: FactorNames = RECIPE_NAMES,
    counted: bool = False,
    file_size: str = "",
    axes: Sequence[str] = (),
) -> FigureAnalysis:
    """Analyze one figure of one workload.

    Args:
        plan: plan of the experiment.
        outcomes: outcomes of the plan's trials so far, of all workloads.
        figure: name of the figure, one of advisor.experiment.measurements.
        workload: name of the workload.
        written: formats a value of a figure with its unit.
        names: names of factors and levels in the sentences.
        counted: include the time to sync and unmount, where it matters.
        file_size: level of the file size to compare; "" for the first level.
        axes: the two factors of the matrices; empty for the experiment's own or the strongest factors.

    Raises:
        AppError: USAGE if the axes are not two factors that were varied.
    """
    experiment, base = plan.experiment, plan.sets[0].levels
    varied = levels_of_plan(plan)
    check_axes(plan, axes)
    workload_outcomes = outcomes_of_workload(outcomes, workload)
    sizes = varied.get(FILE_SIZE, [])
    file_size = file_size if file_size in sizes else sizes[0] if sizes else ""
    chosen = [one for one in workload_outcomes if not sizes or one.levels.get(FILE_SIZE) == file_size]
    counted = counted and sync_time_matters(chosen, figure)
    chance = random.Random(experiment.seed)  # noqa: S311 - for a bootstrap
    ranked = rank_sets(chosen, figure, chance=chance, counted=counted)
    effects = factor_effects(chosen, figure, chance=chance, counted=counted)
    conclusion = with_effects(conclude(ranked, base, TEST_FACTORS), effects, base, TEST_FACTORS)
    pair_effects = interactions(chosen, figure, chance=chance, counted=counted)
    sums = rank_sums(chosen, figure, counted=counted) if experiment.strategy == "full" else []
    curves = _curves(experiment, workload_outcomes, base, figure, chance, counted=counted)
    matrix_set = _MatrixSet([], [], [])
    # One-at-a-time designs fill only a cross of the matrix, and a search only few of its cells.
    if experiment.strategy != "one-at-a-time" and experiment.recipe != SEARCH_NAME:
        error_model = estimate_error_model(repeats_by_set(workload_outcomes, figure, counted=counted), chance)
        order = _choose_axes(experiment, axes, _axis_candidates(effects, ranked), varied)
        matrix_set = _build_matrices(workload_outcomes, order, figure, error_model, counted=counted)
        if any(_has_effect(name, effects, pair_effects) for name in matrix_set.axes):
            # The effect is significant over all cells, although no single pair of cells differs by itself.
            marked = [
                msgspec.structs.replace(one, differs=True, apart=None) if one.differs is False else one
                for one in matrix_set.matrices
            ]
            matrix_set = matrix_set._replace(matrices=marked)
    table: list[ComparisonRow] = []
    if len(varied_levels(chosen)) == 1:
        factor = next(iter(varied_levels(chosen)))
        table = compare_with_base(
            chosen, factor, base[factor], chance=chance, figures=(figure,), counted=counted
        )
    analysis = FigureAnalysis(
        figure=figure, workload=workload, file_size=file_size, counted=counted, conclusion=conclusion,
        headline=headline_text(conclusion, figure, written, names), said=[], ranking=ranked, effects=effects,
        interactions=pair_effects[:_MAX_INTERACTIONS], places=sums, curves=curves, comparison=table,
        axes=matrix_set.axes, axis_choices=list(varied), pooled=matrix_set.pooled,
        matrices=matrix_set.matrices,
    )  # fmt: skip
    return msgspec.structs.replace(
        analysis, said=_messages(plan, analysis, outcomes, chosen, written, names=names)
    )


def _messages(
    plan: ExperimentPlan,
    analysis: FigureAnalysis,
    outcomes: Sequence[TrialOutcome],
    chosen: Sequence[TrialOutcome],
    written: FigureFormat,
    *,
    names: FactorNames,
) -> list[tuple[Tone, str]]:
    """Return the sentences below the headline."""
    experiment, ranked = plan.experiment, analysis.ranking
    missing: list[tuple[Tone, str]] = [("warn", text) for text in (unmeasured_text(ranked),) if text]
    if experiment.recipe == SEARCH_NAME:
        # A search has too few trials for each level to estimate effects of factors.
        return [*missing, *(one for one in _warnings(outcomes) if one[0] == "warn")]
    messages = [*_infos(gain_text(analysis.conclusion), winner_text(ranked, written, names)), *missing]
    messages += _infos(compared_with_best_text(ranked, plan.sets[0].levels, "The reference", written))
    if analysis.counted and ranked.standings:
        messages += _infos(_counted_in_text(chosen, ranked, written, names, experiment.seed))
    messages += _infos(*effect_texts(analysis.effects, names))
    messages += _infos(*(interaction_text(one, names) for one in analysis.interactions if one.notable))
    messages += _infos(*rank_texts(analysis.places, names))
    if analysis.curves and experiment.strategy == "one-at-a-time":
        messages += _infos(best_levels_text(analysis.curves, names))
    tables = analysis.matrices
    if tables and _has_effect(tables[0].row_factor, analysis.effects, analysis.interactions):
        messages += _infos(consistency_text(level_consistency(tables), tables[0].row_factor, names))
    messages += _infos(*(comparison_text(row, written) for row in analysis.comparison))
    return messages + _warnings(outcomes)


def analyze_main_figures(
    plan: ExperimentPlan,
    outcomes: Sequence[TrialOutcome],
    *,
    written: FigureFormat,
    names: FactorNames = RECIPE_NAMES,
    axes: Sequence[str] = (),
) -> list[FigureAnalysis]:
    """Return the analysis of the main figures of each part, for the command line; see analyze."""
    return [
        analyze(
            plan, outcomes, figure, part.workload, written=written, names=names, file_size=part.file_size,
            axes=axes,
        )
        for part in parts_of_plan(plan)
        for figure in figures_in(outcomes, part.workload) if figure in MAIN_FIGURES
    ]  # fmt: skip


def figure_label(figure: str) -> str:
    """Return the name of a figure for display, with a capital first letter."""
    quantity = FIGURE_INFO.get(figure)
    text = quantity.label if quantity is not None else figure
    return text[:1].upper() + text[1:]


def set_evidence_text(
    analysis: FigureAnalysis,
    plan: ExperimentPlan,
    levels: dict[str, str],
    written: FigureFormat,
    names: FactorNames = RECIPE_NAMES,
) -> str:
    """Return a sentence on the evidence for one option set, compared with its reference."""
    reference = analysis.ranking.of(reference_levels(levels, plan.sets[0].levels, TEST_FACTORS))
    ranked_set = analysis.ranking.of(levels)
    if ranked_set is None or reference is None:
        return "It was not measured beside the reference."
    if ranked_set is reference:
        return "It is the reference itself: nothing was gained by it."
    medians = (
        f"{written(analysis.figure, ranked_set.median)} against {written(analysis.figure, reference.median)}"
    )
    with_it = f"{medians} with {set_text(reference.levels, names=names)}"
    if is_significantly_better(ranked_set, reference, analysis.figure):
        return f"Better by more than chance: {with_it} ({figure_label(analysis.figure).lower()})."
    return f"Not proven: {with_it} may be chance ({figure_label(analysis.figure).lower()})."


def measured_options(
    analysis: FigureAnalysis, plan: ExperimentPlan, chosen: OptionSet, written: FigureFormat
) -> tuple[MeasuredOption, ...]:
    """Return the measured effect of the options in which a set differs from the baseline, for the advisor.

    The options were measured together, so the text does not credit one of them alone. Only throughput counts:
    a set that is fastest in one phase (such as close) may be the slowest overall.
    """
    if analysis.figure not in {WRITE, READ}:
        return ()
    levels = reference_levels(chosen.levels, plan.sets[0].levels, TEST_FACTORS)
    base = set_with_levels(levels, plan.sets)
    ranked_set, reference = analysis.ranking.of(chosen.levels), analysis.ranking.of(levels)
    if ranked_set is None or reference is None or base is None or chosen is base:
        return ()
    better = is_significantly_better(ranked_set, reference, analysis.figure)
    text = (
        f"Your experiment: {written(analysis.figure, ranked_set.median)} with these settings, "
        f"{written(analysis.figure, reference.median)} with the reference "
        f"({figure_label(analysis.figure).lower()}, "
        f"{analysis.part.label})."
    )
    return _as_measured(base, chosen, text, better=better)


def options_measured_by_retest(result: BestSettings, written: FigureFormat) -> tuple[MeasuredOption, ...]:
    """Return the re-test's result for the options in which a search's winner differs, for the advisor."""
    retest, present = result.retest, result.plan.present
    winner = set_with_levels(result.answer.winner.levels, result.plan.sets)
    if retest is None or present is None or winner is None:
        return ()
    whole = retest.whole
    text = (
        f"Your search, tested again: {written(WRITE, whole.after)} with these settings, "
        f"{written(WRITE, whole.before)} with those you had."
    )
    return _as_measured(present, winner, text, better=retest.gained)


def _as_measured(
    base: OptionSet, chosen: OptionSet, text: str, *, better: bool
) -> tuple[MeasuredOption, ...]:
    before, after = _option_values(base), _option_values(chosen)
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if len(names) > 1:
        text += f" {', '.join(name.replace(READ_AHEAD, 'readahead') for name in names)} were tested together."
    return tuple(
        MeasuredOption(
            option=name, value=after.get(name), status="confirmed" if better else "untested", text=text
        )
        for name in names
    )


def _option_values(option_set: OptionSet) -> dict[str, str]:
    """Return canonical option names and values of a set, including the readahead in KiB."""
    values = MountOptions.parse(option_set.options).values()
    return (
        values
        if option_set.read_ahead_kb is None
        else values | {"read_ahead_kb": str(option_set.read_ahead_kb)}
    )


class SearchAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """Conclusions of a search for the best settings.

    Attributes:
        verdict: statistical conclusion on the winner.
        headline: the conclusion as a sentence.
        retold: sentences on the re-test; they begin `said` too. Empty without a re-test.
        said: sentences with their tone, the most important first.
        retest: comparison of the winner with the present settings, None if there was none.
    """

    verdict: SearchVerdict
    headline: str
    retold: list[str]
    said: list[tuple[Tone, str]]
    retest: Retest | None


def analyze_search(
    result: BestSettings, written: FigureFormat, names: FactorNames = RECIPE_NAMES
) -> SearchAnalysis:
    """Analyze a search: the result of the re-test, and how the search reached its winner."""
    answer, retest = result.answer, result.retest
    verdict = search_verdict(answer, retest)
    retest_sentences = retest_texts(answer, retest, written)
    tone: Tone = "warn" if verdict == "untested" else "info"
    return SearchAnalysis(
        verdict=verdict,
        headline=search_headline(answer, retest, names),
        retold=retest_sentences if tone == "info" else [],
        said=[
            *((tone, text) for text in retest_sentences),
            *_infos(*search_texts(answer, WRITE, written, names)),
        ],
        retest=retest,
    )


class SearchRow(NamedTuple):
    """One option set in the result table of a search.

    Attributes:
        name: role of the set: winner, present, next or default.
        again: True for measurements of the re-test, False for estimates of the search's model.
        median: throughput, bytes per second.
        low: lower end of the throughput's interval, bytes per second.
        high: upper end of the throughput's interval, bytes per second.
        trials: number of trials of the set.
        levels: levels of the set.
    """

    name: Literal["winner", "present", "next", "default"]
    again: bool
    median: float
    low: float
    high: float
    trials: int
    levels: dict[str, str]


def search_rows(result: BestSettings) -> list[SearchRow]:
    """Return the option sets of a search's result; the figures of the re-test replace estimates."""
    answer, retest = result.answer, result.retest
    named: tuple[tuple[Literal["winner", "present", "next", "default"], SetEstimate | None], ...] = (
        ("winner", answer.winner), ("present", answer.current), ("next", answer.runner_up),
        ("default", answer.default),
    )  # fmt: skip
    rows: list[SearchRow] = []
    retested: dict[str, tuple[list[float], dict[str, str]]] = {}
    if retest is not None:
        retested["winner"] = retest.whole.after_values, retest.winner
        retested["present"] = retest.whole.before_values, retest.today
    for name, estimate in named:
        if name in retested:
            values, levels = retested[name]
            low, high, _confidence = confidence_interval(values)
            rows.append(SearchRow(name, True, median(values), low, high, len(values), levels))  # noqa: FBT003
        elif estimate is not None:
            count = len(estimate.values)
            interval = (estimate.median, estimate.low, estimate.high)
            rows.append(SearchRow(name, False, *interval, count, estimate.levels))  # noqa: FBT003
    return rows


def set_with_levels(levels: dict[str, str], sets: Sequence[OptionSet]) -> OptionSet | None:
    """Return the option set with these levels."""
    return next((one for one in sets if one.levels == levels), None)


def _infos(*texts: str) -> list[tuple[Tone, str]]:
    return [("info", text) for text in texts if text]


def _counted_in_text(
    chosen: Sequence[TrialOutcome], ranked: Ranking, written: FigureFormat, names: FactorNames, seed: int
) -> str:
    """Return a sentence on how including sync time changes the set that leads by transfer speed alone."""
    chance = random.Random(seed)  # noqa: S311 - for a bootstrap
    transfer_ranking = rank_sets(chosen, ranked.figure, chance=chance)
    leader = transfer_ranking.standings[0]
    with_sync = ranked.of(leader.levels)
    if with_sync is None:
        return ""
    name = set_text(leader.levels, names=names)
    return sync_time_text(name, ranked.figure, leader.median, with_sync.median, written)


def _curves(
    experiment: Experiment,
    chosen: Sequence[TrialOutcome],
    base: dict[str, str],
    figure: str,
    chance: random.Random,
    *,
    counted: bool,
) -> list[FactorCurve]:
    """Return the curve of each factor that has more than two levels, the other factors at their base."""
    confidence = bonferroni_confidence(len(experiment.factors))
    curves = (
        factor_curve(chosen, factor.name, base, figure, chance=chance, counted=counted, confidence=confidence)
        for factor in experiment.factors
    )
    return [one for one in curves if one is not None and len(one.points) > 2]


def _axis_candidates(effect: Sequence[FactorEffect], ranked: Ranking) -> list[str]:
    """Return the candidates for axes, strongest first, or in plan order if a zero value prevents ratios."""
    values = [number for one in ranked.standings for number in one.values]
    if values and min(values) <= 0 < max(values):
        levels = ranked.standings[0].levels
        return [name for name in levels if len({one.levels.get(name) for one in ranked.standings}) > 1]
    return [one.factor for one in effect]


def _has_effect(factor: str, effects: Sequence[FactorEffect], pair_effects: Sequence[Interaction]) -> bool:
    """Return whether a factor has a significant effect, alone or in an interaction."""
    return any(one.notable for one in effects if one.factor == factor) or any(
        one.notable for one in pair_effects if factor in one.factors
    )


class _MatrixSet(NamedTuple):
    """Matrices of one figure.

    Attributes:
        axes: the two factors of the matrices, rows first.
        pooled: factors over which each cell is the median.
        matrices: one matrix for each combination of the remaining factors' levels.
    """

    axes: list[str]
    pooled: list[str]
    matrices: list[Matrix]


def check_axes(plan: ExperimentPlan, axes: Sequence[str]) -> None:
    """Check that the axes of a table are two different factors that are varied, or that none are given.

    Raises:
        AppError: USAGE if the axes are not valid.
    """
    varied = levels_of_plan(plan)
    if axes and (len(axes) != 2 or axes[0] == axes[1] or not set(axes) <= varied.keys()):
        raise AppError(ErrorCode.TABLE_NEEDS_TWO_FACTORS, varied=", ".join(varied) or "none is varied")


def _choose_axes(
    experiment: Experiment, axes: Sequence[str], strongest: Sequence[str], varied: dict[str, list[str]]
) -> list[str]:
    """Return the factors of rows and columns, followed by the others in the order in which they split."""
    study_axes = [name for name in experiment.axes if name in varied]
    strongest = [name for name in strongest if name in varied]
    # NFS versions get a matrix each, to be compared side by side; file sizes are separate comparisons.
    preferred = [name for name in strongest if name not in {"vers", FILE_SIZE}]
    candidates = list(axes) or (study_axes[:2] if len(study_axes) > 1 else []) or [*preferred, *strongest]
    chosen = list(dict.fromkeys(candidates))[:2]
    if len(chosen) < 2:
        return []
    of_test = [name for name in varied if name in TEST_FACTORS]
    order = [FILE_SIZE, *study_axes, *of_test, "vers", *varied]
    return chosen + [name for name in dict.fromkeys(order) if name in varied and name not in chosen]


def _build_matrices(
    chosen: Sequence[TrialOutcome],
    axes: Sequence[str],
    figure: str,
    error_model: ErrorModel | None,
    *,
    counted: bool,
) -> _MatrixSet:
    """Return the matrices over the first two axes, split by further factors up to _MAX_MATRICES."""
    varied = varied_levels(one for one in chosen if figure_value(one, figure) is not None)
    axes = [name for name in axes if name in varied]
    if len(axes) < 2:
        return _MatrixSet([], [], [])
    split: list[str] = []
    for name in axes[2:]:
        if name == FILE_SIZE or prod(len(varied[each]) for each in [*split, name]) <= _MAX_MATRICES:
            split.append(name)
    built = matrices(chosen, axes[0], axes[1], figure, split=split, counted=counted, noise=error_model)
    return _MatrixSet(axes[:2], [name for name in axes[2:] if name not in split], built[:_MAX_MATRICES])


def _warnings(outcomes: Sequence[TrialOutcome]) -> list[tuple[Tone, str]]:
    """Return warnings on drift of the baseline, failed trials and mismatched options."""
    messages: list[tuple[Tone, str]] = [
        ("warn" if drift.notable else "info", drift_text(drift))
        for drift in baseline_drifts(outcomes, (WRITE, READ))
    ]
    for state, text in (("failed", "failed"), ("mismatch", "ran with other values in use than planned")):
        notes = [outcome.note for outcome in outcomes if outcome.state == state]
        if notes:
            plural = "1 trial" if len(notes) == 1 else f"{len(notes)} trials"
            messages.append(("warn", f"{plural} {text}. The first: {notes[0]}"))
    return list(dict.fromkeys(messages))

"""Sentences about results of experiments and searches, for the command line, the window and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.experiment.measurements import FIGURE_INFO, READ, READ_TOTAL_S, WRITE, lower_is_better
from advisor.experiment.search import BOTH_DIRECTIONS, MIN_RETEST_ROUNDS, SearchVerdict, search_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from advisor.experiment.conclusions import (
        BaselineDrift,
        Retest,
        RetestComparison,
        SearchConclusion,
        SetEstimate,
    )
    from advisor.experiment.effects import FactorEffect, Interaction, RankSums
    from advisor.experiment.ranking import Conclusion, RankedSet, Ranking
    from advisor.experiment.tables import ComparisonRow, FactorCurve, LevelConsistency

if TYPE_CHECKING:
    #: Formats a figure (name, value) with its unit, speeds in the user's unit.
    FigureFormat = Callable[[str, float], str]

_NUMBER_WORDS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
#: Smallest effect that is reported, as a fraction.
_MIN_RELEVANT_EFFECT = 0.03
#: Greatest detectable difference, as a fraction, from which “makes little difference” can be concluded.
_SMALL_DIFFERENCE = 0.1


@dataclass(frozen=True, slots=True)
class FactorNames:
    """Labels of factors and levels in sentences; by default their names in a recipe.

    Attributes:
        factor: returns the label of a factor name.
        level: returns the label of a level, given factor name and level.
        between: separator between the two labels.
    """

    factor: Callable[[str], str] = str
    level: Callable[[str, str], str] = lambda _factor, level: level
    between: str = "="


RECIPE_NAMES = FactorNames()


def set_text(
    levels: Mapping[str, str], besides: Mapping[str, str] | None = None, names: FactorNames = RECIPE_NAMES
) -> str:
    """Return an option set as text: ``rsize=65536, nconnect=4``.

    Args:
        levels: factor to level.
        besides: another set; levels equal to its levels are omitted. The text is “the same” if all are.
        names: labels of factors and levels.
    """
    shown = [
        f"{names.factor(name)}{names.between}{names.level(name, level)}"
        for name, level in levels.items()
        if (besides or {}).get(name) != level
    ]
    return ", ".join(shown) or "the same"


def winner_text(ranking: Ranking, written: FigureFormat, names: FactorNames = RECIPE_NAMES) -> str:
    """Return which set is best, and how many sets do not differ significantly from it."""
    if not ranking.standings:
        return "No trial gave a result."
    first = ranking.standings[0]
    figure = f"{written(ranking.figure, first.median)} {_figure_text(ranking)}"
    best = set_text(first.levels, names=names)
    if len(ranking.standings) == 1:
        alone = "with a figure" if ranking.unmeasured else "that ran"
        return f"The one set {alone}: {best}, {figure}."
    if not first.group:
        return _undecided_text(ranking, best, figure)
    together = ranking.group(1)
    if len(together) == 1:
        text = f"{best} is best with {figure}."
        return f"{text} The difference from the next is more than chance."
    if len(together) == len(ranking.standings):
        return (
            f"{_all_text(len(together))} sets cannot be told apart: their differences are within what "
            f"chance gives. {_detectable_text(ranking)}"
        )
    return (
        f"{_number(len(together)).capitalize()} of the {_number(len(ranking.standings))} sets cannot be told "
        f"apart; first among them is {best} with {figure}."
    )


def headline_text(
    found: Conclusion, figure: str, written: FigureFormat, names: FactorNames = RECIPE_NAMES
) -> str:
    """Return the conclusion of an experiment in one or two short sentences."""
    gain, effect = found.gain, found.effect
    if effect is not None:
        level, other = (names.level(effect.factor, each) for each in (effect.level, effect.reference))
        ahead = f"{names.factor(effect.factor)}: {level} is {_gain_phrase(figure, effect.ratio)} than {other}"
        return f"{ahead}, over all sets together. Which set is best is not proven."
    if found.verdict != "better" or gain is None:
        return _CONCLUSION_TEXTS[found.verdict]
    better = set_text(gain.levels, gain.reference, names)
    where = f" (with {set_text(gain.at, names=names)})" if gain.at else ""
    medians = f"{written(figure, gain.median)} against {written(figure, gain.reference_median)}"
    if lower_is_better(figure):
        return f"{better} takes {percent(1 - 1 / gain.ratio)} less than the reference: {medians}{where}."
    return f"{better} is {percent(gain.ratio - 1)} better than the reference: {medians}{where}."


def _gain_phrase(figure: str, ratio: float) -> str:
    return f"{percent(1 - 1 / ratio)} less" if lower_is_better(figure) else f"{percent(ratio - 1)} better"


_CONCLUSION_TEXTS = {
    "none-better": "Nothing was better than the reference, and some was worse. Keep what you have.",
    "no-difference": "No difference found. Keep what you have.",
    "too-few": "Nothing is proven: too few trials were repeated. Keep what you have.",
    "alone": "One set gave a result, and there is none to compare it with.",
    "nothing": "No trial gave a result.",
}


def gain_text(found: Conclusion) -> str:
    """Return the interval of a gain as a sentence, or "" if the conclusion has no gain."""
    gain = found.gain
    if gain is None:
        return ""
    low, high = change_text(gain.low - 1), change_text(gain.high - 1)
    return f"The gain lies between {low} and {high}, if both intervals hold (95 % each)."


def single_color_note(differs: bool | None) -> str:  # noqa: FBT001 - a verdict
    """Return why a matrix is drawn in one color, or "" if its cells differ significantly."""
    if differs is None:
        return "Too few trials were repeated to tell these cells from chance: they are drawn in one color."
    return "" if differs else "These cells do not differ by more than chance: they are drawn in one color."


def detectable_difference_text(repeats: int, shown: float | None, more: tuple[int, float] | None) -> str:
    """Return the smallest detectable difference of a planned experiment as a sentence.

    Args:
        repeats: repeats of each set.
        shown: smallest significant difference if trials scatter by 5 %, as a fraction; None if no
            difference can be significant.
        more: a greater number of repeats and its smallest significant difference, or None.
    """
    count = "One repeat" if repeats == 1 else f"{_number(repeats).capitalize()} repeats"
    better = ""
    if more is not None:
        better = f" {_number(more[0]).capitalize()} repeats would show one above {percent(more[1])}."
    if shown is None:
        return f"{count} of each set cannot show any difference: nothing tells it from chance.{better}"
    large = f"{count} of each set can only show a difference above {percent(shown)}"
    return f"{large}, where trials scatter by 5 %.{better}"


def _undecided_text(ranking: Ranking, best: str, figure: str) -> str:
    """Return which set came first if the error is unknown, so that no difference is significant."""
    standings = ranking.standings
    if standings[0].median > 0:
        return f"{best} came first with {figure}, but {_undecided_reason(ranking)}."
    alike = _equal_medians(ranking)
    if alike == len(standings):
        return f"{_all_text(alike)} sets come out alike, with a median of {figure}."
    others = "one other set" if alike == 2 else f"{_number(alike - 1)} other sets"
    same = f", and {others} with the same" if alike > 1 else ""
    return f"{best} came first with {figure}{same}. How the rest differs from 0 cannot be told from chance."


def _equal_medians(ranking: Ranking) -> int:
    """Return the number of sets with the same median as the first set."""
    return sum(standing.median == ranking.standings[0].median for standing in ranking.standings)


def _undecided_reason(ranking: Ranking) -> str:
    """Return why the significance of differences is unknown."""
    if any(min(standing.values) <= 0 for standing in ranking.standings):
        return "where trials have 0, no difference can be told from chance"
    return "too few trials were repeated to tell the difference from chance"


def unmeasured_text(ranking: Ranking) -> str:
    """Return how many completed trials lack the figure, and why; "" if all have it."""
    count = ranking.unmeasured
    if not count:
        return ""
    trials = "One trial has" if count == 1 else f"{count} trials have"
    cause = "it could not be measured"
    if ranking.figure in {READ, READ_TOTAL_S}:
        cause = "what was read came from this computer's memory, not from the server"
    return f"{trials} no figure here: {cause}. A set without any is not in the ranking."


def compared_with_best_text(
    ranking: Ranking, levels: dict[str, str], name: str, written: FigureFormat
) -> str:
    """Return a comparison of an option set with the best set, or "" if it was not measured.

    Args:
        ranking: ranking of all sets.
        levels: levels of the set, for example of the kernel's default.
        name: label of the set.
        written: formats a figure with its unit.
    """
    standing, first = ranking.of(levels), ranking.standings[0] if ranking.standings else None
    if standing is None or first is None:
        return ""
    figure = written(ranking.figure, standing.median)
    if not standing.group and _equal_medians(ranking) > 1 and standing.median == first.median <= 0:
        return f"{name} is among the first, with {figure}."
    if standing is first:
        return f"{name} came first, with {figure}."
    if not standing.group:
        return f"{name} is in place {standing.place} with {figure}; {_undecided_reason(ranking)}."
    if standing.group == first.group:
        return f"{name} ({figure}) cannot be told apart from the best."
    ahead = _ahead_by_text(ranking.figure, standing, first)
    return f"{name} is in place {standing.place} with {figure}; the best is {ahead}."


def interval_text(standing: RankedSet) -> str:
    """Return the method of a ranked set's interval as a sentence."""
    count = len(standing.values)
    repeats = "one repeat" if count == 1 else f"{_number(count)} repeats"
    if standing.method == "sign-test":
        return f"The interval is that of the sign test over {repeats}: no distribution is assumed."
    if standing.method == "bootstrap":
        return (
            f"The interval is for {repeats}, by bootstrap of how much all trials of the same sets differed."
        )
    return f"The interval is the range of {repeats}, too few to say how sure it is."


def sync_time_text(name: str, figure: str, alone: float, counted: float, written: FigureFormat) -> str:
    """Return a figure with and without the time to sync and unmount as a sentence.

    Args:
        name: label of the option set.
        figure: name of the figure.
        alone: value without the time to sync and unmount.
        counted: value with the time to sync and unmount.
        written: formats a figure with its unit.
    """
    return (
        f"{name}: {written(figure, alone)} for the transfer alone, {written(figure, counted)} with the time "
        "to sync and unmount counted in."
    )


def drift_text(drift: BaselineDrift) -> str:
    """Return whether the baseline drifted during the run, as one or two sentences."""
    label = _figure_label(drift.figure)
    if drift.notable is None:
        return f"The baseline ran too seldom to tell whether its {label} drifted during the run."
    if not drift.notable:
        return f"No drift of the baseline's {label} was found during the run."
    verb = "rose" if drift.change > 0 else "fell"
    return (
        f"The baseline's {label} {verb} by {percent(abs(drift.change))} during the run. The random order "
        "spreads this over all sets alike, but compare small differences with care."
    )


def rank_texts(sums: Sequence[RankSums], names: FactorNames = RECIPE_NAMES) -> list[str]:
    """Return the best level by rank of each factor; factors without significant ranks share a sentence."""
    sentences: list[str] = []
    for one in sums:
        if one.notable:
            ordered = sorted(one.levels, key=lambda level: level.mean)
            first, last = ordered[0], ordered[-1]
            ahead, behind = (names.level(one.factor, each.level) for each in (first, last))
            sentences.append(
                f"{names.factor(one.factor)}: {ahead} is usually ahead (average place {first.mean:.0f} of "
                f"{sum(level.trials for level in one.levels)}), "
                f"{behind} usually last ({last.mean:.0f})."
            )
    chance = [names.factor(one.factor) for one in sums if not one.notable]
    return [
        *sentences,
        *_listed("Everything else being equal, no level is ahead by more than chance", chance),
    ]


def effect_texts(effects: Sequence[FactorEffect], names: FactorNames = RECIPE_NAMES) -> list[str]:
    """Return the main effect of each factor; factors without a significant effect share a sentence."""
    strong = [one for one in effects if one.notable and one.gain >= _MIN_RELEVANT_EFFECT]
    sentences = [
        f"{names.factor(one.factor)}: {names.level(one.factor, one.best)} is best, {percent(one.gain)} "
        f"ahead of the worst level; alone it explains {percent(one.share)} of all differences."
        for one in strong
    ]
    unknown = [names.factor(one.factor) for one in effects if one.notable is None]
    weak = [names.factor(one.factor) for one in effects if one not in strong and one.notable is not None]
    return [
        *sentences,
        *_listed("No difference that counts was found", weak),
        *_listed("Too few trials were repeated to tell an effect from chance", unknown),
    ]


def interaction_text(interaction: Interaction, names: FactorNames = RECIPE_NAMES) -> str:
    """Return whether two factors interact, so that their levels have to be chosen together."""
    first, second = map(names.factor, interaction.factors)
    if interaction.notable is None:
        return f"{first} and {second}: too few trials were repeated to say whether they act on each other."
    if not interaction.notable or interaction.share < _MIN_RELEVANT_EFFECT:
        return f"{first} and {second}: nothing was found that says they have to be chosen together."
    return (
        f"{first} and {second} have to be chosen together: what they do in combination explains "
        f"{percent(interaction.share)} of all differences."
    )


def best_levels_text(curves: Sequence[FactorCurve], names: FactorNames = RECIPE_NAMES) -> str:
    """Return the best level of each factor that was varied alone, like a row of seed 000's Figure 14."""
    if not curves:
        return "No setting was varied."
    best = [
        (curve, "any" if curve.best is None else names.level(curve.factor, curve.best))
        for curve in curves
        if curve.told
    ]
    unknown = [names.factor(curve.factor) for curve in curves if not curve.told]
    return " ".join([
        *_listed("Best settings found", [f"{names.factor(curve.factor)} {level}" for curve, level in best]),
        *_listed("Which level is best cannot be told from chance", unknown),
    ])  # fmt: skip


def consistency_text(rows: Sequence[LevelConsistency], factor: str, names: FactorNames = RECIPE_NAMES) -> str:
    """Return which row level of a matrix is the most consistent over all columns, and which are poor."""
    if not rows:
        return "No matrix has values."
    best, poor = rows[0], [names.level(factor, row.level) for row in rows if row.worst < 0.8]
    text = (
        f"{names.factor(factor)}: {names.level(factor, best.level)} is the steadiest; where it does worst it "
        f"reaches {percent(best.worst)} of the best."
    )
    return f"{text} Somewhere more than a fifth behind the best: {', '.join(poor)}." if poor else text


def comparison_text(row: ComparisonRow, written: FigureFormat) -> str:
    """Return the comparison of a row's levels with its base as a sentence."""
    base, *others = row.cells
    if any(min(cell.values) <= 0 for cell in row.cells):
        # Ratios to 0 are undefined, and significance is unknown.
        parts = [f"{cell.level} {written(row.figure, cell.median)}" for cell in others]
    else:
        parts = [_cell_text(row.figure, cell.level, cell.ratio, cell.differs) for cell in others]
    first = f"{base.level} {written(row.figure, base.median)}"
    return f"{row.workload}, {_figure_label(row.figure)}: {'; '.join([first, *parts])}."


def _cell_text(figure: str, level: str, ratio: float, differs: bool | None) -> str:  # noqa: FBT001 - a verdict
    if differs is None:
        return f"{level} {ratio:.2g} times that, of too few repeats to be sure"
    if not differs or abs(ratio - 1) < _MIN_RELEVANT_EFFECT:
        return f"{level} no difference"
    better = (ratio < 1) == lower_is_better(figure)
    return f"{level} {ratio:.2g} times that, which is {'better' if better else 'worse'}"


def _ahead_by_text(figure: str, standing: RankedSet, first: RankedSet) -> str:
    if not min(standing.median, first.median) > 0:
        return "ahead by more than chance"
    if lower_is_better(figure):
        return f"{percent(1 - first.median / standing.median)} less"
    return f"{percent(first.median / standing.median - 1)} faster"


def _figure_text(ranking: Ranking) -> str:
    return f"({_figure_label(ranking.figure)}{', sync and unmount counted in' if ranking.counted else ''})"


def _figure_label(figure: str) -> str:
    quantity = FIGURE_INFO.get(figure)
    return figure if quantity is None else quantity.label


#: Greatest detectable difference, as a fraction, that is quoted; above, the trials scatter too much.
_HUGE_DIFFERENCE = 10.0


def _detectable_text(ranking: Ranking) -> str:
    """Return which differences would have been detected, for experiments without a significant one."""
    if ranking.shows is None:
        return ""
    if ranking.shows <= _SMALL_DIFFERENCE:
        return (
            f"One of {percent(ranking.shows)} would have shown: it makes little difference which you choose."
        )
    least = (
        f"one above {percent(ranking.shows)}"
        if ranking.shows <= _HUGE_DIFFERENCE
        else "a many times larger one"
    )
    return f"Only {least} would have shown: more repeats, or a quieter link, would tell more."


def _listed(text: str, factors: Sequence[str]) -> list[str]:
    return [f"{text}: {', '.join(factors)}."] if factors else []


def percent(part: float) -> str:
    """Return a fraction as a percentage: ``14 %``."""
    return f"{100 * part:.0f} %"


def change_text(part: float) -> str:
    """Return a change, given as a fraction, with its sign: ``+14 %``, ``−3 %``, ``0 %``."""  # noqa: RUF002
    number = round(100 * part)
    sign = {1: "+", -1: "−"}.get((number > 0) - (number < 0), "")  # noqa: RUF001 - the sign
    return f"{sign}{abs(number)} %"


def _all_text(number: int) -> str:
    return "Both" if number == 2 else f"All {_number(number)}"


def _number(number: int) -> str:
    return _NUMBER_WORDS[number] if number < len(_NUMBER_WORDS) else str(number)


def search_headline(
    answer: SearchConclusion, retest: Retest | None, names: FactorNames = RECIPE_NAMES
) -> str:
    """Return the conclusion of a search in one or two short sentences."""
    verdict = search_verdict(answer, retest)
    if verdict == "better" and retest is not None:
        winner = set_text(retest.winner, retest.today, names)
        return f"{winner}: {percent(retest.whole.ratio - 1)} faster than the present setting, tested again."
    return f"{_SEARCH_HEADLINES[verdict]} Keep what you have."


_SEARCH_HEADLINES: dict[SearchVerdict, str] = {
    "present": "The present setting came first.",
    "untested": "Nothing is proven: the winner was not tested again.",
    "no-difference": "No difference found.",
    "worse": "Nothing better was found.",
}


def retest_texts(answer: SearchConclusion, retest: Retest | None, written: FigureFormat) -> list[str]:
    """Return the result of the retest, and the gain estimated by the search, as sentences."""
    if search_verdict(answer, retest) == "present":
        return []
    if retest is None or retest.whole.verdict == "unknown":
        rounds = f"{MIN_RETEST_ROUNDS} rounds of the winner and the present setting in turns"
        return [f"A re-test takes {rounds}. Allow more time, or more bytes, for it."]
    whole = retest.whole
    after, before = written(WRITE, whole.after), written(WRITE, whole.before)
    rounds = f"Tested again in {retest.rounds} rounds, in turns"
    sentences = [f"{rounds}: {after} against {before} with the present setting, {_retest_change(whole)}."]
    if retest.ways:
        ways = "; ".join(f"{_DIRECTION_NAMES[way.figure]} {_retest_change(way)}" for way in retest.ways)
        sentences.append(f"{ways[:1].upper()}{ways[1:]}.")
    if answer.current is not None:
        promised = change_text(answer.winner.median / answer.current.median - 1)
        sentences.append(
            f"The search had put it at {promised}: the first of many sets is in part the luckiest."
        )
    return sentences


_DIRECTION_NAMES = {WRITE: "writing", READ: "reading", BOTH_DIRECTIONS: "both ways"}


def _retest_change(found: RetestComparison) -> str:
    low, high = change_text(found.low - 1), change_text(found.high - 1)
    return f"{change_text(found.ratio - 1)} ({round(100 * found.confidence)} % interval {low} to {high})"


def search_texts(
    answer: SearchConclusion, figure: str, written: FigureFormat, names: FactorNames = RECIPE_NAMES
) -> list[str]:
    """Return the details of a search result as sentences: winner, runner-up, default and current setting.

    Args:
        answer: result of the search.
        figure: name of the optimized figure, of which more is better.
        written: formats a figure with its unit.
        names: labels of factors and levels.
    """
    winner = answer.winner
    counted = f"First of {answer.candidates} sets after {answer.trials} trials of {answer.tried} of them"
    sentences = [
        f"{counted}: {set_text(winner.levels, names=names)}, {_estimate_text(winner, figure, written)}."
    ]
    if answer.runner_up is not None:
        apart = answer.runner_up.high < winner.low
        sentences.append(
            f"The next is {set_text(answer.runner_up.levels, winner.levels, names)}, "
            f"{_estimate_text(answer.runner_up, figure, written)}"
            f"{'.' if apart else '; the two cannot be told apart.'}"
        )
    named: Mapping[str, SetEstimate | None] = {
        "The kernel's default": answer.default, "The present setting": answer.current
    }  # fmt: skip
    sentences += [
        _estimate_against_winner(name, found, winner, figure, written)
        for name, found in named.items()
        if found is not None
    ]
    sentences.append(certainty_text(answer))
    return sentences


def certainty_text(answer: SearchConclusion) -> str:
    """Return whether another set may be better than the winner, as a sentence."""
    if answer.decided:
        return "No other set is likely to be better by more than 5 %."
    return "Others may still be better by more than 5 %; more time would tell."


def _estimate_text(found: SetEstimate, figure: str, written: FigureFormat) -> str:
    low, high = written(figure, found.low), written(figure, found.high)
    return f"about {written(figure, found.median)} ({low} to {high})"


def _estimate_against_winner(
    name: str, found: SetEstimate, winner: SetEstimate, figure: str, written: FigureFormat
) -> str:
    if found.levels == winner.levels:
        return f"{name} is the first itself."
    text = f"{name} gives {_estimate_text(found, figure, written)}"
    if found.high >= winner.low:
        return f"{text}, which cannot be told apart from the first."
    return f"{text}, by the search's own figures."

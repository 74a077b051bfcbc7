"""Sentences about results of experiments and searches, for the command line, the window and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.experiment.measurements import FIGURE_INFO, READ, READ_TOTAL_S, WRITE, lower_is_better
from advisor.experiment.search import BOTH_DIRECTIONS, MIN_RETEST_ROUNDS, SearchVerdict, search_verdict
from app.text.translate import gettext as _
from app.text.translate import mark, ngettext

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
    return ", ".join(shown) or _("the same")


def winner_text(ranking: Ranking, written: FigureFormat, names: FactorNames = RECIPE_NAMES) -> str:
    """Return which set is best, and how many sets do not differ significantly from it."""
    if not ranking.standings:
        return _("No trial has a result.")
    first = ranking.standings[0]
    figure = _figure_text(ranking, written(ranking.figure, first.median))
    best = set_text(first.levels, names=names)
    if len(ranking.standings) == 1:
        template = _("The one set that ran: {set}, {figure}.")
        if ranking.unmeasured:
            template = _("The one set with a figure: {set}, {figure}.")
        return template.format(set=best, figure=figure)
    if not first.group:
        return _undecided_text(ranking, best, figure)
    together = ranking.group(1)
    if len(together) == 1:
        return _("{set} is best with {figure}. The difference from the next is significant.").format(
            set=best, figure=figure
        )
    if len(together) == len(ranking.standings):
        same = _("No significant difference between the two sets.")
        if len(together) > 2:
            same = _("No significant difference among all {count} sets.").format(count=len(together))
        return f"{same} {_detectable_text(ranking)}".rstrip()
    return _(
        "No significant difference among {count} of the {total} sets. The first of them is {set} with "
        "{figure}."
    ).format(count=len(together), total=len(ranking.standings), set=best, figure=figure)


def headline_text(
    found: Conclusion, figure: str, written: FigureFormat, names: FactorNames = RECIPE_NAMES
) -> str:
    """Return the conclusion of an experiment in one or two short sentences."""
    effect = found.effect
    if effect is not None:
        level, other = (names.level(effect.factor, each) for each in (effect.level, effect.reference))
        template = _(
            "{factor}: {level} is {gain} better than {other}, over all sets together. Which set is best is "
            "not proven."
        )
        if lower_is_better(figure):
            template = _(
                "{factor}: {level} takes {gain} less than {other}, over all sets together. Which set is best "
                "is not proven."
            )
        amount = _gain(figure, effect.ratio)
        return template.format(factor=names.factor(effect.factor), level=level, other=other, gain=amount)
    gain = found.gain
    if found.verdict != "better" or gain is None:
        return _(_CONCLUSION_TEXTS[found.verdict])
    if lower_is_better(figure):
        template = _("{set} takes {gain} less than the reference: {median} against {reference}.")
        if gain.at:
            template = _(
                "{set} takes {gain} less than the reference: {median} against {reference} (with {at})."
            )
    else:
        template = _("{set} is {gain} better than the reference: {median} against {reference}.")
        if gain.at:
            template = _(
                "{set} is {gain} better than the reference: {median} against {reference} (with {at})."
            )
    return template.format(
        set=set_text(gain.levels, gain.reference, names),
        gain=_gain(figure, gain.ratio),
        median=written(figure, gain.median),
        reference=written(figure, gain.reference_median),
        at=set_text(gain.at, names=names),
    )


def _gain(figure: str, ratio: float) -> str:
    return percent(1 - 1 / ratio if lower_is_better(figure) else ratio - 1)


_CONCLUSION_TEXTS = {
    "none-better": mark(
        "No set was better than the reference, and some were worse. Keep the present setting."
    ),
    "no-difference": mark("No difference found. Keep the present setting."),
    "too-few": mark("Nothing is proven: too few trials were repeated. Keep the present setting."),
    "alone": mark("Only one set has a result, so there is no comparison."),
    "nothing": mark("No trial has a result."),
}


def gain_text(found: Conclusion) -> str:
    """Return the interval of a gain as a sentence, or "" if the conclusion has no gain."""
    gain = found.gain
    if gain is None:
        return ""
    low, high = change_text(gain.low - 1), change_text(gain.high - 1)
    return _("The gain lies between {low} and {high}, if both intervals hold (95% each).").format(
        low=low, high=high
    )


def single_color_note(differs: bool | None) -> str:  # noqa: FBT001 - a verdict
    """Return why a matrix is drawn in one color, or "" if its cells differ significantly."""
    if differs is None:
        return _("Too few trials were repeated to compare these cells, so they have one color.")
    return "" if differs else _("These cells do not differ significantly, so they have one color.")


def detectable_difference_text(repeats: int, shown: float | None, more: tuple[int, float] | None) -> str:
    """Return the smallest detectable difference of a planned experiment as a sentence.

    Args:
        repeats: repeats of each set.
        shown: smallest significant difference if trials scatter by 5 %, as a fraction; None if no
            difference can be significant.
        more: a greater number of repeats and its smallest significant difference, or None.
    """
    if shown is None:
        text = ngettext(
            "{count} repeat of each set cannot show a significant difference.",
            "{count} repeats of each set cannot show a significant difference.",
            repeats,
        ).format(count=repeats)
    else:
        text = ngettext(
            "{count} repeat of each set can only show a difference above {least}, where trials scatter "
            "by 5%.",
            "{count} repeats of each set can only show a difference above {least}, where trials "
            "scatter by 5%.",
            repeats,
        ).format(count=repeats, least=percent(shown))
    if more is None:
        return text
    better = _("{count} repeats would show one above {least}.").format(count=more[0], least=percent(more[1]))
    return f"{text} {better}"


def _undecided_text(ranking: Ranking, best: str, figure: str) -> str:
    """Return which set came first if the error is unknown, so that no difference is significant."""
    standings = ranking.standings
    if standings[0].median > 0:
        template = _(
            "{set} came first with {figure}, but too few trials were repeated to tell the difference "
            "from chance."
        )
        if _has_zeros(ranking):
            template = _(
                "{set} came first with {figure}, but where trials have 0, no difference can be told "
                "from chance."
            )
        return template.format(set=best, figure=figure)
    alike = _equal_medians(ranking)
    if alike == len(standings) == 2:
        return _("Both sets come out alike, with a median of {figure}.").format(figure=figure)
    if alike == len(standings):
        return _("All {count} sets come out alike, with a median of {figure}.").format(
            count=alike, figure=figure
        )
    if alike == 1:
        return _(
            "{set} came first with {figure}. How the rest differs from 0 cannot be told from chance."
        ).format(set=best, figure=figure)
    return ngettext(
        "{set} came first with {figure}, and {count} other set with the same. How the rest differs "
        "from 0 cannot "
        "be told from chance.",
        "{set} came first with {figure}, and {count} other sets with the same. How the rest differs "
        "from 0 cannot "
        "be told from chance.",
        alike - 1,
    ).format(set=best, figure=figure, count=alike - 1)


def _equal_medians(ranking: Ranking) -> int:
    """Return the number of sets with the same median as the first set."""
    return sum(standing.median == ranking.standings[0].median for standing in ranking.standings)


def _has_zeros(ranking: Ranking) -> bool:
    """Whether trials have 0, so that ratios are undefined."""
    return any(min(standing.values) <= 0 for standing in ranking.standings)


def unmeasured_text(ranking: Ranking) -> str:
    """Return how many completed trials lack the figure, and why; "" if all have it."""
    count = ranking.unmeasured
    if not count:
        return ""
    if ranking.figure in {READ, READ_TOTAL_S}:
        return ngettext(
            "{count} trial has no figure here: the read came from this computer's memory, not from the "
            "server. A "
            "set without any is not in the ranking.",
            "{count} trials have no figure here: the reads came from this computer's memory, not from "
            "the server. "
            "A set without any is not in the ranking.",
            count,
        ).format(count=count)
    return ngettext(
        "{count} trial has no figure here: it could not be measured. A set without any is not in the "
        "ranking.",
        "{count} trials have no figure here: it could not be measured. A set without any is not in the "
        "ranking.",
        count,
    ).format(count=count)


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
    values = {"name": name, "figure": written(ranking.figure, standing.median), "place": standing.place}
    if not standing.group and _equal_medians(ranking) > 1 and standing.median == first.median <= 0:
        template = _("{name} is among the first, with {figure}.")
    elif standing is first:
        template = _("{name} came first, with {figure}.")
    elif not standing.group and _has_zeros(ranking):
        template = _(
            "{name} has rank {place} with {figure}. Where trials have 0, no difference can be told "
            "from chance."
        )
    elif not standing.group:
        template = _(
            "{name} has rank {place} with {figure}. Too few trials were repeated to tell the "
            "difference from chance."
        )
    elif standing.group == first.group:
        template = _("{name} ({figure}) does not differ significantly from the best.")
    else:
        template, gain = _ahead(ranking.figure, standing, first)
        return template.format(**values, gain=gain)
    return template.format(**values)


def interval_text(standing: RankedSet) -> str:
    """Return the method of a ranked set's interval as a sentence."""
    count = len(standing.values)
    if standing.method == "sign-test":
        template = _(
            "The interval is that of the sign test over {count} repeats: no distribution is assumed."
        )
    elif standing.method == "bootstrap":
        template = ngettext(
            "The interval is for {count} repeat, by bootstrap of how much all trials of the same sets "
            "differed.",
            "The interval is for {count} repeats, by bootstrap of how much all trials of the same sets "
            "differed.",
            count,
        )
    else:
        template = ngettext(
            "The interval is the range of {count} repeat, too few for a confidence interval.",
            "The interval is the range of {count} repeats, too few for a confidence interval.",
            count,
        )
    return template.format(count=count)


def sync_time_text(name: str, figure: str, alone: float, counted: float, written: FigureFormat) -> str:
    """Return a figure with and without the time to sync and unmount as a sentence.

    Args:
        name: label of the option set.
        figure: name of the figure.
        alone: value without the time to sync and unmount.
        counted: value with the time to sync and unmount.
        written: formats a figure with its unit.
    """
    return _(
        "{name}: {alone} for the transfer alone, {counted} including the time to sync and unmount."
    ).format(name=name, alone=written(figure, alone), counted=written(figure, counted))


def drift_text(drift: BaselineDrift) -> str:
    """Return whether the baseline drifted during the run, as one or two sentences."""
    label = _figure_label(drift.figure)
    if drift.notable is None:
        template = _("The control ran too seldom to show whether its {figure} drifted during the run.")
    elif not drift.notable:
        template = _("The control's {figure} did not drift during the run.")
    elif drift.change > 0:
        template = _(
            "The control's {figure} rose by {change} during the run. The random order spreads this "
            "over all sets "
            "alike, but compare small differences with care."
        )
    else:
        template = _(
            "The control's {figure} fell by {change} during the run. The random order spreads this "
            "over all sets "
            "alike, but compare small differences with care."
        )
    return template.format(figure=label, change=percent(abs(drift.change)))


def rank_texts(sums: Sequence[RankSums], names: FactorNames = RECIPE_NAMES) -> list[str]:
    """Return the best level by rank of each factor; factors without significant ranks share a sentence."""
    sentences: list[str] = []
    for one in sums:
        if one.notable:
            ordered = sorted(one.levels, key=lambda level: level.mean)
            first, last = ordered[0], ordered[-1]
            ahead, behind = (names.level(one.factor, each.level) for each in (first, last))
            sentences.append(
                _(
                    "{factor}: {ahead} is usually ahead (mean rank {mean:.0f} of {total}), {behind} "
                    "usually last "
                    "({last:.0f})."
                ).format(
                    factor=names.factor(one.factor),
                    ahead=ahead,
                    behind=behind,
                    mean=first.mean,
                    last=last.mean,
                    total=sum(level.trials for level in one.levels),
                )
            )
    chance = [names.factor(one.factor) for one in sums if not one.notable]
    return [
        *sentences,
        *_listed(_("With the other settings equal, no value is significantly better: {factors}."), chance),
    ]


def effect_texts(effects: Sequence[FactorEffect], names: FactorNames = RECIPE_NAMES) -> list[str]:
    """Return the main effect of each factor; factors without a significant effect share a sentence."""
    strong = [one for one in effects if one.notable and one.gain >= _MIN_RELEVANT_EFFECT]
    sentences = [
        _(
            "{factor}: {level} is best, {gain} ahead of the worst level. Alone it explains {share} of all "
            "differences."
        ).format(
            factor=names.factor(one.factor),
            level=names.level(one.factor, one.best),
            gain=percent(one.gain),
            share=percent(one.share),
        )
        for one in strong
    ]
    unknown = [names.factor(one.factor) for one in effects if one.notable is None]
    weak = [names.factor(one.factor) for one in effects if one not in strong and one.notable is not None]
    return [
        *sentences,
        *_listed(_("No relevant difference was found: {factors}."), weak),
        *_listed(_("Too few trials were repeated for a significant effect: {factors}."), unknown),
    ]


def interaction_text(interaction: Interaction, names: FactorNames = RECIPE_NAMES) -> str:
    """Return whether two factors interact, so that their levels have to be chosen together."""
    first, second = map(names.factor, interaction.factors)
    if interaction.notable is None:
        template = _("{first} and {second}: too few trials were repeated to say whether they interact.")
    elif not interaction.notable or interaction.share < _MIN_RELEVANT_EFFECT:
        template = _("{first} and {second}: no interaction was found, so each can be chosen alone.")
    else:
        template = _(
            "{first} and {second} interact, so choose them together. The combination explains {share} of all "
            "differences."
        )
    return template.format(first=first, second=second, share=percent(interaction.share))


def best_levels_text(curves: Sequence[FactorCurve], names: FactorNames = RECIPE_NAMES) -> str:
    """Return the best level of each factor that was varied alone, like a row of seed 000's Figure 14."""
    if not curves:
        return _("No setting was varied.")
    best = [
        (curve, _("any") if curve.best is None else names.level(curve.factor, curve.best))
        for curve in curves
        if curve.told
    ]
    unknown = [names.factor(curve.factor) for curve in curves if not curve.told]
    known = [f"{names.factor(curve.factor)} {level}" for curve, level in best]
    sentences = _listed(_("Best settings found: {factors}."), known)
    sentences += _listed(_("No value is significantly better: {factors}."), unknown)
    return " ".join(sentences)


def consistency_text(rows: Sequence[LevelConsistency], factor: str, names: FactorNames = RECIPE_NAMES) -> str:
    """Return which row level of a matrix is the most consistent over all columns, and which are poor."""
    if not rows:
        return _("No matrix has values.")
    best, poor = rows[0], [names.level(factor, row.level) for row in rows if row.worst < 0.8]
    text = _("{factor}: {level} is the steadiest. Its worst value is {share} of the best.").format(
        factor=names.factor(factor), level=names.level(factor, best.level), share=percent(best.worst)
    )
    return " ".join([text, *_listed(_("Somewhere more than 20% behind the best: {factors}."), poor)])


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
        template = _("{level} {ratio:.2g} times that, with too few repeats for a conclusion")
    elif not differs or abs(ratio - 1) < _MIN_RELEVANT_EFFECT:
        template = _("{level} no difference")
    elif (ratio < 1) == lower_is_better(figure):
        template = _("{level} {ratio:.2g} times that, which is better")
    else:
        template = _("{level} {ratio:.2g} times that, which is worse")
    return template.format(level=level, ratio=ratio)


def _ahead(figure: str, standing: RankedSet, first: RankedSet) -> tuple[str, str]:
    """Return a sentence on a set that is significantly behind the best, and by how much the best is ahead."""
    if not min(standing.median, first.median) > 0:
        return _("{name} has rank {place} with {figure}. The best is significantly better."), ""
    if lower_is_better(figure):
        gain = percent(1 - first.median / standing.median)
        return _("{name} has rank {place} with {figure}. The best takes {gain} less."), gain
    gain = percent(first.median / standing.median - 1)
    return _("{name} has rank {place} with {figure}. The best is {gain} faster."), gain


def _figure_text(ranking: Ranking, value: str) -> str:
    template = (
        _("{value} ({figure}, including sync and unmount)") if ranking.counted else _("{value} ({figure})")
    )
    return template.format(value=value, figure=_figure_label(ranking.figure))


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
        template = _("A difference of {least} would have been detected, so the choice matters little.")
    elif ranking.shows <= _HUGE_DIFFERENCE:
        template = _(
            "Only a difference above {least} would have been detected. Use more repeats or a quieter link."
        )
    else:
        template = _(
            "Only a many times larger difference would have been detected. "
            "Use more repeats or a quieter link."
        )
    return template.format(least=percent(ranking.shows))


def _listed(template: str, factors: Sequence[str]) -> list[str]:
    return [template.format(factors=", ".join(factors))] if factors else []


def percent(part: float) -> str:
    """Return a fraction as a percentage: ``14%``."""
    return f"{100 * part:.0f}%"


def change_text(part: float) -> str:
    """Return a change, given as a fraction, with its sign: ``+14%``, ``−3%``, ``0%``."""  # noqa: RUF002
    number = round(100 * part)
    sign = {1: "+", -1: "−"}.get((number > 0) - (number < 0), "")  # noqa: RUF001 - the sign
    return f"{sign}{abs(number)}%"


def search_headline(
    answer: SearchConclusion, retest: Retest | None, names: FactorNames = RECIPE_NAMES
) -> str:
    """Return the conclusion of a search in one or two short sentences."""
    verdict = search_verdict(answer, retest)
    if verdict == "better" and retest is not None:
        return _("{set}: {gain} faster than the present setting, tested again.").format(
            set=set_text(retest.winner, retest.today, names), gain=percent(retest.whole.ratio - 1)
        )
    return _(_SEARCH_HEADLINES[verdict])


_SEARCH_HEADLINES: dict[SearchVerdict, str] = {
    "present": mark("Keep the present setting: it has rank 1."),
    "untested": mark("Nothing is proven: the winner was not tested again. Keep the present setting."),
    "no-difference": mark("No difference found. Keep the present setting."),
    "worse": mark("No better setting was found. Keep the present setting."),
}


def retest_texts(answer: SearchConclusion, retest: Retest | None, written: FigureFormat) -> list[str]:
    """Return the result of the retest, and the gain estimated by the search, as sentences."""
    if search_verdict(answer, retest) == "present":
        return []
    if retest is None or retest.whole.verdict == "unknown":
        return [
            _(
                "A re-test takes {count} rounds of the winner and the present setting in turns. Allow "
                "more time, or "
                "more bytes, for it."
            ).format(count=MIN_RETEST_ROUNDS)
        ]
    whole = retest.whole
    sentences = [
        _(
            "Tested again in {count} rounds, in turns: {after} against {before} with the present "
            "setting, {change}."
        ).format(
            count=retest.rounds,
            after=written(WRITE, whole.after),
            before=written(WRITE, whole.before),
            change=_retest_change(whole),
        )
    ]
    sentences += [_(_RETEST_DIRECTIONS[way.figure]).format(change=_retest_change(way)) for way in retest.ways]
    if answer.current is not None:
        promised = change_text(answer.winner.median / answer.current.median - 1)
        sentences.append(
            _("The search had put it at {change}: the first of many sets is in part the luckiest.").format(
                change=promised
            )
        )
    return sentences


_RETEST_DIRECTIONS = {
    WRITE: mark("Writing {change}."),
    READ: mark("Reading {change}."),
    BOTH_DIRECTIONS: mark("Both directions {change}."),
}


def _retest_change(found: RetestComparison) -> str:
    return _("{change} ({confidence}% CI {low} to {high})").format(
        change=change_text(found.ratio - 1),
        confidence=round(100 * found.confidence),
        low=change_text(found.low - 1),
        high=change_text(found.high - 1),
    )


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
    sentences = [
        _("First of {candidates} sets after {trials} trials of {tried} of them: {set}, {estimate}.").format(
            candidates=answer.candidates,
            trials=answer.trials,
            tried=answer.tried,
            set=set_text(winner.levels, names=names),
            estimate=_estimate_text(winner, figure, written),
        )
    ]
    if answer.runner_up is not None:
        template = _("The next is {set}, {estimate}. It does not differ significantly.")
        if answer.runner_up.high < winner.low:
            template = _("The next is {set}, {estimate}.")
        sentences.append(
            template.format(
                set=set_text(answer.runner_up.levels, winner.levels, names),
                estimate=_estimate_text(answer.runner_up, figure, written),
            )
        )
    named: Mapping[str, SetEstimate | None] = {
        _("The kernel's default"): answer.default, _("The present setting"): answer.current
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
        return _("No other set is likely to be better by more than 5%.")
    return _("Other sets may still be better by more than 5%. Allow more time to find out.")


def _estimate_text(found: SetEstimate, figure: str, written: FigureFormat) -> str:
    return _("about {median} ({low} to {high})").format(
        median=written(figure, found.median), low=written(figure, found.low), high=written(figure, found.high)
    )


def _estimate_against_winner(
    name: str, found: SetEstimate, winner: SetEstimate, figure: str, written: FigureFormat
) -> str:
    if found.levels == winner.levels:
        template = _("{name} is the first itself.")
    elif found.high >= winner.low:
        template = _("{name} gives {estimate}, which does not differ significantly from the first.")
    else:
        template = _("{name} gives {estimate}, by the search's own figures.")
    return template.format(name=name, estimate=_estimate_text(found, figure, written))

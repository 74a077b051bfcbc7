"""What an experiment found, in plain sentences for the command line, the window and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.experiment.measurements import QUANTITIES, READ, READ_TOTAL_S
from advisor.experiment_values import lower_is_better

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from advisor.experiment.ranking import Drift, Ranking, Standing
    from advisor.experiment.tables import Curve, Steadiness, TableRow
    from advisor.experiment_conclusion import Conclusion
    from advisor.experiment_effects import Effect, Interaction, PlaceSums

    #: Writes a figure with its unit, as the person wants speeds.
    Format = Callable[[str, float], str]

_COUNTS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
#: Differences below this are not worth a word.
_WORTH = 0.03
#: Where a difference of this size would have been seen and was not, none matters much.
_SMALL = 0.1


@dataclass(frozen=True, slots=True)
class Names:
    """What sentences call factors and levels: as they are written in a recipe, if nothing else is given.

    Attributes:
        factor: from its name.
        level: from the factor's name and the level.
        between: what stands between the two.
    """

    factor: Callable[[str], str] = str
    level: Callable[[str, str], str] = lambda _factor, level: level
    between: str = "="


AS_WRITTEN = Names()


def set_text(
    levels: Mapping[str, str], besides: Mapping[str, str] | None = None, names: Names = AS_WRITTEN
) -> str:
    """Return an option set in words: ``rsize=65536, nconnect=4``.

    Args:
        levels: factor to level.
        besides: if given, levels that are the same there are left out; “the same” if all are.
        names: of factors and levels.
    """
    shown = [
        f"{names.factor(name)}{names.between}{names.level(name, level)}"
        for name, level in levels.items()
        if (besides or {}).get(name) != level
    ]
    return ", ".join(shown) or "the same"


def winner_text(ranking: Ranking, written: Format, names: Names = AS_WRITTEN) -> str:
    """Return who is first, and which others cannot be told apart from it."""
    if not ranking.standings:
        return "No trial gave a result."
    first = ranking.standings[0]
    figure = f"{written(ranking.figure, first.median)} {_what(ranking)}"
    best = set_text(first.levels, names=names)
    if len(ranking.standings) == 1:
        alone = "with a figure" if ranking.unmeasured else "that ran"
        return f"The one set {alone}: {best}, {figure}."
    if not first.group:
        return _unsure_text(ranking, best, figure)
    together = ranking.group(1)
    if len(together) == 1:
        text = f"{best} is best with {figure}."
        return f"{text} The difference from the next is more than chance."
    if len(together) == len(ranking.standings):
        return (
            f"{_all(len(together))} sets cannot be told apart: their differences are within what "
            f"chance gives. {_shown(ranking)}"
        )
    return (
        f"{_count(len(together)).capitalize()} of the {_count(len(ranking.standings))} sets cannot be told "
        f"apart; first among them is {best} with {figure}."
    )


def headline_text(found: Conclusion, figure: str, written: Format, names: Names = AS_WRITTEN) -> str:
    """Return what an experiment shows, in one or two short sentences."""
    gain, effect = found.gain, found.effect
    if effect is not None:
        level, other = (names.level(effect.factor, each) for each in (effect.level, effect.reference))
        ahead = f"{names.factor(effect.factor)}: {level} is {_better_by(figure, effect.ratio)} than {other}"
        return f"{ahead}, over all sets together. Which set is best is not proven."
    if found.verdict != "better" or gain is None:
        return _HEADLINES[found.verdict]
    better = set_text(gain.levels, gain.reference, names)
    where = f" (with {set_text(gain.at, names=names)})" if gain.at else ""
    medians = f"{written(figure, gain.median)} against {written(figure, gain.reference_median)}"
    if lower_is_better(figure):
        return f"{better} takes {percent(1 - 1 / gain.ratio)} less than the reference: {medians}{where}."
    return f"{better} is {percent(gain.ratio - 1)} better than the reference: {medians}{where}."


def _better_by(figure: str, ratio: float) -> str:
    return f"{percent(1 - 1 / ratio)} less" if lower_is_better(figure) else f"{percent(ratio - 1)} better"


_HEADLINES = {
    "none-better": "Nothing was better than the reference, and some was worse. Keep what you have.",
    "no-difference": "No difference found. Keep what you have.",
    "too-few": "Nothing is proven: too few trials were repeated. Keep what you have.",
    "alone": "One set gave a result, and there is none to compare it with.",
    "nothing": "No trial gave a result.",
}


def gain_text(found: Conclusion) -> str:
    """Return how sure a gain is, in one sentence; "" where there is none."""
    gain = found.gain
    if gain is None:
        return ""
    low, high = change_text(gain.low - 1), change_text(gain.high - 1)
    return f"The gain lies between {low} and {high}, if both intervals hold (95 % each)."


def noise_note(differs: bool | None) -> str:  # noqa: FBT001 - a verdict
    """Return why a matrix is drawn in one color, "" where it is not."""
    if differs is None:
        return "Too few trials were repeated to tell these cells from chance: they are drawn in one color."
    return "" if differs else "These cells do not differ by more than chance: they are drawn in one color."


def power_text(repeats: int, shown: float | None, more: tuple[int, float] | None) -> str:
    """Return what so many repeats cannot show, before they are run.

    Args:
        repeats: of each set.
        shown: the smallest difference that would be more than chance where trials scatter by 5 %, as a
            fraction; None if nothing can be told from chance.
        more: a number of repeats and what it would show, None for nothing better.
    """
    count = "One repeat" if repeats == 1 else f"{_count(repeats).capitalize()} repeats"
    better = ""
    if more is not None:
        better = f" {_count(more[0]).capitalize()} repeats would show one above {percent(more[1])}."
    if shown is None:
        return f"{count} of each set cannot show any difference: nothing tells it from chance.{better}"
    large = f"{count} of each set can only show a difference above {percent(shown)}"
    return f"{large}, where trials scatter by 5 %.{better}"


def _unsure_text(ranking: Ranking, best: str, figure: str) -> str:
    """Return who is first where nothing tells the differences from chance."""
    standings = ranking.standings
    if standings[0].median > 0:
        return f"{best} came first with {figure}, but {_unknown(ranking)}."
    alike = _alike(ranking)
    if alike == len(standings):
        return f"{_all(alike)} sets come out alike, with a median of {figure}."
    others = "one other set" if alike == 2 else f"{_count(alike - 1)} other sets"
    same = f", and {others} with the same" if alike > 1 else ""
    return f"{best} came first with {figure}{same}. How the rest differs from 0 cannot be told from chance."


def _alike(ranking: Ranking) -> int:
    """Return how many sets have the median of the first."""
    return sum(standing.median == ranking.standings[0].median for standing in ranking.standings)


def _unknown(ranking: Ranking) -> str:
    """Return why a difference cannot be told from chance."""
    if any(min(standing.values) <= 0 for standing in ranking.standings):
        return "where trials have 0, no difference can be told from chance"
    return "too few trials were repeated to tell the difference from chance"


def unmeasured_text(ranking: Ranking) -> str:
    """Return how many trials ran and have no such figure, and why; "" if all have."""
    count = ranking.unmeasured
    if not count:
        return ""
    trials = "One trial has" if count == 1 else f"{count} trials have"
    cause = "it could not be measured"
    if ranking.figure in {READ, READ_TOTAL_S}:
        cause = "what was read came from this computer's memory, not from the server"
    return f"{trials} no figure here: {cause}. A set without any is not in the ranking."


def against_text(ranking: Ranking, levels: dict[str, str], name: str, written: Format) -> str:
    """Return how an option set compares with the best, or "" if it was not measured.

    Args:
        ranking: of all sets.
        levels: of the set, such as the kernel's default.
        name: what it is called.
        written: writes a figure with its unit.
    """
    standing, first = ranking.of(levels), ranking.standings[0] if ranking.standings else None
    if standing is None or first is None:
        return ""
    figure = written(ranking.figure, standing.median)
    if not standing.group and _alike(ranking) > 1 and standing.median == first.median <= 0:
        return f"{name} is among the first, with {figure}."
    if standing is first:
        return f"{name} came first, with {figure}."
    if not standing.group:
        return f"{name} is in place {standing.place} with {figure}; {_unknown(ranking)}."
    if standing.group == first.group:
        return f"{name} ({figure}) cannot be told apart from the best."
    ahead = _by(ranking.figure, standing, first)
    return f"{name} is in place {standing.place} with {figure}; the best is {ahead}."


def interval_text(standing: Standing) -> str:
    """Return how a standing's interval was made, in one sentence."""
    count = len(standing.values)
    repeats = "one repeat" if count == 1 else f"{_count(count)} repeats"
    if standing.method == "sign test":
        return f"The interval is that of the sign test over {repeats}: no distribution is assumed."
    if standing.method == "bootstrap":
        return (
            f"The interval is for {repeats}, by bootstrap of how much all trials of the same sets differed."
        )
    return f"The interval is the range of {repeats}, too few to say how sure it is."


def counted_text(name: str, figure: str, alone: float, counted: float, written: Format) -> str:
    """Return what counting sync and unmount in makes of a figure, in one sentence.

    Args:
        name: of the option set.
        figure: its name.
        alone: without.
        counted: with.
        written: writes a figure with its unit.
    """
    return (
        f"{name}: {written(figure, alone)} for the transfer alone, {written(figure, counted)} with the time "
        "to sync and unmount counted in."
    )


def drift_text(drift: Drift) -> str:
    """Return whether the baseline moved during the run."""
    label = _label(drift.figure)
    if drift.notable is None:
        return f"The baseline ran too seldom to tell whether its {label} drifted during the run."
    if not drift.notable:
        return f"No drift of the baseline's {label} was found during the run."
    way = "rose" if drift.change > 0 else "fell"
    return (
        f"The baseline's {label} {way} by {percent(abs(drift.change))} during the run. The random order "
        "spreads this over all sets alike, but compare small differences with care."
    )


def place_texts(sums: Sequence[PlaceSums], names: Names = AS_WRITTEN) -> list[str]:
    """Return which level of each factor is usually ahead; where chance may say so, in one sentence."""
    said: list[str] = []
    for one in sums:
        if one.notable:
            ordered = sorted(one.levels, key=lambda level: level.mean)
            first, last = ordered[0], ordered[-1]
            ahead, behind = (names.level(one.factor, each.level) for each in (first, last))
            said.append(
                f"{names.factor(one.factor)}: {ahead} is usually ahead (average place {first.mean:.0f} of "
                f"{sum(level.trials for level in one.levels)}), "
                f"{behind} usually last ({last.mean:.0f})."
            )
    chance = [names.factor(one.factor) for one in sums if not one.notable]
    return [*said, *_of("Everything else being equal, no level is ahead by more than chance", chance)]


def effect_texts(effects: Sequence[Effect], names: Names = AS_WRITTEN) -> list[str]:
    """Return what each factor does; those that do nothing that was found, in one sentence."""
    strong = [one for one in effects if one.notable and one.gain >= _WORTH]
    said = [
        f"{names.factor(one.factor)}: {names.level(one.factor, one.best)} is best, {percent(one.gain)} "
        f"ahead of the worst level; alone it explains {percent(one.share)} of all differences."
        for one in strong
    ]
    unknown = [names.factor(one.factor) for one in effects if one.notable is None]
    weak = [names.factor(one.factor) for one in effects if one not in strong and one.notable is not None]
    return [
        *said,
        *_of("No difference that counts was found", weak),
        *_of("Too few trials were repeated to tell an effect from chance", unknown),
    ]


def interaction_text(interaction: Interaction, names: Names = AS_WRITTEN) -> str:
    """Return whether two factors have to be chosen together."""
    first, second = map(names.factor, interaction.factors)
    if interaction.notable is None:
        return f"{first} and {second}: too few trials were repeated to say whether they act on each other."
    if not interaction.notable or interaction.share < _WORTH:
        return f"{first} and {second}: nothing was found that says they have to be chosen together."
    return (
        f"{first} and {second} have to be chosen together: what they do in combination explains "
        f"{percent(interaction.share)} of all differences."
    )


def row_text(curves: Sequence[Curve], names: Names = AS_WRITTEN) -> str:
    """Return the best level of each factor that was varied alone, as a row of seed 000's Figure 14."""
    if not curves:
        return "No setting was varied."
    best = [
        (curve, "any" if curve.best is None else names.level(curve.factor, curve.best))
        for curve in curves
        if curve.told
    ]
    unknown = [names.factor(curve.factor) for curve in curves if not curve.told]
    return " ".join([
        *_of("Best settings found", [f"{names.factor(curve.factor)} {level}" for curve, level in best]),
        *_of("Which level is best cannot be told from chance", unknown),
    ])  # fmt: skip


def steady_text(rows: Sequence[Steadiness], factor: str, names: Names = AS_WRITTEN) -> str:
    """Return which level of a matrix's rows holds over all its columns, and which do not."""
    if not rows:
        return "No matrix has values."
    best, poor = rows[0], [names.level(factor, row.level) for row in rows if row.worst < 0.8]
    text = (
        f"{names.factor(factor)}: {names.level(factor, best.level)} is the steadiest; where it does worst it "
        f"reaches {percent(best.worst)} of the best."
    )
    return f"{text} Somewhere more than a fifth behind the best: {', '.join(poor)}." if poor else text


def comparison_text(row: TableRow, written: Format) -> str:
    """Return how the levels of a row compare with its base."""
    base, *others = row.cells
    if any(min(cell.values) <= 0 for cell in row.cells):
        # There are no ratios to 0, and none tells a difference from chance.
        parts = [f"{cell.level} {written(row.figure, cell.median)}" for cell in others]
    else:
        parts = [_cell_text(row.figure, cell.level, cell.ratio, cell.differs) for cell in others]
    first = f"{base.level} {written(row.figure, base.median)}"
    return f"{row.workload}, {_label(row.figure)}: {'; '.join([first, *parts])}."


def _cell_text(figure: str, level: str, ratio: float, differs: bool | None) -> str:  # noqa: FBT001 - a verdict
    if differs is None:
        return f"{level} {ratio:.2g} times that, of too few repeats to be sure"
    if not differs or abs(ratio - 1) < _WORTH:
        return f"{level} no difference"
    better = (ratio < 1) == lower_is_better(figure)
    return f"{level} {ratio:.2g} times that, which is {'better' if better else 'worse'}"


def _by(figure: str, standing: Standing, first: Standing) -> str:
    if not min(standing.median, first.median) > 0:
        return "ahead by more than chance"
    if lower_is_better(figure):
        return f"{percent(1 - first.median / standing.median)} less"
    return f"{percent(first.median / standing.median - 1)} faster"


def _what(ranking: Ranking) -> str:
    return f"({_label(ranking.figure)}{', sync and unmount counted in' if ranking.counted else ''})"


def _label(figure: str) -> str:
    quantity = QUANTITIES.get(figure)
    return figure if quantity is None else quantity.label


#: A difference above this is told as such: its figure says only that the trials were no measure of anything.
_HUGE = 10.0


def _shown(ranking: Ranking) -> str:
    """Return what may be concluded where no difference was found."""
    if ranking.shows is None:
        return ""
    if ranking.shows <= _SMALL:
        return (
            f"One of {percent(ranking.shows)} would have shown: it makes little difference which you choose."
        )
    least = f"one above {percent(ranking.shows)}" if ranking.shows <= _HUGE else "a many times larger one"
    return f"Only {least} would have shown: more repeats, or a quieter link, would tell more."


def _of(text: str, factors: Sequence[str]) -> list[str]:
    return [f"{text}: {', '.join(factors)}."] if factors else []


def percent(part: float) -> str:
    """Return a part of a whole in per cent."""
    return f"{100 * part:.0f} %"


def change_text(part: float) -> str:
    """Return a change with its sign: ``+14 %``, ``−3 %``, ``0 %``."""  # noqa: RUF002 - the sign
    number = round(100 * part)
    sign = {1: "+", -1: "−"}.get((number > 0) - (number < 0), "")  # noqa: RUF001 - the sign
    return f"{sign}{abs(number)} %"


def _all(number: int) -> str:
    return "Both" if number == 2 else f"All {_count(number)}"


def _count(number: int) -> str:
    return _COUNTS[number] if number < len(_COUNTS) else str(number)

"""What an experiment found, in plain sentences for the command line, the window and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.experiment_values import lower_is_better
from advisor.trials import QUANTITIES, READ, READ_TOTAL_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from advisor.experiment_analysis import Drift, Ranking, Standing
    from advisor.experiment_effects import Effect, Interaction, PlaceSums
    from advisor.experiment_tables import Curve, Steadiness, TableRow
    from advisor.search import Answer, Found

    #: Writes a figure with its unit, as the person wants speeds.
    Format = Callable[[str, float], str]

_COUNTS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
#: Differences below this are not worth a word.
_WORTH = 0.03
#: Where a difference of this size would have been seen and was not, none matters much.
_SMALL = 0.1
#: So many trials of a search tell what chance does, also where none was repeated.
_MANY = 12


def set_text(levels: Mapping[str, str], besides: Mapping[str, str] | None = None) -> str:
    """Return an option set in words: ``rsize=65536, nconnect=4``.

    Args:
        levels: factor to level.
        besides: if given, levels that are the same there are left out; “the same” if all are.
    """
    shown = [f"{name}={level}" for name, level in levels.items() if (besides or {}).get(name) != level]
    return ", ".join(shown) or "the same"


def winner_text(ranking: Ranking, written: Format) -> str:
    """Return who is first, and which others cannot be told apart from it."""
    if not ranking.standings:
        return "No trial gave a result."
    first = ranking.standings[0]
    figure = f"{written(ranking.figure, first.median)} {_what(ranking)}"
    if len(ranking.standings) == 1:
        return f"The one set that ran: {set_text(first.levels)}, {figure}."
    if not first.group:
        return (
            f"{set_text(first.levels)} came first with {figure}, but too few trials were repeated to tell "
            "the difference from chance."
        )
    together = ranking.group(1)
    if len(together) == 1:
        text = f"{set_text(first.levels)} is best with {figure}."
        return f"{text} The difference from the next is more than chance."
    if len(together) == len(ranking.standings):
        return (
            f"All {_count(len(together))} sets cannot be told apart: their differences are within what "
            f"chance gives. {_shown(ranking)}"
        )
    return (
        f"These {_count(len(together))} of {len(ranking.standings)} sets cannot be told apart; first among "
        f"them is {set_text(first.levels)} with {figure}."
    )


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
    if standing is first:
        return f"{name} came first, with {figure}."
    if not standing.group:
        return f"{name} is in place {standing.place} with {figure}; too few trials were repeated to say more."
    if standing.group == first.group:
        return f"{name} ({figure}) cannot be told apart from the best."
    ahead = _by(ranking.figure, standing, first)
    return f"{name} is in place {standing.place} with {figure}; the best is {ahead}."


def is_shown(answer: Answer) -> bool:
    """Return whether a search has shown its winner to be better than what it would replace.

    Enough was tried to know what chance does, and the kernel's default and the present setting, as far as
    they are others, are surely below it. Without that the first place may be luck.
    """
    winner, before = answer.winner, [found for found in (answer.default, answer.current) if found is not None]
    others = [found for found in before if found.levels != winner.levels]
    return bool(before) and not _is_short(answer) and all(found.high < winner.low for found in others)


def _is_short(answer: Answer) -> bool:
    return len(answer.winner.values) < 2 and answer.trials < _MANY


def best_line(answer: Answer, options: str) -> str:
    """Return what to do after a search, in one sentence.

    Args:
        answer: of the search.
        options: the winner's, as a person would write them.
    """
    if is_shown(answer):
        return f"Best: {options}."
    kept = "the kernel's defaults" if answer.current is None else "the present setting"
    if _is_short(answer):
        return f"Too few trials to tell: keep {kept}, or allow more time. First so far: {options}."
    return f"Nothing was shown to be better than {kept}. First, by what chance may make: {options}."


def answer_text(answer: Answer, figure: str, written: Format) -> list[str]:
    """Return what a search for the best setting found, sentence by sentence.

    Args:
        answer: of the search.
        figure: that it went by, of which more is better.
        written: writes a figure with its unit.
    """
    winner = answer.winner
    counted = f"First of {answer.candidates} sets after {answer.trials} trials of {answer.tried} of them"
    said = [f"{counted}: {set_text(winner.levels)}, {_between(winner, figure, written)}."]
    if answer.runner_up is not None:
        apart = answer.runner_up.high < winner.low
        said.append(
            f"The next is {set_text(answer.runner_up.levels, winner.levels)}, "
            f"{_between(answer.runner_up, figure, written)}"
            f"{'.' if apart else '; the two cannot be told apart.'}"
        )
    named = (("The kernel's default", answer.default), ("The present setting", answer.current))
    said += [_beside(name, found, winner, figure, written) for name, found in named if found is not None]
    said.append(sure_text(answer))
    return said


def sure_text(answer: Answer) -> str:
    """Return whether a set that was not found may be better."""
    if answer.decided:
        return "No other set is likely to be better by more than 5 %."
    return "Others may still be better by more than 5 %; more time would tell."


def _between(found: Found, figure: str, written: Format) -> str:
    low, high = written(figure, found.low), written(figure, found.high)
    return f"about {written(figure, found.median)} ({low} to {high})"


def _beside(name: str, found: Found, winner: Found, figure: str, written: Format) -> str:
    if found.levels == winner.levels:
        return f"{name} is the best itself."
    text = f"{name} gives {_between(found, figure, written)}"
    if found.high >= winner.low:
        return f"{text}, which cannot be told apart from the best."
    return f"{text}; the best is {_percent(winner.median / found.median - 1)} faster."


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
        f"The baseline's {label} {way} by {_percent(abs(drift.change))} during the run. The random order "
        "spreads this over all sets alike, but compare small differences with care."
    )


def place_text(sums: PlaceSums) -> str:
    """Return which level of a factor is usually ahead."""
    ordered = sorted(sums.levels, key=lambda level: level.mean)
    best, worst = ordered[0], ordered[-1]
    if not sums.notable:
        return f"{sums.factor}: its levels' average places differ no more than by chance."
    return (
        f"{sums.factor}: {best.level} is usually ahead (average place {best.mean:.0f}), {worst.level} "
        f"usually last ({worst.mean:.0f})."
    )


def effect_text(effect: Effect) -> str:
    """Return what a factor does."""
    if effect.notable is None:
        return f"{effect.factor}: too few trials were repeated to tell its effect from chance."
    if not effect.notable or effect.gain < _WORTH:
        return f"{effect.factor}: no difference that counts was found."
    return (
        f"{effect.factor}: {effect.best} is best, {_percent(effect.gain)} ahead of the worst level; alone it "
        f"explains {_percent(effect.share)} of all differences."
    )


def interaction_text(interaction: Interaction) -> str:
    """Return whether two factors have to be chosen together."""
    first, second = interaction.factors
    if interaction.notable is None:
        return f"{first} and {second}: too few trials were repeated to say whether they act on each other."
    if not interaction.notable or interaction.share < _WORTH:
        return f"{first} and {second}: nothing was found that says they have to be chosen together."
    return (
        f"{first} and {second} have to be chosen together: what they do in combination explains "
        f"{_percent(interaction.share)} of all differences."
    )


def row_text(curves: Sequence[Curve]) -> str:
    """Return the best level of each factor that was varied alone, as a row of seed 000's Figure 14."""
    parts = [f"{curve.factor} {'any' if curve.best is None else curve.best}" for curve in curves]
    return f"Best settings found: {', '.join(parts)}." if parts else "No setting was varied."


def steady_text(rows: Sequence[Steadiness]) -> str:
    """Return which level holds over all columns of the matrices, and which do not."""
    if not rows:
        return "No matrix has values."
    best, poor = rows[0], [row.level for row in rows if row.worst < 0.8]
    text = f"{best.level} is the steadiest: never less than {_percent(best.worst)} of the best of a column."
    return f"{text} Somewhere more than a fifth behind: {', '.join(poor)}." if poor else text


def comparison_text(row: TableRow, written: Format) -> str:
    """Return how the levels of a row compare with its base."""
    base, *others = row.cells
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
        return f"{_percent(1 - first.median / standing.median)} less"
    return f"{_percent(first.median / standing.median - 1)} faster"


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
            f"One of {_percent(ranking.shows)} would have shown: it makes little difference which you choose."
        )
    least = f"one above {_percent(ranking.shows)}" if ranking.shows <= _HUGE else "a many times larger one"
    return f"Only {least} would have shown: more repeats, or a quieter link, would tell more."


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def _count(number: int) -> str:
    return _COUNTS[number] if number < len(_COUNTS) else str(number)

"""What a search for the best setting found, in plain sentences for whoever shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.experiment_text import AS_WRITTEN, percent, set_text

if TYPE_CHECKING:
    from advisor.experiment_text import Format, Names
    from advisor.search import Answer, Found

#: So many trials of a search tell what chance does, also where none was repeated.
_MANY = 12


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
        # The present setting may be none of those that were compared, and then it is not the defaults.
        keep = "change nothing yet" if answer.current is None else f"keep {kept}"
        return f"Too few trials to tell: {keep}, or allow more time. First so far: {options}."
    return f"Nothing was shown to be better than {kept}. First, by what chance may make: {options}."


def answer_text(answer: Answer, figure: str, written: Format, names: Names = AS_WRITTEN) -> list[str]:
    """Return what a search for the best setting found, sentence by sentence.

    Args:
        answer: of the search.
        figure: that it went by, of which more is better.
        written: writes a figure with its unit.
        names: of factors and levels.
    """
    winner = answer.winner
    counted = f"First of {answer.candidates} sets after {answer.trials} trials of {answer.tried} of them"
    said = [f"{counted}: {set_text(winner.levels, names=names)}, {_between(winner, figure, written)}."]
    if answer.runner_up is not None:
        apart = answer.runner_up.high < winner.low
        said.append(
            f"The next is {set_text(answer.runner_up.levels, winner.levels, names)}, "
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
    return f"{text}; the best is {percent(winner.median / found.median - 1)} faster."

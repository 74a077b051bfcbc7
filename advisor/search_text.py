"""What a search for the best setting found, in plain sentences for whoever shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from advisor.experiment.measurements import READ, WRITE
from advisor.retest import BOTH, FEWEST_ROUNDS
from advisor.text.experiment import AS_WRITTEN, change_text, percent, set_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from advisor.experiment.search import Answer, Found
    from advisor.retest import Compared, Retest
    from advisor.text.experiment import Format, Names

#: What may be claimed of the winner: better in the re-test; no different; worse; it is the present setting;
#: it was not run again, or too seldom to say.
SearchVerdict = Literal["better", "no-difference", "worse", "present", "untested"]


def search_verdict(answer: Answer, retest: Retest | None) -> SearchVerdict:
    """Return what may be claimed: what the search alone says of its winner is in part luck."""
    if answer.current is not None and answer.current.levels == answer.winner.levels:
        return "present"
    if retest is None:
        return "untested"
    verdicts: dict[str, SearchVerdict] = {"higher": "better", "lower": "worse", "same": "no-difference"}
    return verdicts.get(retest.whole.verdict, "untested")


def search_headline(answer: Answer, retest: Retest | None, names: Names = AS_WRITTEN) -> str:
    """Return what a search shows, in one or two short sentences."""
    verdict = search_verdict(answer, retest)
    if verdict == "better" and retest is not None:
        winner = set_text(retest.winner, retest.today, names)
        return f"{winner}: {percent(retest.whole.ratio - 1)} faster than the present setting, tested again."
    return f"{_HEADLINES[verdict]} Keep what you have."


_HEADLINES = {
    "present": "The present setting came first.",
    "untested": "Nothing is proven: the winner was not tested again.",
    "no-difference": "No difference found.",
    "worse": "Nothing better was found.",
}


def retest_text(answer: Answer, retest: Retest | None, written: Format) -> list[str]:
    """Return what the re-test gave, and what the search had promised, sentence by sentence."""
    if search_verdict(answer, retest) == "present":
        return []
    if retest is None or retest.whole.verdict == "unknown":
        rounds = f"{FEWEST_ROUNDS} rounds of the winner and the present setting in turns"
        return [f"A re-test takes {rounds}. Allow more time, or more bytes, for it."]
    whole = retest.whole
    after, before = written(WRITE, whole.after), written(WRITE, whole.before)
    rounds = f"Tested again in {retest.rounds} rounds, in turns"
    said = [f"{rounds}: {after} against {before} with the present setting, {_change(whole)}."]
    if retest.ways:
        ways = "; ".join(f"{_WAYS[way.figure]} {_change(way)}" for way in retest.ways)
        said.append(f"{ways[:1].upper()}{ways[1:]}.")
    if answer.current is not None:
        promised = change_text(answer.winner.median / answer.current.median - 1)
        said.append(f"The search had put it at {promised}: the first of many sets is in part the luckiest.")
    return said


_WAYS = {WRITE: "writing", READ: "reading", BOTH: "both ways"}


def _change(found: Compared) -> str:
    low, high = change_text(found.low - 1), change_text(found.high - 1)
    return f"{change_text(found.ratio - 1)} ({round(100 * found.confidence)} % interval {low} to {high})"


def answer_text(answer: Answer, figure: str, written: Format, names: Names = AS_WRITTEN) -> list[str]:
    """Return what a search for the best setting went through, sentence by sentence.

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
    named: Mapping[str, Found | None] = {
        "The kernel's default": answer.default, "The present setting": answer.current
    }  # fmt: skip
    said += [
        _beside(name, found, winner, figure, written) for name, found in named.items() if found is not None
    ]
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
        return f"{name} is the first itself."
    text = f"{name} gives {_between(found, figure, written)}"
    if found.high >= winner.low:
        return f"{text}, which cannot be told apart from the first."
    return f"{text}, by the search's own figures."

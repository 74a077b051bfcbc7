"""Experiments as text for people: recipes, plans, progress and what came of it."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING

from advisor.experiment_analysis import drifts, ranking
from advisor.experiment_text import drift_text, unmeasured_text, winner_text
from advisor.experiment_values import of_workload, value
from advisor.search_text import best_line, sure_text
from advisor.speeds import format_speed
from advisor.trials import QUANTITIES, READ, WRITE
from app.bench.experiment.factors import FILE_SIZE, label
from app.bench.experiment.sift import levels_text
from app.cli.table import table
from app.units import format_duration, format_figure, format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.experiment_analysis import Ranking
    from advisor.trials import Outcome
    from app.bench.experiment.model import BestResult, ExperimentEvent, ExperimentPlan, ExperimentResult, Work
    from app.bench.experiment.recipe import Recipe

_STRATEGIES = {
    "full": "every combination",
    "one-at-a-time": "each alone around a base",
    "rows": "the combinations that are spelled out",
}
_PHASES = {"trying": "trying", "warm-up": "warm-up", "trial": "trial", "done": "trial"}
#: Sets that a ranking shows.
_TOP = 10


def recipes_text(found: Sequence[Recipe]) -> str:
    """Return the recipes as a table."""
    rows = [["RECIPE", "WHAT IT COMPARES", "FROM"]]
    rows += [
        [recipe.name, recipe.title, recipe.study.by if recipe.study is not None else "your own"]
        for recipe in found
    ]
    return table(rows)


def recipe_text(recipe: Recipe) -> str:
    """Return a recipe with its study."""
    lines = [recipe.title, recipe.text, ""]
    lines += [f"Options of all sets: {recipe.options or 'none'}"]
    lines += [f"Factors ({_STRATEGIES[recipe.strategy]}):"]
    for factor in recipe.factor:
        quick = f"; quick: {', '.join(factor.quick)}" if factor.quick else ""
        base = f"; base {factor.base}" if factor.base else ""
        lines.append(f"  {label(factor.name)} ({factor.name}): {', '.join(factor.levels)}{base}{quick}")
    lines.append(f"Workloads, {recipe.full.repeats} times each (quick: {recipe.quick.repeats}):")
    full, quick_size = recipe.experiment("", "full"), recipe.experiment("", "quick")
    varied = any(factor.name == FILE_SIZE for factor in recipe.factor)
    for work, small in zip(full.workloads, quick_size.workloads, strict=True):
        amount = "of the file sizes above" if varied else f"{_amount(work)} (quick: {_amount(small)})"
        lines.append(f"  {work.name}: {amount}, {work.direction}")
    study = recipe.study
    if study is not None:
        lines += ["", f"{study.name}. {study.by}.", "Measured then:"]
        lines += [f"  {line}" for line in study.measured.strip().splitlines()]
        lines += ["Concluded then:", f"  {study.concluded}"]
        lines += ["Today:", f"  {study.today}"] if study.today else []
    return "\n".join(lines)


def plan_text(plan: ExperimentPlan) -> str:
    """Return what an experiment will do, and what is struck out."""
    experiment = plan.experiment
    what = (
        f"{experiment.title or 'Experiment'} on {experiment.share}: {len(plan.sets)} option sets, "
        f"{len(experiment.workloads)} workload(s), {experiment.repeats} repeat(s); {plan.trials} trials with "
        f"those of the baseline. About {format_duration(plan.seconds)}, {format_size(plan.bytes)} over the "
        f"network, {format_size(plan.space)} on the server at a time."
    )
    lines = [
        what,
        f"Baseline: {levels_text(plan.sets[0].levels)}.",
    ]
    return "\n".join([*lines, *_struck(plan), *plan.notes])


def report_text(
    plan: ExperimentPlan, result: ExperimentResult, outcomes: Sequence[Outcome], number: int
) -> str:
    """Return how an experiment ended and what it found.

    Args:
        plan: of the experiment.
        result: of its last part.
        outcomes: of all its trials so far.
        number: in the history, 0 if it is not kept.
    """
    lines = _ending(result, outcomes, number)
    for work in plan.experiment.workloads:
        for figure in (WRITE, READ):
            chosen = of_workload(outcomes, work.name)
            if any(value(outcome, figure) is not None for outcome in chosen):
                found = ranking(chosen, figure, chance=random.Random(plan.experiment.seed))  # noqa: S311
                lines += ["", *_ranking(found)]
    moved = drifts(outcomes, (WRITE, READ))
    return "\n".join([*lines, "", *dict.fromkeys(drift_text(drift) for drift in moved)]).rstrip()


def candidates_text(plan: ExperimentPlan) -> str:
    """Return what a search chooses among."""
    experiment = plan.experiment
    text = (
        f"Searching {len(plan.sets)} option sets on {experiment.share} for "
        f"{format_duration(plan.seconds)} in all, with a file of {format_size(experiment.workloads[0].size)}."
    )
    return "\n".join([text, *_struck(plan), *plan.notes])


def best_text(result: BestResult, number: int) -> str:
    """Return what a search found.

    Args:
        result: of the search.
        number: of its trials in the history, 0 if they are not kept.
    """
    answer = result.answer
    rows = [["", "ABOUT", "LIKELY BETWEEN", "TRIALS", "OPTION SET"]]
    for name, found in (("first", answer.winner), ("next", answer.runner_up), ("default", answer.default),
                        ("now", answer.current)):  # fmt: skip
        if found is not None:
            between = f"{format_speed(found.low)} and {format_speed(found.high)}"
            levels = ", ".join(f"{factor}={level}" for factor, level in found.levels.items())
            rows.append([name, format_speed(found.median), between, str(len(found.values)), levels])
    ahead = "" if result.read_ahead_kb is None else f", readahead {result.read_ahead_kb} KiB"
    kept = f" They are in the history as experiment {number}." if number else ""
    line = best_line(answer, f"{result.options or 'the default options'}{ahead}")
    lines = [table(rows), "", f"{line} {sure_text(answer)}"]
    lines.append(f"{answer.trials} trials of {answer.tried} of {answer.candidates} sets.{kept}")
    lines += [f"No candidate: {levels_text(one.levels)}. {one.reason}" for one in result.struck]
    return "\n".join([*lines, *([result.stopped] if result.stopped else [])])


class ProgressLine:
    """One line on a terminal that is overwritten; nothing where there is none.

    Args:
        quiet: show nothing.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._on = not quiet and sys.stderr.isatty()

    def show(self, event: ExperimentEvent) -> None:
        """Show where the experiment is."""
        if not self._on:
            return
        left = "" if event.eta_s is None else f", about {format_duration(event.eta_s)} left"
        doing = levels_text(event.levels)
        if event.test is not None:
            sample = event.test.sample
            doing += f": {event.test.direction} {event.test.phase}"
            doing += f" {format_size(sample.server_bytes)}" if sample is not None else ""
        of = f" of {event.total}" if event.total else ""
        text = f"{_PHASES[event.phase]} {event.number}{of}{left} | {event.workload} {doing}"
        print(f"\r\x1b[K{text[:150]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Make room for other lines."""
        if self._on:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _struck(plan: ExperimentPlan) -> list[str]:
    return [f"Not measured here: {levels_text(one.levels)}. {one.reason}" for one in plan.struck]


def _ending(result: ExperimentResult, outcomes: Sequence[Outcome], number: int) -> list[str]:
    lines = [f"{result.done - result.failed} of {result.planned} trials are done."]
    if number:
        lines[0] += f" They are in the history as experiment {number}."
    if result.stopped:
        lines.append(result.stopped)
    for state, text in (("failed", "failed"), ("mismatch", "ran with other values than planned")):
        notes = [outcome.note for outcome in outcomes if outcome.state == state]
        if notes:
            lines.append(f"{len(notes)} trial(s) {text}. The first: {notes[0]}")
    return lines


def _ranking(found: Ranking) -> list[str]:
    title = f"{found.workload}, {QUANTITIES[found.figure].label}: {winner_text(found, format_figure)}"
    rows = [["PLACE", "GROUP", "MEDIAN", "INTERVAL", "TIME-OUTS", "OPTION SET"]]
    rows += [
        [
            str(standing.place),
            str(standing.group or "—"),
            format_figure(found.figure, standing.median),
            f"{format_figure(found.figure, standing.low)} to {format_figure(found.figure, standing.high)}",
            f"{standing.timeouts:.3g}",
            ", ".join(f"{name}={level}" for name, level in standing.levels.items()),
        ]
        for standing in found.standings[:_TOP]
    ]
    more = len(found.standings) - _TOP
    missing = unmeasured_text(found)
    return [
        title,
        table(rows),
        *([f"… and {more} more."] if more > 0 else []),
        *([missing] if missing else []),
    ]


def _amount(work: Work) -> str:
    size = format_size(work.size)
    return size if work.count == 1 else f"{work.count} of {size}"

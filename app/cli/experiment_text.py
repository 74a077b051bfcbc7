"""Terminal text of experiments: recipes, plans, progress and results."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from advisor.experiment.measurements import FIGURE_INFO
from advisor.experiment.search import search_verdict
from advisor.lint import LintContext
from advisor.speeds import format_speed
from app.cli.table import table
from app.experiment.analysis import analyze_search, level_rows, search_rows, set_with_levels
from app.experiment.factors import FILE_SIZE, factor_label, level_label
from app.experiment.feasibility import levels_text
from app.experiment.proposed_options import propose_options
from app.text.experiment import single_color_note
from app.text.message import message_text
from app.text.units import format_duration, format_figure, format_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from advisor.experiment.measurements import TrialOutcome
    from advisor.experiment.tables import Matrix
    from app.experiment.analysis import FigureAnalysis
    from app.experiment.model import (
        BestSettings,
        ExperimentEvent,
        ExperimentPlan,
        ExperimentResult,
        WorkloadSpec,
    )
    from app.experiment.proposed_options import OptionProposal
    from app.experiment.recipes import Recipe

_STRATEGIES = {
    "full": "every combination",
    "one-at-a-time": "one setting at a time around a reference",
    "rows": "the listed combinations",
}
_PHASES = {"trying": "trying", "warm-up": "warm-up", "trial": "trial", "retest": "re-test", "done": "trial"}
#: Most option sets in a ranking table.
_TOP = 10


def recipes_text(found: Sequence[Recipe]) -> str:
    """Return a table of the recipes with title and author."""
    rows = [["RECIPE", "WHAT IT COMPARES", "FROM"]]
    rows += [
        [recipe.name, recipe.title, recipe.study.by if recipe.study is not None else "your own"]
        for recipe in found
    ]
    return table(rows)


def recipe_text(recipe: Recipe) -> str:
    """Return the factors and workloads of a recipe, and the conclusions of its study."""
    lines = [recipe.title, recipe.text, ""]
    lines += [f"Options of all sets: {recipe.options or 'none'}"]
    lines += [f"Factors ({_STRATEGIES[recipe.strategy]}):"]
    for factor in recipe.factor:
        quick = f"; quick: {', '.join(factor.quick)}" if factor.quick else ""
        base = f"; base {factor.base}" if factor.base else ""
        lines.append(
            f"  {factor_label(factor.name)} ({factor.name}): {', '.join(factor.levels)}{base}{quick}"
        )
    lines.append(f"Workloads, {recipe.full.repeats} times each (quick: {recipe.quick.repeats}):")
    full, quick_size = recipe.experiment("", "full"), recipe.experiment("", "quick")
    varied = any(factor.name == FILE_SIZE for factor in recipe.factor)
    for work, small in zip(full.workloads, quick_size.workloads, strict=True):
        amount = "of the file sizes above" if varied else f"{_amount(work)} (quick: {_amount(small)})"
        lines.append(f"  {work.name}: {amount}, {work.direction}")
    study = recipe.study
    if study is not None:
        lines += ["", f"{study.name}. {study.by}.", "Measured in the study:"]
        lines += [f"  {line}" for line in study.measured.strip().splitlines()]
        lines += ["Conclusion of the study:", f"  {study.concluded}"]
        lines += ["Today:", f"  {study.today}"] if study.today else []
    return "\n".join(lines)


def plan_text(plan: ExperimentPlan) -> str:
    """Return the size of a planned experiment, its baseline, and the excluded option sets."""
    experiment = plan.experiment
    summary = (
        f"{experiment.title or 'Experiment'} on {experiment.share}: {len(plan.sets)} option sets, "
        f"{len(experiment.workloads)} workload(s), {experiment.repeats} repeat(s); {plan.trials} trials with "
        f"those of the baseline. About {format_duration(plan.seconds)}, {format_size(plan.bytes)} over the "
        f"network, {format_size(plan.space)} on the server at a time."
    )
    lines = [
        summary,
        f"Baseline: {levels_text(plan.sets[0].levels)}.",
    ]
    return "\n".join([*lines, *_excluded_lines(plan), *plan.notes])


def analysis_text(found: Sequence[FigureAnalysis]) -> str:
    """Return the conclusions of an experiment, with a section for each workload and figure."""
    return "\n\n".join("\n".join(_section(one)) for one in found)


def candidates_text(plan: ExperimentPlan) -> str:
    """Return the number of option sets of a search, its time, and the excluded sets."""
    experiment = plan.experiment
    text = (
        f"Searching {len(plan.sets)} option sets on {experiment.share} for "
        f"{format_duration(plan.seconds)} in all, with a file of {format_size(experiment.workloads[0].size)}."
    )
    return "\n".join([text, *_excluded_lines(plan), *plan.notes])


def best_text(result: BestSettings, number: int) -> str:
    """Return the conclusion of a search, a table of its best sets, and the command to apply the best.

    Args:
        result: result of the search.
        number: number of the search in the history, 0 if it is not saved.
    """
    answer, found = result.answer, analyze_search(result, format_figure)
    rows = [["", "ABOUT", "LIKELY RANGE", "TRIALS", "OPTION SET"]]
    for row in search_rows(result):
        between = f"{format_speed(row.low)} and {format_speed(row.high)}"
        name = f"{_ROWS[row.name]}{', tested again' if row.again else ''}"
        rows.append([name, format_speed(row.median), between, str(row.trials), _levels(row.levels)])
    saved = f" They are in the history as experiment {number}." if number else ""
    lines = [found.headline, *(text for _tone, text in found.said), "", table(rows), ""]
    lines += _proposal_lines(proposal_of(result), result.plan.experiment.share)
    lines.append(f"{answer.trials} trials of {answer.tried} of {answer.candidates} sets.{saved}")
    lines += [f"No candidate: {levels_text(one.levels)}. {one.reason}" for one in result.struck]
    return "\n".join([*lines, *([message_text(result.stopped)] if result.stopped else [])])


def proposal_of(result: BestSettings) -> OptionProposal | None:
    """Return the present options changed to those of a search's best set, None unless that is better."""
    present, plan = result.plan.present, result.plan
    winner = set_with_levels(result.answer.winner.levels, plan.sets)
    if search_verdict(result.answer, result.retest) != "better" or present is None or winner is None:
        return None
    context = LintContext(share=plan.experiment.share)
    return propose_options(
        plan, winner, present.options, read_ahead_kb=present.read_ahead_kb, context=context
    )


def _proposal_lines(proposal: OptionProposal | None, share: str) -> list[str]:
    if proposal is None:
        return []
    read_ahead = f" --read-ahead {proposal.read_ahead_kb}" if proposal.read_ahead_kb is not None else ""
    command = f"mountwright apply -o {shlex.quote(proposal.options)}{read_ahead} {share} MOUNT-POINT"
    findings = [f"{one.severity.capitalize()}: {one.title}" for one in proposal.findings]
    return [*findings, f"To use it: {command}"]


#: Titles of the option sets in the result of a search, by row name.
_ROWS = {"winner": "first", "next": "next", "default": "default", "present": "now"}


def _levels(levels: Mapping[str, str]) -> str:
    return ", ".join(f"{factor}={level}" for factor, level in levels.items()) or "as it is"


class ProgressLine:
    """Progress line on standard error; silent if standard error is not a terminal.

    Args:
        quiet: whether to show nothing on a terminal either.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._on = not quiet and sys.stderr.isatty()

    def show(self, event: ExperimentEvent) -> None:
        """Replace the line by the number and phase of the trial, and the remaining time."""
        if not self._on:
            return
        left = "" if event.eta_s is None else f", about {format_duration(event.eta_s)} left"
        activity = levels_text(event.levels)
        if event.test is not None:
            sample = event.test.sample
            activity += f": {event.test.direction} {event.test.phase}"
            activity += f" {format_size(sample.server_bytes)}" if sample is not None else ""
        total = f" of {event.total}" if event.total else ""
        text = f"{_PHASES[event.phase]} {event.number}{total}{left} | {event.workload} {activity}"
        print(f"\r\x1b[K{text[:150]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Erase the line, so that other text can be printed."""
        if self._on:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _excluded_lines(plan: ExperimentPlan) -> list[str]:
    return [f"Not measured here: {levels_text(one.levels)}. {one.reason}" for one in plan.struck]


def ending_text(result: ExperimentResult, outcomes: Sequence[TrialOutcome], number: int) -> str:
    """Return the numbers of finished, failed and mismatched trials, and why the run stopped.

    Args:
        result: result of the latest run of the experiment.
        outcomes: outcomes of all trials so far.
        number: number of the experiment in the history, 0 if it is not saved.
    """
    lines = [f"{result.done - result.failed} of {result.planned} trials are done."]
    if number:
        lines[0] += f" They are in the history as experiment {number}."
    if result.stopped:
        lines.append(message_text(result.stopped))
    for state, text in (("failed", "failed"), ("mismatch", "ran with values other than planned")):
        notes = [outcome.note for outcome in outcomes if outcome.state == state]
        if notes:
            lines.append(f"{len(notes)} trial(s) {text}. The first: {notes[0]}")
    return "\n".join(lines)


def _section(found: FigureAnalysis) -> list[str]:
    """Return the conclusion of one figure of one workload, its ranking, levels and matrices."""
    ranked = found.ranking
    rows = [["RANK", "GROUP", "MEDIAN", "INTERVAL", "TIMEOUTS", "OPTION SET"]]
    rows += [
        [
            str(standing.place),
            str(standing.group or "—"),
            format_figure(ranked.figure, standing.median),
            f"{format_figure(ranked.figure, standing.low)} to {format_figure(ranked.figure, standing.high)}",
            f"{standing.timeouts:.3g}",
            _levels(standing.levels),
        ]
        for standing in ranked.standings[:_TOP]
    ]
    more = len(ranked.standings) - _TOP
    lines = [f"{found.part.label}, {FIGURE_INFO[found.figure].label}: {found.headline}"]
    lines += [f"  {text}" for _tone, text in dict.fromkeys(found.said)]
    if ranked.standings:
        lines += [table(rows), *([f"… and {more} more."] if more > 0 else [])]
    levels = level_rows(found)
    if levels:
        head = [["SETTING", "VALUE", "RELATIVE TO MEAN", "RANK SUM"]]
        lines += [
            "",
            table([*head, *([row.factor, row.level, row.beside, f"{row.sum:g}"] for row in levels)]),
        ]
    for matrix in found.matrices:
        lines += ["", *_matrix(matrix, found.pooled)]
    return lines


def _matrix(matrix: Matrix, pooled: Sequence[str]) -> list[str]:
    """Return a table of a figure over two settings, with a note if its cells do not differ significantly."""
    fixed = f", {levels_text(matrix.fixed)}" if matrix.fixed else ""
    title = f"{factor_label(matrix.row_factor)} down, {factor_label(matrix.column_factor)} across{fixed}"
    rows = [["", *(level_label(matrix.column_factor, level) for level in matrix.columns)]]
    for level, cells in zip(matrix.rows, matrix.cells, strict=True):
        figures = ("—" if cell is None else format_figure(matrix.figure, cell) for cell in cells)
        rows.append([level_label(matrix.row_factor, level), *figures])
    over = [f"Medians over {', '.join(map(factor_label, pooled))}."] if pooled else []
    note = single_color_note(matrix.differs)
    return [f"{title}:", table(rows), *over, *([note] if note else [])]


def _amount(work: WorkloadSpec) -> str:
    size = format_size(work.size)
    return size if work.count == 1 else f"{work.count} of {size}"

"""Command "experiment", the actions that need a host: plan, run, best and resume.

Each trial is saved in the history as it ends. If the history is locked, a run continues and saves it later.
"""

from __future__ import annotations

import contextlib
import sys
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.experiment.measurements import TrialOutcome  # noqa: TC001 - msgspec reads the annotations at run time
from app.cli.experiment import factors_from_args, recipe_from_args
from app.cli.experiment_text import (
    ProgressLine,
    analysis_text,
    best_text,
    candidates_text,
    ending_text,
    plan_text,
    proposal_of,
)
from app.errors import AppError
from app.experiment.analysis import (
    FigureAnalysis,
    SearchAnalysis,
    analyze_main_figures,
    analyze_search,
    check_axes,
)
from app.experiment.model import (
    SEARCH_NAME,
    UNLIMITED_S,
    BestSettings,
    ExperimentArgs,
    ExperimentPlan,
    ExperimentResult,
    ExperimentRunArgs,
    SearchArgs,
    StopReason,
)
from app.experiment.proposed_options import OptionProposal  # noqa: TC001 - msgspec reads the annotations
from app.experiment.recipe_store import find_recipe
from app.history.experiment_lock import is_experiment_locked
from app.history.experiment_recorder import ExperimentRecorder
from app.history.experiment_store import load_experiment
from app.history.store import HistoryStore
from app.service.protocol import ListArgs
from app.text.errors import ErrorCode
from app.text.units import format_figure

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Sequence

    from advisor.message import Message
    from app.experiment.model import Experiment, ExperimentEvent
    from app.history.experiment_store import StoredExperiment
    from app.mounts.model import MountTable
    from app.service.protocol import HelloResult

if TYPE_CHECKING:
    #: Sends a request to the host (verb, arguments, handler of events) and returns the answer.
    Ask = Callable[[str, Any, Callable[[ExperimentEvent], None]], Any]


class BestReport(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a search as --json prints it.

    Attributes:
        id: number of the search in the history, 0 if it is not saved.
        result: result of the search.
        analysis: conclusion of the search: headline, and the results of its best sets.
        proposal: present options changed to those of the best set; None unless it is significantly better.
        outcomes: outcomes of all trials so far, in the order of the trials.
    """

    id: int
    result: BestSettings
    analysis: SearchAnalysis
    proposal: OptionProposal | None
    outcomes: list[TrialOutcome]


class ExperimentReport(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an experiment as --json prints it.

    Attributes:
        id: number of the experiment in the history, 0 if it is not saved.
        plan: plan of the experiment.
        result: numbers of finished and failed trials, and how the run ended.
        analysis: headline, effects, tables and ranking for each workload and figure.
        outcomes: outcomes of all trials so far, in the order of the trials.
    """

    id: int
    plan: ExperimentPlan
    result: ExperimentResult
    analysis: list[FigureAnalysis] = []
    outcomes: list[TrialOutcome]


def run_experiments(ask: Ask, args: argparse.Namespace, lab_share: Callable[[], str]) -> str:
    """Run the action plan, run, best or resume; return the text or JSON to print.

    Args:
        ask: function that sends a request to the host.
        args: parsed command line.
        lab_share: function that returns the lab's export, "" on any other host.

    Raises:
        AppError: raised by the host or the history, or USAGE for a wrong command line.
    """
    line = ProgressLine(quiet=args.json)
    if args.action == "resume":
        return _resume(ask, args, line)
    seed = args.seed if args.seed is not None else SystemRandom().randrange(2**31)
    if args.action == "best":
        share = _share(args.share or lab_share())
        factors = factors_from_args(args)
        query = SearchArgs(share=share, direction=args.direction, seed=seed, factors=factors)
        return _best(ask, args, line, query)
    experiment = _experiment(args, lab_share, seed)
    try:
        plan: ExperimentPlan = ask(
            "experiment.plan", ExperimentArgs(experiment=experiment, budget_s=args.budget), line.show
        )
    finally:
        line.clear()
    if args.action == "plan":
        return _json(plan) if args.json else plan_text(plan)
    print(plan_text(plan), file=sys.stderr, flush=True)
    check_axes(plan, args.axes or ())
    recorder = _new_recording(line, off=args.no_history)
    recorder.begin(plan)
    report = ExperimentReport(id=recorder.number, plan=plan, result=_EMPTY_RESULT, outcomes=[])
    return _run(ask, args, report, recorder)


def _experiment(args: argparse.Namespace, lab_share: Callable[[], str], seed: int) -> Experiment:
    """Return the experiment of a recipe, or of --vary on the command line."""
    recipe, share = recipe_from_args(args), args.share
    if recipe is not None:
        if args.recipe and share:
            raise AppError(ErrorCode.RECIPE_OR_VARY)
        share = args.recipe or share  # with --vary a single argument is the share
    elif not args.recipe or (":/" in args.recipe and not share):
        raise AppError(ErrorCode.EXPERIMENT_NEEDS_RECIPE)
    share = _share(share or lab_share())
    recipe = recipe or find_recipe(args.recipe)
    return recipe.experiment(share, "quick" if args.quick else "full", seed=seed)


def _share(share: str) -> str:
    if not share:
        raise AppError(ErrorCode.EXPERIMENT_NEEDS_SHARE)
    return share


def _best(ask: Ask, args: argparse.Namespace, line: ProgressLine, query: SearchArgs) -> str:
    """Start a search; return its result as text or JSON."""
    options = args.options if args.options is not None else _mounted_with(ask, query.share)
    default_budget_s = query.budget_s if args.bytes is None else UNLIMITED_S
    query = msgspec.structs.replace(
        query, options=options, budget_s=args.budget or default_budget_s, budget_bytes=args.bytes
    )
    return _search(ask, args, ("experiment.best", query), _new_recording(line, off=args.no_history))


def _search(
    ask: Ask,
    args: argparse.Namespace,
    request: tuple[str, SearchArgs | ExperimentRunArgs],
    recorder: _Recording,
    done: Sequence[TrialOutcome] = (),
) -> str:
    """Start or resume a search, and save its plan and each outcome; return its result as text or JSON.

    Args:
        ask: function that sends a request to the host.
        args: parsed command line.
        request: verb and arguments of the request.
        recorder: saves the plan and the outcomes.
        done: outcomes of the trials before a resumed search was interrupted.
    """
    outcomes = {outcome.order: outcome for outcome in done}
    line = recorder.line

    def on_event(event: ExperimentEvent) -> None:
        line.show(event)
        if event.plan is not None:
            line.clear()
            print(candidates_text(event.plan), file=sys.stderr, flush=True)
            recorder.begin(event.plan)
        if event.outcome is not None:
            outcomes[event.outcome.order] = event.outcome
            recorder.save(event.outcome)

    with _resume_hint(args, recorder):
        result: BestSettings = ask(*request, on_event)
    all_outcomes = [outcomes[order] for order in sorted(outcomes)]
    text = best_text(result, recorder.number)
    if args.json:
        text = _json(
            BestReport(
                id=recorder.number,
                result=result,
                analysis=analyze_search(result, format_figure),
                proposal=proposal_of(result),
                outcomes=all_outcomes,
            )
        )
    return _finish_output(text, result.stopped, recorder.number)


@contextlib.contextmanager
def _resume_hint(args: argparse.Namespace, recorder: _Recording) -> Generator[None]:
    """Print how to resume the experiment if the body is interrupted or fails."""
    interrupted = False
    try:
        yield
    except (KeyboardInterrupt, AppError):
        interrupted = True
        raise
    finally:
        recorder.line.clear()
        recorder.close()
        if interrupted and recorder.number:
            lab = f"--lab {args.lab} " if args.lab is not None else ""
            print(f"To resume: mountwright {lab}experiment resume {recorder.number}", file=sys.stderr)


def _finish_output(text: str, stopped: Message | None, number: int) -> str:
    """Return the report of a run, unless failed trials stopped the run: then print it and raise.

    Args:
        text: the report.
        stopped: why the run ended early, None if it did not.
        number: number of the saved experiment, 0 if it was not saved.

    Raises:
        AppError: UNAVAILABLE, if failed trials stopped the run.
    """
    if stopped is None or stopped.code != StopReason.FAILURES:
        return text
    print(text, flush=True)
    raise AppError(ErrorCode.RUN_FAILED_RESUMABLE if number else ErrorCode.RUN_FAILED, number=number)


def _mounted_with(ask: Ask, share: str) -> str:
    """Return the requested options of a mount of the share, or else its configured ones, or ""."""
    table: MountTable = ask("mounts.list", ListArgs(), lambda _event: None)
    for mount in table.mounts:
        if mount.share == share and mount.active is not None and mount.active.recorded is not None:
            return mount.requested
    return next((row.requested for row in table.mounts if row.share == share and row.configured), "")


_EMPTY_RESULT = ExperimentResult(done=0, planned=0, failed=0, mismatched=0)


def _resume(ask: Ask, args: argparse.Namespace, line: ProgressLine) -> str:
    link = _link(ask)
    number = args.number or _unfinished(link)
    saved, stored = ExperimentRecorder.resume(number)
    with contextlib.closing(saved):
        return _continue_run(ask, args, _Recording(line, saved), stored, link)


def _continue_run(
    ask: Ask, args: argparse.Namespace, recorder: _Recording, stored: StoredExperiment, link: str | None
) -> str:
    if stored.origin:
        raise AppError(ErrorCode.EXPERIMENT_OF_OTHERS, number=stored.number, origin=stored.origin)
    _check_link(link, stored)
    experiment = stored.plan.experiment
    search = experiment.recipe == SEARCH_NAME
    print(
        f"Resuming {'search' if search else 'experiment'} {stored.number}: {experiment.title} on "
        f"{experiment.share}.",
        file=sys.stderr,
        flush=True,
    )
    check_axes(stored.plan, () if search else args.axes or ())
    if search:
        query = ExperimentRunArgs(plan=stored.plan, done=stored.outcomes, budget_s=args.budget)
        return _search(ask, args, ("experiment.search", query), recorder, stored.outcomes)
    report = ExperimentReport(
        id=stored.number, plan=stored.plan, result=_EMPTY_RESULT, outcomes=stored.outcomes
    )
    return _run(ask, args, report, recorder)


def _run(ask: Ask, args: argparse.Namespace, report: ExperimentReport, recorder: _Recording) -> str:
    """Run the remaining trials and save each outcome; return the report as text or JSON.

    Args:
        ask: function that sends a request to the host.
        args: parsed command line.
        report: plan and outcomes so far.
        recorder: saves the outcomes.
    """
    done = {outcome.order: outcome for outcome in report.outcomes if outcome.state != "failed"}
    line = recorder.line

    def on_event(event: ExperimentEvent) -> None:
        line.show(event)
        if event.outcome is not None:
            done[event.outcome.order] = event.outcome
            recorder.save(event.outcome)

    query = ExperimentRunArgs(plan=report.plan, done=list(done.values()), budget_s=args.budget)
    with _resume_hint(args, recorder):
        result: ExperimentResult = ask("experiment.run", query, on_event)
    outcomes = [done[order] for order in sorted(done)]
    report = msgspec.structs.replace(
        report, id=recorder.number, result=result, outcomes=outcomes,
        analysis=analyze_main_figures(report.plan, outcomes, written=format_figure, axes=args.axes or ()),
    )  # fmt: skip
    ending = ending_text(result, outcomes, report.id)
    text = _json(report) if args.json else f"{ending}\n\n{analysis_text(report.analysis)}".rstrip()
    return _finish_output(text, result.stopped, report.id)


def _link(ask: Ask) -> str | None:
    """Return the name of the lab's link, None on any other host."""
    hello: HelloResult = ask("hello", None, lambda _event: None)
    return hello.link.name if hello.link is not None else None


def _check_link(link: str | None, stored: StoredExperiment) -> None:
    """Check that an experiment is resumed over the link that it began on.

    Raises:
        AppError: USAGE if the link differs.
    """
    planned = stored.plan.emulated_link
    if link != planned:
        code = ErrorCode.EXPERIMENT_ON_LAB_LINK if planned else ErrorCode.EXPERIMENT_ON_REAL_LINK
        raise AppError(code, number=stored.number, link=planned)


def _unfinished(link: str | None) -> int:
    """Return the number of the latest unfinished experiment that does not run, over this link if possible.

    Raises:
        AppError: USAGE if no experiment is unfinished.
    """
    with HistoryStore.open() as store:
        numbers = [row.id for row in store.experiments()]
    on_other_link = running = 0
    for number in numbers:
        with contextlib.suppress(AppError):  # written by another version of the program
            stored = load_experiment(number)
            if not stored.resumable:
                continue
            if is_experiment_locked(number):
                running = running or number
            elif stored.plan.emulated_link == link:
                return number
            else:
                on_other_link = on_other_link or number
    if on_other_link or running:
        return on_other_link or running  # resuming it raises an error with the reason
    raise AppError(ErrorCode.NOTHING_UNFINISHED)


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


class _Recording:
    """Records a run, and prints what cannot be saved.

    Args:
        line: progress line, cleared before a message is printed.
        recorder: saves the run.
    """

    def __init__(self, line: ProgressLine, recorder: ExperimentRecorder) -> None:
        self.line = line
        self._recorder = recorder

    @property
    def number(self) -> int:
        """Number of the experiment in the history, 0 if it is not saved."""
        return self._recorder.number

    def begin(self, plan: ExperimentPlan) -> None:
        """Save a new experiment."""
        self._recorder.plan = plan
        self.save()

    def save(self, *outcomes: TrialOutcome) -> None:
        """Save outcomes of trials, and those that could not be saved before."""
        self._recorder.add(*outcomes)
        error = self._recorder.save()
        if error is not None:
            self._print(f"Trials are not being saved: {error.message} Saving is retried after each trial.")

    def close(self) -> None:
        """Save outcomes that are left, print how many are lost, and release the lock."""
        self._recorder.close()
        if self._recorder.unsaved:
            self._print(f"{len(self._recorder.unsaved)} trial(s) could not be saved in the history.")

    def _print(self, text: str) -> None:
        self.line.clear()
        print(f"mountwright: {text}", file=sys.stderr, flush=True)


def _new_recording(line: ProgressLine, *, off: bool) -> _Recording:
    recorder = ExperimentRecorder()
    if off:
        recorder.close()  # saves nothing
    return _Recording(line, recorder)

"""The command "experiment" where a host is needed: plans, runs, searches, and saves each trial at once.

That a trial cannot be saved for a moment, as another program holds the history, ends no long run.
"""

from __future__ import annotations

import contextlib
import sys
import threading
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
from app.errors import AppError, ErrorKind
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
)
from app.experiment.proposed_options import OptionProposal  # noqa: TC001 - likewise
from app.experiment.recipe_store import find_recipe
from app.history.experiment_lock import is_experiment_locked, lock_experiment
from app.history.experiment_store import load_experiment, save_outcome, start_experiment
from app.history.store import HistoryStore
from app.service.protocol import ListArgs
from app.units import format_figure

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Sequence

    from app.experiment.model import Experiment, ExperimentEvent
    from app.history.experiment_lock import ExperimentLock
    from app.history.experiment_store import StoredExperiment
    from app.mounts.model import MountTable
    from app.service.protocol import HelloResult

if TYPE_CHECKING:
    #: Asks the host (verb, arguments, what gets the events) and waits for the answer.
    Ask = Callable[[str, Any, Callable[[ExperimentEvent], None]], Any]


class BestReport(msgspec.Struct, frozen=True, kw_only=True):
    """What --json prints of a search: see ExperimentReport and BestResult.

    Attributes:
        analysis: what it shows: the headline, and what the winner gave when it was run again.
        proposal: what using the winner makes of the present options; None unless it was shown to be better.
    """

    id: int
    result: BestSettings
    analysis: SearchAnalysis
    proposal: OptionProposal | None
    outcomes: list[TrialOutcome]


class ExperimentReport(msgspec.Struct, frozen=True, kw_only=True):
    """What --json prints.

    Attributes:
        id: in the history, 0 if it is not kept there.
        plan: what was planned.
        result: how it ended.
        analysis: what it shows: of each workload and figure the headline, effects, tables and ranking.
        outcomes: of all trials so far, in the order of the run.
    """

    id: int
    plan: ExperimentPlan
    result: ExperimentResult
    analysis: list[FigureAnalysis] = []
    outcomes: list[TrialOutcome]


def run_experiments(ask: Ask, args: argparse.Namespace, lab_share: Callable[[], str]) -> str:
    """Plan, run, search or resume; return what to print.

    Args:
        ask: of the host.
        args: the command line's.
        lab_share: returns the lab's export, "" on any other host.

    Raises:
        AppError: as the host or the history says.
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
    keeper = ExperimentRecorder(line, off=args.no_history)
    keeper.begin(plan)
    return _run(
        ask, args, ExperimentReport(id=keeper.number, plan=plan, result=_EMPTY_RESULT, outcomes=[]), keeper
    )


def _experiment(args: argparse.Namespace, lab_share: Callable[[], str], seed: int) -> Experiment:
    """Return what is asked for: a recipe's experiment, or one of the command line's own."""
    recipe, share = recipe_from_args(args), args.share
    if recipe is not None:
        if args.recipe and share:
            raise AppError(
                ErrorKind.USAGE,
                "What to vary comes from a recipe or from --vary, not from both.",
                hint="Name the share alone, or put what you vary into a copy of the recipe (show --toml).",
            )
        share = args.recipe or share  # the only word
    elif not args.recipe or (":/" in args.recipe and not share):
        raise AppError(
            ErrorKind.USAGE,
            "An experiment needs a recipe, or what to vary.",
            hint="“experiment list” shows the recipes; or write --vary rsize=64k,1M for example.",
        )
    share = _share(share or lab_share())
    recipe = recipe or find_recipe(args.recipe)
    return recipe.experiment(share, "quick" if args.quick else "full", seed=seed)


def _share(share: str) -> str:
    if not share:
        raise AppError(
            ErrorKind.USAGE,
            "An experiment needs a share.",
            hint="Name it as server:/export, or use --lab LINK.",
        )
    return share


def _best(ask: Ask, args: argparse.Namespace, line: ProgressLine, query: SearchArgs) -> str:
    """Search, keeping each outcome as soon as it is told."""
    options = args.options if args.options is not None else _mounted_with(ask, query.share)
    usual_s = query.budget_s if args.bytes is None else UNLIMITED_S
    query = msgspec.structs.replace(
        query, options=options, budget_s=args.budget or usual_s, budget_bytes=args.bytes
    )
    return _search(ask, args, ("experiment.best", query), ExperimentRecorder(line, off=args.no_history))


def _search(
    ask: Ask,
    args: argparse.Namespace,
    request: tuple[str, SearchArgs | ExperimentRunArgs],
    keeper: ExperimentRecorder,
    done: Sequence[TrialOutcome] = (),
) -> str:
    """Search, or go on, keeping the plan and each outcome as soon as they are told."""
    outcomes = {outcome.order: outcome for outcome in done}
    line = keeper.line

    def take(event: ExperimentEvent) -> None:
        line.show(event)
        if event.plan is not None:
            line.clear()
            print(candidates_text(event.plan), file=sys.stderr, flush=True)
            keeper.begin(event.plan)
        if event.outcome is not None:
            outcomes[event.outcome.order] = event.outcome
            keeper.keep(event.outcome)

    with _resume_hint(args, keeper):
        result: BestSettings = ask(*request, take)
    kept = [outcomes[order] for order in sorted(outcomes)]
    text = best_text(result, keeper.number)
    if args.json:
        found = analyze_search(result, format_figure)
        text = _json(
            BestReport(
                id=keeper.number, result=result, analysis=found, proposal=proposal_of(result), outcomes=kept
            )
        )
    return _finish_output(text, result.stopped, keeper.number)


@contextlib.contextmanager
def _resume_hint(args: argparse.Namespace, keeper: ExperimentRecorder) -> Generator[None]:
    """Say how to go on with what is interrupted here."""
    try:
        yield
    except (KeyboardInterrupt, AppError):
        keeper.line.clear()
        keeper.close()
        if keeper.number:
            lab = f"--lab {args.lab} " if args.lab is not None else ""
            print(f"Go on with it: mountwright {lab}experiment resume {keeper.number}", file=sys.stderr)
        raise
    finally:
        keeper.line.clear()
        keeper.close()


def _finish_output(text: str, stopped: str, number: int) -> str:
    """Return what to print; of one that broke off, print it and fail."""
    if "failed" not in stopped:
        return text
    print(text, flush=True)
    raise AppError(
        ErrorKind.UNAVAILABLE,
        "It broke off before its end: trials failed one after the other.",
        hint="See to the cause that the trials tell."
        + (f" Then go on: “experiment resume {number}”." if number else ""),
    )


def _mounted_with(ask: Ask, share: str) -> str:
    """Return the options that a share was mounted with or is configured with, "" if it is neither."""
    table: MountTable = ask("mounts.list", ListArgs(), lambda _event: None)
    for mount in table.mounts:
        if mount.share == share and mount.active is not None and mount.active.recorded is not None:
            return mount.requested
    return next((row.requested for row in table.mounts if row.share == share and row.configured), "")


_EMPTY_RESULT = ExperimentResult(done=0, planned=0, failed=0, mismatched=0)


def _resume(ask: Ask, args: argparse.Namespace, line: ProgressLine) -> str:
    link = _link(ask)
    number = args.number or _unfinished(link)
    with lock_experiment(number):
        return _continue_run(ask, args, line, load_experiment(number), link)


def _continue_run(
    ask: Ask, args: argparse.Namespace, line: ProgressLine, kept: StoredExperiment, link: str | None
) -> str:
    if kept.origin:
        raise AppError(
            ErrorKind.USAGE,
            f"Experiment {kept.number} ran elsewhere: it was imported from {kept.origin}.",
            hint="Trials of this computer would be mixed with its own. Run the recipe anew here.",
        )
    _check_link(link, kept)
    experiment = kept.plan.experiment
    search = experiment.recipe == SEARCH_NAME
    print(
        f"Going on with {'search' if search else 'experiment'} {kept.number}: {experiment.title} on "
        f"{experiment.share}.",
        file=sys.stderr,
        flush=True,
    )
    check_axes(kept.plan, () if search else args.axes or ())
    keeper = ExperimentRecorder(line, kept.number)
    if search:
        query = ExperimentRunArgs(plan=kept.plan, done=kept.outcomes, budget_s=args.budget)
        return _search(ask, args, ("experiment.search", query), keeper, kept.outcomes)
    begun = ExperimentReport(id=kept.number, plan=kept.plan, result=_EMPTY_RESULT, outcomes=kept.outcomes)
    return _run(ask, args, begun, keeper)


def _run(ask: Ask, args: argparse.Namespace, begun: ExperimentReport, keeper: ExperimentRecorder) -> str:
    """Run what is left, keeping each outcome as soon as it is told; return the report."""
    done = {outcome.order: outcome for outcome in begun.outcomes if outcome.state != "failed"}
    line = keeper.line

    def take(event: ExperimentEvent) -> None:
        line.show(event)
        if event.outcome is not None:
            done[event.outcome.order] = event.outcome
            keeper.keep(event.outcome)

    query = ExperimentRunArgs(plan=begun.plan, done=list(done.values()), budget_s=args.budget)
    with _resume_hint(args, keeper):
        result: ExperimentResult = ask("experiment.run", query, take)
    outcomes = [done[order] for order in sorted(done)]
    report = msgspec.structs.replace(
        begun, id=keeper.number, result=result, outcomes=outcomes,
        analysis=analyze_main_figures(begun.plan, outcomes, written=format_figure, axes=args.axes or ()),
    )  # fmt: skip
    ending = ending_text(result, outcomes, report.id)
    text = _json(report) if args.json else f"{ending}\n\n{analysis_text(report.analysis)}".rstrip()
    return _finish_output(text, result.stopped, report.id)


def _link(ask: Ask) -> str | None:
    """Return the lab's link, None on any other host."""
    hello: HelloResult = ask("hello", None, lambda _event: None)
    return hello.link.name if hello.link is not None else None


def _link_of_plan(kept: StoredExperiment) -> str | None:
    environment = kept.plan.environment
    return environment.emulated_link if environment is not None else None


def _check_link(now: str | None, kept: StoredExperiment) -> None:
    """See that what is left is measured over the link that the rest was."""
    begun = _link_of_plan(kept)
    if now != begun:
        raise AppError(
            ErrorKind.USAGE,
            f"Experiment {kept.number} was begun over {f'the lab link {begun}' if begun else 'a real link'}.",
            hint=f"Resume it with --lab {begun}." if begun else "Resume it without --lab.",
        )


def _unfinished(link: str | None) -> int:
    """Return the latest that is not at its end and runs nowhere, if there is one over this link.

    Raises:
        AppError: USAGE if there is none.
    """
    with HistoryStore.open() as store:
        numbers = [row.id for row in store.experiments()]
    other = running = 0
    for number in numbers:
        with contextlib.suppress(AppError):  # one of another version of the program
            kept = load_experiment(number)
            if not kept.resumable:
                continue
            if is_experiment_locked(number):
                running = running or number
            elif _link_of_plan(kept) == link:
                return number
            else:
                other = other or number
    if other or running:
        return other or running  # which is refused with the reason
    raise AppError(
        ErrorKind.USAGE,
        "No experiment is unfinished.",
        hint="“experiment run” begins one; “history” has what was measured.",
    )


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


class ExperimentRecorder:
    """Keeps each outcome of one experiment in the history at once; that this fails ends no long run.

    What cannot be kept is tried again with the next outcome and at the end: another program may have held the
    history for a moment. An experiment that begins here is claimed, too, until the end.

    Args:
        line: to be cleared before something is said.
        number: of the experiment, if it is in the history already.
        off: keep nothing.

    Attributes:
        line: as given.
        number: of the experiment in the history, 0 if it is not kept.
    """

    def __init__(self, line: ProgressLine, number: int = 0, *, off: bool = False) -> None:
        self.line = line
        self.number = number
        self._off = off
        self._plan: ExperimentPlan | None = None
        self._claim: ExperimentLock | None = None
        self._pending: list[TrialOutcome] = []
        self._told = False
        #: The outcomes come on a thread of the host's, which a second Ctrl-C does not wait for.
        self._trying = threading.Lock()

    def begin(self, plan: ExperimentPlan) -> None:
        """Begin to keep an experiment."""
        self._plan = plan
        self._try()

    def keep(self, outcome: TrialOutcome) -> None:
        """Keep a finished trial."""
        self._pending.append(outcome)
        self._try()

    def close(self) -> None:
        """Try what is owed a last time, say what is lost, and let others go on with it; once is enough."""
        if self._pending:
            self._try()
        if self._pending and not self._off:
            self._say(f"{len(self._pending)} trial(s) could not be kept in the history.")
        self._off = True
        if self._claim is not None:
            self._claim.release()

    def _try(self) -> None:
        with self._trying:
            self._save_pending()

    def _save_pending(self) -> None:
        if self._off:
            return
        try:
            if not self.number and self._plan is not None:
                number = start_experiment(self._plan)
                self._claim = lock_experiment(number)
                self.number = number
            while self._pending:
                save_outcome(self.number, self._pending[0])
                del self._pending[0]
        except AppError as error:
            if not self._told:
                self._say(
                    f"The trials are not kept for now: {error.message} It is tried again with the next."
                )
            self._told = True
        else:
            self._told = False

    def _say(self, text: str) -> None:
        self.line.clear()
        print(f"mountwright: {text}", file=sys.stderr, flush=True)

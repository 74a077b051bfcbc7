"""The command "experiment": recipes, their plans and runs, kept trial by trial in the history."""

from __future__ import annotations

import contextlib
import re
import sys
from argparse import SUPPRESS, ArgumentTypeError
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.trials import Outcome  # noqa: TC001 - msgspec reads the annotations at run time
from app.agent.protocol import ListArgs
from app.bench.experiment.cookbook import (
    delete_recipe,
    find_recipe,
    recipe_source,
    recipes,
    save_recipe,
)
from app.bench.experiment.keeping import begin, keep, load
from app.bench.experiment.model import (
    BestArgs,
    BestResult,
    ExperimentArgs,
    ExperimentPlan,
    ExperimentResult,
    ExperimentRunArgs,
)
from app.cli.experiment_text import (
    ProgressLine,
    best_text,
    candidates_text,
    plan_text,
    recipe_text,
    recipes_text,
    report_text,
)
from app.errors import AppError, ErrorKind
from app.history.store import HistoryStore

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from app.agent.protocol import HelloResult
    from app.bench.experiment.model import ExperimentEvent
    from app.mounts.model import MountTable

    #: Asks the host (verb, arguments, what gets the events) and waits for the answer.
    Ask = Callable[[str, Any, Callable[[ExperimentEvent], None]], Any]

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h)?")
_SECONDS = {None: 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}
#: What needs no host.
LIBRARY = frozenset({"list", "show", "add", "remove"})


class Keeper:
    """Keeps each outcome of one experiment in the history at once; that this fails ends no long run.

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

    def begin(self, plan: ExperimentPlan) -> None:
        """Begin to keep an experiment."""
        if not self._off:
            self.number = begin(plan)

    def keep(self, outcome: Outcome) -> None:
        """Keep a finished trial; the first that cannot be kept is told."""
        if self._off:
            return
        try:
            keep(self.number, outcome)
        except AppError as error:
            self._off = True
            self.line.clear()
            print(f"mountwright: The trials are not kept: {error.message}", file=sys.stderr, flush=True)


class BestReport(msgspec.Struct, frozen=True, kw_only=True):
    """What --json prints of a search: see ExperimentReport and BestResult."""

    id: int
    result: BestResult
    outcomes: list[Outcome]


class ExperimentReport(msgspec.Struct, frozen=True, kw_only=True):
    """What --json prints.

    Attributes:
        id: in the history, 0 if it is not kept there.
        plan: what was planned.
        result: how it ended.
        outcomes: of all trials so far, in the order of the run.
    """

    id: int
    plan: ExperimentPlan
    result: ExperimentResult
    outcomes: list[Outcome]


def add_arguments(
    parser: argparse.ArgumentParser, add_lab: Callable[[argparse.ArgumentParser], None]
) -> None:
    """Describe the command's actions and their arguments.

    Args:
        parser: the command's.
        add_lab: adds --lab to one that needs a host.
    """
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)

    def add(name: str, text: str) -> argparse.ArgumentParser:
        action = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        # SUPPRESS keeps what was given before the action.
        action.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON")
        if name not in LIBRARY:
            add_lab(action)
        return action

    add("list", "list the recipes: those of five studies, and your own")
    show = add("show", "show a recipe, and what its study measured and concluded")
    show.add_argument("recipe", metavar="RECIPE")
    show.add_argument("--toml", action="store_true", help="print its file, to make one of your own from it")
    own = add("add", "keep a recipe of your own")
    own.add_argument("file", metavar="FILE", help="TOML as “show --toml” prints it")
    own.add_argument("--name", default="", help="default: the file's name without its ending")
    remove = add("remove", "remove a recipe of your own")
    remove.add_argument("recipe", metavar="RECIPE")
    for name, text in (
        ("plan", "try every option set, and say what can be measured here and what it takes"),
        ("run", "plan an experiment and run it; it can be interrupted and resumed"),
    ):
        action = add(name, text)
        action.add_argument("recipe", metavar="RECIPE", help="a name of “list”, or the path of a file")
        action.add_argument("share", nargs="?", default="", metavar="SHARE", help="server:/export")
        action.add_argument("--quick", action="store_true", help="in minutes: fewer levels, smaller files")
        _add_budget(action, "made smaller to fit, and ended when it is over")
        action.add_argument("--seed", type=int, default=None, help="of the random order (default: by chance)")
        if name == "run":
            action.add_argument(
                "--no-history", action="store_true", help="do not keep it; it cannot be resumed"
            )
    _add_best(add("best", "find the best setting for a share within a time"))
    resume = add("resume", "run what is left of an experiment; failed trials are tried again")
    resume.add_argument(
        "number", nargs="?", type=int, default=0, metavar="ID", help="default: the latest unfinished one"
    )
    _add_budget(resume, "ended when it is over")


def _add_best(action: argparse.ArgumentParser) -> None:
    action.add_argument("share", nargs="?", default="", metavar="SHARE", help="server:/export")
    action.add_argument(
        "-o", dest="options", default=None, metavar="OPTIONS",
        help="as it is mounted now (default: as it is); what is not varied is kept",
    )  # fmt: skip
    action.add_argument("--direction", choices=("both", "write", "read"), default="both")
    _add_budget(action, "default 5min")
    action.add_argument("--seed", type=int, default=None, help="of what is left to chance")
    action.add_argument("--no-history", action="store_true", help="do not keep the trials")


def _add_budget(action: argparse.ArgumentParser, text: str) -> None:
    action.add_argument(
        "--budget", type=_duration, default=None, metavar="TIME", help=f"90s, 5min or 2h; {text}"
    )


def _duration(text: str) -> float:
    match = _DURATION.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise ArgumentTypeError(f"“{text}” is not a time; write for example 90s, 5min or 2h")
    return float(match[1]) * _SECONDS[match[2]]


def run_library(args: argparse.Namespace) -> int:
    """Do what needs no host; return the exit code.

    Raises:
        AppError: as the library says.
    """
    result: Any
    if args.action == "list":
        found = recipes()
        result = found if args.json else recipes_text(found)
    elif args.action == "show":
        recipe = find_recipe(args.recipe)
        shown = recipe_source(recipe).rstrip() if args.toml else recipe_text(recipe)
        result = recipe if args.json else shown
    elif args.action == "add":
        path = Path(args.file)
        recipe = save_recipe(_read(path), args.name or path.stem)
        result = recipe if args.json else f"The recipe “{recipe.name}” is kept."
    else:
        delete_recipe(args.recipe)
        result = {} if args.json else f"The recipe “{args.recipe}” is removed."
    print(result if isinstance(result, str) else _json(result))
    return 0


def run_experiments(ask: Ask, args: argparse.Namespace, lab_share: Callable[[], str]) -> str:
    """Plan, run or resume; return what to print.

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
    share = args.share or lab_share()
    if not share:
        raise AppError(
            ErrorKind.USAGE,
            "An experiment needs a share.",
            hint="Name it as server:/export, or use --lab LINK.",
        )
    seed = args.seed if args.seed is not None else SystemRandom().randrange(2**31)
    if args.action == "best":
        return _best(ask, args, line, BestArgs(share=share, direction=args.direction, seed=seed))
    experiment = find_recipe(args.recipe).experiment(share, "quick" if args.quick else "full", seed=seed)
    query = ExperimentArgs(experiment=experiment, budget_s=args.budget)
    try:
        plan: ExperimentPlan = ask("experiment.plan", query, line.show)
    finally:
        line.clear()
    if args.action == "plan":
        return _json(plan) if args.json else plan_text(plan)
    print(plan_text(plan), file=sys.stderr, flush=True)
    keeper = Keeper(line, off=args.no_history)
    keeper.begin(plan)
    begun = ExperimentReport(id=keeper.number, plan=plan, result=_NOTHING, outcomes=[])
    report = _run(ask, args, begun, keeper)
    return _json(report) if args.json else report_text(report.plan, report.result, report.outcomes, report.id)


def _best(ask: Ask, args: argparse.Namespace, line: ProgressLine, query: BestArgs) -> str:
    """Search, keeping each outcome as soon as it is told."""
    options = args.options if args.options is not None else _mounted_with(ask, query.share)
    query = msgspec.structs.replace(query, options=options, budget_s=args.budget or query.budget_s)
    outcomes: list[Outcome] = []
    keeper = Keeper(line, off=args.no_history)

    def take(event: ExperimentEvent) -> None:
        line.show(event)
        if event.plan is not None:
            line.clear()
            print(candidates_text(event.plan), file=sys.stderr, flush=True)
            keeper.begin(event.plan)
        if event.outcome is not None:
            outcomes.append(event.outcome)
            keeper.keep(event.outcome)

    try:
        result: BestResult = ask("experiment.best", query, take)
    finally:
        line.clear()
    if args.json:
        return _json(BestReport(id=keeper.number, result=result, outcomes=outcomes))
    return best_text(result, keeper.number)


def _mounted_with(ask: Ask, share: str) -> str:
    """Return the options that a share was mounted with or is configured with, "" if it is neither."""
    table: MountTable = ask("mounts.list", ListArgs(), lambda _event: None)
    for mount in table.mounts:
        if mount.share == share and mount.active is not None and mount.active.requested is not None:
            return mount.active.requested
    return next((row.configured.options for row in table.mounts if row.share == share and row.configured), "")


_NOTHING = ExperimentResult(done=0, planned=0, failed=0, mismatched=0)


def _resume(ask: Ask, args: argparse.Namespace, line: ProgressLine) -> str:
    kept = load(args.number or _unfinished())
    _check_link(ask, kept.plan, kept.number)
    experiment = kept.plan.experiment
    print(
        f"Resuming experiment {kept.number}: {experiment.title} on {experiment.share}.",
        file=sys.stderr,
        flush=True,
    )
    begun = ExperimentReport(id=kept.number, plan=kept.plan, result=_NOTHING, outcomes=kept.outcomes)
    report = _run(ask, args, begun, Keeper(line, kept.number))
    return _json(report) if args.json else report_text(report.plan, report.result, report.outcomes, report.id)


def _run(ask: Ask, args: argparse.Namespace, begun: ExperimentReport, keeper: Keeper) -> ExperimentReport:
    """Run what is left, keeping each outcome as soon as it is told."""
    done = {outcome.order: outcome for outcome in begun.outcomes if outcome.state != "failed"}
    line = keeper.line

    def take(event: ExperimentEvent) -> None:
        line.show(event)
        if event.outcome is not None:
            done[event.outcome.order] = event.outcome
            keeper.keep(event.outcome)

    query = ExperimentRunArgs(plan=begun.plan, done=list(done.values()), budget_s=args.budget)
    try:
        result: ExperimentResult = ask("experiment.run", query, take)
    except KeyboardInterrupt:
        line.clear()
        if begun.id:
            print(f"Go on with it: mountwright experiment resume {begun.id}", file=sys.stderr)
        raise
    finally:
        line.clear()
    outcomes = [done[order] for order in sorted(done)]
    return msgspec.structs.replace(begun, result=result, outcomes=outcomes)


def _check_link(ask: Ask, plan: ExperimentPlan, number: int) -> None:
    """See that what is left is measured over the link that the rest was."""
    hello: HelloResult = ask("hello", None, lambda _event: None)
    now = hello.link.name if hello.link is not None else None
    begun = plan.environment.emulated_link if plan.environment is not None else None
    if now != begun:
        raise AppError(
            ErrorKind.USAGE,
            f"Experiment {number} was begun over {f'the lab link {begun}' if begun else 'a real link'}.",
            hint=f"Resume it with --lab {begun}." if begun else "Resume it without --lab.",
        )


def _unfinished() -> int:
    with HistoryStore.open() as store:
        numbers = [row.id for row in store.experiments()]
    for number in numbers:
        with contextlib.suppress(AppError):  # one of another version of the program
            if load(number).resumable:
                return number
    raise AppError(
        ErrorKind.USAGE,
        "No experiment is unfinished.",
        hint="“experiment run” begins one; “history” has what was measured.",
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AppError(ErrorKind.USAGE, f"{path} cannot be read.", detail=str(error)) from error


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()

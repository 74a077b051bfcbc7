"""The command "experiment": recipes, their plans and runs, kept trial by trial in the history."""

from __future__ import annotations

import re
import sys
from argparse import SUPPRESS, ArgumentTypeError
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.trials import Outcome  # noqa: TC001 - msgspec reads the annotations at run time
from app.bench.experiment.library import (
    delete_recipe,
    find_recipe,
    recipe_source,
    recipes,
    save_recipe,
)
from app.bench.experiment.model import (
    ExperimentArgs,
    ExperimentPlan,
    ExperimentResult,
    ExperimentRunArgs,
)
from app.cli.experiment_text import ProgressLine, plan_text, recipe_text, recipes_text, report_text
from app.errors import AppError, ErrorKind
from app.history.store import HistoryStore

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from app.bench.experiment.model import ExperimentEvent

    #: Asks the host (verb, arguments, what gets the events) and waits for the answer.
    Ask = Callable[[str, Any, Callable[[ExperimentEvent], None]], Any]

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h)?")
_SECONDS = {None: 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}
#: What needs no host.
LIBRARY = frozenset({"list", "show", "add", "remove"})


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
    resume = add("resume", "run what is left of an experiment; failed trials are tried again")
    resume.add_argument(
        "number", nargs="?", type=int, default=0, metavar="ID", help="default: the latest unfinished one"
    )
    _add_budget(resume, "ended when it is over")


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
    experiment = find_recipe(args.recipe).experiment(share, "quick" if args.quick else "full", seed=seed)
    query = ExperimentArgs(experiment=experiment, budget_s=args.budget)
    try:
        plan: ExperimentPlan = ask("experiment.plan", query, line.show)
    finally:
        line.clear()
    if args.action == "plan":
        return _json(plan) if args.json else plan_text(plan)
    print(plan_text(plan), file=sys.stderr, flush=True)
    if args.no_history:
        report = _run(ask, args, line, ExperimentReport(id=0, plan=plan, result=_NOTHING, outcomes=[]), None)
    else:
        with HistoryStore.open() as store:
            number = store.start_experiment(
                msgspec.json.encode(plan), share, seed, name=experiment.recipe, environment=plan.environment
            )
            report = _run(
                ask, args, line, ExperimentReport(id=number, plan=plan, result=_NOTHING, outcomes=[]), store
            )
    return _json(report) if args.json else report_text(report.plan, report.result, report.outcomes, report.id)


_NOTHING = ExperimentResult(done=0, planned=0, failed=0, mismatched=0)


def _resume(ask: Ask, args: argparse.Namespace, line: ProgressLine) -> str:
    with HistoryStore.open() as store:
        number = args.number or _unfinished(store)
        plan, outcomes = _kept(store, number)
        print(f"Resuming experiment {number}: {plan.experiment.title} on {plan.experiment.share}.",
              file=sys.stderr, flush=True)  # fmt: skip
        begun = ExperimentReport(id=number, plan=plan, result=_NOTHING, outcomes=outcomes)
        report = _run(ask, args, line, begun, store)
    return _json(report) if args.json else report_text(report.plan, report.result, report.outcomes, report.id)


def _run(
    ask: Ask,
    args: argparse.Namespace,
    line: ProgressLine,
    begun: ExperimentReport,
    store: HistoryStore | None,
) -> ExperimentReport:
    """Run what is left, keeping each outcome as soon as it is told."""
    done = {outcome.order: outcome for outcome in begun.outcomes if outcome.state != "failed"}

    def take(event: ExperimentEvent) -> None:
        line.show(event)
        if event.outcome is not None:
            done[event.outcome.order] = event.outcome
            if store is not None:
                store.add_outcome(begun.id, event.outcome)

    query = ExperimentRunArgs(plan=begun.plan, done=list(done.values()), budget_s=args.budget)
    try:
        result: ExperimentResult = ask("experiment.run", query, take)
    except KeyboardInterrupt:
        line.clear()
        if store is not None:
            print(f"Go on with it: mountwright experiment resume {begun.id}", file=sys.stderr)
        raise
    finally:
        line.clear()
    outcomes = [done[order] for order in sorted(done)]
    return msgspec.structs.replace(begun, result=result, outcomes=outcomes)


def _kept(store: HistoryStore, number: int) -> tuple[ExperimentPlan, list[Outcome]]:
    kept = store.experiment(number)
    try:
        return msgspec.json.decode(kept.spec, type=ExperimentPlan), kept.outcomes
    except msgspec.ValidationError as error:
        raise AppError(
            ErrorKind.IO,
            f"The plan of experiment {number} cannot be read.",
            hint="Another version of this program may have made it. Run the recipe anew.",
            detail=str(error),
        ) from error


def _unfinished(store: HistoryStore) -> int:
    for row in store.experiments():
        plan, outcomes = _kept(store, row.id)
        if not row.origin and sum(outcome.state != "failed" for outcome in outcomes) < plan.trials:
            return row.id
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

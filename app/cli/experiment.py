"""Command "experiment": its arguments, recipes from --vary, and the actions that need no host."""

from __future__ import annotations

import re
import sys
from argparse import SUPPRESS, ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.options import MountOptions, check_options
from app.cli.experiment_text import analysis_text, best_text, recipe_text, recipes_text
from app.errors import AppError, ErrorKind
from app.experiment.analysis import analyze_main_figures, analyze_search
from app.experiment.factors import normalized_level
from app.experiment.model import SEARCH_NAME, Factor
from app.experiment.recipe_store import (
    delete_recipe,
    find_recipe,
    read_recipe_file,
    read_recipes,
    recipe_source,
    save_recipe,
)
from app.experiment.recipes import Recipe, RecipeFactor, RecipeRepeats, RecipeWorkload, recipe_toml
from app.experiment.search import search_result_to_date
from app.history.experiment_store import load_experiment
from app.text.errors import ErrorCode
from app.text.units import format_figure, format_size, parse_size

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h)?")
_SECONDS = {None: 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}
#: Actions that need no host.
HOSTLESS_ACTIONS = frozenset({"list", "show", "add", "remove", "report"})


def add_arguments(
    parser: argparse.ArgumentParser, add_lab: Callable[[argparse.ArgumentParser], None]
) -> None:
    """Add the actions of the command and their arguments to the parser.

    Args:
        parser: parser of the command.
        add_lab: adds --lab to the parser of an action.
    """
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)

    def add(name: str, text: str) -> argparse.ArgumentParser:
        action = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        # SUPPRESS keeps a --json before the action.
        action.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON")
        if name not in HOSTLESS_ACTIONS:
            add_lab(action)
        return action

    add("list", "list the recipes: those of five studies, and your own")
    show = add("show", "show a recipe, and what its study measured and concluded")
    show.add_argument("recipe", metavar="RECIPE")
    show.add_argument("--toml", action="store_true", help="print its file, to make one of your own from it")
    adding = add("add", "save a recipe of your own")
    adding.add_argument(
        "file", nargs="?", default="", metavar="FILE", help="TOML as “show --toml” prints it; or --vary"
    )
    adding.add_argument("--name", default="", help="default: the file's name without its ending")
    add_recipe_arguments(adding)
    report = add("report", "show the result of a saved experiment or search")
    report.add_argument("number", type=int, metavar="ID")
    _add_axes(report)
    remove = add("remove", "remove a recipe of your own")
    remove.add_argument("recipe", metavar="RECIPE")
    for name, text in (
        ("plan", "try every option set, and say what can be measured here and what it takes"),
        ("run", "plan an experiment and run it (it can be interrupted and resumed)"),
    ):
        action = add(name, text)
        action.add_argument(
            "recipe", nargs="?", default="", metavar="RECIPE",
            help="recipe name (see “experiment list”) or TOML file (not with --vary)",
        )  # fmt: skip
        action.add_argument("share", nargs="?", default="", metavar="SHARE", help="server:/export")
        add_recipe_arguments(action)
        action.add_argument("--quick", action="store_true", help="in minutes: fewer values, smaller files")
        _add_budget(action, "time limit: the experiment is made smaller to fit, and stops when time is up")
        action.add_argument(
            "--seed", type=int, default=None, help="seed for the trial order (default: random)"
        )
        if name == "run":
            _add_axes(action)
            action.add_argument(
                "--no-history", action="store_true", help="do not save the experiment (it cannot be resumed)"
            )
    _add_best(add("best", "find the best settings for a share within a time limit"))
    resume = add("resume", "run the remaining trials of an experiment or a search, and repeat failed ones")
    resume.add_argument(
        "number", nargs="?", type=int, default=0, metavar="ID", help="default: the latest unfinished one"
    )
    _add_axes(resume)
    _add_budget(resume, "time limit (default for a search: its remaining time)")


def _add_best(action: argparse.ArgumentParser) -> None:
    action.add_argument("share", nargs="?", default="", metavar="SHARE", help="server:/export")
    action.add_argument(
        "-o", dest="options", default=None, metavar="OPTIONS",
        help="current mount options (default: read from the mount); options that are not varied stay",
    )  # fmt: skip
    action.add_argument("--direction", choices=("both", "write", "read"), default="both")
    add_vary(action, "settings that may change (default: those with the largest effects)")
    _add_budget(action, "time limit (default: 5min, or none with --bytes)")
    action.add_argument(
        "--bytes", type=_amount, default=None, metavar="SIZE",
        help="limit of data over the network, both directions together, such as 10G",
    )  # fmt: skip
    action.add_argument("--seed", type=int, default=None, help="seed for random choices (default: random)")
    action.add_argument("--no-history", action="store_true", help="do not save the trials")


def _add_axes(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "--axes", type=_axes, default=None, metavar="DOWN,ACROSS",
        help="two varied settings for the tables, such as rsize,nconnect (default: the study's own table)",
    )  # fmt: skip


def _axes(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise ArgumentTypeError("write two settings, such as rsize,nconnect")
    return names


def _add_budget(action: argparse.ArgumentParser, text: str) -> None:
    action.add_argument(
        "--budget", type=_duration, default=None, metavar="TIME", help=f"90s, 5min or 2h; {text}"
    )


def _amount(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def _duration(text: str) -> float:
    match = _DURATION.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise ArgumentTypeError(f"“{text}” is not a time. Enter for example 90s, 5min or 2h")
    return float(match[1]) * _SECONDS[match[2]]


def run_hostless(args: argparse.Namespace) -> int:
    """Run an action that needs no host, and print its result; return the exit code.

    Raises:
        AppError: if a recipe or an experiment cannot be read or saved, or USAGE for a wrong command line.
    """
    result: Any
    if args.action == "list":
        found, unreadable = read_recipes()
        for error in unreadable:
            print(f"mountwright: {error.message} {error.hint}", file=sys.stderr, flush=True)
        result = found if args.json else recipes_text(found)
    elif args.action == "show":
        recipe = find_recipe(args.recipe)
        shown = recipe_source(recipe).rstrip() if args.toml else recipe_text(recipe)
        result = recipe if args.json else shown
    elif args.action == "report":
        result = _report(args)
    elif args.action == "add":
        recipe = _add_recipe(args)
        result = recipe if args.json else f"Saved the recipe “{recipe.name}”."
    else:
        delete_recipe(args.recipe)
        result = {} if args.json else f"Removed the recipe “{args.recipe}”."
    print(result if isinstance(result, str) else _json(result))
    return 0


def _report(args: argparse.Namespace) -> Any:
    """Return the conclusions of a saved experiment or search, as text or for JSON."""
    stored = load_experiment(args.number)
    if stored.plan.experiment.recipe != SEARCH_NAME:
        found = analyze_main_figures(
            stored.plan, stored.outcomes, written=format_figure, axes=args.axes or ()
        )
        return found if args.json else analysis_text(found)
    best = search_result_to_date(stored.plan, stored.outcomes)
    if best is None:
        raise AppError(ErrorCode.SEARCH_WITHOUT_RESULT, number=args.number)
    return analyze_search(best, format_figure) if args.json else best_text(best, args.number)


def _add_recipe(args: argparse.Namespace) -> Recipe:
    """Save the recipe of a file, or of --vary."""
    varied = recipe_from_args(args)
    if bool(args.file) == (varied is not None) or (varied is not None and not args.name):
        raise AppError(ErrorCode.RECIPE_SOURCE_UNCLEAR)
    if varied is not None:
        return save_recipe(recipe_toml(varied), args.name)
    path = Path(args.file)
    return save_recipe(read_recipe_file(path), args.name or path.stem, str(path))


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


#: Default size of the copied file and number of repeats of a recipe from --vary; quick ones are shorter.
_SIZE, _QUICK_SIZE = "64M", "8M"
_REPEATS, _QUICK_REPEATS = 3, 2
_MAX_REPEATS = 100


def add_vary(action: argparse.ArgumentParser, text: str) -> None:
    """Add the option --vary.

    Args:
        action: parser to add it to.
        text: end of the help text: the meaning for this action.
    """
    action.add_argument(
        "--vary", action="append", default=[], metavar="NAME=LEVELS",
        help=f"for example rsize=4k,64k,1M (can be repeated); {text}",
    )  # fmt: skip


def add_recipe_arguments(action: argparse.ArgumentParser) -> None:
    """Add the options that describe an experiment without a recipe."""
    group = action.add_argument_group("instead of a recipe")
    group.add_argument(
        "--vary", action="append", default=[], metavar="NAME=LEVELS",
        help="for example rsize=4k,64k,1M (if repeated, every combination is compared)",
    )  # fmt: skip
    group.add_argument(
        "--alone", action="store_true", help="vary one setting at a time, the first value as reference"
    )
    group.add_argument("-o", dest="options", default="", metavar="OPTIONS", help="mount options of all sets")
    group.add_argument("--size", default="", help=f"size of the copied file (default: {_SIZE})")
    group.add_argument("--repeats", type=int, default=None, help=f"repeats of each set (default: {_REPEATS})")


def factors_from_args(args: argparse.Namespace) -> list[Factor]:
    """Return the factors of --vary, with normalized levels.

    Raises:
        AppError: USAGE for a factor without levels, given twice, or with a level that is not valid.
    """
    factors: list[Factor] = []
    for text in args.vary:
        name, _, levels = text.partition("=")
        found = [level.strip() for level in levels.split(",") if level.strip()]
        if not name.strip() or not found:
            raise _bad_factor(text, "it has no levels.")
        if any(factor.name == name.strip() for factor in factors):
            raise _bad_factor(text, "it appears twice.")
        try:
            found = [normalized_level(name.strip(), level) for level in found]
        except ValueError as error:
            raise _bad_factor(text, str(error)) from error
        factors.append(Factor(name=name.strip(), levels=list(dict.fromkeys(found))))
    return factors


def recipe_from_args(args: argparse.Namespace) -> Recipe | None:
    """Return the recipe described by --vary and its options, None without --vary.

    Raises:
        AppError: USAGE for factors, sizes or repeats that are not valid; OPTION_INVALID for mount options.
    """
    factors = factors_from_args(args)
    if not factors:
        if args.alone or args.options or args.size or args.repeats is not None:
            raise AppError(ErrorCode.OPTIONS_NEED_VARY)
        return None
    problems = check_options(MountOptions.parse(args.options))
    if problems:
        raise AppError(ErrorKind.OPTION_INVALID, problems[0].message, hint="Correct the options after -o.")
    try:
        size = parse_size(args.size or _SIZE)
    except ValueError as error:
        raise AppError(ErrorCode.SIZE_SYNTAX, problem=str(error)) from error
    if size < 1:
        raise AppError(ErrorCode.SIZE_TOO_SMALL)
    if args.repeats is not None and not 1 <= args.repeats <= _MAX_REPEATS:
        raise AppError(ErrorCode.REPEATS_NOT_IN_RANGE, limit=_MAX_REPEATS, repeats=args.repeats)
    return Recipe(
        title=f"Your own: {', '.join(factor.name for factor in factors)}",
        options=args.options,
        strategy="one-at-a-time" if args.alone else "full",
        factor=[RecipeFactor(name=factor.name, levels=factor.levels) for factor in factors],
        workload=[
            RecipeWorkload(
                name=f"{format_size(size)} file",
                size=args.size or _SIZE,
                quick_size="" if args.size else _QUICK_SIZE,
            )
        ],
        full=RecipeRepeats(repeats=args.repeats or _REPEATS),
        quick=RecipeRepeats(repeats=args.repeats or _QUICK_REPEATS),
        own=True,
    )


def _bad_factor(text: str, problem: str) -> AppError:
    return AppError(ErrorCode.VARY_SYNTAX, text=text, problem=problem)

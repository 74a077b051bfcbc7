"""The command "experiment": its arguments, and the recipes, which need no host."""

from __future__ import annotations

import re
import sys
from argparse import SUPPRESS, ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from app.bench.experiment.recipe_toml import recipe_toml
from app.bench.experiment.so_far import best_so_far
from app.cli.experiment_own import add_own_arguments, add_vary, own_recipe
from app.cli.experiment_text import analysis_text, best_text, recipe_text, recipes_text
from app.errors import AppError, ErrorKind
from app.experiment.analysis import find_of_search, reported
from app.experiment.model import SEARCH
from app.experiment.recipe_store import (
    delete_recipe,
    find_recipe,
    read_cookbook,
    recipe_file_text,
    recipe_source,
    save_recipe,
)
from app.history.experiment_store import load
from app.units import format_figure, parse_size

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from app.experiment.recipes import Recipe

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h)?")
_SECONDS = {None: 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}
#: What needs no host.
LIBRARY = frozenset({"list", "show", "add", "remove", "report"})


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
    own.add_argument(
        "file", nargs="?", default="", metavar="FILE", help="TOML as “show --toml” prints it; or --vary"
    )
    own.add_argument("--name", default="", help="default: the file's name without its ending")
    add_own_arguments(own)
    report = add("report", "say again what an experiment or a search of the history shows")
    report.add_argument("number", type=int, metavar="ID")
    _add_axes(report)
    remove = add("remove", "remove a recipe of your own")
    remove.add_argument("recipe", metavar="RECIPE")
    for name, text in (
        ("plan", "try every option set, and say what can be measured here and what it takes"),
        ("run", "plan an experiment and run it; it can be interrupted and resumed"),
    ):
        action = add(name, text)
        action.add_argument(
            "recipe", nargs="?", default="", metavar="RECIPE",
            help="a name of “list”, or the path of a file; not with --vary",
        )  # fmt: skip
        action.add_argument("share", nargs="?", default="", metavar="SHARE", help="server:/export")
        add_own_arguments(action)
        action.add_argument("--quick", action="store_true", help="in minutes: fewer levels, smaller files")
        _add_budget(action, "made smaller to fit, and ended when it is over")
        action.add_argument("--seed", type=int, default=None, help="of the random order (default: by chance)")
        if name == "run":
            _add_axes(action)
            action.add_argument(
                "--no-history", action="store_true", help="do not keep it; it cannot be resumed"
            )
    _add_best(add("best", "find the best setting for a share within a time"))
    resume = add("resume", "run what is left of an experiment or a search; failed trials are tried again")
    resume.add_argument(
        "number", nargs="?", type=int, default=0, metavar="ID", help="default: the latest unfinished one"
    )
    _add_axes(resume)
    _add_budget(resume, "ended when it is over (default of a search: what was left of its time)")


def _add_best(action: argparse.ArgumentParser) -> None:
    action.add_argument("share", nargs="?", default="", metavar="SHARE", help="server:/export")
    action.add_argument(
        "-o", dest="options", default=None, metavar="OPTIONS",
        help="as it is mounted now (default: as it is); what is not varied is kept",
    )  # fmt: skip
    action.add_argument("--direction", choices=("both", "write", "read"), default="both")
    add_vary(action, "what may be changed, by default what does most")
    _add_budget(action, "default 5min, or with --bytes as long as it takes")
    action.add_argument(
        "--bytes", type=_amount, default=None, metavar="SIZE",
        help="at most so much over the network, both ways together, such as 10G",
    )  # fmt: skip
    action.add_argument("--seed", type=int, default=None, help="of what is left to chance")
    action.add_argument("--no-history", action="store_true", help="do not keep the trials")


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
        raise ArgumentTypeError(f"“{text}” is not a time; write for example 90s, 5min or 2h")
    return float(match[1]) * _SECONDS[match[2]]


def run_library(args: argparse.Namespace) -> int:
    """Do what needs no host; return the exit code.

    Raises:
        AppError: as the library says.
    """
    result: Any
    if args.action == "list":
        found, unreadable = read_cookbook()
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
        recipe = _added(args)
        result = recipe if args.json else f"The recipe “{recipe.name}” is kept."
    else:
        delete_recipe(args.recipe)
        result = {} if args.json else f"The recipe “{args.recipe}” is removed."
    print(result if isinstance(result, str) else _json(result))
    return 0


def _report(args: argparse.Namespace) -> Any:
    """Return what an experiment or a search of the history shows, as text or for JSON."""
    kept = load(args.number)
    if kept.plan.experiment.recipe != SEARCH:
        found = reported(kept.plan, kept.outcomes, written=format_figure, axes=args.axes or ())
        return found if args.json else analysis_text(found)
    best = best_so_far(kept.plan, kept.outcomes)
    if best is None:
        raise AppError(
            ErrorKind.USAGE,
            f"No trial of search {args.number} gave a figure.",
            hint=f"Go on with it: “experiment resume {args.number}”.",
        )
    return find_of_search(best, format_figure) if args.json else best_text(best, args.number)


def _added(args: argparse.Namespace) -> Recipe:
    """Keep a file's recipe, or what is varied on the command line."""
    own = own_recipe(args)
    if bool(args.file) == (own is not None) or (own is not None and not args.name):
        raise AppError(
            ErrorKind.USAGE,
            "A recipe comes from a file, or from what is varied and a name.",
            hint="Write “experiment add FILE”, or “experiment add --vary NAME=LEVELS --name NAME”.",
        )
    if own is not None:
        return save_recipe(recipe_toml(own), args.name)
    path = Path(args.file)
    return save_recipe(recipe_file_text(path), args.name or path.stem, str(path))


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()

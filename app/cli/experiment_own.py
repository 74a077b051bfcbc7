"""Experiments written on the command line: what is varied, with which levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.options import MountOptions, check
from app.errors import AppError, ErrorKind
from app.experiment.factors import normal
from app.experiment.model import Factor
from app.experiment.recipes import Extent, Recipe, RecipeFactor, RecipeWork
from app.units import format_size, parse_size

if TYPE_CHECKING:
    import argparse

#: What is copied where nothing else is said, and how often.
_SIZE, _QUICK_SIZE = "64M", "8M"
_REPEATS, _QUICK_REPEATS = 3, 2
_MOST_REPEATS = 100


def add_vary(action: argparse.ArgumentParser, text: str) -> None:
    """Add --vary.

    Args:
        action: that gets it.
        text: what it is there.
    """
    action.add_argument(
        "--vary", action="append", default=[], metavar="NAME=LEVELS",
        help=f"rsize=4k,64k,1M for example; can be given several times; {text}",
    )  # fmt: skip


def add_own_arguments(action: argparse.ArgumentParser) -> None:
    """Add what makes an experiment without a recipe."""
    own = action.add_argument_group("instead of a recipe")
    own.add_argument(
        "--vary", action="append", default=[], metavar="NAME=LEVELS",
        help="rsize=4k,64k,1M for example; given several times, every combination is compared",
    )  # fmt: skip
    own.add_argument("--alone", action="store_true", help="vary each alone; the first level is the base")
    own.add_argument("-o", dest="options", default="", metavar="OPTIONS", help="options of all sets")
    own.add_argument("--size", default="", help=f"of the file that is copied, default {_SIZE}")
    own.add_argument("--repeats", type=int, default=None, help=f"default {_REPEATS}")


def own_factors(args: argparse.Namespace) -> list[Factor]:
    """Return what --vary says, each level as it is kept.

    Raises:
        AppError: USAGE if it says nothing that can be varied.
    """
    factors: list[Factor] = []
    for text in args.vary:
        name, _, levels = text.partition("=")
        found = [level.strip() for level in levels.split(",") if level.strip()]
        if not name.strip() or not found:
            raise _bad(text, "it has no levels.")
        if any(factor.name == name.strip() for factor in factors):
            raise _bad(text, "it is there twice.")
        try:
            found = [normal(name.strip(), level) for level in found]
        except ValueError as error:
            raise _bad(text, str(error)) from error
        factors.append(Factor(name=name.strip(), levels=list(dict.fromkeys(found))))
    return factors


def own_recipe(args: argparse.Namespace) -> Recipe | None:
    """Return the recipe that the command line writes, None if it varies nothing.

    Raises:
        AppError: USAGE for what cannot be varied; OPTION_INVALID for its options.
    """
    factors = own_factors(args)
    if not factors:
        if args.alone or args.options or args.size or args.repeats is not None:
            raise AppError(
                ErrorKind.USAGE,
                "--alone, -o, --size and --repeats are for an experiment of your own.",
                hint="Say what it varies: --vary rsize=64k,1M for example.",
            )
        return None
    problems = check(MountOptions.parse(args.options))
    if problems:
        raise AppError(ErrorKind.OPTION_INVALID, problems[0].message, hint="Correct the options after -o.")
    try:
        size = parse_size(args.size or _SIZE)
    except ValueError as error:
        raise AppError(ErrorKind.USAGE, f"--size: {error}") from error
    if size < 1:
        raise AppError(ErrorKind.USAGE, "The size of the file must be at least one byte.")
    if args.repeats is not None and not 1 <= args.repeats <= _MOST_REPEATS:
        raise AppError(
            ErrorKind.USAGE,
            f"The number of repeats must be between 1 and {_MOST_REPEATS}, not {args.repeats}.",
        )
    return Recipe(
        title=f"Your own: {', '.join(factor.name for factor in factors)}",
        options=args.options,
        strategy="one-at-a-time" if args.alone else "full",
        factor=[RecipeFactor(name=factor.name, levels=factor.levels) for factor in factors],
        workload=[
            RecipeWork(
                name=f"{format_size(size)} file",
                size=args.size or _SIZE,
                quick_size="" if args.size else _QUICK_SIZE,
            )
        ],
        full=Extent(repeats=args.repeats or _REPEATS),
        quick=Extent(repeats=args.repeats or _QUICK_REPEATS),
        own=True,
    )


def _bad(text: str, problem: str) -> AppError:
    return AppError(
        ErrorKind.USAGE,
        f"“--vary {text}” cannot be varied: {problem}",
        hint="Write an option or a factor and its levels: --vary rsize=64k,1M --vary read_ahead_kb=128,4096.",
    )

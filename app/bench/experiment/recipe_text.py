"""A recipe's text, read so that whoever wrote it can find what is wrong: file, line and key."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import msgspec

from advisor.options import MountOptions, check
from app.bench.limits import block_problem, count_problem
from app.errors import AppError, ErrorKind
from app.experiment.factors import normal
from app.experiment.recipes import CP, Recipe, RecipeFactor, RecipeWork
from app.units import parse_size
from resources.decoding import converted

if TYPE_CHECKING:
    from collections.abc import Callable

    _Bad = Callable[[list[str], str], AppError]


def parse_recipe(text: str, file: str, *, name: str = "", own: bool = False) -> Recipe:
    """Return the recipe that a text describes.

    Args:
        text: TOML.
        file: its file, for messages.
        name: the recipe's.
        own: whether it is the person's.

    Raises:
        AppError: USAGE that names file, line and key.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _bad(file, "", f"it is not TOML: {error}") from error
    except (ValueError, RecursionError) as error:
        raise _bad(file, "", "a number in it has too many digits, or it is nested too deeply.") from error
    try:
        recipe = converted({**data, "name": name, "own": own}, Recipe)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$.")
        keys = re.findall(r"[a-z_]+|\d+", path.rstrip("`"))
        unknown = re.search(r"unknown field `(\w+)`", problem)
        missing = re.search(r"missing required field `(\w+)`", problem)
        if unknown is not None:
            keys.append(unknown[1])
        raise _bad(file, _where(text, keys), problem, missing[1] if missing else "") from error
    _check(recipe, text, file)
    return recipe


def _check(recipe: Recipe, text: str, file: str) -> None:
    """See that factors, levels, rows, workloads and common options are such."""

    def bad(keys: list[str], problem: str) -> AppError:
        return _bad(file, _where(text, keys), problem)

    problems = check(MountOptions.parse(recipe.options))
    if problems:
        raise bad(["options"], problems[0].message)
    names: set[str] = set()
    for number, factor in enumerate(recipe.factor):
        where = ["factor", str(number)]
        if factor.name in names:
            raise bad([*where, "name"], f"the factor “{factor.name}” is there twice.")
        names.add(factor.name)
        _check_levels(factor, where, bad)
    if not recipe.workload or not recipe.factor:
        raise bad([], "it needs at least one [[factor]] and one [[workload]].")
    _check_axes(recipe, names, bad)
    _check_rows(recipe, names, bad)
    for number, work in enumerate(recipe.workload):
        _check_work(work, ["workload", str(number)], bad)
    for key, extent in (("full", recipe.full), ("quick", recipe.quick)):
        if not 1 <= extent.repeats <= 100:
            raise bad([key, "repeats"], "the number of repeats must be between 1 and 100.")


def _check_axes(recipe: Recipe, names: set[str], bad: _Bad) -> None:
    for name in recipe.axes:
        if name not in names or recipe.axes.count(name) > 1:
            raise bad(["axes"], f"“{name}” is none of its factors, or is there twice.")


def _check_rows(recipe: Recipe, names: set[str], bad: _Bad) -> None:
    for number, row in enumerate(recipe.row):
        for name, level in row.items():
            if name not in names:
                raise bad(["row", str(number), name], f"“{name}” is none of its factors.")
            _normal(name, level, ["row", str(number), name], bad)
    if (recipe.strategy == "rows") != bool(recipe.row):
        raise bad(["strategy"], '[[row]] and strategy = "rows" go together.')


def _check_levels(factor: RecipeFactor, where: list[str], bad: _Bad) -> None:
    if not factor.levels:
        raise bad([*where, "levels"], f"the factor “{factor.name}” has no levels.")
    for key, levels in (("levels", factor.levels), ("quick", factor.quick), ("base", [factor.base])):
        for level in levels:
            if level or key != "base":
                _normal(factor.name, level, [*where, key], bad)
    for key, levels in (("quick", factor.quick), ("base", [factor.base] if factor.base else [])):
        for level in levels:
            if normal(factor.name, level) not in {normal(factor.name, one) for one in factor.levels}:
                raise bad([*where, key], f"“{level}” is not among the levels of “{factor.name}”.")


def _check_work(work: RecipeWork, where: list[str], bad: _Bad) -> None:
    sizes = ("size", "quick_size", *(() if work.block_size == CP else ("block_size",)))
    for key in sizes:
        written: str = getattr(work, key)
        try:
            size = parse_size(written or work.size)
        except ValueError as error:
            raise bad([*where, key], str(error)) from error
        if size < 1:
            raise bad([*where, key], "it must be at least one byte.")
    if work.kind in {"own", "grid"}:
        raise bad([*where, "kind"], f"“{work.kind}” is a test of its own, which no experiment repeats.")
    if work.block_size != CP and (problem := block_problem(parse_size(work.block_size))):
        raise bad([*where, "block_size"], problem)
    for key, count in (("count", work.count), ("quick_count", work.quick_count or work.count)):
        if problem := count_problem(work.kind, count):
            raise bad([*where, key], problem)


def _normal(name: str, level: str, keys: list[str], bad: _Bad) -> None:
    try:
        normal(name, level)
    except ValueError as error:
        raise bad(keys, str(error)) from error


def _where(text: str, keys: list[str]) -> str:
    """Return “line N, key” of a key in the file, as far as it can be found."""
    lines = text.splitlines()
    start, names = 0, list(keys)
    if len(names) > 1 and names[1].isdigit():
        table, number = names[0], int(names[1])
        headers = [place for place, line in enumerate(lines) if line.strip() == f"[[{table}]]"]
        start = headers[number] if number < len(headers) else 0
        names = names[2:]
    elif len(names) > 1:
        start = next((place for place, line in enumerate(lines) if line.strip() == f"[{names[0]}]"), 0)
        names = names[1:]
    key = names[0] if names and not names[0].isdigit() else ""
    for place in range(start, len(lines)) if key else ():
        if re.match(rf"\s*{re.escape(key)}\s*=", lines[place]):
            return f"line {place + 1}, {key}"
    return f"line {start + 1}" + (f", {key}" if key else "")


def _bad(file: str, where: str, problem: str, key: str = "") -> AppError:
    place = f"{file}, {where}" if where else file
    named = f" ({key})" if key else ""
    return AppError(
        ErrorKind.USAGE,
        f"The recipe is not as it should be. {place}: {problem}{named}",
        hint="The manual describes recipes; “experiment show” prints one as an example.",
    )

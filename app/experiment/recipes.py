"""Recipes: experiments written as TOML: reading, with file, line and key of each error, and writing.

A recipe has ``title``, ``text``, ``options``, ``strategy``, ``axes``, ``[[factor]]`` (name, levels, quick,
base), ``[[row]]``, ``[[workload]]`` (name, kind, size, count, block_size, direction, quick_size,
quick_count), ``[full]`` and ``[quick]`` (repeats), and ``[study]`` with the results of the original study.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.options import MountOptions, check_options
from advisor.transfer_sizes import CP_CALL_SIZE
from app.errors import AppError
from app.experiment.factors import normalized_level
from app.experiment.model import SEARCH_NAME, Experiment, Factor, Strategy, WorkloadSpec
from app.speedtest.model import Direction, WorkloadKind, block_size_problem, file_count_problem
from app.text.errors import ErrorCode
from app.text.units import parse_size
from resources import translated
from resources.decoding import converted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

RecipeSize = Literal["quick", "full"]
#: Spelling in a recipe for the call size of cp on the mount.
CP_BLOCK_SIZE = "cp"


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Published study behind a recipe.

    Attributes:
        name: title of the study.
        by: author, place and date.
        measured: figures of the study, in plain text.
        concluded: conclusion of the study.
        today: differences to consider when comparing with present systems.
    """

    name: str
    by: str
    measured: str
    concluded: str
    today: str = ""


class RecipeFactor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A factor with the levels of both recipe sizes; an empty ``quick`` means all levels."""

    name: str
    levels: list[str]
    quick: list[str] = []
    base: str = ""


class RecipeWorkload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workload with amounts for both recipe sizes, such as 64k or 1G; quick amounts default to full ones.

    The block size may also be "cp" for the call size of cp on the mount.
    """

    name: str
    kind: WorkloadKind = "file"
    size: str
    quick_size: str = ""
    count: int = 1
    quick_count: int = 0
    block_size: str = CP_BLOCK_SIZE
    direction: Direction = "both"


class RecipeRepeats(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Number of repeats for one recipe size."""

    repeats: int = 3


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An experiment independent of a share.

    Attributes:
        title: title in a few words.
        text: description of the comparison and its purpose.
        options: mount options common to all sets.
        strategy: how the levels are combined.
        axes: factors of the study's own table: rows, columns, and those that split it into several tables.
        factor: factors to vary.
        row: option sets of the strategy "rows".
        workload: workloads run with each set.
        full: repeats of the full size, as in the study.
        quick: repeats of the short size, which takes minutes.
        study: the study behind it, None for a user's recipe.
        name: file name without suffix; not a key of the file.
        own: whether it is a user's recipe; not a key of the file.
    """

    title: str
    text: str = ""
    options: str = ""
    strategy: Strategy = "full"
    axes: list[str] = []
    factor: list[RecipeFactor]
    row: list[dict[str, str]] = []
    workload: list[RecipeWorkload]
    full: RecipeRepeats = RecipeRepeats()
    quick: RecipeRepeats = RecipeRepeats()
    study: Study | None = None
    name: str = ""
    own: bool = False

    def experiment(self, share: str, size: RecipeSize = "full", *, seed: int = 0) -> Experiment:
        """Return the experiment on a share.

        Args:
            share: server:/export.
            size: the full size as in the study, or the quick one.
            seed: seed of the random order.
        """
        quick = size == "quick"
        return Experiment(
            share=share,
            # The search's name is reserved, but older files of users may have it.
            recipe=self.name if self.name != SEARCH_NAME else "",
            title=self.title,
            options=self.options,
            strategy=self.strategy,
            axes=self.axes,
            factors=[_factor_of_size(factor, quick=quick) for factor in self.factor],
            rows=[{name: normalized_level(name, level) for name, level in row.items()} for row in self.row],
            workloads=[_workload_of_size(work, quick=quick) for work in self.workload],
            repeats=(self.quick if quick else self.full).repeats,
            seed=seed,
        )


def parse_block_size(text: str) -> int:
    """Return the bytes of a call, CP_CALL_SIZE for "cp".

    Raises:
        ValueError: if it is neither a size nor "cp".
    """
    return CP_CALL_SIZE if text == CP_BLOCK_SIZE else parse_size(text)


def _factor_of_size(factor: RecipeFactor, *, quick: bool) -> Factor:
    levels = [
        normalized_level(factor.name, level) for level in (factor.quick if quick else ()) or factor.levels
    ]
    base = normalized_level(factor.name, factor.base) if factor.base else ""
    if base and base not in levels:
        levels.insert(0, base)
    return Factor(name=factor.name, levels=list(dict.fromkeys(levels)), base=base)


def _workload_of_size(work: RecipeWorkload, *, quick: bool) -> WorkloadSpec:
    size = parse_size((work.quick_size if quick else "") or work.size)
    count = (work.quick_count if quick else 0) or work.count
    whole = WorkloadSpec(
        name=work.name,
        kind=work.kind,
        size=parse_size(work.size),
        count=work.count,
        block_size=parse_block_size(work.block_size),
        direction=work.direction,
    )
    return whole if (size, count) == (whole.size, whole.count) else whole.resized(size=size, count=count)


if TYPE_CHECKING:
    _MakeError = Callable[[list[str], str], AppError]


def parse_recipe(text: str, file: str, *, name: str = "", own: bool = False) -> Recipe:
    """Return the recipe that a text describes.

    Args:
        text: recipe in TOML.
        file: name of its file, for messages.
        name: name of the recipe.
        own: whether it is a user's recipe.

    Raises:
        AppError: USAGE with file, line and key of the first error.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _recipe_error(file, "", f"it is not TOML: {error}") from error
    except (ValueError, RecursionError) as error:
        raise _recipe_error(
            file, "", "a number in it has too many digits, or it is nested too deeply."
        ) from error
    try:
        recipe = converted({**(data if own else translated(data)), "name": name, "own": own}, Recipe)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$.")
        keys = re.findall(r"[a-z_]+|\d+", path.rstrip("`"))
        unknown = re.search(r"unknown field `(\w+)`", problem)
        missing = re.search(r"missing required field `(\w+)`", problem)
        if unknown is not None:
            keys.append(unknown[1])
        raise _recipe_error(file, _locate_key(text, keys), problem, missing[1] if missing else "") from error
    _check_recipe(recipe, text, file)
    return recipe


def _check_recipe(recipe: Recipe, text: str, file: str) -> None:
    """Check factors, levels, rows, workloads and common options."""

    def error_at(keys: list[str], problem: str) -> AppError:
        return _recipe_error(file, _locate_key(text, keys), problem)

    problems = check_options(MountOptions.parse(recipe.options))
    if problems:
        raise error_at(["options"], problems[0].message)
    names: set[str] = set()
    for number, factor in enumerate(recipe.factor):
        where = ["factor", str(number)]
        if factor.name in names:
            raise error_at([*where, "name"], f"the factor “{factor.name}” is there twice.")
        names.add(factor.name)
        _check_levels(factor, where, error_at)
    if not recipe.workload or not recipe.factor:
        raise error_at([], "it needs at least one [[factor]] and one [[workload]].")
    _check_axes(recipe, names, error_at)
    _check_rows(recipe, names, error_at)
    for number, work in enumerate(recipe.workload):
        _check_workload(work, ["workload", str(number)], error_at)
    for key, repeats in (("full", recipe.full), ("quick", recipe.quick)):
        if not 1 <= repeats.repeats <= 100:
            raise error_at([key, "repeats"], "the number of repeats must be between 1 and 100.")


def _check_axes(recipe: Recipe, names: set[str], error_at: _MakeError) -> None:
    for name in recipe.axes:
        if name not in names or recipe.axes.count(name) > 1:
            raise error_at(["axes"], f"“{name}” is none of its factors, or is there twice.")


def _check_rows(recipe: Recipe, names: set[str], error_at: _MakeError) -> None:
    for number, row in enumerate(recipe.row):
        for name, level in row.items():
            if name not in names:
                raise error_at(["row", str(number), name], f"“{name}” is none of its factors.")
            _check_level(name, level, ["row", str(number), name], error_at)
    if (recipe.strategy == "rows") != bool(recipe.row):
        raise error_at(["strategy"], '[[row]] and strategy = "rows" go together.')


def _check_levels(factor: RecipeFactor, where: list[str], error_at: _MakeError) -> None:
    if not factor.levels:
        raise error_at([*where, "levels"], f"the factor “{factor.name}” has no levels.")
    for key, levels in (("levels", factor.levels), ("quick", factor.quick), ("base", [factor.base])):
        for level in levels:
            if level or key != "base":
                _check_level(factor.name, level, [*where, key], error_at)
    for key, levels in (("quick", factor.quick), ("base", [factor.base] if factor.base else [])):
        for level in levels:
            if normalized_level(factor.name, level) not in {
                normalized_level(factor.name, one) for one in factor.levels
            }:
                raise error_at([*where, key], f"“{level}” is not among the levels of “{factor.name}”.")


def _check_workload(work: RecipeWorkload, where: list[str], error_at: _MakeError) -> None:
    sizes = ("size", "quick_size", *(() if work.block_size == CP_BLOCK_SIZE else ("block_size",)))
    for key in sizes:
        text: str = getattr(work, key)
        try:
            size = parse_size(text or work.size)
        except ValueError as error:
            raise error_at([*where, key], str(error)) from error
        if size < 1:
            raise error_at([*where, key], "it must be at least one byte.")
    if work.kind in {"own", "grid"}:
        raise error_at([*where, "kind"], f"“{work.kind}” is a test of its own, which no experiment repeats.")
    if work.block_size != CP_BLOCK_SIZE and (problem := block_size_problem(parse_size(work.block_size))):
        raise error_at([*where, "block_size"], problem)
    for key, count in (("count", work.count), ("quick_count", work.quick_count or work.count)):
        if problem := file_count_problem(work.kind, count):
            raise error_at([*where, key], problem)


def _check_level(name: str, level: str, keys: list[str], error_at: _MakeError) -> None:
    try:
        normalized_level(name, level)
    except ValueError as error:
        raise error_at(keys, str(error)) from error


def _locate_key(text: str, keys: list[str]) -> str:
    """Return “line N, key” for a key in the file, as exactly as it can be found."""
    lines = text.splitlines()
    start, names = 0, list(keys)
    if len(names) > 1 and names[1].isdigit():
        table, number = names[0], int(names[1])
        headers = [index for index, line in enumerate(lines) if line.strip() == f"[[{table}]]"]
        start = headers[number] if number < len(headers) else 0
        names = names[2:]
    elif len(names) > 1:
        start = next((index for index, line in enumerate(lines) if line.strip() == f"[{names[0]}]"), 0)
        names = names[1:]
    key = names[0] if names and not names[0].isdigit() else ""
    for index in range(start, len(lines)) if key else ():
        if re.match(rf"\s*{re.escape(key)}\s*=", lines[index]):
            return f"line {index + 1}, {key}"
    return f"line {start + 1}" + (f", {key}" if key else "")


def _recipe_error(file: str, where: str, problem: str, key: str = "") -> AppError:
    location = f"{file}, {where}" if where else file
    named = f" ({key})" if key else ""
    return AppError(ErrorCode.RECIPE_SYNTAX, location=location, problem=problem, named=named)


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
#: Fields that are not keys of the file, or have a table of their own.
_TABLE_FIELDS = frozenset({"name", "own", "study", "full", "quick", "factor", "row", "workload"})


def recipe_toml(recipe: Recipe) -> str:
    """Return the TOML text of a recipe; default values are omitted."""
    blocks = [_toml_lines(recipe, _TABLE_FIELDS)]
    if recipe.study is not None:
        blocks.append(["[study]", *_toml_lines(recipe.study)])
    blocks.append(
        ["[full]", f"repeats = {recipe.full.repeats}", "[quick]", f"repeats = {recipe.quick.repeats}"]
    )
    blocks += [["[[factor]]", *_toml_lines(factor)] for factor in recipe.factor]
    blocks += [["[[row]]", *(_toml_line(name, level) for name, level in row.items())] for row in recipe.row]
    blocks += [["[[workload]]", *_toml_lines(work)] for work in recipe.workload]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _toml_lines(struct: msgspec.Struct, without: Iterable[str] = ()) -> list[str]:
    found: list[str] = []
    for field in msgspec.structs.fields(type(struct)):
        value = getattr(struct, field.name)
        default = field.default_factory() if callable(field.default_factory) else field.default
        if field.name not in without and value != default:
            found.append(_toml_line(field.name, value))
    return found


def _toml_line(name: str, value: str | int | list[str]) -> str:
    key = name if _BARE_KEY.fullmatch(name) else _toml_string(name)
    return f"{key} = {_toml_value(value)}"


def _toml_value(value: str | int | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_string, value))}]"
    if isinstance(value, int):
        return str(value)
    if "\n" not in value:
        return _toml_string(value)
    # Keep columns of figures readable; TOML ignores a newline right after the opening quotation marks.
    lines = [_toml_string(line)[1:-1] for line in value.split("\n")]
    return '"""\n' + "\n".join(lines) + '"""'


def _toml_string(text: str) -> str:
    # JSON strings are valid TOML strings, except for the control character DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

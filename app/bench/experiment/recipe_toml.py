"""A recipe as the text of its file: what app.bench.experiment.recipe_text reads."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.experiment.recipes import Recipe

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
#: What the file does not say, and what has a table of its own there.
_NOT_PLAIN = frozenset({"name", "own", "study", "full", "quick", "factor", "row", "workload"})


def recipe_toml(recipe: Recipe) -> str:
    """Return the text that reads as this recipe; what is as usual is left out."""
    blocks = [_lines(recipe, _NOT_PLAIN)]
    if recipe.study is not None:
        blocks.append(["[study]", *_lines(recipe.study)])
    blocks.append(
        ["[full]", f"repeats = {recipe.full.repeats}", "[quick]", f"repeats = {recipe.quick.repeats}"]
    )
    blocks += [["[[factor]]", *_lines(factor)] for factor in recipe.factor]
    blocks += [["[[row]]", *(_line(name, level) for name, level in row.items())] for row in recipe.row]
    blocks += [["[[workload]]", *_lines(work)] for work in recipe.workload]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _lines(struct: msgspec.Struct, without: Iterable[str] = ()) -> list[str]:
    found: list[str] = []
    for field in msgspec.structs.fields(type(struct)):
        value = getattr(struct, field.name)
        usual = field.default_factory() if callable(field.default_factory) else field.default
        if field.name not in without and value != usual:
            found.append(_line(field.name, value))
    return found


def _line(name: str, value: str | int | list[str]) -> str:
    key = name if _BARE_KEY.fullmatch(name) else _text(name)
    return f"{key} = {_written(value)}"


def _written(value: str | int | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, int):
        return str(value)
    if "\n" not in value:
        return _text(value)
    # Figures in columns are to be read; a new line right after the quotation marks does not count.
    lines = [_text(line)[1:-1] for line in value.split("\n")]
    return '"""\n' + "\n".join(lines) + '"""'


def _text(text: str) -> str:
    # JSON's strings are TOML's, but for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

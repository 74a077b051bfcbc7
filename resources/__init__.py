"""Data files of Mountwright in TOML: option catalogue, rules, recipes, link profiles and texts."""

import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import Any, cast

#: Keys whose values are texts for people, to be translated; all other values are codes, names and sources.
TEXT_KEYS = frozenset({
    "attention", "concluded", "default_note", "effect", "help", "how_to", "label", "measured", "note",
    "reason", "risk", "text", "title", "today", "why",
})  # fmt: skip

_translate: Callable[[str], str] = str


def set_translation(translate: Callable[[str], str]) -> None:
    """Set the function that translates the texts of files read from now on."""
    global _translate  # noqa: PLW0603 - the language of the process
    _translate = translate


def read_toml(name: str) -> dict[str, Any]:
    """Return the parsed TOML resource of this name, for example ``links.toml``, with its texts translated.

    Raises:
        FileNotFoundError: if the resource does not exist.
        tomllib.TOMLDecodeError: if the file is not valid TOML.
    """
    tables = tomllib.loads(files("resources").joinpath(name).read_text(encoding="utf-8"))
    return translated(tables)


def translated(tables: dict[str, Any]) -> dict[str, Any]:
    """Return TOML tables with their texts in the language of the user."""
    return tables if _translate is str else with_texts(tables, _translate)


def with_texts(tables: dict[str, Any], translate: Callable[[str], str]) -> dict[str, Any]:
    """Return TOML tables with every text for people passed through a function.

    Args:
        tables: parsed tables.
        translate: returns the new text. Commands in a list of steps are no texts.
    """
    return {
        key: _new_text(value, translate) if key in TEXT_KEYS else _new_value(value, translate)
        for key, value in tables.items()
    }


def _new_text(value: Any, translate: Callable[[str], str]) -> Any:
    if isinstance(value, list):
        steps = cast("list[str]", value)
        return [translate(step) if step.endswith((".", ":")) else step for step in steps]
    return translate(value) if isinstance(value, str) else _new_value(value, translate)


def _new_value(value: Any, translate: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return with_texts(cast("dict[str, Any]", value), translate)
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [_new_value(item, translate) for item in items]
    return value

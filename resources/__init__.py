"""Data files of Mountwright in TOML: option catalogue, rules, recipes, link profiles and texts."""

import tomllib
from importlib.resources import files
from typing import Any


def read_toml(name: str) -> dict[str, Any]:
    """Return the parsed TOML resource of this name, for example ``links.toml``.

    Raises:
        FileNotFoundError: if the resource does not exist.
        tomllib.TOMLDecodeError: if the file is not valid TOML.
    """
    return tomllib.loads(files("resources").joinpath(name).read_text(encoding="utf-8"))

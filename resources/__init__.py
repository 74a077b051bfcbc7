"""Data of Mountwright: the option catalogue, link profiles and texts, as TOML files."""

import tomllib
from importlib.resources import files
from typing import Any


def read_toml(name: str) -> dict[str, Any]:
    """Return the parsed TOML resource of this name, for example ``links.toml``.

    Raises:
        FileNotFoundError: if there is no such resource.
        tomllib.TOMLDecodeError: if it is not TOML.
    """
    return tomllib.loads(files("resources").joinpath(name).read_text(encoding="utf-8"))

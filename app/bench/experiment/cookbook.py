"""The recipes there are: those of the studies, and the person's own in their configuration folder.

A home on a file server that has died holds up whoever asks: not for the window's own thread.
"""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from app.bench.experiment.recipe_text import parse_recipe
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from app.bench.experiment.recipe import Recipe

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,47}")


def recipes() -> list[Recipe]:
    """Return the recipes of the studies in their order, then the person's own by name.

    Raises:
        AppError: if a file of the person's is not as it should be, or cannot be read.
    """
    shipped = sorted(
        (entry for entry in files("resources").joinpath("recipes").iterdir() if entry.name.endswith(".toml")),
        key=lambda entry: entry.name,
    )
    found = [_shipped(entry.name, entry.read_text(encoding="utf-8")) for entry in shipped]
    folder = own_folder()
    own = sorted(folder.glob("*.toml")) if folder.is_dir() else []
    return [*found, *(_own(path) for path in own)]


def find_recipe(name: str) -> Recipe:
    """Return a recipe by name; a path with a slash is read from there.

    Raises:
        AppError: USAGE if there is none, or its file is not as it should be.
    """
    if "/" in name:
        return _own(Path(name))
    known = recipes()
    for recipe in known:
        if recipe.name == name:
            return recipe
    names = ", ".join(recipe.name for recipe in known)
    raise AppError(ErrorKind.USAGE, f"There is no recipe “{name}”.", hint=f"There are: {names}.")


def recipe_source(recipe: Recipe) -> str:
    """Return the text of a recipe's file.

    Raises:
        AppError: IO if it is gone or cannot be read.
    """
    if not recipe.own:
        for entry in files("resources").joinpath("recipes").iterdir():
            if entry.name.endswith(f"-{recipe.name}.toml"):
                return entry.read_text(encoding="utf-8")
    path = own_folder() / f"{recipe.name}.toml"
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AppError(ErrorKind.IO, f"{path} cannot be read.", detail=str(error)) from error


def recipe_file_text(path: Path) -> str:
    """Return the text of a recipe's file.

    Raises:
        AppError: USAGE if it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AppError(
            ErrorKind.USAGE,
            f"The recipe {path} cannot be read.",
            hint="Name a text file that you may read.",
            detail=str(error),
        ) from error


def save_recipe(recipe_text: str, name: str, source: str = "") -> Recipe:
    """Check a recipe's text and keep it as one of the person's own; one of that name is replaced.

    Args:
        recipe_text: TOML.
        name: that it is kept under.
        source: the file that a person wrote it in, for messages; "" for the one it is kept in.

    Raises:
        AppError: USAGE for a bad name, one of a study's, or a bad text; IO if it cannot be written.
    """
    if _NAME.fullmatch(name) is None:
        raise AppError(
            ErrorKind.USAGE,
            f"“{name}” cannot be the name of a recipe.",
            hint="Use small letters, digits and hyphens, 48 at most.",
        )
    if any(recipe.name == name and not recipe.own for recipe in recipes()):
        raise AppError(
            ErrorKind.USAGE, f"“{name}” is the recipe of a study.", hint="Choose another name for your own."
        )
    path = own_folder() / f"{name}.toml"
    recipe = parse_recipe(recipe_text, source or str(path), name=name, own=True)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.new")
        draft.write_text(recipe_text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise AppError(ErrorKind.IO, f"{path} could not be written.", detail=str(error)) from error
    return recipe


def delete_recipe(name: str) -> None:
    """Remove one of the person's own.

    Raises:
        AppError: USAGE if there is none of that name, or it is a study's; IO if it cannot be removed.
    """
    recipe = find_recipe(name)
    if not recipe.own or "/" in name:
        raise AppError(ErrorKind.USAGE, f"“{name}” is not one of your own recipes; it stays.")
    try:
        (own_folder() / f"{name}.toml").unlink()
    except OSError as error:
        raise AppError(
            ErrorKind.IO, f"The recipe “{name}” could not be removed.", detail=str(error)
        ) from error


def own_folder() -> Path:
    """Return where a person's own recipes are (XDG Base Directory: a relative path is ignored)."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if not folder.is_absolute():
        folder = Path(os.environ.get("HOME", "/")) / ".config"
    return folder / "mountwright/recipes"


def _shipped(file: str, text: str) -> Recipe:
    # The number before its name is the order of the studies.
    return parse_recipe(text, file, name=file.removesuffix(".toml").partition("-")[2])


def _own(path: Path) -> Recipe:
    return parse_recipe(recipe_file_text(path), str(path), name=path.stem, own=True)

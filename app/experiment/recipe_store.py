"""Recipe store: the recipes of published studies, and the user's own in the configuration directory.

Access blocks if the home directory is on a file server that does not answer, so call it outside the UI
thread.
"""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from app.errors import AppError, printable
from app.experiment.model import SEARCH_NAME
from app.experiment.recipes import parse_recipe
from app.files.user_directories import config_directory
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from app.experiment.recipes import Recipe

_RECIPE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,47}")


class RecipeCollection(NamedTuple):
    """All recipes.

    Attributes:
        recipes: recipes of studies in their order, then the user's own by name.
        unreadable: errors of the user's recipes that could not be read.
    """

    recipes: list[Recipe]
    unreadable: list[AppError]


def read_recipes() -> RecipeCollection:
    """Read the recipes of studies and the user's own."""
    found, unreadable = _shipped_recipes(), list[AppError]()
    for path in _user_recipe_files():
        try:
            found.append(_read_user_recipe(path))
        except AppError as error:
            hint = f"Correct the file, or remove it: “experiment remove {printable(path.stem)}”."
            unreadable.append(AppError(error.kind, error.message, hint=hint, detail=error.detail))
    return RecipeCollection(found, unreadable)


def readable_recipes() -> list[Recipe]:
    """Return the readable recipes: those of studies in their order, then the user's own by name."""
    return read_recipes().recipes


def find_recipe(name: str) -> Recipe:
    """Return a recipe by name, or from a file if the name is a path with a slash.

    Raises:
        AppError: USAGE if it does not exist, or its file is invalid.
    """
    if "/" in name:
        return _read_user_recipe(Path(name))
    recipes = readable_recipes()
    for recipe in recipes:
        if recipe.name == name:
            return recipe
    path = _user_recipe_file(name)
    if path is not None:
        return _read_user_recipe(path)
    names = ", ".join(recipe.name for recipe in recipes)
    raise AppError(ErrorCode.RECIPE_UNKNOWN, name=name, names=names)


def recipe_source(recipe: Recipe) -> str:
    """Return the text of a recipe's file.

    Raises:
        AppError: IO if the file is gone or cannot be read.
    """
    if not recipe.own:
        for entry in files("resources").joinpath("recipes").iterdir():
            if entry.name.endswith(f"-{recipe.name}.toml"):
                return entry.read_text(encoding="utf-8")
    path = user_recipe_directory() / f"{recipe.name}.toml"
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AppError(ErrorCode.RECIPE_FILE_NOT_READ, detail=str(error), path=path) from error


def read_recipe_file(path: Path) -> str:
    """Return the text of a recipe's file.

    Raises:
        AppError: USAGE if the file cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AppError(
            ErrorCode.RECIPE_PATH_NOT_READ, detail=str(error), path=printable(str(path))
        ) from error


def save_recipe(recipe_text: str, name: str, source: str = "") -> Recipe:
    """Check a recipe's text and save it as one of the user's own; one of the same name is replaced.

    Args:
        recipe_text: recipe in TOML.
        name: name to save it under.
        source: file that the text comes from, for messages; "" for the destination.

    Raises:
        AppError: USAGE for an invalid name, the name of a study's recipe, or an invalid text; IO if the file
            cannot be written.
    """
    if _RECIPE_NAME.fullmatch(name) is None:
        raise AppError(ErrorCode.RECIPE_NAME_SYNTAX, name=printable(name))
    if name == SEARCH_NAME:
        raise AppError(ErrorCode.RECIPE_NAME_OF_SEARCH, name=name)
    if any(recipe.name == name for recipe in _shipped_recipes()):
        raise AppError(ErrorCode.RECIPE_NAME_OF_STUDY, name=name)
    path = user_recipe_directory() / f"{name}.toml"
    recipe = parse_recipe(recipe_text, source or str(path), name=name, own=True)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.new")
        draft.write_text(recipe_text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise AppError(ErrorCode.RECIPE_NOT_WRITTEN, detail=str(error), path=path) from error
    return recipe


def delete_recipe(name: str) -> None:
    """Delete one of the user's own recipes.

    Raises:
        AppError: USAGE if there is none of this name, or it is a study's; IO if the file cannot be removed.
    """
    path = _user_recipe_file(name)  # found by file name, so that an unreadable recipe can be deleted, too
    if path is None or any(recipe.name == name for recipe in _shipped_recipes()):
        find_recipe(name)
        raise AppError(ErrorCode.RECIPE_NOT_OWN, name=name)
    try:
        path.unlink()
    except OSError as error:
        raise AppError(ErrorCode.RECIPE_NOT_REMOVED, detail=str(error), name=name) from error


def user_recipe_directory() -> Path:
    """Return the directory of the user's own recipes."""
    return config_directory() / "recipes"


def _user_recipe_files() -> list[Path]:
    directory = user_recipe_directory()
    return sorted(directory.glob("*.toml")) if directory.is_dir() else []


def _user_recipe_file(name: str) -> Path | None:
    """Return the file of a user's recipe, None if there is none; the name may be any text."""
    return next((path for path in _user_recipe_files() if printable(path.stem) == printable(name)), None)


def _shipped_recipes() -> list[Recipe]:
    entries = [e for e in files("resources").joinpath("recipes").iterdir() if e.name.endswith(".toml")]
    entries.sort(key=lambda entry: entry.name)
    return [_parse_shipped(entry.name, entry.read_text(encoding="utf-8")) for entry in entries]


def _parse_shipped(file: str, text: str) -> Recipe:
    # A number before the name defines the order of the studies.
    return parse_recipe(text, file, name=file.removesuffix(".toml").partition("-")[2])


def _read_user_recipe(path: Path) -> Recipe:
    text = read_recipe_file(path)
    return parse_recipe(text, printable(str(path)), name=printable(path.stem), own=True)

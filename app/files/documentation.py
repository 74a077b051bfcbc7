"""Documentation: the program's own pages in Markdown, beside the program in a checkout and in a package."""

from __future__ import annotations

from pathlib import Path

import app
from app.errors import AppError
from app.text.errors import ErrorCode

#: Largest file that is read, bytes.
_MAX_BYTES = 4 * 2**20


def documentation_directory() -> Path:
    """Return the directory of the pages; packaging/package_tree.py installs it beside the program."""
    return Path(app.__file__).absolute().parents[1] / "docs"


def read_document(name: str) -> str:
    """Return a page.

    Args:
        name: file name without its extension, such as ``user-guide``.

    Raises:
        AppError: the page is missing or cannot be read.
    """
    return _read(f"{name}.md").decode(errors="replace")


def read_picture(name: str) -> bytes:
    """Return a picture of a page.

    Args:
        name: file name.

    Raises:
        AppError: the picture is missing or cannot be read.
    """
    return _read(name)


def _read(name: str) -> bytes:
    path = documentation_directory() / Path(name).name
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES)
    except OSError as error:
        raise AppError(ErrorCode.FILE_NOT_READ, path=str(path), detail=str(error)) from error

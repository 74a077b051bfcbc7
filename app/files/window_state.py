"""State of the window: its size, its parts and the last page, saved in the user's state directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from app.errors import AppError
from app.files.state_files import read_state_file, write_state_file
from app.files.user_directories import state_directory
from resources.decoding import from_json

if TYPE_CHECKING:
    from pathlib import Path

_MAX_BYTES = 2**16
_WHAT = "The state of the window"


class WindowState(msgspec.Struct, frozen=True, kw_only=True):
    """How the window was when it was closed.

    Attributes:
        width: width of the window, device-independent px, None for the size of a first start.
        height: height of the window.
        maximized: whether the window filled the screen.
        list_width: width of the list of mounts, None for the width of the program's choice.
        page: object name of the last page of a mount, "" for the first one.
        columns: widths of the columns that the user changed, by the object name of the table.
    """

    width: int | None = None
    height: int | None = None
    maximized: bool = False
    list_width: int | None = None
    page: str = ""
    columns: dict[str, list[int]] = {}


def window_state_path() -> Path:
    """Return the path of the file."""
    return state_directory() / "window.json"


def read_window_state() -> WindowState:
    """Return the saved state; that of a first start if there is none, or it cannot be read."""
    try:
        return from_json(read_state_file(window_state_path(), _WHAT, _MAX_BYTES), WindowState)
    except (AppError, msgspec.DecodeError, UnicodeError):
        return WindowState()


def write_window_state(state: WindowState) -> None:
    """Save the state.

    Raises:
        AppError: NOT_RESPONDING or IO if the file cannot be written.
    """
    write_state_file(window_state_path(), _WHAT, msgspec.json.encode(state))

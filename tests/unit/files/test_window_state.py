"""State of the window: it comes back with its types, and a damaged file counts as a first start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from app.files.window_state import WindowState, read_window_state, window_state_path, write_window_state

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def state_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_the_state_comes_back() -> None:
    state = WindowState(
        width=1100, height=700, maximized=True, list_width=240, page="test", columns={"history": [90, 120]}
    )
    write_window_state(state)
    assert read_window_state() == state


def test_a_first_start_has_no_state() -> None:
    assert read_window_state() == WindowState()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"width": "wide"}', "\udcff"])
def test_a_damaged_file_counts_as_a_first_start(text: str) -> None:
    path = window_state_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode(errors="surrogateescape"))
    assert read_window_state() == WindowState()

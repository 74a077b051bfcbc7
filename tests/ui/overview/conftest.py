"""Fixture of the overview's tests: a history of its own for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def own_data_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the history of a test into a directory of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

"""A text is written to a new file; an existing file is never overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from app.errors import AppError, ErrorKind
from app.files.safe_write import read_file, save_text

if TYPE_CHECKING:
    from pathlib import Path


def test_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "a $(name) “x”.mount"
    save_text(str(path), "[Mount]\nWhat=größe:/x\n")
    assert path.read_text() == "[Mount]\nWhat=größe:/x\n"


def test_an_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_text("mine")
    with pytest.raises(AppError) as caught:
        save_text(str(path), "yours")
    assert caught.value.kind is ErrorKind.IO
    assert path.read_text() == "mine"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AppError) as caught:
        save_text(str(tmp_path / "no" / "file"), "x")
    assert "No such file" in caught.value.detail or "nonexistent" in caught.value.detail


def test_only_absolute_paths() -> None:
    with pytest.raises(AppError) as caught:
        save_text("here", "x")
    assert caught.value.kind is ErrorKind.USAGE


def test_a_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "odd"
    path.write_bytes(b"\xff\x00caf\xc3\xa9\n")
    assert read_file(str(path), 100) == b"\xff\x00caf\xc3\xa9\n"
    with pytest.raises(AppError, match="longer than 3 bytes"):
        read_file(str(path), 3)
    for name in ("none", "."):
        with pytest.raises(AppError, match="could not be read"):
            read_file(str(tmp_path / name), 100)
    with pytest.raises(AppError, match="not an absolute path"):
        read_file("odd", 100)

"""Programs of the lab: search among installed, packaged and unpacked programs."""

from pathlib import Path

import pytest

from app.lab import programs
from app.lab.programs import find_server_program


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("folder", ["usr/sbin", "sbin"])
def test_an_unpacked_program_is_found(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "UNPACKED", tmp_path)
    expected = program(tmp_path / folder / "nfsdcld-of-a-test")
    assert find_server_program("nfsdcld-of-a-test") == expected


def test_a_packaged_program_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PACKAGED", tmp_path)
    expected = program(tmp_path / "nfsdcld-of-a-test")
    assert find_server_program("nfsdcld-of-a-test") == expected


def test_an_installed_program_takes_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "UNPACKED", tmp_path)
    program(tmp_path / "sbin" / "sh")
    assert find_server_program("sh") != str(tmp_path / "sbin" / "sh")


def test_a_missing_program_gives_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "UNPACKED", tmp_path)
    assert find_server_program("nfsdcld-of-a-test") is None

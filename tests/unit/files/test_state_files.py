"""State files: accessed in this process if local, else by a child, with the same result."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from app.errors import AppError, ErrorKind
from app.files import state_files
from app.files.state_files import (
    is_local,
    read_state_file,
    read_state_folder,
    remove_old_state_files,
    remove_state_file,
    write_state_file,
)
from app.kernel import mountinfo

if TYPE_CHECKING:
    from pathlib import Path

ROOT = b"21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"


def mounted(monkeypatch: pytest.MonkeyPatch, *rows: str) -> None:
    table = mountinfo.parse(ROOT + "".join(f"{row}\n" for row in rows).encode())
    monkeypatch.setattr(mountinfo, "read", lambda: table)


@pytest.fixture(params=["here", "in a child"])
def folder(request: pytest.FixtureRequest, plain_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "here":
        mounted(monkeypatch)
    else:
        mounted(monkeypatch, f"31 21 0:50 / {plain_path} rw - nfs4 nas:/home rw")
    return plain_path / "state" / "files"


def test_a_written_file_is_read_back_and_removed(folder: Path) -> None:
    assert read_state_file(folder / "a.json", "It", 100) == ""
    assert read_state_folder(folder, "It", 100) == ""
    write_state_file(folder / "a.json", "It", b"old")
    write_state_file(folder / "a.json", "It", b"first\n")
    write_state_file(folder / "b.json", "It", "ü\n".encode())
    assert [path.name for path in sorted(folder.iterdir())] == ["a.json", "b.json"]
    assert (folder / "a.json").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert read_state_file(folder / "a.json", "It", 3) == "fir"
    assert sorted(read_state_folder(folder, "It", 100).splitlines()) == ["first", "ü"]
    remove_state_file(folder / "a.json", "It")
    remove_state_file(folder / "a.json", "It")
    assert [path.name for path in folder.iterdir()] == ["b.json"]


def test_the_newest_stay(folder: Path) -> None:
    for number in range(4):
        write_state_file(folder / f"{number}.txt", "It", b"x")
        os.utime(folder / f"{number}.txt", (number, number))
    remove_old_state_files(folder, 2)
    assert sorted(path.name for path in folder.iterdir()) == ["2.txt", "3.txt"]


def test_a_folder_that_is_a_file_is_said(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_bytes(b"")
    with pytest.raises(AppError) as caught:
        write_state_file(folder / "a.json", "The record", b"x")
    assert caught.value.kind is ErrorKind.IO
    assert caught.value.message == "The record could not be written."
    assert str(folder / "a.json") in caught.value.hint


@pytest.mark.parametrize(
    ("rows", "link", "expected"),
    [
        ([], "", True),
        (["31 21 0:50 / {home} rw - nfs4 nas:/home rw"], "", False),
        (["31 21 0:50 / {home} rw - autofs systemd-1 rw"], "", False),
        (["31 21 0:50 / {home} rw - fuse.sshfs nas: rw"], "", False),
        (["31 21 0:50 / {home} rw - tmpfs none rw"], "", True),
        (["31 21 0:50 / {home} rw - devtmpfs udev rw"], "", True),
        (["31 21 0:50 / /srv/homes rw - nfs4 nas:/home rw"], "/srv/homes/ann", False),
        (["31 21 0:50 / /srv/homes rw - nfs4 nas:/home rw"], "/srv/../srv/homes/ann", False),
        (["31 21 0:50 / /srv/homes rw - nfs4 nas:/home rw"], "/srv/others", True),
        (["31 21 0:50 / {base}/nas rw - nfs4 nas:/home rw"], "nas/ann", False),
        ([], "home", False),  # a link to itself
    ],
)
def test_where_a_path_leads_is_known_before_it_is_touched(
    plain_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[str], link: str, *, expected: bool
) -> None:
    home = plain_path / "home"
    if link:
        home.symlink_to(link)
    else:
        home.mkdir()
    mounted(monkeypatch, *(row.format(home=home, base=plain_path) for row in rows))
    assert is_local(home / ".local/state/mountwright") is expected


def test_a_table_that_cannot_be_read_says_nothing_good(
    plain_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise OSError

    monkeypatch.setattr(mountinfo, "read", broken)
    assert not is_local(plain_path)
    assert not is_local(state_files.Path("relative"))

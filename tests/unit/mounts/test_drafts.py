"""Drafts of new mounts in the state directory."""

import stat

import pytest

from app.errors import AppError, ErrorKind
from app.files import state_files
from app.mounts.drafts import DraftFile, MountDraft

ONE = MountDraft(share="nas:/a", mount_point="/mnt/a", options="vers=4.2", read_ahead_kb=1024)
TWO = MountDraft(host="wan", share="", mount_point="", options="ro,wat=\u20ac")


def test_a_written_file_is_read_back_and_private() -> None:
    file = DraftFile()
    assert file.read() == []
    file.write([ONE, TWO], 1)
    assert DraftFile().read() == [ONE, TWO]
    assert stat.S_IMODE(file.path().stat().st_mode) == 0o600
    assert [path.name for path in file.path().parent.iterdir()] == ["drafts.json"]


def test_no_drafts_need_no_file() -> None:
    file = DraftFile()
    file.write([ONE], 1)
    file.write([], 2)
    assert not file.path().exists()
    file.write([], 3)
    assert file.written == 3


def test_an_older_state_that_comes_later_is_not_written() -> None:
    file = DraftFile()
    file.write([TWO], 2)
    file.write([ONE], 1)
    assert file.read() == [TWO]


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b"\xff", b'[{"share": 1}]', b'[{"share": "a"}]'])
def test_a_damaged_file_counts_as_empty(text: bytes) -> None:
    DraftFile.path().parent.mkdir(parents=True)
    DraftFile.path().write_bytes(text)
    assert DraftFile().read() == []


def test_half_a_surrogate_pair_is_no_obstacle() -> None:
    DraftFile().write([MountDraft(share="nas:/\ud800", mount_point="", options="")], 1)
    assert DraftFile().read()[0].share == "nas:/?"


@pytest.mark.parametrize("local", [True, False])
def test_a_folder_that_cannot_be_used_is_an_error(monkeypatch: pytest.MonkeyPatch, local: bool) -> None:
    monkeypatch.setattr(state_files, "is_local", lambda _path: local)
    DraftFile.path().mkdir(parents=True)
    for attempt in (DraftFile().read, lambda: DraftFile().write([ONE], 1)):
        with pytest.raises(AppError) as caught:
            attempt()
        assert caught.value.kind is ErrorKind.IO

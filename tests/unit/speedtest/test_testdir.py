"""Test directory: marked, removed with its files, and nothing else is touched."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import msgspec
import pytest

from app import process_identity
from app.errors import AppError, ErrorKind
from app.speedtest.testdir import (
    DATA_FILE,
    MARKER_FILE,
    PREFIX,
    Marker,
    TestDirectory,
    check_space,
    is_abandoned,
    marker_of_process,
    new_run_id,
    remove_leftovers,
    remove_run,
)

if TYPE_CHECKING:
    from collections.abc import Callable

RUN = "0123456789abcdef"
NO_PROCESS = 2**22 + 1  # above the largest pid_max


def leave_behind(parent: Path, marker: Marker | None, run: str = RUN) -> Path:
    directory = parent / (PREFIX + run)
    directory.mkdir()
    (directory / DATA_FILE).write_bytes(b"x")
    if marker is not None:
        (directory / MARKER_FILE).write_bytes(msgspec.json.encode(marker))
    return directory


def marker(**changes: object) -> Marker:
    return msgspec.structs.replace(marker_of_process(RUN), **changes)


def test_directory_is_private_marked_and_removed(tmp_path: Path) -> None:
    with TestDirectory(str(tmp_path), RUN) as directory:
        path = Path(directory.path)
        assert path.stat().st_mode & 0o777 == 0o700
        found = msgspec.json.decode((path / MARKER_FILE).read_bytes(), type=Marker)
        assert (found.run, found.pid) == (RUN, os.getpid())
        os.close(directory.create())
        os.close(directory.open())
        assert {entry.name for entry in path.iterdir()} == {DATA_FILE, MARKER_FILE}
        assert (path / DATA_FILE).stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == []
    directory.remove()


def test_an_existing_directory_is_refused(tmp_path: Path) -> None:
    taken = tmp_path / (PREFIX + RUN)
    taken.mkdir()
    (taken / "mine").write_text("keep")
    with pytest.raises(FileExistsError):
        TestDirectory(str(tmp_path), RUN)
    assert (taken / "mine").read_text() == "keep"


def test_an_existing_data_file_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("keep")
    with TestDirectory(str(tmp_path), RUN) as directory:
        (Path(directory.path) / DATA_FILE).symlink_to(victim)
        with pytest.raises(FileExistsError):
            directory.create()
        with pytest.raises(OSError, match="symbolic links"):
            directory.open()
    assert victim.read_text() == "keep"
    assert [entry.name for entry in tmp_path.iterdir()] == ["victim"]


def test_leftovers_of_killed_runs_are_removed(tmp_path: Path) -> None:
    leave_behind(tmp_path, marker(pid=NO_PROCESS))
    leave_behind(tmp_path, marker(run="b", boot="an earlier boot"), "b")
    leave_behind(tmp_path, marker(run="c", started=1), "c")
    assert remove_leftovers(str(tmp_path), RUN) == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda parent: leave_behind(parent, marker()),
        lambda parent: leave_behind(parent, marker(host="another machine", pid=NO_PROCESS)),
        lambda parent: leave_behind(parent, marker(run="other", pid=NO_PROCESS)),
        lambda parent: leave_behind(parent, None),
    ],
    ids=["running", "another machine's", "marker of another directory", "not marked"],
)
def test_foreign_or_active_directories_stay(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    directory = make(tmp_path)
    assert remove_leftovers(str(tmp_path), RUN) == 0
    assert (directory / DATA_FILE).exists()


def run_of(pid: int) -> str:
    """Return a run's name as created by the process with this id."""
    made = marker_of_process("", pid)
    return f"{new_run_id().partition('p')[0]}p{made.pid:x}t{made.started:x}"


def leave_without_marker(parent: Path, run: str, *names: str) -> Path:
    """Create what a process leaves if it is killed before the marker is written, or after its removal."""
    directory = parent / (PREFIX + run)
    directory.mkdir()
    for name in names:
        (directory / name).write_bytes(b"{")
    return directory


def test_leftovers_without_a_marker_are_identified_by_name(tmp_path: Path) -> None:
    leave_without_marker(tmp_path, run_of(NO_PROCESS))
    leave_without_marker(tmp_path, run_of(NO_PROCESS), MARKER_FILE + ".new")
    assert remove_leftovers(str(tmp_path), new_run_id()) == 2
    # A process runs one test at a time: its directories of earlier runs are leftovers.
    leave_without_marker(tmp_path, new_run_id())
    own = new_run_id()
    present = leave_without_marker(tmp_path, own)
    assert remove_leftovers(str(tmp_path), own) == 1
    assert list(tmp_path.iterdir()) == [present]


@pytest.mark.parametrize(
    "make",
    [
        lambda parent: leave_without_marker(parent, run_of(os.getppid())),
        lambda parent: leave_without_marker(parent, run_of(NO_PROCESS), DATA_FILE),
        lambda parent: leave_without_marker(parent, run_of(NO_PROCESS), MARKER_FILE),
        lambda parent: leave_without_marker(parent, run_of(NO_PROCESS).replace("h", "h0", 1)),
        lambda parent: leave_without_marker(parent, f"{RUN}h00000000p1t1"),
        lambda parent: leave_without_marker(parent, "mine"),
    ],
    ids=["about to be marked", "not bare", "damaged", "no such name", "another machine's", "a person's"],
)
def test_foreign_directories_without_a_marker_stay(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    directory = make(tmp_path)
    assert remove_leftovers(str(tmp_path), new_run_id()) == 0
    assert directory.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"run": 3}', b"\xff" * 5000])
def test_a_damaged_marker_is_no_marker(tmp_path: Path, content: bytes) -> None:
    directory = leave_behind(tmp_path, None)
    (directory / MARKER_FILE).write_bytes(content)
    assert remove_leftovers(str(tmp_path), RUN) == 0
    assert directory.exists()


def test_a_directory_swapped_in_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = leave_behind(tmp_path, marker(pid=NO_PROCESS))

    def swap(_marker: Marker) -> bool:
        looked_at.rename(tmp_path / "moved")
        looked_at.mkdir()
        (looked_at / "mine").write_text("keep")
        return True

    monkeypatch.setattr("app.speedtest.testdir.is_abandoned", swap)
    assert remove_leftovers(str(tmp_path), RUN) == 0
    assert (looked_at / "mine").read_text() == "keep"


def test_links_are_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target = leave_behind(elsewhere, marker(pid=NO_PROCESS))
    tested = tmp_path / "tested"
    tested.mkdir()
    (tested / (PREFIX + RUN)).symlink_to(target)
    assert remove_leftovers(str(tested), RUN) == 0
    with pytest.raises(NotADirectoryError):
        remove_run(str(tested), RUN)
    assert (target / DATA_FILE).exists()


def test_foreign_entries_stay(tmp_path: Path) -> None:
    directory = leave_behind(tmp_path, marker(pid=NO_PROCESS))
    (directory / "photos").mkdir()
    (directory / "photos" / "one").write_text("keep")
    assert remove_leftovers(str(tmp_path), RUN) == 0
    assert (directory / "photos" / "one").read_text() == "keep"


def test_one_run_is_removed_by_name(tmp_path: Path) -> None:
    leave_behind(tmp_path, marker())
    leave_behind(tmp_path, marker(run="other"), "other")
    remove_run(str(tmp_path), RUN)
    remove_run(str(tmp_path), RUN)
    assert [entry.name for entry in tmp_path.iterdir()] == [PREFIX + "other"]


def test_own_process_is_not_abandoned() -> None:
    assert not is_abandoned(marker_of_process(RUN))
    assert new_run_id() != new_run_id()


@pytest.mark.parametrize(
    ("state", "began"),
    [
        # States of a worker: running, exiting while its server is down, and a zombie.
        ("D 779 802 802 0 -1 4194624", 782),
        ("D 779 802 802 0 -1 4195660", None),
        ("Z 779 802 802 0 -1 4194624", None),
    ],
)
def test_start_ticks_of_an_exiting_process(state: str, began: int | None) -> None:
    assert process_identity.began(f"802 (py) thon) {state} 0 0 0 0 1 2 0 0 20 0 1 0 782 0 0\n") == began


def test_free_space_is_checked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = SimpleNamespace(f_bavail=100, f_frsize=4096, f_blocks=1000)
    monkeypatch.setattr(os, "fstatvfs", lambda _fd: free)
    check_space(0, 300_000, str(tmp_path))
    with pytest.raises(AppError) as caught:
        check_space(0, 400_000, str(tmp_path))
    assert caught.value.kind == ErrorKind.NO_SPACE
    free.f_blocks = 0
    check_space(0, 400_000, str(tmp_path))

"""Processes that wait for a mount, found in a temporary directory in place of /proc."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from app.mounts import mount_users
from app.mounts.mount_users import find_waiting_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A real process, whose owner can be looked up."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield child.pid
    child.communicate(b"\n")


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Add a process to the directory."""
    monkeypatch.setattr(mount_users, "_SAMPLE_INTERVAL_S", 0.0)
    monkeypatch.setattr(mount_users, "find_holders", lambda _point: [])
    (tmp_path / "proc").mkdir()

    def add(pid: int, state: str = "D", wchan: str = "", parent: int = 1, *, ours: bool = True) -> None:
        folder = tmp_path / "proc" / str(pid)
        folder.mkdir()
        rest = " ".join(["0"] * 17)
        (folder / "stat").write_text(f"{pid} (a) b) {state} {parent} {rest} {pid}00 0\n")
        (folder / "wchan").write_text(wchan)
        (folder / "comm").write_text("dd\n")
        if ours:
            (folder / "cwd").symlink_to("/")

    return add


def test_a_process_that_waits_for_nfs_is_named(
    add: Callable[..., None], sleeper: int, tmp_path: Path
) -> None:
    add(sleeper, wchan="rpc_wait_bit_killable")
    add(50, "S", "rpc_wait_bit_killable")
    add(51, wchan="blkdev_issue_flush")
    add(52, wchan="nfs_wait_bit_killable", parent=2)  # a thread of the kernel
    add(53, wchan="rpc_wait_bit_killable", parent=os.getpid())  # a child of this process
    found = find_waiting_processes("/mnt/a", str(tmp_path))
    assert [(one.pid, one.command, one.use) for one in found.own] == [
        (sleeper, "dd", "waits for an NFS server")
    ]
    assert found.others == 0


def test_processes_of_other_users_are_counted(add: Callable[..., None], tmp_path: Path) -> None:
    add(60, wchan="0", ours=False)
    add(61, wchan="0")
    assert find_waiting_processes("/mnt/a", str(tmp_path)) == mount_users.WaitingProcesses(others=1)


def test_no_process_waits_for_a_mount_that_does_not_exist() -> None:
    assert find_waiting_processes("/mnt/mountwright-not-there").own == []

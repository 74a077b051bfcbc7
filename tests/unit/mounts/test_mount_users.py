"""Processes that use a mount, which of them may be terminated, and the kernel's client of a server."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import DEADLINE_S

from app.mounts.actions import kernel_has_client
from app.mounts.model import Holder
from app.mounts.mount_users import ancestors, find_holders, terminate_processes

PATIENT = (
    "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); sys.stdin.read()"
)
MEEK = "import sys; print(flush=True); sys.stdin.read()"


@pytest.fixture
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(
        [sys.executable, "-c", request.param], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdin is not None
    with child.stdin, child.stdout:
        child.stdout.readline()
        yield child
        child.kill()
        child.wait(DEADLINE_S)


@pytest.mark.parametrize(("program", "code"), [(MEEK, -15), (PATIENT, -9)], indirect=["program"])
def test_a_program_of_one_s_own_is_ended(program: subprocess.Popen[bytes], tmp_path: Path, code: int) -> None:
    found = [holder for holder in find_holders(str(tmp_path)) if holder.pid == program.pid]
    assert [(holder.use, holder.own) for holder in found] == [("working directory", True)]
    assert terminate_processes(found, patience_s=0.2) == []
    assert program.wait(DEADLINE_S) == code
    # A process that has ended is ignored.
    terminate_processes(found, patience_s=0.2)


def test_others_and_ancestors_are_left_alone() -> None:
    others = [
        Holder(pid=os.getpid(), command="me", user="me", use="open file", own=True),
        Holder(pid=os.getppid(), command="shell", user="me", use="open file", own=True),
        Holder(pid=1, command="init", user="root", use="root", own=False),
    ]
    assert terminate_processes(others, patience_s=0.1) == others
    assert {1, os.getpid(), os.getppid()} <= ancestors()
    assert not any(holder.own for holder in find_holders("/") if holder.pid in ancestors())


def test_the_kernel_s_clients_are_read(tmp_path: Path) -> None:
    assert not kernel_has_client("10.9.0.1", "4.2", str(tmp_path))
    folder = tmp_path / "proc/fs/nfsfs"
    folder.mkdir(parents=True)
    (folder / "servers").write_text(
        "NV SERVER   PORT USE HOSTNAME\nv4 0a090001  801   2 10.9.0.1\n"
        "v3 20010db8000000000000000000000007  801   2 nas\n"
    )
    assert kernel_has_client("10.9.0.1", "4.1", str(tmp_path))
    assert kernel_has_client("2001:db8::7", "3", str(tmp_path))
    assert not kernel_has_client("10.9.0.1", "3", str(tmp_path))
    assert not kernel_has_client("nas", "3", str(tmp_path))

"""Worker process: cleans up when it is terminated, and refuses an invalid job."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest
from waiting import DEADLINE_S

from app.speedtest.messages import WorkerJob
from app.speedtest.model import TestSpec
from app.speedtest.testdir import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MIB = 2**20


def files_of(path: Path) -> list[str]:
    return [str(entry) for entry in path.rglob("*") if entry.name.startswith(PREFIX)]


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    yield
    assert files_of(tmp_path) == []


def worker_process(path: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "app.speedtest.worker.worker_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    job = WorkerJob(spec=TestSpec(path=str(path), size=256 * MIB, sync=True, block_size=4096), run="alone")
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(job) + b"\n")
    process.stdin.flush()
    return process


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, None], ids=["term", "int", "end of input"])
def test_worker_cleans_up(tmp_path: Path, how: signal.Signals | None) -> None:
    with worker_process(tmp_path) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        for line in process.stdout:
            if b'"phase":"write"' in line:
                break
        assert files_of(tmp_path)
        if how is None:
            process.stdin.close()
        else:
            process.send_signal(how)
        last = process.stdout.readlines()[-1]
        assert process.wait(DEADLINE_S) == 0
    assert json.loads(last)["error"]["error"]["kind"] == "cancelled"


def test_worker_refuses_an_invalid_job() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "app.speedtest.worker.worker_process"],
        input=b"no\n",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["error"]["kind"] == "usage"

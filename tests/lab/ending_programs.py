"""Guest jobs: programs that end while their test runs on a server that no longer answers."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from job_answer import PATIENCE_S
from lab_faults import apply_fault
from private_mounts import processes

from app.lab.server import SHARE
from app.lab.server_host import ServerHost
from app.process import run
from app.service.hosts import LocalAgent
from app.speedtest.leftover_files import records_directory
from app.speedtest.model import TestSpec
from app.speedtest.testdir import DATA_FILE, PREFIX

MIB = 2**20
POINT = Path("/mnt/stopped")
#: Timeout after a cut of the link, s: TCP backs off exponentially, on a busy machine up to a minute.
LIMIT_S = PATIENCE_S


def stop_programs(host: ServerHost) -> dict[str, Any]:
    """Run each job; return its results by name."""
    POINT.mkdir(parents=True)
    run(["/sbin/mount.nfs", SHARE, str(POINT), "-o", "vers=4.2"], timeout=30)
    found: dict[str, Any] = {}
    for name, job in (
        ("closed", closed_agent),
        ("once", ctrl_c),
        ("twice", ctrl_c_twice),
        ("killed", killed_agent),
    ):
        try:
            found[name] = job(host)
        except BaseException:  # noqa: BLE001 - told; the other jobs go on
            found[name] = {"failed": traceback.format_exc()}
            apply_fault(host, "link-up", 0)
    return found


def closed_agent(host: ServerHost) -> dict[str, Any]:
    """Close an agent while the link is down."""
    agent = LocalAgent()
    begun = threading.Event()
    agent.client.submit("test.run", TestSpec(path=str(POINT), size=256 * MIB), lambda _event: begun.set())
    assert begun.wait(LIMIT_S)
    until(written)
    apply_fault(host, "link-down", 0)
    agent.close()
    return next_start(host)


def killed_agent(host: ServerHost) -> dict[str, Any]:
    """Kill an agent, which then cannot record anything, while the link is down."""
    agent = LocalAgent()
    agent.client.submit("test.run", TestSpec(path=str(POINT), size=256 * MIB))
    until(written)
    apply_fault(host, "link-down", 0)
    for pid in processes("app.service"):
        os.kill(pid, signal.SIGKILL)
    agent.close()
    return next_start(host)


def ctrl_c(host: ServerHost, *, times: int = 1) -> dict[str, Any]:
    """Interrupt the command line with SIGINT while the link is down."""
    program = [sys.executable, "-P", "-m", "ui.entry", "test", str(POINT), "--size", "256M", "--no-history"]
    child = subprocess.Popen(
        program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    until(written)
    apply_fault(host, "link-down", 0)
    for _time in range(times):
        child.send_signal(signal.SIGINT)
        time.sleep(0.5)
    # Its cleanup process, which shares its standard error, continues.
    status = child.wait(LIMIT_S)
    assert child.stderr is not None
    os.set_blocking(child.stderr.fileno(), False)
    with child.stderr:
        told = (child.stderr.read() or b"").decode()
    return {"status": status, "told": told, **next_start(host)}


def ctrl_c_twice(host: ServerHost) -> dict[str, Any]:
    return ctrl_c(host, times=2)


def next_start(host: ServerHost) -> dict[str, Any]:
    """Return the record of unfinished work, and what is left of it after a start with a living server."""
    runs = recorded()
    for pid in processes("app.speedtest.cleaner"):
        os.kill(pid, signal.SIGKILL)
    apply_fault(host, "link-up", 0)
    before = left()
    agent = LocalAgent()
    until(lambda: not left() and not recorded())
    agent.close()
    return {"recorded": runs, "before": before, "left": left()}


def recorded() -> list[str]:
    return [path.stem for path in records_directory().glob("*.json")]


def written() -> bool:
    return any(path.stat().st_size > MIB for path in POINT.glob(f"{PREFIX}*/{DATA_FILE}"))


def left() -> list[str]:
    return [path.name.removeprefix(PREFIX) for path in POINT.iterdir() if path.name.startswith(PREFIX)]


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while True:
        with contextlib.suppress(OSError):
            if condition():
                return
        assert time.monotonic() < end, f"waited {LIMIT_S} s; left: {left()}, recorded: {recorded()}"
        time.sleep(0.05)

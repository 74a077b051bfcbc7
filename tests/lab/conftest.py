"""One guest for all tests of this folder: booting it takes seconds, switching its link does not."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from copying import POINT

from advisor.facts import LinkFacts
from app.agent.protocol import FaultArgs, LinkArgs, MountArgs, UnmountArgs
from app.bench.result import TestResult
from app.errors import AppError, ErrorKind
from app.lab import supervisor, xstate
from app.lab.guest import Guest, check_installed
from app.lab.links import parse_link
from app.process import kill_group

HERE = Path(__file__).parent
LINK = "fast-ethernet"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.lab)


@pytest.fixture(scope="session")
def lab_installed() -> None:
    try:
        check_installed()
    except AppError as error:
        if error.kind is ErrorKind.LAB_MISSING and os.environ.get("CI") != "true":
            pytest.skip(f"THE LAB IS NOT TESTED. {error.message} {error.hint}")
        raise


@pytest.fixture(scope="session")
def lab(lab_installed: None) -> Iterator[Guest]:
    with Guest.boot(parse_link(LINK)) as guest:
        yield guest


@pytest.fixture
def lab_link(lab: Guest) -> Iterator[Callable[[str], LinkFacts]]:
    """Switches the guest's link for one test."""

    def switch(name: str) -> LinkFacts:
        facts: LinkFacts = lab.client.submit("lab.link", LinkArgs(link=name)).result(30)
        return facts

    yield switch
    switch(LINK)


@pytest.fixture
def lab_mount(lab: Guest) -> Iterator[Callable[[str], None]]:
    """Mounts the export at copying.POINT with a version; unmounted after the test."""

    def do(version: str) -> None:
        args = MountArgs(share=lab.share, mount_point=POINT, options=f"vers={version}")
        lab.client.submit("mounts.mount", args).result(60)

    yield do
    lab.client.submit("mounts.unmount", UnmountArgs(mount_point=POINT)).result(90)


@pytest.fixture
def lab_fault(lab: Guest) -> Iterator[Callable[..., None]]:
    """Makes faults in the guest for one test; all are undone afterwards."""

    def make(fault: str, free_bytes: int = 0) -> None:
        lab.client.submit("lab.fault", FaultArgs(fault=fault, bytes=free_bytes)).result(60)

    yield make
    for undo in ("link-up", "server-start", "export-rw", "unfill"):
        make(undo)


@pytest.fixture
def undisturbed() -> Callable[[Callable[[], TestResult], float, float], TestResult]:
    """Copies again, four times at most, where the machine stalled meanwhile.

    An emulated link carries no more than its rate, whatever the machine does, so that a copy is never too
    quick. One that stalls for a second makes one copy too slow, but not each of five.
    """

    def measure(copy: Callable[[], TestResult], line: float, part: float) -> TestResult:
        """Return a copy that reached this part of the line (bytes a second) both ways, or else the last."""
        for _attempt in range(5):
            result = copy()
            speeds = [each.bytes_per_s for each in (result.write, result.read) if each is not None]
            assert max(speeds) <= line
            if min(speeds) >= part * line:
                break
        return result

    return measure


@pytest.fixture(scope="session")
def guest_job(lab_installed: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """Boots a guest whose PID 1 does one job (inside_guest.py) and returns its answer."""

    def carry_out(job: dict[str, Any], timeout_s: float = 560) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("guest")
        file, launcher = folder / "job.json", folder / "init"
        file.write_text(json.dumps(job))
        home = Path(supervisor.__file__).resolve().parents[2]
        command = shlex.join([sys.executable, "-P", str(HERE / "inside_guest.py"), str(file)])
        launcher.write_text(f"#!/bin/sh\nPYTHONPATH={shlex.quote(f'{home}:{HERE}')} exec {command}\n")
        launcher.chmod(0o700)
        guest = subprocess.Popen(
            supervisor._command(folder, launcher, "512M"),
            env={"HOME": str(folder), "PATH": os.environ["PATH"], **xstate.environment(folder)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            printed, told = guest.communicate(timeout=timeout_s)
        finally:
            kill_group(guest)  # a guest has several processes
            guest.communicate()
        lines = [line for line in printed.splitlines() if line.startswith(b"{")]
        assert lines, printed[-2000:] + told[-2000:]
        answer: dict[str, Any] = json.loads(lines[-1])
        assert "failed" not in answer, answer["failed"]
        return answer

    return carry_out

"""Fixtures of the lab's tests, which share one guest: booting takes seconds, switching its link does not.

Each test gets a living guest (lab_guest.py), and undoes its own changes.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from copy_tests import POINT
from lab_guest import TEST_TIMEOUT_S, LabGuest, NoAnswerError, SharedGuest

from advisor.facts import LinkFacts
from app.errors import AppError, ErrorKind
from app.lab import supervisor, xstate
from app.lab.guest import check_installed
from app.process import kill_group
from app.service.protocol import MountArgs

HERE = Path(__file__).parent
_SHARED = pytest.StashKey[SharedGuest]()
_FAILED = pytest.StashKey[bool]()
#: Timeout of a guest job, s: shorter than pytest's timeout, which cannot report the guest's output.
_JOB_S = TEST_TIMEOUT_S - 60.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.lab)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(TEST_TIMEOUT_S))


@pytest.fixture(scope="session")
def lab_installed() -> None:
    try:
        check_installed()
    except AppError as error:
        if error.kind is ErrorKind.LAB_MISSING and os.environ.get("CI") != "true":
            pytest.skip(f"THE LAB IS NOT TESTED. {error.message} {error.hint}")
        raise


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Provide a living guest before other fixtures compare threads and processes."""
    if "lab" in getattr(item, "fixturenames", ()):
        item.config.stash[_SHARED].live()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    """Add the guest's report to that of a failed test, and use another guest for later tests."""
    report = yield
    if report.failed and "lab" in getattr(item, "fixturenames", ()):
        item.stash[_FAILED] = True
        used = item.funcargs.get("lab")  # type: ignore[attr-defined]
        if used is not None and call.when != "teardown":
            report.sections.append(("the lab's guest", used.remains()))
        if call.when == "teardown":
            item.config.stash[_SHARED].discard()
    return report


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SHARED] = SharedGuest()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the guest, after the fixtures of an interrupted test."""
    session.config.stash[_SHARED].discard()


@pytest.fixture
def lab(lab_installed: None, request: pytest.FixtureRequest) -> Iterator[LabGuest]:
    """Living guest without faults and with its default link; the test fails if the guest dies meanwhile.

    After a failed test the guest is not used again; the next test gets a new one.
    """
    shared = request.config.stash[_SHARED]
    used = LabGuest(shared.live())
    yield used
    if request.node.stash.get(_FAILED, False):
        shared.discard()
        return
    try:
        used.set_back()
        problem = "" if used.answers() else "The guest does not answer any more."
    except (AppError, NoAnswerError) as error:
        problem = f"The guest's faults and its link could not be set back: {error}"
    if problem:
        remains = used.remains()
        shared.discard()
        pytest.fail(f"{problem}\n{remains}", pytrace=False)


@pytest.fixture
def lab_link(lab: LabGuest) -> Callable[[str], LinkFacts]:
    """Function that switches the guest's link for one test."""
    return lab.link


@pytest.fixture
def lab_mount(lab: LabGuest) -> Iterator[Callable[[str], None]]:
    """Function that mounts the export at copy_tests.POINT with an NFS version; unmounted after the test."""

    def do(version: str) -> None:
        lab.ask("mounts.mount", MountArgs(share=lab.share, mount_point=POINT, options=f"vers={version}"))

    yield do
    lab.unmount_when_free(POINT)


@pytest.fixture
def lab_fault(lab: LabGuest) -> Iterator[Callable[..., None]]:
    """Function that makes a fault in the guest; it is undone before the test's mounts are unmounted."""
    yield lab.fault
    lab.set_back()


@pytest.fixture(scope="session")
def guest_job(lab_installed: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """Function that boots a guest whose PID 1 does one job (guest_job.py), and returns the job's answer."""

    def carry_out(job: dict[str, Any], timeout_s: float = _JOB_S) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("guest")
        file, launcher = folder / "job.json", folder / "init"
        file.write_text(json.dumps(job))
        home = Path(supervisor.__file__).resolve().parents[2]
        command = shlex.join([sys.executable, "-P", str(HERE / "guest_job.py"), str(file)])
        places = ":".join(map(str, (home, HERE, HERE.parent / "common")))
        launcher.write_text(f"#!/bin/sh\nPYTHONPATH={shlex.quote(places)} exec {command}\n")
        launcher.chmod(0o700)
        guest = subprocess.Popen(
            supervisor._command(folder, launcher, "512M"),
            env={"HOME": str(folder), "PATH": os.environ["PATH"], **xstate.environment(folder)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            printed, told = guest.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as late:
            seen = ((late.stdout or b"") + (late.stderr or b""))[-4000:].decode(errors="replace")
            raise AssertionError(f"waited {timeout_s:.0f} s for the end of the job {job}\n{seen}") from late
        finally:
            kill_group(guest)  # a guest has several processes
            guest.communicate()
        lines = [line for line in printed.splitlines() if line.startswith(b"{")]
        assert lines, printed[-2000:] + told[-2000:]
        answer: dict[str, Any] = json.loads(lines[-1])
        assert "failed" not in answer, answer["failed"]
        return answer

    return carry_out


@pytest.fixture(scope="session")
def answers_of(
    guest_job: Callable[..., dict[str, Any]],
) -> Callable[[dict[str, str]], dict[str, dict[str, Any]]]:
    """Function that runs shell commands in a guest without units, and returns their answers by name."""

    def run(commands: dict[str, str]) -> dict[str, dict[str, Any]]:
        setup = "mkdir -p /etc/systemd/system && rm -rf /etc/systemd/system/*"
        found = guest_job({"commands": [setup, *commands.values()]}, 600)["commands"]
        answers = dict(zip(commands, found[1:], strict=True))
        for name, answer in answers.items():
            print(f"{name}: {answer}")  # for those who look (-rP)
        return answers

    return run

"""Test runner of ``./test``: sets up the environments, then runs all checks and all tests.

    ./test                    everything
    ./test --long             everything, with the long versions, on each installed Python
    ./test -k mountinfo -x    pytest's options reach every group of tests
    ./test tests/unit/mounts  only these paths, in the environment with Qt, without the checks
    ./test --repeat 5 --load  everything five times under load (packaging/repeat_tests.py)

The tests run in a random order. The last line of the output shows its seed, for ``./test
--randomly-seed=SEED``. ``.cache/tests`` contains a JUnit file of each group, and summary.json.

Standard library only. Four groups run at the same time, because those of the lab wait more than they compute.
With ``--long``, the lab's tests that measure speed run after all others, because they need an idle machine.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).absolute().parents[1]
sys.path.insert(0, str(ROOT / "packaging"))

import repeat_tests  # noqa: E402
from bootstrap import set_up  # noqa: E402
from environments import (  # noqa: E402
    CACHE,
    OLDEST_PYTHON,
    is_ready,
    make,
    newer_pythons,
    python_of,
    setup_lock,
    version_of,
)
from system_packages import TO_TEST, SetupError, find, say  # noqa: E402

RESULTS = CACHE / "tests"
#: Groups that run at the same time.
_LANES = 4
#: Memory for the unit tests' files and the lab's guests together, bytes.
_MEMORY_BYTES = 8 * 2**30
_NO_TESTS = 5  # pytest's exit status when it collected nothing
#: Groups of the lab's tests that measure speed with --long; the group "lab" has the remaining tests. These
#: two may run at the same time, because both mostly wait for slow emulated links.
_SPEEDS = {
    "copies": ["tests/lab/test_copy.py"],
    "speeds": ["tests/lab/test_bottlenecks.py"],
}
#: The lab's tests that boot their own guests.
_OWN_GUESTS = [
    f"tests/lab/test_{name}.py"
    for name in ("cli", "every_option", "guest", "history", "nfs_utils_agree", "nfsmount_conf",
                 "other_users", "private_mount", "shared_guest", "mount_moments")
]  # fmt: skip
#: The lab's tests of the helper and its client that run as jobs in a guest.
_HELPER_JOBS = [
    f"tests/lab/test_{name}.py"
    for name in ("apply_kills", "mount_cycles", "password_prompts", "systemd_boot")
]
#: The lab's tests of the observation of servers and mounts, and of shells in the guest.
_STATES = [
    f"tests/lab/test_{name}.py" for name in ("prerequisites", "server_discovery", "health", "shell", "space")
]
#: The lab's tests of saved mounts: fstab entries, units, udev rules, lists of mounts.
_ENTRIES = [
    f"tests/lab/test_{name}.py"
    for name in (
        "unchanged_options",
        "foreign_entries",
        "space_and_log",
        "saved_readahead",
        "systemd_units",
        "unknown_options",
    )
]
#: The lab's tests that run whole experiments or many small requests.
_EXPERIMENTS = [f"tests/lab/test_{name}.py" for name in ("call_sizes", "experiment")]
#: Directories of the checkout with Python modules.
_PACKAGES = ("advisor", "app", "packaging", "resources", "tests", "ui")
_screen = threading.Lock()


@dataclass
class Counts:
    """Numbers of tests that passed, failed and were skipped; a check counts as one test."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other: Counts) -> None:
        """Add another count to this one."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True)
class Step:
    """One command of the run: a check or a group of tests.

    Attributes:
        name: name that is shown to the user.
        command: program and arguments.
        is_pytest: whether it writes a JUnit file, from which its tests are counted.
        env: additional environment variables.
    """

    name: str
    command: list[str]
    is_pytest: bool = False
    env: dict[str, str] = field(default_factory=dict)

    @property
    def report(self) -> Path:
        """Path of the JUnit file of this step."""
        return RESULTS / (self.name.replace(" ", "-").replace(",", "") + ".xml")


@dataclass(frozen=True)
class Outcome:
    """Result of a step.

    Attributes:
        step: step that ran.
        counts: numbers of its tests by result.
        fine: whether it succeeded.
        seconds: duration, s.
    """

    step: Step
    counts: Counts
    fine: bool
    seconds: float


def checks() -> list[Step]:
    """Return the steps of the static checks: types, style, imports and locked requirements."""
    python = python_of("test")
    tools = python.parent
    cache = str(CACHE / "pyright")
    # numpy's stubs are written for the Python that it is installed for, so pyright checks with that version.
    # mypy and ruff check for the oldest supported version.
    version = ".".join(map(str, version_of(str(python)) or OLDEST_PYTHON))
    return [
        Step("pyright", [str(tools / "pyright"), "--pythonpath", str(python), "--pythonversion", version],
             env={"PYRIGHT_PYTHON_CACHE_DIR": cache, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}),
        Step("mypy", [str(tools / "mypy"), "--python-executable", str(python)]),
        Step("locked requirements", [sys.executable, "-IS", str(ROOT / "packaging" / "lock.py"), "--check"]),
        Step("ruff check", [str(tools / "ruff"), "check", "."]),
        Step("ruff format", [str(tools / "ruff"), "format", "--check", "."]),
        Step("import-linter", [str(tools / "lint-imports")]),
    ]  # fmt: skip


def pytest_step(name: str, python: Path, paths: list[str], options: list[str]) -> Step:
    """Return the step that runs tests with pytest.

    Args:
        name: name of the step.
        python: interpreter of the environment.
        paths: files and directories of the tests.
        options: options of pytest.
    """
    step = Step(name, [], is_pytest=True)
    command = [str(python), "-P", "-m", "pytest", "-p", "no:cacheprovider", "-q", f"--junitxml={step.report}"]
    return Step(name, [*command, *options, *paths], is_pytest=True)


@contextlib.contextmanager
def temporary_files(memory: Path = Path("/dev/shm")) -> Iterator[Path | None]:  # noqa: S108 - a private one in it
    """Create a directory in memory for the unit tests' files; yields None if there is too little memory.

    The program syncs the files that it writes, which takes ten times as long on a busy disk. Directories of
    killed runs are removed: a directory is in use only while its lock is held.

    Args:
        memory: directory of a file system in memory.
    """
    if not os.access(memory, os.W_OK):
        yield None
        return
    for left in memory.glob("mountwright-tests-*"):
        with _locked(left) as free:
            if free:
                shutil.rmtree(left, ignore_errors=True)
    if shutil.disk_usage(memory).free < _MEMORY_BYTES:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="mountwright-tests-", dir=memory))
    with _locked(folder):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Try to lock a directory within this context; yields whether that worked."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
            return
        yield False
    finally:
        os.close(fd)


def without_qt(version: str) -> Step:
    """Return the check that the environment "noqt" of this Python has neither PySide6 nor pyqtgraph."""
    code = (
        "import importlib.util as u, sys; found = [m for m in ('PySide6', 'pyqtgraph') if u.find_spec(m)];"
        "sys.exit(f'importable: {found}' if found else 0)"
    )
    return Step("no Qt below the window", [str(python_of("noqt", version)), "-P", "-c", code])


def run_step(step: Step) -> Outcome:
    """Run a step, print its result, and return it; the output of the step is shown only after a failure."""
    step.report.unlink(missing_ok=True)
    began = time.monotonic()
    done = subprocess.run(
        step.command, check=False, cwd=ROOT, env={**os.environ, **step.env}, text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    seconds = time.monotonic() - began
    fine = done.returncode in ((0, _NO_TESTS) if step.is_pytest else (0,))
    counts = read_report(step.report) if step.is_pytest else Counts(passed=int(fine), failed=int(not fine))
    if not fine and not counts.failed:
        counts.failed = 1  # a failure without a report: a crash, or a wrong option
    with _screen:
        what = f": {counts}" if step.is_pytest else ""
        print(f"{'ok    ' if fine else 'FAILED'} {seconds:6.1f} s  {step.name}{what}")
        if fine:
            shown = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
            print("".join(f"                  {line}\n" for line in shown), end="")
        else:
            print(done.stdout)
        sys.stdout.flush()
    return Outcome(step, counts, fine, seconds)


def write_summary(outcomes: Sequence[Outcome], seed: int, seconds: float) -> None:
    """Write the result of each step to summary.json, which packaging/repeat_tests.py reads.

    Args:
        outcomes: results of the steps.
        seed: seed of the order of the tests.
        seconds: duration of the whole run, s.
    """
    steps = [
        {"name": each.step.name, "fine": each.fine, "seconds": round(each.seconds, 1),
         "report": each.step.report.name if each.step.is_pytest else "", **asdict(each.counts)}
        for each in outcomes
    ]  # fmt: skip
    summary = {"seed": seed, "seconds": round(seconds, 1), "steps": steps}
    (RESULTS / "summary.json").write_text(json.dumps(summary, indent=1))


def heed_signals_in_children() -> None:
    """Give SIGHUP, SIGINT and SIGQUIT their default action in child processes, even if they are ignored here.

    A background process of a script is started with SIGINT and SIGQUIT ignored, one of nohup with SIGHUP
    ignored. Children inherit ignored signals, and tests that interrupt a program would fail. execve(2) resets
    a signal with a handler to its default action (signal(7)).
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)


def read_report(path: Path) -> Counts:
    """Count the tests of a JUnit file that pytest wrote."""
    counts = Counts()
    if not path.exists():
        return counts
    for suite in ET.parse(path).getroot().iter("testsuite"):  # noqa: S314 - written by our own pytest
        number = {key: int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")}
        bad = number["failures"] + number["errors"]
        counts.add(Counts(number["tests"] - bad - number["skipped"], bad, number["skipped"]))
    return counts


def side_by_side(
    options: list[str], newer: Sequence[str], memory: Path | None = None, *, lab: bool, attacks: bool = True
) -> list[Step]:
    """Return the steps that may run at the same time, longest first, so that all lanes end at about one time.

    Args:
        options: options of pytest.
        newer: versions of Python that have an environment, besides the oldest.
        memory: directory for the unit tests' files; None for pytest's default.
        lab: whether the lab's tests can run.
        attacks: whether the attacks on the helper can run.
    """
    python = python_of("test")

    def in_memory(name: str) -> list[str]:
        return [*options, *([f"--basetemp={memory / name}"] if memory is not None else [])]

    versions = unit_pythons(newer, all_="--long" in options)
    steps = [
        pytest_step(
            " ".join(["unit tests without Qt", *([f"on Python {version}"] if version else [])]),
            python_of("noqt", version),
            ["tests/unit"],
            in_memory(f"unit-{version}"),
        )
        for version in versions
    ]
    steps += [
        pytest_step(
            f"window, Python {version}",
            python_of("test", version),
            ["tests/ui"],
            in_memory(f"window-{version}"),  # a name without spaces
        )
        for version in newer
    ]
    if not newer or "--long" in options:
        # Otherwise only the newest Python runs these; the visual tests use the window on the oldest Python.
        steps.append(pytest_step("window", python, ["tests/ui"], in_memory("window")))
    if lab:
        found = {str(path.relative_to(ROOT)) for path in (ROOT / "tests/lab").glob("test_*.py")}
        groups = (_OWN_GUESTS, _HELPER_JOBS, _STATES, _ENTRIES, _EXPERIMENTS, *_SPEEDS.values())
        # The longest step comes first.
        steps.insert(0, pytest_step("lab", python, sorted(found - set(itertools.chain(*groups))), options))
        steps += [
            pytest_step("lab, jobs of the helper", python, _HELPER_JOBS, options),
            pytest_step("lab, what is saved", python, _ENTRIES, options),
            pytest_step("lab, guests of their own", python, _OWN_GUESTS, options),
        ]
    if attacks:
        steps.append(pytest_step("attacks", python, ["tests/attacks"], options))
    if lab:
        steps += [
            pytest_step("lab, experiments", python, _EXPERIMENTS, options),
            pytest_step("lab, states", python, _STATES, options),
            pytest_step("visual", python, ["tests/visual"], options),
        ]
    if lab and "--long" not in options:
        steps += speeds(options)
    return [
        *steps,
        *checks(),
        *map(without_qt, versions[:1]),
        pytest_step("packaging", python, ["tests/packaging"], options),
    ]


def speeds(options: list[str]) -> list[Step]:
    """Return the steps of the lab that measure speed in the long version."""
    python = python_of("test")
    return [pytest_step(f"lab, {name}", python, paths, options) for name, paths in _SPEEDS.items()]


def has_lab() -> tuple[bool, Counts]:
    """Return whether the lab's tests can run, and the counts of the group if they cannot."""
    if find("linux.uml") is not None:
        return True, Counts()
    say("*** THE LAB'S TESTS ARE SKIPPED: linux.uml is not here (package user-mode-linux). ***")
    return False, _skipped()


def can_attack() -> tuple[bool, Counts]:
    """Return whether the attacks on the helper can run, and the counts of the group if they cannot."""
    if os.geteuid() == 0:
        return True, Counts()
    say("*** THE ATTACKS ON THE HELPER ARE SKIPPED: they need root, for namespaces. ***")
    return False, _skipped()


def _skipped() -> Counts:
    """Return the counts of a group that cannot run: one skipped test, in CI one failed test."""
    wanted = os.environ.get("CI", "") not in ("", "0", "false")
    return Counts(failed=1) if wanted else Counts(skipped=1)


def unit_pythons(newer: Sequence[str], *, all_: bool) -> list[str]:
    """Return the versions of Python that run the unit tests, "" for the oldest.

    The unit tests take minutes, so by default only the newest Python runs them: it shows most deprecations.
    The oldest Python runs the lab, the attacks and the visual tests.

    Args:
        newer: versions of Python that have an environment, besides the oldest.
        all_: whether all versions run them.
    """
    return ["", *newer] if all_ else list(newer[-1:]) or [""]


def set_up_newer(*, all_: bool) -> list[str]:
    """Make environments for newer versions of Python; return the versions.

    Args:
        all_: whether to use all newer versions, or only the newest.

    Raises:
        SetupError: if an environment cannot be made.
    """
    newer = newer_pythons()
    if not all_:
        newest = max(newer, key=lambda version: [int(part) for part in version.split(".")], default=None)
        newer = {version: python for version, python in newer.items() if version == newest}
    for version, python in newer.items():
        for name in ("test", "noqt"):
            if not is_ready(name, version):
                with setup_lock():
                    make(name, python, version)
    return list(newer)


def compile_checkout(pythons: Iterable[Path]) -> None:
    """Compile the modules of the checkout for these interpreters.

    The tests start thousands of processes, many of them in guests where the checkout is read-only. Without
    compiled files, each process would compile every module that it imports.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for python in pythons:
        command = [str(python), "-m", "compileall", "-q", "-j", "0", *_PACKAGES]
        subprocess.run(command, check=False, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main(arguments: list[str]) -> int:
    """Run ``./test`` with these arguments; return its exit status, 0 if no test or check failed."""
    if "--repeat" in arguments:
        return repeat_tests.main(arguments)
    began = time.monotonic()
    heed_signals_in_children()
    try:
        set_up(("test",), TO_TEST)
        if any(Path(argument.split("::")[0]).exists() for argument in arguments):
            python = str(python_of("test"))
            compile_checkout([Path(python)])
            os.execv(python, [python, "-P", "-m", "pytest", *arguments])
        newer = set_up_newer(all_="--long" in arguments)
        if "" in unit_pythons(newer, all_="--long" in arguments):
            set_up(("noqt",), TO_TEST)
    except SetupError as error:
        say(f"test: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    compile_checkout([python_of("test"), *(python_of("test", version) for version in newer)])
    RESULTS.mkdir(exist_ok=True)
    seed = random.randrange(2**32)  # noqa: S311 - of an order
    options = [f"--randomly-seed={seed}", *arguments]
    lab, total = has_lab()
    attacks, skipped = can_attack()
    total.add(skipped)
    with temporary_files() as memory, ThreadPoolExecutor(_LANES) as pool:
        outcomes = list(pool.map(run_step, side_by_side(options, newer, memory, lab=lab, attacks=attacks)))
    if lab and "--long" in arguments:
        with ThreadPoolExecutor(len(_SPEEDS)) as pool:
            outcomes += pool.map(run_step, speeds(options))
    for each in outcomes:
        total.add(each.counts)
    write_summary(outcomes, seed, time.monotonic() - began)
    print(f"{total} in {time.monotonic() - began:.1f}s (order: --randomly-seed={seed})")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

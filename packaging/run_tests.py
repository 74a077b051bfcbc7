"""Set up what the tests need, then run every check and every test: what ``./test`` does.

    ./test                    everything
    ./test --long             everything, with the long versions, on each Python that is here
    ./test -k mountinfo -x    pytest's options reach every group of tests
    ./test tests/unit/mounts  only these paths, in the environment with Qt, without the checks
    ./test --repeat 5 --load  everything five times beside other load (packaging/repeat_tests.py)

The order of the tests is another one each time; the last line names its seed, for
``./test --randomly-seed=SEED``. ``.cache/tests`` holds a JUnit file of each group, and summary.json.

Standard library only. Four groups run side by side, as those of the lab wait more than they compute. With
``--long``, the lab's tests that measure speed run after all others: they need a quiet machine.
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
#: Groups side by side.
_LANES = 4
#: What the unit tests' files and the memory of the lab's guests need together.
_MEMORY_BYTES = 8 * 2**30
_NO_TESTS = 5  # pytest's exit status when it collected nothing
#: Groups of the lab's tests beside "lab", which has the others. Those of --long in them measure how fast
#: something is; the two may share the machine with each other, as on slow links both wait most of the time.
_SPEEDS = {
    "copies": ["tests/lab/test_copy.py"],
    "speeds": ["tests/lab/test_bottlenecks.py"],
}
#: Those of the lab's tests that boot guests of their own.
_OWN_GUESTS = [
    f"tests/lab/test_{name}.py"
    for name in ("cli", "every_option", "guest", "history", "nfs_utils_agree", "nfsmount_conf",
                 "other_users", "private_mount", "shared_guest", "mount_moments")
]  # fmt: skip
#: Those that are jobs of the helper and its client in such guests.
_HELPER_JOBS = [
    f"tests/lab/test_{name}.py"
    for name in ("apply_kills", "mount_cycles", "password_prompts", "systemd_boot")
]
#: Those of what is observed of servers and mounts, and of shells in the guest.
_STATES = [
    f"tests/lab/test_{name}.py" for name in ("prerequisites", "server_discovery", "health", "shell", "space")
]
#: Those of what is saved of a mount: entries, units, rules of udev, lists of mounts.
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
#: Those that make whole experiments or many small requests.
_EXPERIMENTS = [f"tests/lab/test_{name}.py" for name in ("call_sizes", "experiment")]
#: Folders of the checkout with Python modules.
_PACKAGES = ("advisor", "app", "packaging", "resources", "tests", "ui")
_screen = threading.Lock()


@dataclass
class Counts:
    """How many tests (a check counts as one) passed, failed and were skipped."""

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
    """One command of the run.

    Attributes:
        name: shown to the person.
        command: program and arguments.
        is_pytest: whether it writes a JUnit file, from which its tests are counted.
    """

    name: str
    command: list[str]
    is_pytest: bool = False
    env: dict[str, str] = field(default_factory=dict)

    @property
    def report(self) -> Path:
        """Where pytest writes its results."""
        return RESULTS / (self.name.replace(" ", "-").replace(",", "") + ".xml")


@dataclass(frozen=True)
class Outcome:
    """What came of a step.

    Attributes:
        fine: whether it ended as it should.
        seconds: how long it took.
    """

    step: Step
    counts: Counts
    fine: bool
    seconds: float


def checks() -> list[Step]:
    """Return the checks that run no test."""
    python = python_of("test")
    tools = python.parent
    cache = str(CACHE / "pyright")
    # The stubs of numpy are written for the Python it is installed on, so pyright reads them as that
    # version. Newer ones than the oldest supported: mypy and ruff still check for the oldest.
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
    """Return the step that runs these tests."""
    step = Step(name, [], is_pytest=True)
    command = [str(python), "-P", "-m", "pytest", "-p", "no:cacheprovider", "-q", f"--junitxml={step.report}"]
    return Step(name, [*command, *options, *paths], is_pytest=True)


@contextlib.contextmanager
def temporary_files(memory: Path = Path("/dev/shm")) -> Iterator[Path | None]:  # noqa: S108 - a private one in it
    """Give a directory in memory for the unit tests' files, None if there is not much memory for it.

    The program syncs what it writes: on a disk that others keep busy, that takes ten times the test. What a
    run leaves that is killed, the next one removes: a directory is in use while its lock is held.

    Args:
        memory: a directory in memory.
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
    """Hold the lock of a directory, if nobody else does; give whether it is held."""
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
    """Return the check that the environment of the lower floors, of this Python, really has no Qt."""
    code = (
        "import importlib.util as u, sys; found = [m for m in ('PySide6', 'pyqtgraph') if u.find_spec(m)];"
        "sys.exit(f'importable: {found}' if found else 0)"
    )
    return Step("no Qt below the window", [str(python_of("noqt", version)), "-P", "-c", code])


def run_step(step: Step) -> Outcome:
    """Run a step, and print how it went."""
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
        counts.failed = 1  # it ended before it could report: a crash, or a wrong option
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
    """Write what came of each step to summary.json, for packaging/repeat_tests.py and for people."""
    steps = [
        {"name": each.step.name, "fine": each.fine, "seconds": round(each.seconds, 1),
         "report": each.step.report.name if each.step.is_pytest else "", **asdict(each.counts)}
        for each in outcomes
    ]  # fmt: skip
    told = {"seed": seed, "seconds": round(seconds, 1), "steps": steps}
    (RESULTS / "summary.json").write_text(json.dumps(told, indent=1))


def heed_signals_in_children() -> None:
    """Have children heed Ctrl-C and the like although this process was started without.

    What a script puts into the background starts with these signals ignored, what nohup starts with one of
    them. Ignored signals are inherited: no program that a test interrupts would end. Those with a handler are
    set back by exec (signal(7)).
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
    """Return the steps that may share the machine, the longest first, so that the lanes end together.

    Args:
        options: of pytest.
        newer: versions of Python for which there is an environment, beside the oldest.
        memory: where the unit tests' files go; None for pytest's own choice.
        lab: whether the lab can run.
        attacks: whether the attacks on the helper can be tried.
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
            in_memory(f"window-{version}"),  # tests' paths have no spaces
        )
        for version in newer
    ]
    if not newer or "--long" in options:
        # Otherwise the newest Python runs these, and the visual tests use the window on the oldest.
        steps.append(pytest_step("window", python, ["tests/ui"], in_memory("window")))
    if lab:
        found = {str(path.relative_to(ROOT)) for path in (ROOT / "tests/lab").glob("test_*.py")}
        groups = (_OWN_GUESTS, _HELPER_JOBS, _STATES, _ENTRIES, _EXPERIMENTS, *_SPEEDS.values())
        # The longest of all, before the others.
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
    """Return whether the lab can run here, and what is skipped or failed if not."""
    if find("linux.uml") is not None:
        return True, Counts()
    say("*** THE LAB'S TESTS ARE SKIPPED: linux.uml is not here (package user-mode-linux). ***")
    return False, _skipped()


def can_attack() -> tuple[bool, Counts]:
    """Return whether the attacks on the helper can be tried here, and what is skipped or failed if not."""
    if os.geteuid() == 0:
        return True, Counts()
    say("*** THE ATTACKS ON THE HELPER ARE SKIPPED: they need root, for namespaces. ***")
    return False, _skipped()


def _skipped() -> Counts:
    """Return what a group counts that cannot run: in CI, where everything is there, that is a failure."""
    wanted = os.environ.get("CI", "") not in ("", "0", "false")
    return Counts(failed=1) if wanted else Counts(skipped=1)


def unit_pythons(newer: Sequence[str], *, all_: bool) -> list[str]:
    """Return the versions of Python that run the unit tests, "" for the oldest.

    They take minutes. The newest Python has most to say of what will be refused; the oldest runs the lab, the
    attacks, the visual tests and, with ``--long``, these too.
    """
    return ["", *newer] if all_ else list(newer[-1:]) or [""]


def set_up_newer(*, all_: bool) -> list[str]:
    """Have environments for the newest Python of this machine, or for all newer ones; return them.

    The oldest and the newest tell of those between.
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
    """Compile the checkout's own modules for these interpreters.

    The tests start thousands of processes, many of them in guests that see the checkout read-only: without
    this, each compiles what it imports, where PYTHONDONTWRITEBYTECODE is set even on the computer itself.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for python in pythons:
        command = [str(python), "-m", "compileall", "-q", "-j", "0", *_PACKAGES]
        subprocess.run(command, check=False, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main(arguments: list[str]) -> int:
    """Run what the command line asks for; return 0 if all is well."""
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

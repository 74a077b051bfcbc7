"""What every test gets: a home of its own, and a check that it leaves nothing behind."""

from __future__ import annotations

import importlib.util
import itertools
import logging
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

#: How long what a test has ended may take to be gone, in seconds.
_GRACE_S = 30.0
#: Programs that a unit test must not start for real: they would change the machine, or ask the person.
_FORBIDDEN = {
    "mount",
    "umount",
    "mount.nfs",
    "mount.nfs4",
    "umount.nfs",
    "umount.nfs4",
    "pkexec",
    "sudo",
    "linux.uml",
}
_GUARDED_FOLDERS = ("unit", "ui")
_HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests marked long, too")
    if importlib.util.find_spec("pytestqt") is None:
        # The environment without Qt reads the same pyproject.toml, whose options of pytest-qt must be known.
        for name in ("qt_api", "qt_default_raising", "qt_log_level_fail", "qt_log_ignore"):
            parser.addini(name, "of pytest-qt, which is not installed here")


def pytest_configure(config: pytest.Config) -> None:
    # How long an example takes is the machine's mood. The long version tries many more of them.
    settings.register_profile(
        "suite",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        max_examples=400 if config.getoption("--long") else 60,
    )
    settings.load_profile("suite")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    skip = pytest.mark.skip(reason="long; run with --long")
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Gives the home of each test: mktemp() would look through those of all tests before each of them."""
    folder = tmp_path_factory.mktemp("homes", numbered=False)
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(scope="session")
def mount_point_at_root() -> None:
    """Skip the test where the mount table has no entry for /, as in a root that chroot(8) alone made.

    unshare(1) cannot make the mounts private there, and no path can be found in the table.
    """
    table = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    if not any(line.split()[4] == "/" for line in table.splitlines()):
        pytest.skip("THIS ROOT HAS NO MOUNT POINT AT /: bind it onto itself first (docs/contributing.md)")


@pytest.fixture(scope="session")
def checkout_for_all() -> None:
    """Skip the test, which runs the checkout's Python as another user, where that user cannot reach it."""
    root = Path(__file__).absolute().parents[1]
    closed = [str(folder) for folder in (root, *root.parents) if not folder.stat().st_mode & 0o001]
    if closed:
        message = f"OTHER USERS CANNOT ENTER {closed[-1]}: put the checkout elsewhere (docs/contributing.md)"
        if os.environ.get("CI", "") not in {"", "0", "false"}:
            pytest.fail(message, pytrace=False)
        pytest.skip(message)


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, homes: Iterator[Path]) -> Path:
    """Give the test an empty home: nothing of the person's is read or changed."""
    home = next(homes)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name, folder in (("CONFIG", ".config"), ("DATA", ".local/share"), ("STATE", ".local/state"),
                         ("CACHE", ".cache")):  # fmt: skip
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / folder))
    return home


@pytest.fixture
def plain_path() -> Iterator[Path]:
    """A directory that is not below /dev, where tmp_path may be: nothing of the person's is mounted there."""
    with tempfile.TemporaryDirectory(prefix="mountwright-") as folder:
        yield Path(folder)


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture(autouse=True)
def no_stray_logs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that logs a warning or an error, unless it looks at the log itself (caplog)."""
    handler = _Records()
    logging.getLogger().addHandler(handler)
    yield
    logging.getLogger().removeHandler(handler)
    if handler.records and "caplog" not in request.fixturenames:
        lines = "\n".join(f"  {r.name}: {r.levelname}: {r.getMessage()}" for r in handler.records)
        pytest.fail(f"The test logged what nobody expected:\n{lines}", pytrace=False)


def _threads() -> set[threading.Thread]:
    # Python's stand-ins for threads that others started (Qt's) never go away.
    return {t for t in threading.enumerate() if not isinstance(t, threading._DummyThread)}


def _children() -> set[int]:
    """Return the direct children that run (see proc(5), /proc/PID/task/TID/children)."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            pids = (task / "children").read_text().split()
        except OSError:  # the thread has just ended
            continue
        found.update(int(pid) for pid in pids if _state(pid) not in "ZX")
    return found


def _state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return "?"


def _left(look: Callable[[], set[Any]], before: set[Any]) -> set[Any]:
    """Return what is there and was not before, after giving it the time to go."""
    deadline = time.monotonic() + _GRACE_S
    while (left := look() - before) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Fail a test that leaves a thread or a child process behind."""
    threads, children = _threads(), _children()
    yield
    left = [f"thread {thread.name}" for thread in _left(_threads, threads)]
    left += [f"process {pid}: {_command(pid)}" for pid in _left(_children, children)]
    if left:
        pytest.fail("The test left running: " + "; ".join(left), pytrace=False)


class _Guard:
    """Refuses forbidden programs while a guarded test runs; an audit hook cannot be removed again."""

    active = False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.active or event not in ("subprocess.Popen", "os.posix_spawn", "os.exec"):
            return
        program = os.path.basename(os.fsdecode(args[0] or ""))  # noqa: PTH119 - may be bytes
        if program in _FORBIDDEN and "-V" not in (args[1] or ()):  # asking for a version is harmless
            raise RuntimeError(f"a unit test would have started the real {program}")


_guard = _Guard()
sys.addaudithook(_guard)


@pytest.fixture(autouse=True)
def no_real_mounts(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep unit and window tests from mounting and from asking for rights, unless marked real_mounts."""
    folder = request.path.relative_to(_HERE).parts[0]
    _guard.active = folder in _GUARDED_FOLDERS and request.node.get_closest_marker("real_mounts") is None
    yield
    _guard.active = False

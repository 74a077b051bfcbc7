"""Lock of an experiment: one program at a time, released at any end of the program."""

import fcntl
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from waiting import DEADLINE_S

from app.errors import AppError, ErrorKind
from app.history.experiment_lock import is_experiment_locked, lock_experiment

HOLDS = (
    "import sys; from pathlib import Path; from app.history.experiment_lock import lock_experiment\n"
    "held = lock_experiment(7, Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
)


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite"


def test_a_second_lock_is_refused_until_the_first_is_released(history: Path) -> None:
    with lock_experiment(7, history) as held:
        assert is_experiment_locked(7, history)
        assert not is_experiment_locked(8, history)
        with pytest.raises(AppError) as caught:
            lock_experiment(7, history)
        assert caught.value.kind is ErrorKind.BUSY
        assert "Experiment 7 is running" in caught.value.message
        held.release()
        assert not is_experiment_locked(7, history)
    assert list(history.parent.iterdir()) == []  # release() deletes the lock file


def test_a_killed_program_holds_no_lock(history: Path) -> None:
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(history)],
        cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert is_experiment_locked(7, history)
        other.send_signal(signal.SIGKILL)
        other.wait(DEADLINE_S)
    lock_experiment(7, history).release()


def test_one_of_many_threads_holds_the_lock(history: Path) -> None:
    """Each release deletes the file: no lock may be held on a deleted file."""
    inside: list[int] = []
    most: list[int] = []

    def work(turns: int) -> int:
        had = 0
        for _ in range(turns):
            try:
                held = lock_experiment(1, history)
            except AppError:
                continue
            inside.append(1)
            most.append(len(inside))
            had += 1
            inside.pop()
            held.release()
        return had

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(work, [300] * 4)) == len(most)
    assert max(most) == 1


@pytest.mark.parametrize("where", ["no-folder", "no-locks"])
def test_without_lock_support_an_experiment_runs(
    history: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def refused(_descriptor: int, _operation: int) -> None:
        raise OSError(37, "No locks available")

    if where == "no-locks":
        monkeypatch.setattr(fcntl, "flock", refused)
    else:
        history = history.parent / "file/history.sqlite"
        history.parent.write_text("")
    with lock_experiment(7, history):
        assert not is_experiment_locked(7, history)
        lock_experiment(7, history).release()
    assert not history.with_name("history.sqlite.running-7").exists()

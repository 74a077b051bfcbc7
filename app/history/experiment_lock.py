"""Lock of an experiment: flock(2) on a file next to the history, so that one program at a time runs it.

The kernel releases the lock however the program ends. Some file systems are read-only or do not support
locks; there the experiment runs without a lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING, Self

from app.errors import AppError
from app.history.database import default_path
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


class ExperimentLock:
    """Held lock of an experiment; a context manager that releases it."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self._path = path
        self._descriptor = descriptor

    def release(self) -> None:
        """Release the lock and delete its file; further calls do nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            # Deleted before the lock ends: afterwards another program may hold a lock on the file.
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(descriptor)

    def __enter__(self) -> Self:
        """Return the lock."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the lock."""
        self.release()


def lock_experiment(number: int, history: Path | None = None) -> ExperimentLock:
    """Lock an experiment for this program.

    Load the experiment after locking it: another program may have run trials of it until then.

    Args:
        number: number of the experiment in the history.
        history: history database; the user's own history if None.

    Raises:
        AppError: BUSY if the experiment is locked, also by this program.
    """
    path = _lock_path(number, history)
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return ExperimentLock(path, None)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_same_file(path, descriptor):
                return ExperimentLock(path, descriptor)
        except BlockingIOError:
            os.close(descriptor)
            raise AppError(ErrorCode.EXPERIMENT_RUNS_ELSEWHERE, number=number) from None
        except OSError:
            return ExperimentLock(path, descriptor)  # not locked: release() still deletes the file
        os.close(descriptor)  # the previous holder deleted this file: try again with a new one


def is_experiment_locked(number: int, history: Path | None = None) -> bool:
    """Return whether a program runs an experiment; False if the lock file cannot be locked."""
    if not _lock_path(number, history).exists():
        return False
    try:
        lock_experiment(number, history).release()
    except AppError:
        return True
    return False


def _lock_path(number: int, history: Path | None) -> Path:
    history = history if history is not None else default_path()
    return history.with_name(f"{history.name}.running-{number}")


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False

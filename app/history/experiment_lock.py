"""Lock of an experiment: one program at a time runs it, and holds a lock on a file beside the history.

The kernel takes the lock away however the program ends. Where no such file can be made or locked, on a
disk that is read-only or another computer's, nothing is held, and nothing is refused.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING, Self

from app.errors import AppError, ErrorKind
from app.history.database import default_path

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


class ExperimentLock:
    """Says that an experiment runs here until it is released; also a context manager."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self._path = path
        self._descriptor = descriptor

    def release(self) -> None:
        """Let others run it; once is enough."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):  # while it is held still: afterwards it may be another's
                self._path.unlink()
            os.close(descriptor)

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release it."""
        self.release()


def lock_experiment(number: int, history: Path | None = None) -> ExperimentLock:
    """Say that this program runs an experiment.

    What it read of the experiment before may be old: another program may have run it until now.

    Args:
        number: of the experiment.
        history: the file that it is kept in; the person's own history if None.

    Raises:
        AppError: BUSY if another program runs it, or this one already.
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
            raise AppError(
                ErrorKind.BUSY,
                f"Experiment {number} is running already, in the window or in another terminal.",
                hint="Wait for its end, or stop it there. Then go on with it.",
            ) from None
        except OSError:
            return ExperimentLock(path, descriptor)  # not locked; its file goes all the same
        os.close(descriptor)  # whoever held it took the file away just now


def is_experiment_locked(number: int, history: Path | None = None) -> bool:
    """Return whether a program runs an experiment, as far as that can be known."""
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

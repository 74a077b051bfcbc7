"""What the command line and the window do with a finished test: keep it, and compare it with the baseline."""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import AppError
from app.history.compare_runs import slower_than
from app.history.database import default_path
from app.history.import_export import to_json
from app.history.model import Run
from app.history.store import HistoryStore

if TYPE_CHECKING:
    from app.speedtest.model import TestResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A test that is kept.

    Attributes:
        id: its number in the history.
        warning: that it is significantly slower than the baseline of its share, and what else differs; or "".
        comparison: with the baseline, whatever came out; "" if there is none.
        messages: what a person should know of the history itself.
    """

    id: int
    warning: str = ""
    comparison: str = ""
    messages: tuple[str, ...] = ()


def remember_test(result: TestResult, *, path: Path | None = None) -> Remembered:
    """Keep a test and compare it with the baseline; for a thread that may wait.

    Args:
        result: of the test.
        path: of the history; the person's own if None.

    Raises:
        AppError: if it cannot be kept. Its message says in which file the measurement is instead.
    """
    run = Run(result=result)
    path = path or default_path()
    try:
        with HistoryStore.open(path) as store:
            number = store.salvaging(lambda: store.add(run))
            baseline = store.baseline_for(result)
            warning, comparison = "", ""
            if baseline is not None and baseline.id != number:
                warning, comparison = slower_than(baseline, result)
            return Remembered(
                id=number, warning=warning, comparison=comparison, messages=tuple(store.messages)
            )
    except AppError as error:
        raise _kept_elsewhere(error, run, path) from error


def _kept_elsewhere(error: AppError, run: Run, path: Path) -> AppError:
    """Write the run to a file of its own; return the error that says where."""
    for folder in (path.parent, Path(tempfile.gettempdir())):
        with contextlib.suppress(OSError):
            file = _write(folder, to_json([run]))
            return AppError(
                error.kind,
                f"{error.message} The measurement is not lost: it is in {file}.",
                hint=f"{error.hint} Then take it in with: mountwright history import {file}".strip(),
                detail=error.detail,
            )
    return AppError(
        error.kind, f"{error.message} The measurement is not kept.", hint=error.hint, detail=error.detail
    )


def _write(folder: Path, content: bytes) -> Path:
    """Write a new file, whole or not at all; only the person may read it."""
    descriptor, name = tempfile.mkstemp(prefix="mountwright-unsaved-", suffix=".json", dir=folder)
    file = Path(name)
    try:
        with open(descriptor, "wb") as out:  # noqa: PTH123 - it is a descriptor
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
    except OSError:
        file.unlink(missing_ok=True)
        raise
    return file

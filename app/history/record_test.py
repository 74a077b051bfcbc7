"""Recording of a finished test: it is saved, and compared with its baseline and the best earlier tests.

A test that the history does not take, for example on a full disk, is written to a file of its own
instead. The best earlier speeds count only if they are medians of enough repeats that are not far
apart: the best of many single measurements would be the luckiest one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.experiment.intervals import MIN_INTERVAL_VALUES
from app.errors import AppError
from app.history.compare_runs import compare_with_baseline, similar_sizes
from app.history.database import default_path
from app.history.import_export import history_to_json
from app.history.model import Run, RunFilter
from app.history.store import HistoryStore

if TYPE_CHECKING:
    from app.history.model import RunSummary
    from app.speedtest.model import TestResult, TestSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTest:
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


def record_test(result: TestResult, *, path: Path | None = None) -> RecordedTest:
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
            number = store.retry_after_recovery(lambda: store.add(run))
            baseline = store.baseline_for(result)
            warning, comparison = "", ""
            if baseline is not None and baseline.id != number:
                warning, comparison = compare_with_baseline(baseline, result)
            return RecordedTest(
                id=number, warning=warning, comparison=comparison, messages=tuple(store.messages)
            )
    except AppError as error:
        raise _save_to_own_file(error, run, path) from error


def _save_to_own_file(error: AppError, run: Run, path: Path) -> AppError:
    """Write the run to a file of its own; return the error that says where."""
    for folder in (path.parent, Path(tempfile.gettempdir())):
        with contextlib.suppress(OSError):
            file = _write_new_file(folder, history_to_json([run]))
            return AppError(
                error.kind,
                f"{error.message} The measurement is not lost: it is in {file}.",
                hint=f"{error.hint} Then take it in with: mountwright history import {file}".strip(),
                detail=error.detail,
            )
    return AppError(
        error.kind, f"{error.message} The measurement is not kept.", hint=error.hint, detail=error.detail
    )


def _write_new_file(folder: Path, content: bytes) -> Path:
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


log = logging.getLogger("history")

#: Older ones have probably seen another network.
_MAX_TESTS = 500


def best_speeds(spec: TestSpec, share: str, link: str = "", *, path: Path | None = None) -> dict[str, float]:
    """Return the best medians of tests that did the same, by direction ("write", "read"); bytes a second.

    A median counts if it is of enough repeats that are not far apart: the best of many single looks would be
    the luckiest one.

    Args:
        spec: compared with tests that moved half to twice as much, small files with files of the same size.
        share: server:/export.
        link: name of the lab's link, "" on a real one.
        path: of the history; the person's own if None.

    Raises:
        AppError: if the history cannot be read.
    """
    wanted = RunFilter(share=share, link=link, kind=spec.workload, limit=_MAX_TESTS)
    with HistoryStore.open(path) as store:
        rows = [row for row in store.find(wanted) if row.link == link and _is_similar_test(row, spec)]
        for message in store.messages:
            log.warning("%s", message)
        speeds = {
            "write": [(row.write, row.id) for row in rows if row.write is not None],
            "read": [(row.read, row.id) for row in rows if row.read is not None and not row.read_cached],
        }
        found = {
            way: next((speed for speed, number in sorted(medians, reverse=True)
                       if _is_reliable(store, number, way, spec)), None)
            for way, medians in speeds.items()
        }  # fmt: skip
    return {way: speed for way, speed in found.items() if speed is not None}


def _is_similar_test(row: RunSummary, spec: TestSpec) -> bool:
    """Return whether a test moved about as much, often enough."""
    if row.repeats < MIN_INTERVAL_VALUES or not similar_sizes(row.size, spec.total):
        return False
    return spec.workload != "files" or row.size == row.count * spec.size


def _is_reliable(store: HistoryStore, number: int, way: str, spec: TestSpec) -> bool:
    """Return whether a test's median can be concluded from, and its file was opened alike."""
    result = store.get(number).result
    figure = result.figures.get(way)
    return result.sync == spec.sync and figure is not None and not figure.wide

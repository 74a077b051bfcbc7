"""Recording of a finished test: saves it, compares it with its baseline, and finds the best earlier speeds.

If the history cannot save a test, for example on a full disk, the test is written to a JSON file instead.
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
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from app.history.model import RunSummary
    from app.speedtest.model import TestResult, TestSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTest:
    """Number of a saved test, and its comparison with the baseline.

    Attributes:
        id: number of the test in the history.
        warning: text that the test is significantly slower than its baseline, with differing settings, or "".
        comparison: text that compares the test with its baseline, "" without a baseline.
        messages: messages for the user about the history file, one sentence each.
    """

    id: int
    warning: str = ""
    comparison: str = ""
    messages: tuple[str, ...] = ()


def record_test(result: TestResult, *, path: Path | None = None) -> RecordedTest:
    """Save a test and compare it with the baseline; blocks while the database is busy.

    Args:
        result: result of the test.
        path: history database; the user's own history if None.

    Raises:
        AppError: if the history cannot save it. The message names the file that it was written to instead.
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
    """Write the run to a new JSON file; return the error with the path of that file added."""
    for directory in (path.parent, Path(tempfile.gettempdir())):
        with contextlib.suppress(OSError):
            file = _write_new_file(directory, history_to_json([run]))
            code = ErrorCode.MEASUREMENT_IN_FILE
            return AppError(code, kind=error.kind, detail=error.detail, problem=error, file=file)
    return AppError(ErrorCode.MEASUREMENT_LOST, kind=error.kind, detail=error.detail, problem=error)


def _write_new_file(directory: Path, content: bytes) -> Path:
    """Write a new file that only the user may read; delete it if writing fails."""
    descriptor, name = tempfile.mkstemp(prefix="mountwright-unsaved-", suffix=".json", dir=directory)
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

#: Newest tests that are searched; older ones probably ran over another network.
_MAX_TESTS = 500


def best_speeds(spec: TestSpec, share: str, link: str = "", *, path: Path | None = None) -> dict[str, float]:
    """Return the best median speeds of similar tests, by direction ("write", "read"), bytes per second.

    A median counts only if it has enough repeats and a narrow interval. Without that rule the best speed
    would be the luckiest of many measurements. Similar tests moved half to twice as many bytes; for many
    small files, the files also had the same size.

    Args:
        spec: test to find similar ones for.
        share: server:/export.
        link: name of the lab's emulated link, "" for a real link.
        path: history database; the user's own history if None.

    Raises:
        AppError: if the history cannot be read.
    """
    run_filter = RunFilter(share=share, link=link, kind=spec.workload, limit=_MAX_TESTS)
    with HistoryStore.open(path) as store:
        rows = [row for row in store.find(run_filter) if row.link == link and _is_similar_test(row, spec)]
        for message in store.messages:
            log.warning("%s", message)
        speeds = {
            "write": [(row.write, row.id) for row in rows if row.write is not None],
            "read": [(row.read, row.id) for row in rows if row.read is not None and not row.read_cached],
        }
        found = {
            direction: next((speed for speed, number in sorted(medians, reverse=True)
                       if _is_reliable(store, number, direction, spec)), None)
            for direction, medians in speeds.items()
        }  # fmt: skip
    return {direction: speed for direction, speed in found.items() if speed is not None}


def _is_similar_test(row: RunSummary, spec: TestSpec) -> bool:
    """Return whether a run moved a similar number of bytes with enough repeats."""
    if row.repeats < MIN_INTERVAL_VALUES or not similar_sizes(row.size, spec.total):
        return False
    return spec.workload != "files" or row.size == row.count * spec.size


def _is_reliable(store: HistoryStore, number: int, direction: str, spec: TestSpec) -> bool:
    """Return whether the interval of a run's median is narrow, and its use of O_SYNC is that of ``spec``."""
    result = store.get(number).result
    figure = result.figures.get(direction)
    return result.sync == spec.sync and figure is not None and not figure.wide

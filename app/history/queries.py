"""History operations for the window; each opens the database, does one thing and closes it.

Opening the file for each operation needs no thread of its own, and lets other programs write in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from advisor.options import MountOptions, catalogue
from app.errors import AppError
from app.history.compare_runs import compare_runs, similar_sizes
from app.history.database import take_recovery
from app.history.import_export import MAX_BYTES, history_from_json, import_history
from app.history.model import RunFilter
from app.history.store import HistoryStore
from app.process import find_program, run
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from advisor.recommendation import MeasuredOption
    from app.history.compare_runs import RunComparison
    from app.history.import_export import ImportResult
    from app.history.model import Run, RunSummary

#: Most runs in one list; a search finds older ones.
MAX_ROWS = 500
#: Scopes of options that do not reach the kernel: they are about the entry, or about mounting.
_ENTRY_SCOPES = frozenset({"command", "fstab"})
#: Timeout for reading a file to import, s.
_READ_S = 30.0


class BaselineDifference(NamedTuple):
    """Difference of the speeds of a test to those of its baseline, as fractions; None if unknown.

    Whether a difference is significant needs the measurements of both, see
    :func:`app.history.compare_runs.compare_runs`.

    Attributes:
        write: difference to the server, 0.1 for 10% faster.
        read: difference from the server.
    """

    write: float | None
    read: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """Saved tests that match a search, and the state of the database.

    Attributes:
        rows: summaries of matching runs, newest first, MAX_ROWS at most.
        total: number of matching runs.
        read_only: whether the history cannot be changed because a newer version of the program wrote it.
        messages: messages for the user about the file, one sentence each.
        differences: number of a run to its difference to the baseline of the same test.
    """

    rows: list[RunSummary]
    total: int
    read_only: bool
    messages: tuple[str, ...]
    differences: dict[int, BaselineDifference]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedRuns:
    """Runs that the user selected, and the comparison of two.

    Attributes:
        runs: selected runs with all measurements, oldest first.
        compared: comparison of two runs; None for another number of runs, or if they cannot be compared.
        problem: reason why two runs cannot be compared, or "".
    """

    runs: list[Run]
    compared: RunComparison | None = None
    problem: str = ""


def find_runs(text: str, share: str) -> HistoryPage:
    """Return the runs that contain all words of a text, on one share, or on all shares for ""."""
    run_filter = RunFilter(text=text, share=share, limit=MAX_ROWS)
    with HistoryStore.open() as store:
        rows = store.retry_after_recovery(lambda: store.find(run_filter))
        total = store.count(run_filter) if len(rows) == MAX_ROWS else len(rows)
        baselines = store.find(RunFilter(baseline=True, limit=MAX_ROWS))
        recovery = take_recovery(store.path)
        return HistoryPage(
            rows=rows,
            total=total,
            read_only=store.read_only,
            # Another page of the window may have met the damage first. It shows no messages.
            messages=(recovery,) if recovery else tuple(store.messages),
            differences=_differences(rows, baselines),
        )


def _differences(
    rows: Sequence[RunSummary], baselines: Sequence[RunSummary]
) -> dict[int, BaselineDifference]:
    """Return the differences of tests to the newest baseline of the same share, link, kind and size."""
    found: dict[int, BaselineDifference] = {}
    for row in rows:
        for baseline in baselines:
            same = (row.share, row.link, row.kind) == (baseline.share, baseline.link, baseline.kind)
            if row.id != baseline.id and same and similar_sizes(row.size, baseline.size):
                read = None if row.read_cached or baseline.read_cached else _ratio(row.read, baseline.read)
                found[row.id] = BaselineDifference(_ratio(row.write, baseline.write), read)
                break
    return found


def _ratio(new: float | None, old: float | None) -> float | None:
    return new / old - 1 if new is not None and old else None


def changed_options(row: RunSummary) -> str:
    """Return the requested options of a test that change how the mount works and are no defaults."""
    options = MountOptions.parse(row.requested)
    in_use = MountOptions.parse(row.options)
    version, transport = in_use.get("vers") or "", in_use.get("proto") or ""
    for name, value in options.values().items():
        option = catalogue().find(name)
        plain = option is None or option.scope in _ENTRY_SCOPES
        if plain or (option is not None and value == option.default_for(version, transport)):
            options.remove(name)
    return str(options)


def last_run(share: str, link: str) -> Run | None:
    """Return the newest test of a share, with all measurements; None without one.

    Args:
        share: server:/export.
        link: name of the lab's emulated link, "" for a real link.
    """
    run_filter = RunFilter(share=share, link=link, limit=MAX_ROWS)
    with HistoryStore.open() as store:
        rows = store.retry_after_recovery(lambda: store.find(run_filter))
        number = next((row.id for row in rows if row.link == link), None)
        return store.get(number) if number is not None else None


def select_runs(numbers: Sequence[int]) -> SelectedRuns:
    """Return runs with all measurements, and, if they are two, their comparison."""
    with HistoryStore.open() as store:
        runs = sorted((store.get(number) for number in numbers), key=lambda run: run.result.started_at)
    if len(runs) != 2:
        return SelectedRuns(runs=runs)
    try:
        return SelectedRuns(runs=runs, compared=compare_runs(runs[:1], runs[1:]))
    except AppError as error:
        return SelectedRuns(runs=runs, problem=error.message)


def change_store(work: Callable[[HistoryStore], object]) -> None:
    """Call a function with the open history."""
    with HistoryStore.open() as store:
        work(store)


def set_baseline(number: int) -> list[RunSummary]:
    """Mark a run as the baseline of its test; return the earlier baselines, which it replaces."""
    with HistoryStore.open() as store:
        return store.rows(store.set_baseline(number))


def load_findings(share: str, link: str) -> tuple[MeasuredOption, ...]:
    """Return the findings of tests and experiments about options of a share over a link."""
    with HistoryStore.open() as store:
        return store.learned(share, link)


def save_findings(share: str, link: str, findings: Sequence[MeasuredOption]) -> None:
    """Save findings about options of a share over a link."""
    with HistoryStore.open() as store:
        store.learn(share, link, findings)


def delete_findings(share: str, link: str) -> None:
    """Delete all findings about options of a share over a link."""
    with HistoryStore.open() as store:
        store.delete_findings(share, link)


def delete_runs(numbers: Sequence[int]) -> list[Run]:
    """Delete runs; return them for :func:`restore_runs`."""
    with HistoryStore.open() as store:
        return store.delete(numbers)


def restore_runs(runs: Sequence[Run]) -> None:
    """Restore deleted runs."""
    with HistoryStore.open() as store:
        for item in runs:
            store.add(item)


def import_file(path: str) -> ImportResult:
    """Import an exported file.

    A child process reads the file, because its directory may be on a mount that does not respond.

    Raises:
        AppError: IO if the file cannot be read, USAGE if it is not an export.
    """
    program = find_program("head")
    if program is None or not path.startswith("/"):
        raise AppError(ErrorCode.IMPORT_PATH_NOT_ABSOLUTE, path=path)
    outcome = run([program, "-c", str(MAX_BYTES), "--", path], timeout=_READ_S)
    if not outcome.ok:
        raise AppError(ErrorCode.IMPORT_NOT_READ, detail=outcome.stderr.strip(), path=path)
    with HistoryStore.open() as store:
        return import_history(
            store, history_from_json(outcome.stdout.encode(errors="surrogateescape")), Path(path).name
        )

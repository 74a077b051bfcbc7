"""Queries and changes of the history for the window: each opens the database, does one thing and closes it.

A file that is opened for each question needs no thread of its own, and another program may write in
between.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import AppError, ErrorKind
from app.history.compare_runs import compare_runs
from app.history.import_export import MAX_BYTES, history_from_json, import_history
from app.history.model import RunFilter
from app.history.store import HistoryStore
from app.process import find_program, run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from advisor.recommend import MeasuredOption
    from app.history.compare_runs import RunComparison
    from app.history.import_export import ImportResult
    from app.history.model import Run, RunSummary

#: More rows at once help nobody: words find the others.
MAX_ROWS = 500
_READ_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """What the list shows.

    Attributes:
        rows: newest first, SHOWN at most.
        total: how many the filter lets through.
        read_only: a newer program made the file: nothing can be changed.
        messages: what a person should know of it.
    """

    rows: list[RunSummary]
    total: int
    read_only: bool
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedRuns:
    """Chosen runs beside each other.

    Attributes:
        runs: oldest first.
        compared: of exactly two; None if they cannot be compared, or are not two.
        problem: why they cannot, "" otherwise.
    """

    runs: list[Run]
    compared: RunComparison | None = None
    problem: str = ""


def find_runs(text: str, share: str) -> HistoryPage:
    """Return the runs that have all words of a text, of one share or ("") of all."""
    wanted = RunFilter(text=text, share=share, limit=MAX_ROWS)
    with HistoryStore.open() as store:
        rows = store.retry_after_recovery(lambda: store.find(wanted))
        total = store.count(wanted) if len(rows) == MAX_ROWS else len(rows)
        return HistoryPage(rows=rows, total=total, read_only=store.read_only, messages=tuple(store.messages))


def select_runs(numbers: Sequence[int]) -> SelectedRuns:
    """Return these runs, and, of two, what the newer says beside the older."""
    with HistoryStore.open() as store:
        runs = sorted((store.get(number) for number in numbers), key=lambda run: run.result.started_at)
    if len(runs) != 2:
        return SelectedRuns(runs=runs)
    try:
        return SelectedRuns(runs=runs, compared=compare_runs(runs[:1], runs[1:]))
    except AppError as error:
        return SelectedRuns(runs=runs, problem=error.message)


def change_store(work: Callable[[HistoryStore], object]) -> None:
    """Do something with the open history."""
    with HistoryStore.open() as store:
        work(store)


def set_baseline(number: int) -> list[RunSummary]:
    """Let later tests like this run be compared with it; return those that were so before."""
    with HistoryStore.open() as store:
        return store.rows(store.set_baseline(number))


def load_findings(share: str, link: str) -> tuple[MeasuredOption, ...]:
    """Return what tests and experiments found of a share over a link."""
    with HistoryStore.open() as store:
        return store.learned(share, link)


def save_findings(share: str, link: str, findings: Sequence[MeasuredOption]) -> None:
    """Keep what was found."""
    with HistoryStore.open() as store:
        store.learn(share, link, findings)


def delete_findings(share: str, link: str) -> None:
    """Forget what was found."""
    with HistoryStore.open() as store:
        store.delete_findings(share, link)


def delete_runs(numbers: Sequence[int]) -> list[Run]:
    """Take runs out; return them, to be brought back."""
    with HistoryStore.open() as store:
        return store.delete(numbers)


def restore_runs(runs: Sequence[Run]) -> None:
    """Add runs again that were taken out."""
    with HistoryStore.open() as store:
        for item in runs:
            store.add(item)


def import_file(path: str) -> ImportResult:
    """Add the runs of an exported file. It is read in a child, as its folder may be on a dead mount.

    Raises:
        AppError: IO if it cannot be read, USAGE if it is no export.
    """
    program = find_program("head")
    if program is None or not path.startswith("/"):
        raise AppError(ErrorKind.USAGE, f"“{path}” cannot be read.", hint="Give the whole path of the file.")
    outcome = run([program, "-c", str(MAX_BYTES), "--", path], timeout=_READ_S)
    if not outcome.ok:
        raise AppError(
            ErrorKind.IO,
            f"{path} cannot be read.",
            hint="Is it there, and is its folder on a server that answers?",
            detail=outcome.stderr.strip(),
        )
    with HistoryStore.open() as store:
        return import_history(
            store, history_from_json(outcome.stdout.encode(errors="surrogateescape")), Path(path).name
        )

"""Store of saved tests: adding, finding, tagging and deleting runs, and choosing baselines.

Every method may be called from any thread. A call takes milliseconds, or up to ten seconds while another
program writes. Database errors are raised as AppError, see app.history.database.Database.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from app.errors import AppError
from app.history.compare_runs import different_test
from app.history.database import Database, default_path
from app.history.experiment_table import ExperimentTable
from app.history.model import FilterValues, Run, RunFilter, RunSummary, link_name, tested_share
from app.history.option_findings import FindingTable
from app.history.result_codec import decode_result, decode_without_samples, encode_result
from app.history.run_columns import (
    clean_tag,
    clear_matching_baselines,
    insert_run,
    joined_tags,
    run_columns,
    search_text,
)
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path
    from types import TracebackType

    from app.speedtest.model import Environment, TestResult

T = TypeVar("T")

_COLUMNS = RunSummary.__struct_fields__
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM runs"  # noqa: S608 - constant column names
_NEWEST = " ORDER BY started DESC, id DESC"
#: Longest search word, in characters, that is matched with GLOB: SQLite refuses patterns of 50,000 bytes.
_MAX_WORD = 1000
_FLAGS = frozenset({"nfs", "read_cached", "baseline"})


class HistoryStore(ExperimentTable, FindingTable):
    """The user's history database: runs, experiments and findings about options."""

    @classmethod
    def open(cls, path: Path | None = None) -> Self:
        """Open the database, or create it if the file does not exist.

        Args:
            path: database file; the user's own history if None.

        Raises:
            AppError: if the file cannot be opened or created.
        """
        return cls(Database(path if path is not None else default_path()))

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the database."""
        self.close()

    def close(self) -> None:
        """Close the database; later calls raise AppError."""
        self._database.close()

    @property
    def path(self) -> Path:
        """The database file."""
        return self._database.path

    @property
    def read_only(self) -> bool:
        """Whether the database cannot be changed because a newer version of the program wrote it."""
        return self._database.read_only

    @property
    def messages(self) -> list[str]:
        """Messages for the user about the file, one sentence each: damaged and recovered, or too new."""
        return list(self._database.messages)

    def retry_after_recovery(self, work: Callable[[], T]) -> T:
        """Call a function, and once more if it found the file damaged and the file was recovered.

        Raises:
            AppError: raised by the function.
        """
        known = len(self.messages)
        try:
            return work()
        except AppError:
            if len(self.messages) == known:
                raise
            return work()

    # Runs

    def add(self, run: Run) -> int:
        """Save a run and return its number; a run whose uid is saved already is left unchanged.

        A run returned by :meth:`delete` is restored with its old number, tags and note.

        Raises:
            AppError: USAGE if the start time or a tag of the run is not valid, or a database error.
        """
        return self.add_all([run])[0]

    def add_all(self, runs: Iterable[Run]) -> list[int]:
        """Save runs in one transaction and return their numbers: if one is refused, none is saved."""
        packed = [(run, run_columns(run), encode_result(run.result)) for run in runs]
        with self._database.writing() as connection:
            return [insert_run(connection, run, columns, *parts) for run, columns, parts in packed]

    def find(self, run_filter: RunFilter | None = None) -> list[RunSummary]:
        """Return summaries of the runs that match the filter, newest first."""
        run_filter = run_filter or RunFilter()
        where, values = _where(run_filter)
        # The inner query reads the index alone and stops at the limit; the table is read for those rows only.
        page = f"SELECT id FROM runs{where}{_NEWEST} LIMIT ? OFFSET ?"  # noqa: S608 - built from constants
        query = f"{_SELECT} WHERE id IN ({page}){_NEWEST}"
        with self._database.reading() as connection:
            found = connection.execute(query, (*values, run_filter.limit, run_filter.offset)).fetchall()
        return [_summary_of(values) for values in found]

    def count(self, run_filter: RunFilter | None = None) -> int:
        """Return the number of runs that match the filter; its limit and offset are ignored."""
        where, values = _where(run_filter or RunFilter())
        with self._database.reading() as connection:
            query = f"SELECT count(*) FROM runs{where}"  # noqa: S608 - built from constants
            return int(connection.execute(query, values).fetchone()[0])

    def get(self, number: int) -> Run:
        """Return a run with all measurements and samples.

        Raises:
            AppError: USAGE if no run has this number; IO if its data cannot be read.
        """
        with self._database.reading() as connection:
            return _get(connection, number)

    def rows(self, numbers: Iterable[int]) -> list[RunSummary]:
        """Return the summaries of runs, in the order of the numbers.

        Raises:
            AppError: USAGE if no run has one of the numbers.
        """
        with self._database.reading() as connection:
            return [_read_summary(connection, number) for number in numbers]

    def environments(self, numbers: Iterable[int]) -> dict[int, Environment]:
        """Return the environment of each run by its number; runs without a readable one are omitted."""
        found: dict[int, Environment] = {}
        with self._database.reading() as connection:
            for number in numbers:
                packed = connection.execute("SELECT body FROM bodies WHERE run = ?", (number,)).fetchone()
                with contextlib.suppress(ValueError):  # data written by a newer version of the program
                    environment = decode_without_samples(packed[0]).environment if packed else None
                    if environment is not None:
                        found[number] = environment
        return found

    def known(self, uid: str) -> int | None:
        """Return the number of the run with this uid, or None if it is not saved."""
        with self._database.reading() as connection:
            found = connection.execute("SELECT id FROM runs WHERE uid = ?", (uid,)).fetchone()
        return int(found[0]) if found else None

    def values(self) -> FilterValues:
        """Return the distinct values in the history that runs can be filtered by."""
        with self._database.reading() as connection:
            shares, servers, hosts, kinds = (
                [str(value) for (value,) in connection.execute(
                    f"SELECT DISTINCT {name} FROM runs WHERE {name} != '' ORDER BY {name}"  # noqa: S608
                )]
                for name in ("share", "server", "host", "kind")
            )  # fmt: skip
            tags = {
                tag
                for (text,) in connection.execute("SELECT DISTINCT tags FROM runs")
                for tag in text.split()
            }
        return FilterValues(shares=shares, servers=servers, hosts=hosts, tags=sorted(tags), kinds=kinds)

    def tag(self, numbers: Iterable[int], add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Add tags to runs and remove tags from them.

        Raises:
            AppError: USAGE if a tag is not one word or no run has one of the numbers, or a database error.
        """
        add, remove = [clean_tag(tag) for tag in add], set(remove)
        with self._database.writing() as connection:
            for number in numbers:
                row = _read_summary(connection, number)
                tags = tuple(sorted((set(row.tags) | set(add)) - remove))
                _update(connection, msgspec.structs.replace(row, tags=tags))

    def note(self, number: int, text: str) -> None:
        """Replace the note of a run; "" deletes it.

        Raises:
            AppError: USAGE if no run has this number, or a database error.
        """
        with self._database.writing() as connection:
            row = _read_summary(connection, number)
            _update(connection, msgspec.structs.replace(row, note=text.strip()))

    def delete(self, numbers: Iterable[int]) -> list[Run]:
        """Delete runs and return them, so that :meth:`add` can restore them.

        Raises:
            AppError: USAGE if no run has one of the numbers (then none is deleted), or a database error.
        """
        with self._database.writing() as connection:
            runs = [_get(connection, number) for number in dict.fromkeys(numbers)]
            connection.executemany("DELETE FROM runs WHERE id = ?", [(run.id,) for run in runs])
        return runs

    # Baselines: one for each distinct test, see different_test, of a share, workload and lab link

    def set_baseline(self, number: int) -> list[int]:
        """Mark a run as the baseline of its test: later runs of the same test are compared with it.

        Returns:
            The numbers of the earlier baselines of the same test, which are baselines no longer.

        Raises:
            AppError: USAGE if no run has this number, IO if it cannot be read, or a database error.
        """
        with self._database.writing() as connection:
            row, result = _read_summary(connection, number), _get(connection, number).result
            cleared = clear_matching_baselines(connection, msgspec.structs.asdict(row), result)
            connection.execute("UPDATE runs SET baseline = 1 WHERE id = ?", (number,))
        return [replaced for replaced in cleared if replaced != number]

    def clear_baseline(self, number: int) -> None:
        """Unmark a run as a baseline.

        Raises:
            AppError: USAGE if no run has this number, or a database error.
        """
        with self._database.writing() as connection:
            _read_summary(connection, number)
            connection.execute("UPDATE runs SET baseline = 0 WHERE id = ?", (number,))

    def baselines(self, share: str, kind: str = "file", link: str = "") -> list[Run]:
        """Return the baselines of a share, newest first.

        Args:
            share: server:/export, or the path of a directory that is not on NFS.
            kind: workload of the tests.
            link: name of the lab's emulated link, "" for a real link.
        """
        query = f"SELECT id FROM runs WHERE share = ? AND kind = ? AND link = ? AND baseline{_NEWEST}"  # noqa: S608
        with self._database.reading() as connection:
            found = connection.execute(query, (share, kind, link)).fetchall()
            return [_get(connection, int(number)) for (number,) in found]

    def baseline_for(self, result: TestResult) -> Run | None:
        """Return the baseline of the same test, or else the newest of its share; None without a baseline."""
        found = self.baselines(tested_share(result), result.workload, link_name(result))
        same_test = [run for run in found if not different_test(run.result, result)]
        return next(iter(same_test or found), None)


def _where(run_filter: RunFilter) -> tuple[str, tuple[Any, ...]]:
    """Return the WHERE clause of a filter and the values of its placeholders."""
    parts: list[tuple[str, Any]] = [
        (f"{name} = ?", value)
        for name in ("share", "server", "host", "link", "kind")
        if (value := getattr(run_filter, name))
    ]
    if run_filter.tag:
        parts.append(("instr(tags, ?)", f" {run_filter.tag} "))
    if run_filter.since is not None:
        parts.append(("started >= ?", run_filter.since.timestamp()))
    if run_filter.until is not None:
        parts.append(("started < ?", run_filter.until.timestamp()))
    if run_filter.baseline:
        parts.append(("baseline = ?", 1))
    parts += [_word_condition(word.casefold()) for word in run_filter.text.split()]
    if not parts:
        return "", ()
    return f" WHERE {' AND '.join(part for part, _ in parts)}", tuple(value for _, value in parts)


def _word_condition(word: str) -> tuple[str, str]:
    """Return the SQL condition for a search word and its value; GLOB takes a third of the time of instr."""
    if len(word) > _MAX_WORD:
        return "instr(search, ?)", word
    return "search GLOB ?", f"*{''.join(f'[{char}]' if char in '*?[' else char for char in word)}*"


def _summary_of(values: Sequence[Any]) -> RunSummary:
    found: dict[str, Any] = dict(zip(_COLUMNS, values, strict=True))
    for name in _FLAGS:
        found[name] = bool(found[name])
    found["tags"] = tuple(found["tags"].split())
    return RunSummary(**found)


def _read_summary(connection: sqlite3.Connection, number: int) -> RunSummary:
    found = connection.execute(f"{_SELECT} WHERE id = ?", (number,)).fetchone()
    if found is None:
        raise AppError(ErrorCode.NO_SUCH_RUN, number=number)
    return _summary_of(found)


def _get(connection: sqlite3.Connection, number: int) -> Run:
    row = _read_summary(connection, number)
    packed = connection.execute("SELECT body, samples FROM bodies WHERE run = ?", (number,)).fetchone()
    try:
        result = decode_result(*packed or (b"", b""))
    except ValueError as error:
        raise AppError(ErrorCode.RUN_NOT_READ, detail=str(error), number=number) from error
    return Run(
        result=result, id=row.id, uid=row.uid, origin=row.origin, tags=row.tags, note=row.note,
        baseline=row.baseline,
    )  # fmt: skip


def _update(connection: sqlite3.Connection, row: RunSummary) -> None:
    """Write the tags and the note of a run, and its search text."""
    tags = joined_tags(row.tags)
    search = search_text(msgspec.structs.asdict(row) | {"tags": tags})
    connection.execute(
        "UPDATE runs SET tags = ?, note = ?, search = ? WHERE id = ?", (tags, row.note, search, row.id)
    )

"""The history: runs are added, found, tagged, compared with a baseline, and deleted with a way back.

Every method may be called from any thread, blocks for milliseconds (up to ten seconds while another program
writes), and raises AppError as app.history.database.Database says.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from app.errors import AppError, ErrorKind
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

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path
    from types import TracebackType

    from app.speedtest.model import Environment, TestResult

T = TypeVar("T")

_COLUMNS = RunSummary.__struct_fields__
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM runs"  # noqa: S608 - the names are ours
_NEWEST = " ORDER BY started DESC, id DESC"
#: SQLite refuses patterns of 50,000 bytes; of a word that is no pattern any more it need not be quick.
_MAX_WORD = 1000
_FLAGS = frozenset({"nfs", "read_cached", "baseline"})


class HistoryStore(ExperimentTable, FindingTable):
    """The person's history."""

    @classmethod
    def open(cls, path: Path | None = None) -> Self:
        """Open it, or begin it.

        Args:
            path: of the file; the person's own history if None.

        Raises:
            AppError: if that is not possible.
        """
        return cls(Database(path if path is not None else default_path()))

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close it; later uses fail."""
        self._database.close()

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    @property
    def read_only(self) -> bool:
        """Whether a newer program made it: nothing can be changed."""
        return self._database.read_only

    @property
    def messages(self) -> list[str]:
        """What a person should know of the file, one sentence each: damaged and set aside, or too new."""
        return list(self._database.messages)

    def retry_after_recovery(self, work: Callable[[], T]) -> T:
        """Do something, and once more if the file turned out to be damaged and another has taken its place.

        Raises:
            AppError: as the work.
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
        """Keep a run; return its number. One that is there already (by its uid) is left as it is.

        A run that was deleted comes back with its old number, tags and note.

        Raises:
            AppError: USAGE if the result's time is none, and as the module says.
        """
        return self.add_all([run])[0]

    def add_all(self, runs: Iterable[Run]) -> list[int]:
        """Keep runs, all or, if one is refused, none; see :meth:`add`."""
        packed = [(run, run_columns(run), encode_result(run.result)) for run in runs]
        with self._database.writing() as connection:
            return [insert_run(connection, run, columns, *parts) for run, columns, parts in packed]

    def find(self, wanted: RunFilter | None = None) -> list[RunSummary]:
        """Return the rows that the filter lets through, newest first."""
        wanted = wanted or RunFilter()
        where, values = _where(wanted)
        # Only what is shown is read from the table: the index tells which, and stops where the page is full.
        page = f"SELECT id FROM runs{where}{_NEWEST} LIMIT ? OFFSET ?"  # noqa: S608 - made of our own words
        query = f"{_SELECT} WHERE id IN ({page}){_NEWEST}"
        with self._database.reading() as connection:
            found = connection.execute(query, (*values, wanted.limit, wanted.offset)).fetchall()
        return [_summary_of(values) for values in found]

    def count(self, wanted: RunFilter | None = None) -> int:
        """Return how many the filter lets through, its limit and offset left out."""
        where, values = _where(wanted or RunFilter())
        with self._database.reading() as connection:
            query = f"SELECT count(*) FROM runs{where}"  # noqa: S608 - made of our own words
            return int(connection.execute(query, values).fetchone()[0])

    def get(self, number: int) -> Run:
        """Return a run with everything measured.

        Raises:
            AppError: USAGE if there is none of this number; IO if what is stored cannot be read.
        """
        with self._database.reading() as connection:
            return _get(connection, number)

    def rows(self, numbers: Iterable[int]) -> list[RunSummary]:
        """Return the rows of these runs, in this order.

        Raises:
            AppError: USAGE if there is no such run.
        """
        with self._database.reading() as connection:
            return [_read_summary(connection, number) for number in numbers]

    def environments(self, numbers: Iterable[int]) -> dict[int, Environment]:
        """Return where these runs ran; one that does not say it, or cannot be read, is left out."""
        found: dict[int, Environment] = {}
        with self._database.reading() as connection:
            for number in numbers:
                packed = connection.execute("SELECT body FROM bodies WHERE run = ?", (number,)).fetchone()
                with contextlib.suppress(ValueError):  # of a newer program
                    environment = decode_without_samples(packed[0]).environment if packed else None
                    if environment is not None:
                        found[number] = environment
        return found

    def known(self, uid: str) -> int | None:
        """Return the number of the run with this uid, or None."""
        with self._database.reading() as connection:
            found = connection.execute("SELECT id FROM runs WHERE uid = ?", (uid,)).fetchone()
        return int(found[0]) if found else None

    def values(self) -> FilterValues:
        """Return what there is to filter by."""
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
        """Give runs tags and take some from them; a tag is one word.

        Raises:
            AppError: USAGE if a tag is not one word, or there is no such run; else as the module says.
        """
        add, remove = [clean_tag(tag) for tag in add], set(remove)
        with self._database.writing() as connection:
            for number in numbers:
                row = _read_summary(connection, number)
                tags = tuple(sorted((set(row.tags) | set(add)) - remove))
                _update(connection, msgspec.structs.replace(row, tags=tags))

    def note(self, number: int, text: str) -> None:
        """Write the note of a run, "" for none.

        Raises:
            AppError: USAGE if there is no such run; else as the module says.
        """
        with self._database.writing() as connection:
            row = _read_summary(connection, number)
            _update(connection, msgspec.structs.replace(row, note=text.strip()))

    def delete(self, numbers: Iterable[int]) -> list[Run]:
        """Take runs out; return them, to be added again if that was a mistake.

        Raises:
            AppError: USAGE if there is no such run, and then none is taken out; else as the module says.
        """
        with self._database.writing() as connection:
            runs = [_get(connection, number) for number in dict.fromkeys(numbers)]
            connection.executemany("DELETE FROM runs WHERE id = ?", [(run.id,) for run in runs])
        return runs

    # Baselines: of each share, what is copied, and link of the lab, one for each test that is like no other

    def set_baseline(self, number: int) -> list[int]:
        """Let later tests of the same share, kind and link that are like this one be compared with it.

        Returns:
            The numbers of other runs that were the baseline of such tests, and are none any more.

        Raises:
            AppError: USAGE if there is no such run; IO if it cannot be read; else as the module says.
        """
        with self._database.writing() as connection:
            row, result = _read_summary(connection, number), _get(connection, number).result
            gone = clear_matching_baselines(connection, msgspec.structs.asdict(row), result)
            connection.execute("UPDATE runs SET baseline = 1 WHERE id = ?", (number,))
        return [other for other in gone if other != number]

    def clear_baseline(self, number: int) -> None:
        """Let it be a run as any other.

        Raises:
            AppError: USAGE if there is no such run; else as the module says.
        """
        with self._database.writing() as connection:
            _read_summary(connection, number)
            connection.execute("UPDATE runs SET baseline = 0 WHERE id = ?", (number,))

    def baselines(self, share: str, kind: str = "file", link: str = "") -> list[Run]:
        """Return what tests of a share are compared with, the newest first.

        Args:
            share: or the path, of what is not NFS.
            kind: what is copied.
            link: name of the lab's link.
        """
        query = f"SELECT id FROM runs WHERE share = ? AND kind = ? AND link = ? AND baseline{_NEWEST}"  # noqa: S608
        with self._database.reading() as connection:
            found = connection.execute(query, (share, kind, link)).fetchall()
            return [_get(connection, int(number)) for (number,) in found]

    def baseline_for(self, result: TestResult) -> Run | None:
        """Return the baseline of tests like this one; else the newest one, None if nothing was chosen."""
        found = self.baselines(tested_share(result), result.workload, link_name(result))
        like = [run for run in found if not different_test(run.result, result)]
        return next(iter(like or found), None)


def _where(wanted: RunFilter) -> tuple[str, tuple[Any, ...]]:
    """Return the condition and its values."""
    parts: list[tuple[str, Any]] = [
        (f"{name} = ?", value)
        for name in ("share", "server", "host", "link", "kind")
        if (value := getattr(wanted, name))
    ]
    if wanted.tag:
        parts.append(("instr(tags, ?)", f" {wanted.tag} "))
    if wanted.since is not None:
        parts.append(("started >= ?", wanted.since.timestamp()))
    if wanted.until is not None:
        parts.append(("started < ?", wanted.until.timestamp()))
    if wanted.baseline:
        parts.append(("baseline = ?", 1))
    parts += [_word_condition(word.casefold()) for word in wanted.text.split()]
    if not parts:
        return "", ()
    return f" WHERE {' AND '.join(part for part, _ in parts)}", tuple(value for _, value in parts)


def _word_condition(word: str) -> tuple[str, str]:
    """Return the condition that a word is in what is searched: GLOB finds it in a third of instr's time."""
    if len(word) > _MAX_WORD:
        return "instr(search, ?)", word
    return "search GLOB ?", f"*{''.join(f'[{sign}]' if sign in '*?[' else sign for sign in word)}*"


def _summary_of(values: Sequence[Any]) -> RunSummary:
    found: dict[str, Any] = dict(zip(_COLUMNS, values, strict=True))
    for name in _FLAGS:
        found[name] = bool(found[name])
    found["tags"] = tuple(found["tags"].split())
    return RunSummary(**found)


def _read_summary(connection: sqlite3.Connection, number: int) -> RunSummary:
    found = connection.execute(f"{_SELECT} WHERE id = ?", (number,)).fetchone()
    if found is None:
        raise AppError(
            ErrorKind.USAGE, f"There is no run {number} in the history.", hint="“history” lists them."
        )
    return _summary_of(found)


def _get(connection: sqlite3.Connection, number: int) -> Run:
    row = _read_summary(connection, number)
    packed = connection.execute("SELECT body, samples FROM bodies WHERE run = ?", (number,)).fetchone()
    try:
        result = decode_result(*packed or (b"", b""))
    except ValueError as error:
        raise AppError(
            ErrorKind.IO,
            f"What was measured in run {number} cannot be read.",
            hint="A newer version of this program may have written it.",
            detail=str(error),
        ) from error
    return Run(
        result=result, id=row.id, uid=row.uid, origin=row.origin, tags=row.tags, note=row.note,
        baseline=row.baseline,
    )  # fmt: skip


def _update(connection: sqlite3.Connection, row: RunSummary) -> None:
    """Write what the person says of a run."""
    tags = joined_tags(row.tags)
    search = search_text(msgspec.structs.asdict(row) | {"tags": tags})
    connection.execute(
        "UPDATE runs SET tags = ?, note = ?, search = ? WHERE id = ?", (tags, row.note, search, row.id)
    )

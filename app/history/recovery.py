"""Recovery of a damaged history: copies all readable records to a new database, which replaces the file.

A test is copied if its measurements unpack and their checksum is right. If the list of free pages is damaged
too, deleted tests may reappear.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from advisor.experiment.measurements import TrialOutcome
from advisor.recommendation import MeasurementStatus
from app.errors import AppError
from app.history.model import Run
from app.history.result_codec import FORMAT_BYTE, decode_without_samples, encode_result, is_intact
from app.history.run_columns import insert_run, run_columns
from app.history.schema import migrate, transaction
from app.history.sqlite_pages import SqlitePageReader, UnreadableError
from app.speedtest.model import Environment
from resources.decoding import converted, from_json

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from app.history.sqlite_pages import SqliteRecord, SqliteValue

#: Literal type; typed Any because converters expect a class.
_STATUS_TYPE: Any = MeasurementStatus
#: Suffixes of the files that SQLite keeps next to a database.
_SUFFIXES = ("-wal", "-shm", "-journal")
#: Numbers of columns that identify the table of a record; the last are those of the index runs_listed.
_RUNS, _BODIES, _EXPERIMENTS, _OUTCOMES, _FINDINGS, _LISTED = 24, 3, 12, 3, 6, (10, 11)


@dataclass(slots=True)
class RecoveryReport:
    """Counts of the tests and experiments that were recovered and lost.

    Attributes:
        known: numbers of the tests that any readable page of the damaged file mentions.
        runs: number of tests recovered.
        bare: number of recovered tests without their tags and note.
        experiments: number of experiments recovered.
        lost_experiments: number of experiments mentioned but not recovered; their trials stay in the damaged
            file.
    """

    known: set[int] = field(default_factory=set[int])
    runs: int = 0
    bare: int = 0
    experiments: int = 0
    lost_experiments: int = 0

    def text(self) -> str:
        """Return the counts as sentences for the user."""
        if not self.known and not self.experiments and not self.lost_experiments:
            return "None of its tests could be read, and a new one was begun."
        lost = len(self.known) - self.runs
        sentences: list[str] = []
        if lost:
            sentences.append(
                f"Of {len(self.known)} tests that it tells of, {self.runs} are recovered and {lost} are lost."
            )
        elif self.known:
            sentences.append(f"All {self.runs} tests that it tells of are recovered.")
        if self.bare:
            sentences.append(f"Of {self.bare} of them the tags and the note are lost.")
        if self.lost_experiments:
            sentences.append(
                f"Experiments recovered: {self.experiments}; lost with their trials: {self.lost_experiments}."
            )
        elif self.experiments:
            sentences.append(f"Experiments recovered: {self.experiments}.")
        return " ".join(sentences)


def recover(path: Path) -> tuple[Path, RecoveryReport]:
    """Rename a damaged history, and put a new database with its readable records in its place.

    The damaged file is renamed only after the new one is complete, so an interruption loses nothing.

    Returns:
        The new path of the damaged file, and the counts of recovered records.

    Raises:
        OSError: if a file cannot be created or renamed.
        sqlite3.Error: if the new database cannot be written.
    """
    new_file = path.with_name(path.name + ".new")
    for suffix in ("", *_SUFFIXES):
        new_file.with_name(new_file.name + suffix).unlink(missing_ok=True)
    os.close(os.open(new_file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        with contextlib.closing(sqlite3.connect(new_file, isolation_level=None)) as target:
            migrate(target)
            with transaction(target):
                report = _copy(path, target)
        damaged_file = _set_aside(path)
        new_file.rename(path)  # atomic: no other program can create a third file in between
    finally:
        new_file.unlink(missing_ok=True)
    return damaged_file, report


def _set_aside(path: Path) -> Path:
    """Give the damaged file and its journal files an unused name; return it.

    The file keeps its old name as a second hard link until the new database replaces it.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    number = 0
    while True:
        counter = f"-{number}" if number else ""
        damaged_file = path.with_name(f"{path.stem}-damaged-{stamp}{counter}{path.suffix}")
        if not damaged_file.exists():
            break
        number += 1
    for suffix in _SUFFIXES:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(damaged_file.with_name(damaged_file.name + suffix))
    try:
        damaged_file.hardlink_to(path)
    except OSError:  # the file system has no hard links
        path.rename(damaged_file)
    return damaged_file


def _copy(path: Path, target: sqlite3.Connection) -> RecoveryReport:
    """Copy the readable records of a file to a new database."""
    with _with_log(path) as merged, merged.open("rb") as file:
        pages = SqlitePageReader(file)
        collector = _RecordCollector()
        for record in pages.records():
            with contextlib.suppress(UnreadableError, msgspec.ValidationError):
                collector.add(record)
        report = RecoveryReport(known=collector.known)
        for record in pages.records():
            if record.number is None or record.number not in collector.known:
                continue
            with contextlib.suppress(UnreadableError, ValueError, AppError):
                if record.width() == _BODIES and _add_run(target, record, collector.runs.get(record.number)):
                    report.runs += 1
                    report.bare += record.number not in collector.runs
    added = _add_experiments(target, collector)
    report.experiments, report.lost_experiments = len(added), len(collector.known_experiments - added)
    _add_findings(target, collector)
    return report


@contextlib.contextmanager
def _with_log(path: Path) -> Generator[Path]:
    """Yield a copy of the file with its write-ahead log applied; the file itself if no log is readable."""
    log = path.with_name(path.name + "-wal")
    if not log.exists() or not log.stat().st_size:
        yield path
        return
    merged = path.with_name(path.name + ".pages")
    merged.unlink(missing_ok=True)
    os.close(os.open(merged, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        source = path
        with (
            contextlib.suppress(sqlite3.Error),
            contextlib.closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as damaged,
            contextlib.closing(sqlite3.connect(merged)) as copy,
        ):
            damaged.backup(copy)
            source = merged
        yield source
    finally:
        merged.unlink(missing_ok=True)


class _RunNotes(msgspec.Struct, array_like=True, frozen=True):
    """Columns of a run that its measurements do not contain: identifier, origin, tags, note, baseline."""

    uid: str
    origin: str
    tags: str
    note: str
    baseline: int


class _RecordCollector:
    """Records of a damaged file, sorted by table; measurements of runs are read separately."""

    def __init__(self) -> None:
        self.known: set[int] = set()
        self.runs: dict[int, _RunNotes] = {}
        self.known_experiments: set[int] = set()
        self.experiments: dict[int, list[SqliteValue]] = {}
        self.outcomes: list[list[SqliteValue]] = []
        self.findings: list[list[SqliteValue]] = []

    def add(self, record: SqliteRecord) -> None:
        """Add a record if its number of columns fits a table of the history.

        Raises:
            UnreadableError: if the record cannot be read.
            msgspec.ValidationError: if a value has the wrong type.
        """
        width = record.width()
        if record.number is None:
            self._add_unnumbered(record, width)
        elif width == _RUNS:
            values = record.values()
            columns = [values[index] for index in (1, 5, 20, 21, 22)]
            self.runs[record.number] = converted(columns, _RunNotes)
            self.known.add(record.number)
        elif width == _BODIES:
            body = record.values()[1]
            if isinstance(body, bytes) and body.startswith(FORMAT_BYTE):
                self.known.add(record.number)
        elif width == _EXPERIMENTS:
            self.known_experiments.add(record.number)
            self.experiments[record.number] = record.values()

    def _add_unnumbered(self, record: SqliteRecord, width: int) -> None:
        if width in _LISTED:
            _, number, share, *_rest = record.values()
            if isinstance(share, str):  # in the index runs_shared the third value is a number
                self.known.add(converted(number, int))
        elif width == _OUTCOMES:
            self.outcomes.append(record.values())
        elif width == _FINDINGS:
            self.findings.append(record.values())


def _add_run(target: sqlite3.Connection, record: SqliteRecord, notes: _RunNotes | None) -> bool:
    """Add a run if its measurements are intact, with or without its samples; return whether it was added.

    Raises:
        UnreadableError: if the record is incomplete.
        ValueError: if the measurements do not unpack.
        AppError: USAGE if they are not those of a test.
    """
    _, body, samples = record.values()
    if not isinstance(body, bytes) or not isinstance(samples, bytes):
        return False
    result = decode_without_samples(body)
    if not is_intact(samples):
        samples = encode_result(result)[1]
    run = Run(result=result, id=record.number or 0)
    if notes is not None:
        tags = tuple(tag for tag in notes.tags.split() if tag.isprintable() and "," not in tag)
        run = msgspec.structs.replace(
            run, uid=notes.uid, origin=notes.origin, tags=tags, note=notes.note, baseline=bool(notes.baseline)
        )
    before = target.total_changes
    insert_run(target, run, run_columns(run), body, samples)
    return target.total_changes > before


def _add_experiments(target: sqlite3.Connection, collector: _RecordCollector) -> set[int]:
    """Add experiments with their trials; return the numbers of the experiments.

    Trials of a lost experiment are left out: its number will be reused, and they would join that experiment.
    """
    for number, (_, *values) in collector.experiments.items():
        with _skip_invalid():
            _check_json(values[8], Any)
            _check_json(values[9], Environment | None)
            _insert(target, "experiments", [number, *values])
    added = {int(number) for (number,) in target.execute("SELECT id FROM experiments")}
    for values in collector.outcomes:
        with _skip_invalid():
            number = converted(values[0], int)
            _check_json(values[2], TrialOutcome)
            if number in added:
                _insert(target, "outcomes", values)
            collector.known_experiments.add(number)
    return added


def _add_findings(target: sqlite3.Connection, collector: _RecordCollector) -> None:
    for values in collector.findings:
        with _skip_invalid():
            converted(values[4], _STATUS_TYPE)
            _insert(target, "findings", values)


def _skip_invalid() -> contextlib.suppress:
    """Suppress the errors of a record with invalid values."""
    return contextlib.suppress(msgspec.DecodeError, TypeError, sqlite3.IntegrityError)


def _check_json(text: SqliteValue, kind: Any) -> None:
    from_json(converted(text, str), kind)


def _insert(target: sqlite3.Connection, table: str, values: list[SqliteValue]) -> None:
    marks = ", ".join("?" * len(values))
    target.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", values)  # noqa: S608 - constant table name

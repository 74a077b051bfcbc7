"""Recovery of a damaged history: what can still be read is copied to a new database, which takes its place.

A record is believed if what was measured unpacks, which a checksum tells. Deleted tests may come back
where the list of free pages is damaged, too.
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
from advisor.recommend import MeasurementStatus
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

#: A choice of words, which checkers take for no class.
_STATUS_TYPE: Any = MeasurementStatus
_TAILS = ("-wal", "-shm", "-journal")
#: How many values a record of each table has. In what lists ask for, a run's number is the second.
_RUNS, _BODIES, _EXPERIMENTS, _OUTCOMES, _FINDINGS, _LISTED = 24, 3, 12, 3, 6, (10, 11)


@dataclass(slots=True)
class RecoveryReport:
    """How much of a damaged history is in the new one.

    Attributes:
        known: numbers of the tests that any of its pages tells of.
        runs: how many of them are whole.
        bare: how many of these have lost their tags and note.
        experiments: how many are whole.
        lost_experiments: how many it tells of beside them; their trials are in the damaged file alone.
    """

    known: set[int] = field(default_factory=set[int])
    runs: int = 0
    bare: int = 0
    experiments: int = 0
    lost_experiments: int = 0

    def text(self) -> str:
        """Return sentences for a person."""
        if not self.known and not self.experiments and not self.lost_experiments:
            return "None of its tests could be read, and a new one was begun."
        lost = len(self.known) - self.runs
        told: list[str] = []
        if lost:
            told.append(
                f"Of {len(self.known)} tests that it tells of, {self.runs} are recovered and {lost} are lost."
            )
        elif self.known:
            told.append(f"All {self.runs} tests that it tells of are recovered.")
        if self.bare:
            told.append(f"Of {self.bare} of them the tags and the note are lost.")
        if self.lost_experiments:
            told.append(
                f"Experiments recovered: {self.experiments}; lost with their trials: {self.lost_experiments}."
            )
        elif self.experiments:
            told.append(f"Experiments recovered: {self.experiments}.")
        return " ".join(told)


def recover(path: Path) -> tuple[Path, RecoveryReport]:
    """Set a damaged history aside, as it is, and put one with what can be read of it in its place.

    Until that one is whole the damaged file stays where it is: an end at any moment loses nothing.

    Returns:
        Where the damaged file is now, and how much of it is in the new one.

    Raises:
        OSError: if a file cannot be made or renamed.
        sqlite3.Error: if the new one cannot be written.
    """
    fresh = path.with_name(path.name + ".new")
    for tail in ("", *_TAILS):
        fresh.with_name(fresh.name + tail).unlink(missing_ok=True)
    os.close(os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        with contextlib.closing(sqlite3.connect(fresh, isolation_level=None)) as target:
            migrate(target)
            with transaction(target):
                salvaged = _copy(path, target)
        aside = _set_aside(path)
        fresh.rename(path)  # in one step: at no moment could another program begin a third one there
    finally:
        fresh.unlink(missing_ok=True)
    return aside, salvaged


def _set_aside(path: Path) -> Path:
    """Give the file a second name that is free, and its logs that name; return it."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    number = 0
    while True:
        aside = path.with_name(f"{path.stem}-damaged-{stamp}{f'-{number}' if number else ''}{path.suffix}")
        if not aside.exists():
            break
        number += 1
    for tail in _TAILS:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + tail).rename(aside.with_name(aside.name + tail))
    try:
        aside.hardlink_to(path)
    except OSError:  # not every file system can
        path.rename(aside)
    return aside


def _copy(path: Path, target: sqlite3.Connection) -> RecoveryReport:
    """Copy what can be read of a file."""
    with _with_log(path) as merged, merged.open("rb") as file:
        pages = SqlitePageReader(file)
        told = _RecordCollector()
        for record in pages.records():
            with contextlib.suppress(UnreadableError, msgspec.ValidationError):
                told.take(record)
        found = RecoveryReport(known=told.known)
        for record in pages.records():
            if record.number is None or record.number not in told.known:
                continue
            with contextlib.suppress(UnreadableError, ValueError, AppError):
                if record.width() == _BODIES and _add_run(target, record, told.runs.get(record.number)):
                    found.runs += 1
                    found.bare += record.number not in told.runs
    kept = _add_experiments(target, told)
    found.experiments, found.lost_experiments = len(kept), len(told.known_experiments - kept)
    _add_findings(target, told)
    return found


@contextlib.contextmanager
def _with_log(path: Path) -> Generator[Path]:
    """Give the file with what stands only in its log; itself if there is none, or it cannot be read."""
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
    """What a person said of a run, and its names."""

    uid: str
    origin: str
    tags: str
    note: str
    baseline: int


class _RecordCollector:
    """What a damaged file tells of itself, but the measurements."""

    def __init__(self) -> None:
        self.known: set[int] = set()
        self.runs: dict[int, _RunNotes] = {}
        self.known_experiments: set[int] = set()
        self.experiments: dict[int, list[SqliteValue]] = {}
        self.outcomes: list[list[SqliteValue]] = []
        self.findings: list[list[SqliteValue]] = []

    def take(self, record: SqliteRecord) -> None:
        """Remember a record if it is one of ours.

        Raises:
            UnreadableError: if it cannot be read.
            msgspec.ValidationError: if it says what no history says.
        """
        width = record.width()
        if record.number is None:
            self._take_unnumbered(record, width)
        elif width == _RUNS:
            values = record.values()
            said = [values[place] for place in (1, 5, 20, 21, 22)]
            self.runs[record.number] = converted(said, _RunNotes)
            self.known.add(record.number)
        elif width == _BODIES:
            body = record.values()[1]
            if isinstance(body, bytes) and body.startswith(FORMAT_BYTE):
                self.known.add(record.number)
        elif width == _EXPERIMENTS:
            self.known_experiments.add(record.number)
            self.experiments[record.number] = record.values()

    def _take_unnumbered(self, record: SqliteRecord, width: int) -> None:
        if width in _LISTED:
            _, number, share, *_rest = record.values()
            if isinstance(share, str):  # in the index of one share's runs the columns are in another order
                self.known.add(converted(number, int))
        elif width == _OUTCOMES:
            self.outcomes.append(record.values())
        elif width == _FINDINGS:
            self.findings.append(record.values())


def _add_run(target: sqlite3.Connection, record: SqliteRecord, said: _RunNotes | None) -> bool:
    """Add a run if what was measured is whole; its samples may be lost.

    Raises:
        UnreadableError: if the record is not whole.
        ValueError: if it does not unpack.
        AppError: USAGE if it is no test.
    """
    _, body, samples = record.values()
    if not isinstance(body, bytes) or not isinstance(samples, bytes):
        return False
    result = decode_without_samples(body)
    if not is_intact(samples):
        samples = encode_result(result)[1]
    run = Run(result=result, id=record.number or 0)
    if said is not None:
        tags = tuple(tag for tag in said.tags.split() if tag.isprintable() and "," not in tag)
        run = msgspec.structs.replace(
            run, uid=said.uid, origin=said.origin, tags=tags, note=said.note, baseline=bool(said.baseline)
        )
    before = target.total_changes
    insert_run(target, run, run_columns(run), body, samples)
    return target.total_changes > before


def _add_experiments(target: sqlite3.Connection, told: _RecordCollector) -> set[int]:
    """Add experiments with their trials; return their numbers.

    Trials without their experiment are left out: its number goes to the next new one, and so would they.
    """
    for number, (_, *values) in told.experiments.items():
        with _skip_invalid():
            _check_json(values[8], Any)
            _check_json(values[9], Environment | None)
            _insert(target, "experiments", [number, *values])
    added = {int(number) for (number,) in target.execute("SELECT id FROM experiments")}
    for values in told.outcomes:
        with _skip_invalid():
            number = converted(values[0], int)
            _check_json(values[2], TrialOutcome)
            if number in added:
                _insert(target, "outcomes", values)
            told.known_experiments.add(number)
    return added


def _add_findings(target: sqlite3.Connection, told: _RecordCollector) -> None:
    for values in told.findings:
        with _skip_invalid():
            converted(values[4], _STATUS_TYPE)
            _insert(target, "findings", values)


def _skip_invalid() -> contextlib.suppress:
    """Leave out what is not as ours is."""
    return contextlib.suppress(msgspec.DecodeError, TypeError, sqlite3.IntegrityError)


def _check_json(text: SqliteValue, kind: Any) -> None:
    from_json(converted(text, str), kind)


def _insert(target: sqlite3.Connection, table: str, values: list[SqliteValue]) -> None:
    marks = ", ".join("?" * len(values))
    target.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", values)  # noqa: S608 - the name is ours

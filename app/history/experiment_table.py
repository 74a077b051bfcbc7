"""Experiments in the database: saved trial by trial, so that an end at any moment loses none."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.experiment.measurements import TrialOutcome
from app.errors import AppError, ErrorKind
from app.history.model import ExperimentRecord, StoredExperimentSummary, unix_time
from resources.decoding import converted, from_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from app.history.database import Database
    from app.speedtest.model import Environment

_SELECT_SUMMARY = (
    "SELECT id, uid, started_at, name, share, host, seed, note, origin,"
    " (SELECT count(*) FROM outcomes WHERE experiment = id) FROM experiments"
)


class ExperimentTable:
    """The part of the history that keeps experiments; see HistoryStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def start_experiment(
        self, spec: bytes, share: str, seed: int, *, name: str = "", environment: Environment | None = None
    ) -> int:
        """Keep a new experiment that has no trial yet; return its number.

        Args:
            spec: all that it takes to run it again, as JSON.
            share: that it runs on.
            seed: of its order.
            name: of its recipe.
            environment: of the host that runs it.

        Raises:
            AppError: USAGE if the spec is not JSON; else as the database says.
        """
        return self.add_experiment(
            ExperimentRecord(
                started_at=datetime.now(UTC).isoformat(timespec="seconds"), name=name, share=share, seed=seed,
                spec=_valid_json(spec), environment=environment,
            )
        )  # fmt: skip

    def add_experiment(self, experiment: ExperimentRecord) -> int:
        """Keep an experiment with its outcomes; one that is there already (by its uid) is left as it is.

        Raises:
            AppError: USAGE if its spec or its time is none; else as the database says.
        """
        uid = experiment.uid or uuid.uuid4().hex
        host = experiment.environment.host if experiment.environment is not None else None
        values = {
            "uid": uid,
            "started_at": experiment.started_at,
            "started": _moment(experiment.started_at),
            "name": experiment.name,
            "share": experiment.share,
            "host": host or "",
            "origin": experiment.origin,
            "seed": experiment.seed,
            "spec": bytes(_valid_json(bytes(experiment.spec))).decode(),
            "environment": msgspec.json.encode(experiment.environment).decode(),
            "note": experiment.note,
        }
        with self._database.writing() as connection:
            known = connection.execute("SELECT id FROM experiments WHERE uid = ?", (uid,)).fetchone()
            if known is not None:
                return int(known[0])
            names, marks = ", ".join(values), ", ".join("?" * len(values))
            found = connection.execute(
                f"INSERT INTO experiments ({names}) VALUES ({marks})",  # noqa: S608 - the names are ours
                tuple(values.values()),
            )
            number = int(found.lastrowid or 0)
            _add_outcomes(connection, number, experiment.outcomes)
        return number

    def add_outcome(self, number: int, outcome: TrialOutcome) -> None:
        """Keep a finished trial at once; one of the same order is replaced.

        Raises:
            AppError: USAGE if there is no such experiment; else as the database says.
        """
        with self._database.writing() as connection:
            _experiment_row(connection, number)
            _add_outcomes(connection, number, [outcome])

    def complete_experiment(self, number: int, outcomes: Iterable[TrialOutcome]) -> int:
        """Add the trials that an imported experiment lacks, or that failed until then; return how many.

        One that ran here is left as it is.

        Raises:
            AppError: USAGE if there is no such experiment; else as the database says.
        """
        with self._database.writing() as connection:
            if not _experiment_row(connection, number).origin:
                return 0
            found = connection.execute("SELECT place, body FROM outcomes WHERE experiment = ?", (number,))
            failed = {place: _has_failed(body) for place, body in found}
            new = [
                one for one in outcomes
                if one.order not in failed or (failed[one.order] and one.state != "failed")
            ]  # fmt: skip
            _add_outcomes(connection, number, new)
        return len(new)

    def experiments(self) -> list[StoredExperimentSummary]:
        """Return all of them, newest first."""
        with self._database.reading() as connection:
            found = connection.execute(f"{_SELECT_SUMMARY} ORDER BY started DESC, id DESC").fetchall()
        return [_summary_of(values) for values in found]

    def experiment(self, number: int) -> ExperimentRecord:
        """Return an experiment with the outcomes so far, in their order.

        Raises:
            AppError: USAGE if there is none of this number; IO if what is stored cannot be read.
        """
        with self._database.reading() as connection:
            return _experiment(connection, number)

    def delete_experiment(self, number: int) -> ExperimentRecord:
        """Take it out; return it, to be added again if that was a mistake.

        Raises:
            AppError: USAGE if there is no such experiment; else as the database says.
        """
        with self._database.writing() as connection:
            experiment = _experiment(connection, number)
            connection.execute("DELETE FROM experiments WHERE id = ?", (number,))
        return experiment

    def known_experiment(self, uid: str) -> int | None:
        """Return the number of the experiment with this uid, or None."""
        with self._database.reading() as connection:
            found = connection.execute("SELECT id FROM experiments WHERE uid = ?", (uid,)).fetchone()
        return int(found[0]) if found else None


def _has_failed(body: str) -> bool:
    """Return whether a trial failed; one that cannot be read, of a newer program perhaps, did not."""
    try:
        return from_json(body, TrialOutcome).state == "failed"
    except msgspec.DecodeError:
        return False


def _add_outcomes(connection: sqlite3.Connection, number: int, outcomes: Iterable[TrialOutcome]) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?)",
        [(number, item.order, msgspec.json.encode(item).decode()) for item in outcomes],
    )


def _experiment_row(connection: sqlite3.Connection, number: int) -> StoredExperimentSummary:
    found = connection.execute(f"{_SELECT_SUMMARY} WHERE id = ?", (number,)).fetchone()
    if found is None:
        raise AppError(
            ErrorKind.USAGE,
            f"There is no experiment {number} in the history.",
            hint="“history experiments” lists them.",
        )
    return _summary_of(found)


def _summary_of(values: tuple[Any, ...]) -> StoredExperimentSummary:
    return StoredExperimentSummary(
        **dict(zip(StoredExperimentSummary.__struct_fields__, values, strict=True))
    )


def _experiment(connection: sqlite3.Connection, number: int) -> ExperimentRecord:
    row = _experiment_row(connection, number)
    spec, environment = connection.execute(
        "SELECT spec, environment FROM experiments WHERE id = ?", (number,)
    ).fetchone()
    bodies = connection.execute(
        "SELECT body FROM outcomes WHERE experiment = ? ORDER BY place", (number,)
    ).fetchall()
    try:
        return converted(
            {
                **{name: getattr(row, name) for name in ("id", "uid", "started_at", "name", "share", "seed")},
                "note": row.note,
                "origin": row.origin,
                "spec": msgspec.Raw(spec.encode()),
                "environment": from_json(environment, object),
                "outcomes": [from_json(body, TrialOutcome) for (body,) in bodies],
            },
            ExperimentRecord,
        )
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise AppError(
            ErrorKind.IO,
            f"What was measured in experiment {number} cannot be read.",
            hint="A newer version of this program may have written it.",
            detail=str(error),
        ) from error


def _valid_json(spec: bytes) -> msgspec.Raw:
    try:
        return msgspec.Raw(msgspec.json.format(spec, indent=-1))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AppError(ErrorKind.USAGE, "An experiment is described in JSON.", detail=str(error)) from error


def _moment(text: str) -> float:
    try:
        return unix_time(text)
    except ValueError as error:
        raise AppError(
            ErrorKind.USAGE, f"“{text}” is not the time of an experiment.", detail=str(error)
        ) from error

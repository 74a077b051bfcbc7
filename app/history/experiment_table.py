"""Database tables of experiments; each trial is saved as it ends, so an interruption loses none."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.experiment.measurements import TrialOutcome
from app.errors import AppError
from app.history.model import ExperimentRecord, StoredExperimentSummary, unix_time
from app.text.errors import ErrorCode
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
    """Methods of HistoryStore for experiments and their trials."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def start_experiment(
        self, spec: bytes, share: str, seed: int, *, name: str = "", environment: Environment | None = None
    ) -> int:
        """Save a new experiment without trials; return its number.

        Args:
            spec: plan of the experiment as JSON, enough to run it again.
            share: share that the experiment runs on, server:/export.
            seed: random seed of the order of trials.
            name: name of the recipe.
            environment: environment of the host that runs the experiment.

        Raises:
            AppError: USAGE if the spec is not JSON, or a database error.
        """
        return self.add_experiment(
            ExperimentRecord(
                started_at=datetime.now(UTC).isoformat(timespec="seconds"), name=name, share=share, seed=seed,
                spec=_valid_json(spec), environment=environment,
            )
        )  # fmt: skip

    def add_experiment(self, experiment: ExperimentRecord) -> int:
        """Save an experiment with its outcomes; return its number.

        An experiment whose uid is saved already is left unchanged.

        Raises:
            AppError: USAGE if its spec is not JSON or its start time is not valid, or a database error.
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
                f"INSERT INTO experiments ({names}) VALUES ({marks})",  # noqa: S608 - constant names
                tuple(values.values()),
            )
            number = int(found.lastrowid or 0)
            _add_outcomes(connection, number, experiment.outcomes)
        return number

    def add_outcome(self, number: int, outcome: TrialOutcome) -> None:
        """Save the outcome of a trial; an outcome with the same order number is replaced.

        Raises:
            AppError: USAGE if no experiment has this number, or a database error.
        """
        with self._database.writing() as connection:
            _experiment_row(connection, number)
            _add_outcomes(connection, number, [outcome])

    def complete_experiment(self, number: int, outcomes: Iterable[TrialOutcome]) -> int:
        """Add to an imported experiment the outcomes that are missing or had failed; return their number.

        An experiment that ran on this computer is left unchanged.

        Raises:
            AppError: USAGE if no experiment has this number, or a database error.
        """
        with self._database.writing() as connection:
            if not _experiment_row(connection, number).origin:
                return 0
            found = connection.execute("SELECT place, body FROM outcomes WHERE experiment = ?", (number,))
            failed = {order: _has_failed(body) for order, body in found}
            new = [
                one for one in outcomes
                if one.order not in failed or (failed[one.order] and one.state != "failed")
            ]  # fmt: skip
            _add_outcomes(connection, number, new)
        return len(new)

    def experiments(self) -> list[StoredExperimentSummary]:
        """Return the summaries of all experiments, newest first."""
        with self._database.reading() as connection:
            found = connection.execute(f"{_SELECT_SUMMARY} ORDER BY started DESC, id DESC").fetchall()
        return [_summary_of(values) for values in found]

    def experiment(self, number: int) -> ExperimentRecord:
        """Return an experiment with its outcomes so far, in the order of the trials.

        Raises:
            AppError: USAGE if no experiment has this number; IO if its data cannot be read.
        """
        with self._database.reading() as connection:
            return _experiment(connection, number)

    def known_experiment(self, uid: str) -> int | None:
        """Return the number of the experiment with this uid, or None if it is not saved."""
        with self._database.reading() as connection:
            found = connection.execute("SELECT id FROM experiments WHERE uid = ?", (uid,)).fetchone()
        return int(found[0]) if found else None


def _has_failed(body: str) -> bool:
    """Return whether a trial failed; an unreadable one, perhaps of a newer version, counts as succeeded."""
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
        raise AppError(ErrorCode.NO_SUCH_EXPERIMENT, number=number)
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
        raise AppError(ErrorCode.OUTCOMES_NOT_READ, detail=str(error), number=number) from error


def _valid_json(spec: bytes) -> msgspec.Raw:
    try:
        return msgspec.Raw(msgspec.json.format(spec, indent=-1))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AppError(ErrorCode.EXPERIMENT_NOT_JSON, detail=str(error)) from error


def _moment(text: str) -> float:
    try:
        return unix_time(text)
    except ValueError as error:
        raise AppError(ErrorCode.EXPERIMENT_TIME_SYNTAX, detail=str(error), text=text) from error

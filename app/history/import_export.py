"""Export of saved tests and experiments to JSON, and import from such a file."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import msgspec

from app.errors import AppError
from app.history.model import ExperimentRecord, Run, unix_time
from app.history.run_columns import clean_tag, content_uid
from app.speedtest.model import TestResult
from app.text.errors import ErrorCode
from app.version import VERSION
from resources import decoding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.history.store import HistoryStore

#: Longest file that is imported, bytes: the size of about 100,000 runs with all samples.
MAX_BYTES = 2**30
_FORMAT_VERSION = 1
#: Longest note of an imported run, characters.
_NOTE_LIMIT = 10_000
#: Upper limit of numbers of files and bytes in an imported run.
_MAX_NUMBER = 2**62


class HistoryExport(msgspec.Struct, frozen=True, kw_only=True):
    """Content of an exported file.

    Attributes:
        format: constant that identifies the file as an export of the history.
        version: version of the file format; an import refuses a newer one.
        program: version of the program that wrote the file.
        exported_at: time of the export, UTC, ISO 8601.
        runs: saved tests, in any order.
        experiments: saved experiments, in any order.
    """

    format: Literal["mountwright-history"] = "mountwright-history"
    version: int = _FORMAT_VERSION
    program: str = VERSION
    exported_at: str = ""
    runs: list[Run] = []
    experiments: list[ExperimentRecord] = []


class ImportResult(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the records that an import added and skipped.

    Attributes:
        added: numbers of the runs that were added.
        known: number of runs that were in the history already.
        experiments: numbers of the experiments that were added.
        known_experiments: number of experiments that were in the history already.
        trials: number of trials added to experiments that were in the history already.
    """

    added: list[int]
    known: int
    experiments: list[int]
    known_experiments: int
    trials: int = 0


class _Header(msgspec.Struct):
    """Format and version of a file, read first to tell whether this program can read the rest."""

    format: str = ""
    version: int = 0


def history_to_json(runs: Iterable[Run], experiments: Iterable[ExperimentRecord] = ()) -> bytes:
    """Return runs and experiments as one JSON document, without their numbers in this database."""
    export = HistoryExport(
        exported_at=datetime.now(UTC).isoformat(timespec="seconds"),
        runs=[msgspec.structs.replace(run, id=0) for run in runs],
        experiments=[msgspec.structs.replace(item, id=0) for item in experiments],
    )
    return msgspec.json.format(msgspec.json.encode(export), indent=1) + b"\n"


def history_from_json(raw: bytes) -> HistoryExport:
    """Decode an exported file, or a single result as printed by ``test --json``.

    Raises:
        AppError: USAGE if it is neither, has a newer format, or contains impossible values.
    """
    try:
        head = decoding.from_json(raw, _Header)
        if not head.format:
            export = HistoryExport(runs=[Run(result=decoding.from_json(raw, TestResult))])
        elif head.version > _FORMAT_VERSION:
            raise AppError(ErrorCode.EXPORT_TOO_NEW)
        else:
            export = decoding.from_json(raw, HistoryExport)
        for run in export.runs:
            _check_result(run)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise AppError(ErrorCode.NOT_AN_EXPORT, detail=str(error)) from error
    return export


def import_history(store: HistoryStore, export: HistoryExport, name: str) -> ImportResult:
    """Add the runs, experiments and trials that are not in the history yet; none becomes a baseline.

    Args:
        store: history to add to.
        export: decoded file.
        name: name of the file, saved as the origin of records without one.

    Raises:
        AppError: raised by the store; records added before the error remain.
    """
    name = name.encode(errors="replace").decode()  # a file name may contain bytes that are not UTF-8
    new_runs: dict[str, Run] = {}
    for run in export.runs:
        uid = run.uid or content_uid(run.result)
        if store.known(uid) is None:
            new_runs[uid] = msgspec.structs.replace(
                run, id=0, uid=uid, baseline=False, origin=run.origin or name
            )
    added = store.add_all(new_runs.values())
    experiments: list[int] = []
    trials = 0
    for item in export.experiments:
        number = store.known_experiment(item.uid) if item.uid else None
        if number is not None:
            trials += store.complete_experiment(number, item.outcomes)
        else:
            imported = msgspec.structs.replace(item, id=0, origin=item.origin or name)
            experiments.append(store.add_experiment(imported))
    return ImportResult(
        added=added,
        known=len(export.runs) - len(added),
        experiments=experiments,
        known_experiments=len(export.experiments) - len(experiments),
        trials=trials,
    )


def _check_result(run: Run) -> None:
    """Check that the values of a run are possible.

    Raises:
        ValueError: if a value is out of bounds.
        AppError: USAGE if a tag is not one word.
    """
    result = run.result
    unix_time(result.started_at)
    values = [value for figure in result.figures.values() for value in figure.values]
    values += [item.bytes_per_s for item in (result.write, result.read) if item is not None]
    if not all(math.isfinite(value) and value >= 0 for value in values):
        raise ValueError("a speed is below 0 or no number")
    moved = [item.bytes for item in (result.write, result.read) if item is not None]
    if not all(0 <= number < _MAX_NUMBER for number in (result.count - 1, *moved)):
        raise ValueError("a number of files or of bytes is out of bounds")
    if len(run.note) > _NOTE_LIMIT:
        raise ValueError("a note is too long")
    for tag in run.tags:
        clean_tag(tag)

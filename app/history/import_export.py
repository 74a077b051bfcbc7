"""Export of the history to JSON and import of it: for another computer, and as a backup."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import msgspec

from app.errors import AppError, ErrorKind
from app.history.model import ExperimentRecord, Run, unix_time
from app.history.run_columns import clean_tag, content_uid
from app.speedtest.model import TestResult
from app.version import VERSION
from resources import decoding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.history.store import HistoryStore

#: Longer files are none of ours: a hundred thousand runs with all samples take about as much.
MAX_BYTES = 2**30
_FORMAT_VERSION = 1
_NOTE_LIMIT = 10_000
#: More files or bytes than any disk has.
_MAX_NUMBER = 2**62


class HistoryExport(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a file that was exported.

    Attributes:
        format: says what it is.
        version: of the format; a newer one is refused.
        program: version of the program that wrote it.
        exported_at: UTC, ISO 8601.
        runs: in any order.
        experiments: likewise.
    """

    format: Literal["mountwright-history"] = "mountwright-history"
    version: int = _FORMAT_VERSION
    program: str = VERSION
    exported_at: str = ""
    runs: list[Run] = []
    experiments: list[ExperimentRecord] = []


class ImportResult(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did.

    Attributes:
        added: numbers of the runs that are new.
        known: how many were there already.
        experiments: numbers of the experiments that are new.
        known_experiments: how many were there already.
        trials: that some of these lacked, and have now.
    """

    added: list[int]
    known: int
    experiments: list[int]
    known_experiments: int
    trials: int = 0


class _Header(msgspec.Struct):
    """Enough to say whether the rest can be read."""

    format: str = ""
    version: int = 0


def history_to_json(runs: Iterable[Run], experiments: Iterable[ExperimentRecord] = ()) -> bytes:
    """Return runs and experiments as one JSON document; numbers of this database are left out."""
    export = HistoryExport(
        exported_at=datetime.now(UTC).isoformat(timespec="seconds"),
        runs=[msgspec.structs.replace(run, id=0) for run in runs],
        experiments=[msgspec.structs.replace(item, id=0) for item in experiments],
    )
    return msgspec.json.format(msgspec.json.encode(export), indent=1) + b"\n"


def history_from_json(raw: bytes) -> HistoryExport:
    """Return what an exported file has, or a single result as ``test --json`` prints it.

    Raises:
        AppError: USAGE if it is neither, is of a newer program, or says what cannot be.
    """
    try:
        head = decoding.from_json(raw, _Header)
        if not head.format:
            export = HistoryExport(runs=[Run(result=decoding.from_json(raw, TestResult))])
        elif head.version > _FORMAT_VERSION:
            raise AppError(
                ErrorKind.USAGE,
                "The file was exported by a newer version of this program.",
                hint="Use the newer version.",
            )
        else:
            export = decoding.from_json(raw, HistoryExport)
        for run in export.runs:
            _check_result(run)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise AppError(
            ErrorKind.USAGE,
            "This is not a file that was exported from a history.",
            hint="“history export --json FILE” writes one; the output of “test --json” is taken, too.",
            detail=str(error),
        ) from error
    return export


def import_history(store: HistoryStore, export: HistoryExport, name: str) -> ImportResult:
    """Add what is new, also the trials that were run elsewhere since an import; a baseline is none here.

    Args:
        store: the history.
        export: what to add.
        name: of the file, kept as the origin of what has none yet.

    Raises:
        AppError: as the store; what was added until then stays.
    """
    name = name.encode(errors="replace").decode()  # a file's name need not be UTF-8
    fresh: dict[str, Run] = {}
    for run in export.runs:
        uid = run.uid or content_uid(run.result)
        if store.known(uid) is None:
            fresh[uid] = msgspec.structs.replace(
                run, id=0, uid=uid, baseline=False, origin=run.origin or name
            )
    added = store.add_all(fresh.values())
    experiments: list[int] = []
    trials = 0
    for item in export.experiments:
        number = store.known_experiment(item.uid) if item.uid else None
        if number is not None:
            trials += store.complete_experiment(number, item.outcomes)
        else:
            taken = msgspec.structs.replace(item, id=0, origin=item.origin or name)
            experiments.append(store.add_experiment(taken))
    return ImportResult(
        added=added,
        known=len(export.runs) - len(added),
        experiments=experiments,
        known_experiments=len(export.experiments) - len(experiments),
        trials=trials,
    )


def _check_result(run: Run) -> None:
    """Refuse what no test can have measured.

    Raises:
        ValueError: if it is such.
        AppError: if a tag is none.
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

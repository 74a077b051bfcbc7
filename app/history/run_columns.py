"""Database columns of a saved test: values to search and sort by, its identifier, and insertion."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.share import Share, ShareError
from app.errors import AppError
from app.history.compare_runs import different_test
from app.history.model import link_name, option_string, read_is_cached, tested_share, unix_time
from app.history.result_codec import decode_without_samples
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from app.history.model import Run
    from app.speedtest.model import TestResult


def clean_tag(tag: str) -> str:
    """Return a tag without surrounding blanks.

    Raises:
        AppError: USAGE if it is not one word.
    """
    tag = tag.strip()
    if not tag or not tag.isprintable() or any(char.isspace() or char == "," for char in tag):
        raise AppError(ErrorCode.TAG_SYNTAX, tag=tag)
    return tag


def content_uid(result: TestResult) -> str:
    """Return the identifier of a result: 32 hex digits of its SHA-256 digest, computed without samples."""
    transfers = {
        name: msgspec.structs.replace(transfer, samples=[])
        for name in ("write", "read")
        if (transfer := getattr(result, name)) is not None
    }
    packed = msgspec.json.encode(msgspec.structs.replace(result, **transfers), order="deterministic")
    return hashlib.sha256(packed).hexdigest()[:32]


def run_columns(run: Run) -> dict[str, Any]:
    """Return the columns of a run by name, without its number.

    Raises:
        AppError: USAGE if the start time or a tag is not valid.
    """
    result = run.result
    try:
        moment = unix_time(result.started_at)
    except ValueError as error:
        raise AppError(ErrorCode.TEST_TIME_SYNTAX, detail=str(error), time=result.started_at) from error
    transfer = result.write or result.read
    found: dict[str, Any] = {
        "uid": run.uid or content_uid(result),
        "started": moment,
        "started_at": result.started_at,
        "host": (result.environment.host if result.environment else None) or "",
        "origin": run.origin,
        "server": _server_of(result),
        "share": tested_share(result),
        "path": result.path,
        "nfs": result.nfs,
        "link": link_name(result),
        "kind": result.workload,
        "size": transfer.bytes if transfer is not None else 0,
        "count": result.count,
        "repeats": max((len(figure.values) for figure in result.figures.values()), default=1),
        "write": _speed_of(result, "write"),
        "read": _speed_of(result, "read"),
        "read_cached": read_is_cached(result),
        "options": option_string(result.effective),
        "requested": option_string(result.requested),
        "tags": joined_tags(run.tags),
        "note": run.note,
        "baseline": run.baseline,
    }
    return found | {"search": search_text(found)}


def _server_of(result: TestResult) -> str:
    try:
        return Share.parse(result.share).host if result.share else ""
    except ShareError:
        return ""


def _speed_of(result: TestResult, direction: str) -> float | None:
    figure, transfer = result.figures.get(direction), getattr(result, direction)
    return figure.median if figure is not None else transfer.bytes_per_s if transfer is not None else None


def joined_tags(tags: Sequence[str]) -> str:
    """Return tags as one text with a blank on both sides of each, so that SQL can find a whole tag.

    Raises:
        AppError: USAGE if a tag is not one word.
    """
    return "".join(f" {tag}" for tag in sorted({clean_tag(tag) for tag in tags})) + (" " if tags else "")


def search_text(columns: dict[str, Any]) -> str:
    """Return the text that words are searched in, in lower case; ``tags`` is the output of joined_tags."""
    names = ("share", "host", "path", "link", "options", "requested", "tags", "note", "origin")
    return "\n".join(str(columns[name]) for name in names if columns[name]).casefold()


def insert_run(
    connection: sqlite3.Connection, run: Run, columns: dict[str, Any], body: bytes, samples: bytes
) -> int:
    """Insert a run inside a transaction, unless its uid is saved already; return its number."""
    known = connection.execute("SELECT id FROM runs WHERE uid = ?", (columns["uid"],)).fetchone()
    if known is not None:
        return int(known[0])
    if run.baseline:
        clear_matching_baselines(connection, columns, run.result)
    free = run.id and not connection.execute("SELECT 1 FROM runs WHERE id = ?", (run.id,)).fetchone()
    values = columns | {"id": run.id if free else None}
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    found = connection.execute(
        f"INSERT INTO runs ({names}) VALUES ({marks})",  # noqa: S608 - constant names
        tuple(values.values()),
    )
    number = int(found.lastrowid or 0)
    connection.execute("INSERT INTO bodies VALUES (?, ?, ?)", (number, body, samples))
    return number


def clear_matching_baselines(
    connection: sqlite3.Connection, columns: Mapping[str, Any], result: TestResult
) -> list[int]:
    """Unmark the baselines of the same test; return their numbers.

    Args:
        connection: connection inside a transaction.
        columns: columns of the new baseline; share, link and kind are used.
        result: result of the new baseline.
    """
    found = connection.execute(
        "SELECT id, body FROM runs JOIN bodies ON run = id "
        "WHERE share = ? AND link = ? AND kind = ? AND baseline",
        (columns["share"], columns["link"], columns["kind"]),
    ).fetchall()
    cleared = [int(number) for number, body in found if _is_same_test(body, result)]
    connection.executemany("UPDATE runs SET baseline = 0 WHERE id = ?", [(number,) for number in cleared])
    return cleared


def _is_same_test(body: bytes, result: TestResult) -> bool:
    try:
        return not different_test(decode_without_samples(body), result)
    except ValueError:  # an unreadable run cannot serve as a baseline
        return True

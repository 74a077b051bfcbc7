"""Columns of a saved test in the database: what is searched and sorted by, its identifier, its insertion."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.share import Share, ShareError
from app.errors import AppError, ErrorKind
from app.history.compare_runs import different_test
from app.history.model import link_name, option_string, read_is_cached, tested_share, unix_time
from app.history.result_codec import decode_without_samples

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from app.history.model import Run
    from app.speedtest.model import TestResult


def clean_tag(tag: str) -> str:
    """Return a tag as it is kept.

    Raises:
        AppError: USAGE if it is not one word.
    """
    tag = tag.strip()
    if not tag or not tag.isprintable() or any(sign.isspace() or sign == "," for sign in tag):
        raise AppError(
            ErrorKind.USAGE, f"“{tag}” is not a tag.", hint="A tag is one word, such as before-upgrade."
        )
    return tag


def content_uid(result: TestResult) -> str:
    """Return a name that this result has wherever it is stored: a digest of it, the samples left out."""
    bare = {
        name: msgspec.structs.replace(transfer, samples=[])
        for name in ("write", "read")
        if (transfer := getattr(result, name)) is not None
    }
    packed = msgspec.json.encode(msgspec.structs.replace(result, **bare), order="deterministic")
    return hashlib.sha256(packed).hexdigest()[:32]


def run_columns(run: Run) -> dict[str, Any]:
    """Return the columns of a run but its number, by their names.

    Raises:
        AppError: USAGE if the result's time is none, or a tag is none.
    """
    result = run.result
    try:
        moment = unix_time(result.started_at)
    except ValueError as error:
        raise AppError(
            ErrorKind.USAGE, f"“{result.started_at}” is not the time of a test.", detail=str(error)
        ) from error
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


def _speed_of(result: TestResult, way: str) -> float | None:
    figure, transfer = result.figures.get(way), getattr(result, way)
    return figure.median if figure is not None else transfer.bytes_per_s if transfer is not None else None


def joined_tags(tags: Sequence[str]) -> str:
    """Return tags with a blank on both sides of each, so that one can be looked for.

    Raises:
        AppError: USAGE if one is not a tag.
    """
    return "".join(f" {tag}" for tag in sorted({clean_tag(tag) for tag in tags})) + (" " if tags else "")


def search_text(columns: dict[str, Any]) -> str:
    """Return what words are looked for in; ``tags`` is joined already."""
    names = ("share", "host", "path", "link", "options", "requested", "tags", "note", "origin")
    return "\n".join(str(columns[name]) for name in names if columns[name]).casefold()


def insert_run(
    connection: sqlite3.Connection, run: Run, columns: dict[str, Any], body: bytes, samples: bytes
) -> int:
    """Add a run inside a transaction unless its uid is there already; return its number."""
    known = connection.execute("SELECT id FROM runs WHERE uid = ?", (columns["uid"],)).fetchone()
    if known is not None:
        return int(known[0])
    if run.baseline:
        clear_matching_baselines(connection, columns, run.result)
    free = run.id and not connection.execute("SELECT 1 FROM runs WHERE id = ?", (run.id,)).fetchone()
    values = columns | {"id": run.id if free else None}
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    found = connection.execute(
        f"INSERT INTO runs ({names}) VALUES ({marks})",  # noqa: S608 - the names are ours
        tuple(values.values()),
    )
    number = int(found.lastrowid or 0)
    connection.execute("INSERT INTO bodies VALUES (?, ?, ?)", (number, body, samples))
    return number


def clear_matching_baselines(
    connection: sqlite3.Connection, columns: Mapping[str, Any], result: TestResult
) -> list[int]:
    """Let no run that is the same test be a baseline any more; return the numbers of those that were.

    Args:
        connection: inside a transaction.
        columns: share, link and kind of the test.
        result: of the test.
    """
    found = connection.execute(
        "SELECT id, body FROM runs JOIN bodies ON run = id "
        "WHERE share = ? AND link = ? AND kind = ? AND baseline",
        (columns["share"], columns["link"], columns["kind"]),
    ).fetchall()
    gone = [int(number) for number, body in found if _is_same_test(body, result)]
    connection.executemany("UPDATE runs SET baseline = 0 WHERE id = ?", [(number,) for number in gone])
    return gone


def _is_same_test(body: bytes, result: TestResult) -> bool:
    try:
        return not different_test(decode_without_samples(body), result)
    except ValueError:  # nothing is compared with what cannot be read
        return True

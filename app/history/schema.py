"""Database schema of the history and its migrations; a released migration is never changed."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

#: "MWht": value of PRAGMA application_id, which identifies a database as a history.
APPLICATION_ID = 0x4D576874

#: SQL script to each schema version from the previous one; ``PRAGMA user_version`` is their number.
MIGRATIONS: tuple[str, ...] = (
    # 1: runs. The short rows of "runs" hold the columns that lists show and filter by, "bodies" all the rest.
    """
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        uid TEXT NOT NULL UNIQUE,
        started REAL NOT NULL,
        started_at TEXT NOT NULL,
        host TEXT NOT NULL,
        origin TEXT NOT NULL,
        server TEXT NOT NULL,
        share TEXT NOT NULL,
        path TEXT NOT NULL,
        nfs INTEGER NOT NULL,
        link TEXT NOT NULL,
        kind TEXT NOT NULL,
        size INTEGER NOT NULL,
        count INTEGER NOT NULL,
        repeats INTEGER NOT NULL,
        write REAL,
        read REAL,
        read_cached INTEGER NOT NULL,
        options TEXT NOT NULL,
        requested TEXT NOT NULL,
        tags TEXT NOT NULL,
        note TEXT NOT NULL,
        baseline INTEGER NOT NULL,
        search TEXT NOT NULL
    ) STRICT;
    CREATE INDEX runs_started ON runs (started DESC, id DESC);
    CREATE INDEX runs_share ON runs (share, started DESC, id DESC);
    CREATE UNIQUE INDEX runs_baseline ON runs (share, link, kind) WHERE baseline;
    CREATE TABLE bodies (
        run INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
        body BLOB NOT NULL,
        samples BLOB NOT NULL
    ) STRICT;
    """,
    # 2: experiments, and the outcome of each of their trials as JSON.
    """
    CREATE TABLE experiments (
        id INTEGER PRIMARY KEY,
        uid TEXT NOT NULL UNIQUE,
        started REAL NOT NULL,
        started_at TEXT NOT NULL,
        name TEXT NOT NULL,
        share TEXT NOT NULL,
        host TEXT NOT NULL,
        origin TEXT NOT NULL,
        seed INTEGER NOT NULL,
        spec TEXT NOT NULL,
        environment TEXT NOT NULL,
        note TEXT NOT NULL
    ) STRICT;
    CREATE TABLE outcomes (
        experiment INTEGER NOT NULL REFERENCES experiments (id) ON DELETE CASCADE,
        place INTEGER NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (experiment, place)
    ) STRICT, WITHOUT ROWID;
    """,
    # 3: findings of tests and experiments about single options; the newest of each option counts.
    """
    CREATE TABLE findings (
        share TEXT NOT NULL,
        link TEXT NOT NULL,
        option TEXT NOT NULL,
        value TEXT,
        status TEXT NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (share, link, option)
    ) STRICT, WITHOUT ROWID;
    """,
    # 4: indexes with all columns that lists filter and sort by: a query reads an index and the rows shown.
    # New entries have the latest time, so each index grows at its end; lists read it backwards.
    """
    DROP INDEX runs_started;
    DROP INDEX runs_share;
    CREATE INDEX runs_listed
        ON runs (started, id, share, server, host, link, kind, baseline, tags, search);
    CREATE INDEX runs_shared
        ON runs (share, started, id, server, host, link, kind, baseline, tags, search);
    """,
    # 5: several baselines of a share, link and kind, one for each distinct test.
    """
    DROP INDEX runs_baseline;
    CREATE INDEX runs_baseline ON runs (share, link, kind) WHERE baseline;
    """,
)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Run the body in a transaction; roll it back if the body raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # some failures have rolled back already
            connection.execute("ROLLBACK")
        raise


def migrate(connection: sqlite3.Connection) -> None:
    """Apply the missing migrations in one transaction; a second program waits for it."""
    if _version(connection) >= len(MIGRATIONS):
        return
    with transaction(connection):
        version = _version(connection)
        if version >= len(MIGRATIONS):  # another program, perhaps a newer one, migrated it meanwhile
            return
        for script in MIGRATIONS[version:]:
            for statement in script.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])

"""The SQLite file of the history: opened, migrated, and set aside and recovered if it is damaged.

A damaged file is kept as it is, under another name; the new one has what could be read of it.

Several programs may have it open at once (the window and the command line): SQLite's own locks order them. An
object may be used from any thread, one at a time.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import sqlite3
import threading
import time
from typing import TYPE_CHECKING

from app.errors import AppError, ErrorKind
from app.files.user_directories import data_directory
from app.history.recovery import recover
from app.history.schema import APPLICATION_ID, MIGRATIONS, migrate, transaction
from app.kernel import mountinfo

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

log = logging.getLogger("history")

#: The first that knows STRICT tables (sqlite.org/stricttables.html); an older one calls them malformed.
_OLDEST_SQLITE = (3, 37)
#: How long a writer waits for another one. A test's result takes milliseconds.
_LOCK_TIMEOUT_S = 10.0
#: Between two tries where SQLite does not wait by itself.
_RETRY_S = 0.01
#: Where SQLite's write-ahead log, which is shared memory, does not work (sqlite.org/wal.html).
_NETWORK_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "fuse.sshfs", "hostfs"}
)
_TABLES = frozenset({"runs", "bodies"})
#: Held while the file is made: nobody here may have it open already when that handle is closed.
_creation_lock = threading.Lock()
_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
#: What the binding says of a value that SQLite cannot have.
_BAD_VALUE_ERRORS = (OverflowError, UnicodeEncodeError)
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def default_path() -> Path:
    """Return where the history is."""
    return data_directory() / "history.sqlite"


class _DamagedError(Exception):
    """The file is no history of ours, or not a whole one."""


class Database:
    """One open file.

    Attributes:
        path: of the file.
        read_only: a newer program made it: nothing is written.
        messages: what a person should know of it, one sentence each.
    """

    def __init__(self, path: Path) -> None:
        """Open it, or make it.

        Raises:
            AppError: IO, NO_SPACE, PERMISSION or BUSY if that is not possible; UNAVAILABLE if SQLite is too
                old for it.
        """
        self.path = path
        self.read_only = False
        self.messages: list[str] = []
        self._lock = threading.RLock()
        self._connection = self._open()

    def close(self) -> None:
        """Close it; later uses fail."""
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Give the connection for queries.

        Raises:
            AppError: as for :meth:`writing`.
        """
        with self._lock:
            try:
                yield self._connection
            except sqlite3.Error as error:
                raise self._failure(error) from error
            except _BAD_VALUE_ERRORS as error:
                raise _bad_value(error) from error

    @contextlib.contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Give the connection inside a transaction, which is undone if the body raises.

        Raises:
            AppError: UNAVAILABLE if a newer program made the file; BUSY if another one writes for too long;
                USAGE if a value is none that a database can have; NO_SPACE, PERMISSION or IO if the disk
                refuses. A damaged file is set aside, and what can
                be read of it is in a new one, before IO is raised.
        """
        with self._lock:
            if self.read_only:
                raise AppError(
                    ErrorKind.UNAVAILABLE,
                    "The history was written by a newer version of this program: nothing is added to it.",
                    hint="Use the newer version.",
                )
            try:
                with transaction(self._connection):
                    yield self._connection
            except sqlite3.Error as error:
                raise self._failure(error) from error
            except _BAD_VALUE_ERRORS as error:
                raise _bad_value(error) from error

    def _open(self) -> sqlite3.Connection:
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            oldest = ".".join(str(part) for part in _OLDEST_SQLITE)
            raise AppError(
                ErrorKind.UNAVAILABLE,
                f"The history needs SQLite {oldest} or newer; this computer has {sqlite3.sqlite_version}.",
                hint="Debian 12 and Ubuntu 22.04 have it. Without it tests work, but are not kept.",
            )
        try:
            # Only the person may read where they mount from.
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # One that is there is not opened: closing it would end all locks that SQLite holds on it for
            # other threads; another program would take away their log then (sqlite.org/howtocorrupt.html).
            with _creation_lock, contextlib.suppress(FileExistsError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except PermissionError:
            if not self.path.is_file():
                raise _cannot_open(self.path, "it may not be made there") from None
        except OSError as error:
            raise _cannot_open(self.path, error.strerror or "it cannot be made") from error
        try:
            return self._connect()
        except _DamagedError as error:
            return self._begin_anew(str(error))

    def _begin_anew(self, why: str) -> sqlite3.Connection:
        """Put a new one in a damaged file's place, with what can be read of it.

        Another program may have done so meanwhile: then the file is whole.
        """
        try:
            with self.path.with_name(self.path.name + ".lock").open("w") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                with contextlib.suppress(_DamagedError):
                    connection = self._connect(thorough=True)
                    self.messages.append(f"The history was damaged ({why}); another program has mended it.")
                    return connection
                aside, salvaged = recover(self.path)
                text = (
                    f"The history was damaged ({why}). {salvaged.text()} The damaged file is kept as {aside}."
                )
                self.messages.append(text)
                log.info("%s", text)
                return self._connect()
        except (OSError, _DamagedError) as error:
            raise _cannot_open(self.path, f"it is damaged and cannot be set aside: {error}") from error
        except sqlite3.Error as error:
            raise _error_text(error, self.path) from error

    def _connect(self, *, thorough: bool = False) -> sqlite3.Connection:
        """Open the file as it is; ``thorough`` reads all of it, which takes a second for 500 MB.

        Raises:
            _DamagedError: if it is not a history, or not a whole one.
            AppError: if it cannot be used.
        """
        try:
            connection = sqlite3.connect(
                self.path, timeout=_LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise _cannot_open(self.path, str(error)) from error
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("BEGIN")  # all of it at one moment: another program may just make its tables
            version = self._version(connection, thorough=thorough)
            connection.execute("COMMIT")
            self.read_only = version > len(MIGRATIONS)
            if self.read_only:
                connection.execute("PRAGMA query_only = ON")
                self.messages.append(
                    "The history was written by a newer version of this program: it can be read, not changed."
                )
                return connection
            mode = "DELETE" if _on_network(self.path) else "WAL"
            if not _read_only_file(self.path):
                _set_journal(connection, mode)
                connection.execute(
                    "PRAGMA synchronous = FULL"
                )  # one commit a test: not even the last is lost
                migrate(connection)
        except _DamagedError:
            connection.close()
            raise
        except sqlite3.Error as error:
            connection.close()
            if _code(error) in _DAMAGED:
                raise _DamagedError(str(error)) from error
            raise _error_text(error, self.path) from error
        return connection

    def _version(self, connection: sqlite3.Connection, *, thorough: bool) -> int:
        """Return the version of the tables.

        Raises:
            _DamagedError: if they are not those of a history.
        """
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
        tables = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        if not tables and not version and not owner:
            return 0
        if owner != APPLICATION_ID:
            raise _DamagedError("it is another program's")
        if not tables >= _TABLES:
            raise _DamagedError("tables are missing")
        if thorough and connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise _DamagedError("its check failed")
        return version

    def _failure(self, error: sqlite3.Error) -> AppError:
        """Return the error for a person; a damaged file makes place for a new one first."""
        if _code(error) not in _DAMAGED:
            return _error_text(error, self.path)
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        known = len(self.messages)
        self._connection = self._begin_anew(str(error))
        return AppError(
            ErrorKind.IO,
            "The history turned out to be damaged.",
            hint=" ".join(self.messages[known:]) or "Try it again.",
            detail=str(error),
        )


def _set_journal(connection: sqlite3.Connection, mode: str) -> None:
    """Give the file this kind of journal.

    SQLite asks for the whole file for that and does not wait for it, whatever its time-out: two programs that
    begin a history at once would both be told that it is locked (sqlite.org/c3ref/busy_handler.html).
    """
    end = time.monotonic() + _LOCK_TIMEOUT_S
    while True:
        try:
            connection.execute(f"PRAGMA journal_mode = {mode}")
        except sqlite3.OperationalError as error:
            if _code(error) not in _LOCKED or time.monotonic() > end:
                raise
            threading.Event().wait(_RETRY_S)
        else:
            return


def _on_network(path: Path) -> bool:
    """Return whether the file's folder is on another computer's disk, by the mount table alone."""
    try:
        row = mountinfo.read().mount_of_path(str(path.parent))
    except OSError:
        return True
    return row is None or row.fstype in _NETWORK_TYPES


def _read_only_file(path: Path) -> bool:
    return not os.access(path, os.W_OK)


def _code(error: sqlite3.Error) -> int:
    """Return the primary result code, 0 if the error is not SQLite's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _error_text(error: sqlite3.Error, path: Path) -> AppError:
    """Return the error for a person."""
    code = _code(error)
    if code in _LOCKED:
        return AppError(
            ErrorKind.BUSY,
            f"Another program holds the history for more than {_LOCK_TIMEOUT_S:g} seconds.",
            hint=f"It is {path}. Close what has it open, and try it again.",
            detail=str(error),
        )
    if code == sqlite3.SQLITE_FULL:
        return AppError(
            ErrorKind.NO_SPACE,
            "The disk of the history is full.",
            hint=f"Make place on the disk of {path}.",
            detail=str(error),
        )
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
        return AppError(
            ErrorKind.PERMISSION,
            "The history may not be written.",
            hint=f"It is {path}. It should be yours; perhaps root made it.",
            detail=str(error),
        )
    return AppError(ErrorKind.IO, "The history cannot be used.", hint=f"It is {path}.", detail=str(error))


def _bad_value(error: OverflowError | UnicodeEncodeError) -> AppError:
    """Return the error for a person."""
    if isinstance(error, OverflowError):
        what, hint = "A number is too large for the history.", "It keeps numbers of 64 bits."
    else:
        what, hint = "A text for the history is not UTF-8.", "Give it in letters that UTF-8 has."
    return AppError(ErrorKind.USAGE, what, hint=hint, detail=str(error))


def _cannot_open(path: Path, why: str) -> AppError:
    return AppError(
        ErrorKind.IO,
        f"The history {path} cannot be opened: {why}.",
        hint="Without it tests work, but are not kept.",
    )

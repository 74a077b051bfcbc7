"""SQLite connection of the history: opening, migration, transactions, and recovery of a damaged file.

A damaged file is renamed and otherwise left unchanged. A new file gets all records that can still be read.

Several programs may have the file open at once (the window and the command line); SQLite's own locks order
their writes. A Database may be used from any thread; its lock lets one thread in at a time.
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
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

log = logging.getLogger("history")

#: Oldest supported SQLite version: the first with STRICT tables (sqlite.org/stricttables.html).
_OLDEST_SQLITE = (3, 37)
#: Longest wait for the lock of another program, s. Writing a test result takes milliseconds.
_LOCK_TIMEOUT_S = 10.0
#: Interval between attempts to set the journal mode, s; SQLite does not wait for that lock by itself.
_RETRY_S = 0.01
#: File system types without write-ahead log: it needs shared memory on one computer (sqlite.org/wal.html).
_NETWORK_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "fuse.sshfs", "hostfs"}
)
_TABLES = frozenset({"runs", "bodies"})
#: Held while the file is created: closing that descriptor would end SQLite's locks of other threads.
_creation_lock = threading.Lock()
_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
#: Exceptions of the sqlite3 module for a value that SQLite cannot store.
_BAD_VALUE_ERRORS = (OverflowError, UnicodeEncodeError)
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def default_path() -> Path:
    """Return the path of the user's history database."""
    return data_directory() / "history.sqlite"


class _DamagedError(Exception):
    """The file is damaged, or it is not a history database."""


#: What this process recovered, by path of the file, until somebody who shows messages has taken it.
_recoveries: dict[Path, str] = {}


def take_recovery(path: Path) -> str | None:
    """Return what this process recovered of a damaged file, once; None if it recovered nothing since."""
    return _recoveries.pop(path, None)


class Database:
    """Open connection to a history database.

    Attributes:
        path: database file.
        read_only: whether a newer version of the program wrote the file, so that nothing is written to it.
        messages: messages for the user about the file, one sentence each.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, or create it.

        Raises:
            AppError: IO, NO_SPACE, PERMISSION or BUSY if the file cannot be opened or created; UNAVAILABLE
                if SQLite is too old.
        """
        self.path = path
        self.read_only = False
        self.messages: list[str] = []
        self._lock = threading.RLock()
        self._connection = self._open()

    def close(self) -> None:
        """Close the connection; later calls raise AppError."""
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Yield the connection for queries.

        Raises:
            AppError: USAGE for a value that SQLite cannot store; BUSY, NO_SPACE, PERMISSION or IO for errors
                of SQLite. A damaged file is recovered first, see :meth:`writing`.
        """
        with self._lock:
            try:
                yield self._connection
            except sqlite3.Error as error:
                raise self._convert_error(error) from error
            except _BAD_VALUE_ERRORS as error:
                raise _bad_value(error) from error

    @contextlib.contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Yield the connection inside a transaction, which is rolled back if the body raises.

        Raises:
            AppError: UNAVAILABLE if a newer version of the program wrote the file; BUSY if another program
                holds the lock for too long; USAGE for a value that SQLite cannot store; NO_SPACE, PERMISSION
                or IO if writing fails. If the file is damaged, it is renamed and its readable records are
                copied to a new file before IO is raised.
        """
        with self._lock:
            if self.read_only:
                raise AppError(ErrorCode.HISTORY_TOO_NEW)
            try:
                with transaction(self._connection):
                    yield self._connection
            except sqlite3.Error as error:
                raise self._convert_error(error) from error
            except _BAD_VALUE_ERRORS as error:
                raise _bad_value(error) from error

    def _open(self) -> sqlite3.Connection:
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            oldest = ".".join(str(part) for part in _OLDEST_SQLITE)
            raise AppError(ErrorCode.SQLITE_TOO_OLD, oldest=oldest, version=sqlite3.sqlite_version)
        try:
            # Only the user may read the directory: the history names servers and shares.
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # An existing file is not opened: closing it would release all locks that SQLite holds on it for
            # other threads, and another program would then delete their log (sqlite.org/howtocorrupt.html).
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
            return self._recover(str(error))

    def _recover(self, why: str) -> sqlite3.Connection:
        """Replace a damaged file by a new one with the records that can be read.

        If another program has replaced it first, that file is used.
        """
        try:
            with self.path.with_name(self.path.name + ".lock").open("w") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                with contextlib.suppress(_DamagedError):
                    connection = self._connect(thorough=True)
                    self.messages.append(f"The history was damaged ({why}). Another program has repaired it.")
                    return connection
                damaged_file, report = recover(self.path)
                text = (
                    f"The history was damaged ({why}). {report.text()} "
                    f"The damaged file is kept as {damaged_file}."
                )
                self.messages.append(text)
                _recoveries[self.path] = text
                log.info("%s", text)
                return self._connect()
        except (OSError, _DamagedError) as error:
            raise _cannot_open(self.path, f"it is damaged and cannot be set aside: {error}") from error
        except sqlite3.Error as error:
            raise _to_app_error(error, self.path) from error

    def _connect(self, *, thorough: bool = False) -> sqlite3.Connection:
        """Open the file; ``thorough`` adds an integrity check, which takes a second for 500 MB.

        Raises:
            _DamagedError: if the file is damaged, or is not a history database.
            AppError: for other errors of SQLite.
        """
        try:
            connection = sqlite3.connect(
                self.path, timeout=_LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise _cannot_open(self.path, str(error)) from error
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("BEGIN")  # one snapshot: another program may be creating the tables
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
                # With FULL, a power failure cannot lose a test that was committed.
                connection.execute("PRAGMA synchronous = FULL")
                migrate(connection)
        except _DamagedError:
            connection.close()
            raise
        except sqlite3.Error as error:
            connection.close()
            if _code(error) in _DAMAGED:
                raise _DamagedError(str(error)) from error
            raise _to_app_error(error, self.path) from error
        return connection

    def _version(self, connection: sqlite3.Connection, *, thorough: bool) -> int:
        """Return the schema version of the file, 0 if it is empty.

        Raises:
            _DamagedError: if the tables are not those of a history.
        """
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        application_id = int(connection.execute("PRAGMA application_id").fetchone()[0])
        tables = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        if not tables and not version and not application_id:
            return 0
        if application_id != APPLICATION_ID:
            raise _DamagedError("it is another program's")
        if not tables >= _TABLES:
            raise _DamagedError("tables are missing")
        if thorough and connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise _DamagedError("its check failed")
        return version

    def _convert_error(self, error: sqlite3.Error) -> AppError:
        """Convert an error of SQLite; if the file is damaged, recover it first."""
        if _code(error) not in _DAMAGED:
            return _to_app_error(error, self.path)
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        message_count = len(self.messages)
        self._connection = self._recover(str(error))
        return AppError(
            ErrorKind.IO,
            "The history turned out to be damaged.",
            hint=" ".join(self.messages[message_count:]) or "Try it again.",
            detail=str(error),
        )


def _set_journal(connection: sqlite3.Connection, mode: str) -> None:
    """Set the journal mode, and retry while the file is locked.

    SQLite needs an exclusive lock for this and does not wait for it, whatever the busy timeout. Without
    retries, two programs that create a history at once would both fail (sqlite.org/c3ref/busy_handler.html).
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
    """Return whether the directory of the file is on a network file system, by the mount table alone."""
    try:
        row = mountinfo.read().mount_of_path(str(path.parent))
    except OSError:
        return True
    return row is None or row.fstype in _NETWORK_TYPES


def _read_only_file(path: Path) -> bool:
    return not os.access(path, os.W_OK)


def _code(error: sqlite3.Error) -> int:
    """Return the primary result code of SQLite, 0 if the exception has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _to_app_error(error: sqlite3.Error, path: Path) -> AppError:
    """Convert an error of SQLite to an AppError with a hint."""
    code = _code(error)
    if code in _LOCKED:
        return AppError(ErrorCode.HISTORY_LOCKED, detail=str(error), seconds=_LOCK_TIMEOUT_S, path=path)
    if code == sqlite3.SQLITE_FULL:
        return AppError(ErrorCode.HISTORY_DISK_FULL, detail=str(error), path=path)
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
        return AppError(ErrorCode.HISTORY_READ_ONLY, detail=str(error), path=path)
    return AppError(ErrorCode.HISTORY_UNUSABLE, detail=str(error), path=path)


def _bad_value(error: OverflowError | UnicodeEncodeError) -> AppError:
    """Convert the error for a value that SQLite cannot store to an AppError."""
    if isinstance(error, OverflowError):
        message, hint = "A number is too large for the history.", "It keeps numbers of 64 bits."
    else:
        message, hint = "A text for the history is not UTF-8.", "Give it in letters that UTF-8 has."
    return AppError(ErrorKind.USAGE, message, hint=hint, detail=str(error))


def _cannot_open(path: Path, why: str) -> AppError:
    return AppError(ErrorCode.HISTORY_NOT_OPENED, path=path, why=why)

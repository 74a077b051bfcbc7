"""Database file of the history: damaged, foreign, newer, locked, and on a full disk."""

import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sample_results import result

from app.errors import AppError, ErrorKind
from app.history import database
from app.history.database import default_path
from app.history.model import Run
from app.history.record_test import record_test
from app.history.schema import APPLICATION_ID, MIGRATIONS, migrate
from app.history.store import HistoryStore
from app.kernel import mountinfo

LOCAL_DISK = b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite"


def filled(path: Path) -> None:
    with HistoryStore.open(path) as store:
        for place in range(30):
            store.add(Run(result=result([1e6 + place])))


def use_mount_table(monkeypatch: pytest.MonkeyPatch, table: bytes) -> None:
    """Replace the mount table, because the file system of temporary directories differs between computers."""
    monkeypatch.setattr(mountinfo, "read", lambda: mountinfo.parse(table))


def damaged_files(path: Path) -> list[Path]:
    return sorted(item for item in path.parent.glob("history-damaged-*.sqlite"))


def test_file_is_private_and_in_the_data_directory(own_home: Path) -> None:
    with HistoryStore.open() as store:
        assert store.path == default_path() == own_home / ".local/share/mountwright/history.sqlite"
        assert store.path.stat().st_mode & 0o777 == 0o600
        assert store.path.parent.stat().st_mode & 0o777 == 0o700
        assert store.messages == []


def test_a_relative_data_directory_is_ignored(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    assert default_path() == own_home / ".local/share/mountwright/history.sqlite"


def test_runs_are_saved_in_the_file(path: Path) -> None:
    filled(path)
    with HistoryStore.open(path) as store:
        assert store.count() == 30


@pytest.mark.parametrize(
    ("table", "mode"),
    [
        (LOCAL_DISK, "wal"),
        (b"1 0 0:9 / / rw - nfs4 nas01:/export rw\n", "delete"),
        # A root directory that is no mount point, as after chroot(8): the file system is unknown.
        (b"1 0 0:5 / /proc rw - proc proc rw\n", "delete"),
    ],
)
def test_journal_mode_depends_on_the_file_system(
    path: Path, monkeypatch: pytest.MonkeyPatch, table: bytes, mode: str
) -> None:
    use_mount_table(monkeypatch, table)
    filled(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == mode


def test_no_write_ahead_log_on_a_network_file_system(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_on_network", lambda _path: True)
    with HistoryStore.open(path) as store:
        store.add(Run(result=result()))
        assert not path.with_name(path.name + "-wal").exists()
        assert store.count() == 1


@pytest.mark.parametrize("content", [b"not a database at all, but long enough" * 100, b"\0" * 8192])
def test_a_damaged_file_is_renamed(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with HistoryStore.open(path) as store:
        (message,) = store.messages
        assert store.add(Run(result=result()))
    (damaged_file,) = damaged_files(path)
    assert str(damaged_file) in message
    assert damaged_file.read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o600
    with HistoryStore.open(path) as store:
        assert store.messages == []
        assert store.count() == 1


def test_the_database_of_another_program_is_renamed(path: Path) -> None:
    other_connection = sqlite3.connect(path)
    other_connection.execute("CREATE TABLE recipes (name)")
    other_connection.commit()
    other_connection.close()
    with HistoryStore.open(path) as store:
        assert "another program's" in store.messages[0]
    assert len(damaged_files(path)) == 1


def test_missing_tables_are_damage(path: Path) -> None:
    filled(path)
    broken = sqlite3.connect(path)
    broken.execute("DROP TABLE bodies")
    broken.commit()
    broken.close()
    with HistoryStore.open(path) as store:
        assert "tables are missing" in store.messages[0]


def test_damage_is_found_when_the_page_is_read(path: Path) -> None:
    filled(path)
    raw = bytearray(path.read_bytes())
    raw[4096 * 2 :] = b"\xa5" * (len(raw) - 4096 * 2)
    path.write_bytes(raw)
    with HistoryStore.open(path) as store:
        with pytest.raises(AppError) as caught:
            [store.get(number) for number in range(1, 31)]
        assert caught.value.kind is ErrorKind.IO
        (damaged_file,) = damaged_files(path)
        assert str(damaged_file) in caught.value.hint
        assert damaged_file.read_bytes() == raw
        assert store.add(Run(result=result()))
        assert store.count() == 1


def break_runs(path: Path) -> None:
    """Damage the root page of the table of runs."""
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'runs'").fetchone()
    raw = bytearray(path.read_bytes())
    raw[4096 * (root - 1) : 4096 * root] = b"\xa5" * 4096
    path.write_bytes(raw)


def test_a_damaged_page_loses_no_test_and_is_recovered_once(path: Path) -> None:
    filled(path)
    break_runs(path)
    with HistoryStore.open(path) as store:
        assert len(store.retry_after_recovery(store.find)) == 30
        (message,) = store.messages
        assert "All 30 tests that it tells of are recovered." in message
        assert store.get(30).result.figures["write"].values == [1e6 + 29]


def test_two_programs_recover_the_same_damaged_file(path: Path) -> None:
    filled(path)
    break_runs(path)
    with HistoryStore.open(path) as first, HistoryStore.open(path) as second:
        assert len(first.retry_after_recovery(first.find)) == 30
        assert len(second.retry_after_recovery(second.find)) == 30
        assert "Another program has repaired it" in second.messages[0]
    assert len(damaged_files(path)) == 1


def test_a_newer_history_is_read_only(path: Path) -> None:
    filled(path)
    newer = sqlite3.connect(path)
    newer.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    newer.commit()
    newer.close()
    before = path.read_bytes()
    with HistoryStore.open(path) as store:
        assert store.read_only
        assert "newer version" in store.messages[0]
        assert store.count() == 30
        assert store.get(1).result.write is not None
        for act in (lambda: store.add(Run(result=result())), lambda: store.delete([1])):
            with pytest.raises(AppError) as caught:
                act()
            assert caught.value.kind is ErrorKind.UNAVAILABLE
    assert path.read_bytes() == before


def test_a_locked_history_is_busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_LOCK_TIMEOUT_S", 0.05)
    with HistoryStore.open(path) as store:
        other_connection = sqlite3.connect(path, isolation_level=None)
        other_connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(AppError) as caught:
            store.add(Run(result=result()))
        assert caught.value.kind is ErrorKind.BUSY
        assert store.count() == 0
        other_connection.execute("ROLLBACK")
        other_connection.close()
        assert store.add(Run(result=result())) == 1


def test_several_programs_create_it_at_once(path: Path) -> None:
    """SQLite does not wait for the lock when two programs switch a new file to a write-ahead log."""
    for turn in range(60):
        new_file = path.with_name(f"{turn}.sqlite")
        barrier = threading.Barrier(4)

        def begin(new_file: Path = new_file, barrier: threading.Barrier = barrier) -> int:
            barrier.wait()
            with HistoryStore.open(new_file) as store:
                return store.count()

        with ThreadPoolExecutor(4) as threads:
            assert [future.result() for future in [threads.submit(begin) for _ in range(4)]] == [0] * 4


def test_opening_and_closing_releases_no_locks_of_other_threads(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing any descriptor of the file releases all POSIX locks of the process; the log is lost then."""
    use_mount_table(monkeypatch, LOCAL_DISK)
    program = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT id FROM runs'); c.close()"
    )
    with HistoryStore.open(path) as store:
        store.add(Run(result=result()))
        HistoryStore.open(path).close()
        subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=60)
        assert path.with_name(path.name + "-wal").exists()


def test_a_migration_by_a_newer_program_meanwhile_is_not_undone(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        migrate(connection)
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)


def test_a_new_file_with_a_long_reader_is_busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_LOCK_TIMEOUT_S", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other_connection:
        other_connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(AppError) as caught:
            HistoryStore.open(path)
        assert caught.value.kind is ErrorKind.BUSY
        other_connection.execute("ROLLBACK")
    with HistoryStore.open(path) as store:
        assert store.count() == 0


def test_a_full_disk_is_reported(path: Path) -> None:
    with HistoryStore.open(path) as store:
        with store._database.writing() as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
        with store._database.reading() as connection:
            connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(AppError) as caught:
            [store.add(Run(result=result([1e6 + place], samples=300))) for place in range(100)]
        assert caught.value.kind is ErrorKind.NO_SPACE


def test_a_directory_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AppError) as caught:
        HistoryStore.open(tmp_path / "file/history.sqlite")
    assert caught.value.kind is ErrorKind.IO
    assert "file/history.sqlite" in caught.value.message


def test_an_old_sqlite_is_reported_and_damages_no_history(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(path)
    before = path.read_bytes()
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 9))
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.36.9")
    with pytest.raises(AppError) as caught:
        HistoryStore.open(path)
    assert caught.value.kind is ErrorKind.UNAVAILABLE
    assert caught.value.message == "The history needs SQLite 3.37 or newer; this computer has 3.36.9."
    assert path.read_bytes() == before
    assert damaged_files(path) == []
    with pytest.raises(AppError, match="The measurement is not lost"):
        record_test(result(), path=path)
    monkeypatch.undo()
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 37, 0))
    with HistoryStore.open(path) as store:
        assert store.count() == 30


def test_file_has_the_application_id(path: Path) -> None:
    filled(path)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    assert connection.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
    connection.close()

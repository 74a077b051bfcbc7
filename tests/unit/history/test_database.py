"""A history that is damaged, foreign, too new, busy or full: nothing is overwritten, and a person is told."""

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
    """Let the history see this mount table: what a temporary directory lies on differs between machines."""
    monkeypatch.setattr(mountinfo, "read", lambda: mountinfo.parse(table))


def aside(path: Path) -> list[Path]:
    return sorted(item for item in path.parent.glob("history-damaged-*.sqlite"))


def test_it_is_in_the_data_directory_and_private(own_home: Path) -> None:
    with HistoryStore.open() as store:
        assert store.path == default_path() == own_home / ".local/share/mountwright/history.sqlite"
        assert store.path.stat().st_mode & 0o777 == 0o600
        assert store.path.parent.stat().st_mode & 0o777 == 0o700
        assert store.messages == []


def test_a_relative_data_directory_is_ignored(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    assert default_path() == own_home / ".local/share/mountwright/history.sqlite"


def test_it_survives_being_closed_and_opened(path: Path) -> None:
    filled(path)
    with HistoryStore.open(path) as store:
        assert store.count() == 30


@pytest.mark.parametrize(
    ("table", "mode"),
    [
        (LOCAL_DISK, "wal"),
        (b"1 0 0:9 / / rw - nfs4 nas01:/export rw\n", "delete"),
        # A root without a mount point at /, as chroot(8) makes one: what the file lies on is not known.
        (b"1 0 0:5 / /proc rw - proc proc rw\n", "delete"),
    ],
)
def test_the_journal_goes_by_what_the_file_lies_on(
    path: Path, monkeypatch: pytest.MonkeyPatch, table: bytes, mode: str
) -> None:
    use_mount_table(monkeypatch, table)
    filled(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == mode


def test_on_a_file_server_it_needs_no_shared_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_on_network", lambda _path: True)
    with HistoryStore.open(path) as store:
        store.add(Run(result=result()))
        assert not path.with_name(path.name + "-wal").exists()
        assert store.count() == 1


@pytest.mark.parametrize("content", [b"not a database at all, but long enough" * 100, b"\0" * 8192])
def test_a_damaged_file_is_set_aside(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with HistoryStore.open(path) as store:
        (message,) = store.messages
        assert store.add(Run(result=result()))
    (kept,) = aside(path)
    assert str(kept) in message
    assert kept.read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o600
    with HistoryStore.open(path) as store:
        assert store.messages == []
        assert store.count() == 1


def test_the_database_of_another_program_is_set_aside(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE recipes (name)")
    other.commit()
    other.close()
    with HistoryStore.open(path) as store:
        assert "another program's" in store.messages[0]
    assert len(aside(path)) == 1


def test_missing_tables_are_damage(path: Path) -> None:
    filled(path)
    broken = sqlite3.connect(path)
    broken.execute("DROP TABLE bodies")
    broken.commit()
    broken.close()
    with HistoryStore.open(path) as store:
        assert "tables are missing" in store.messages[0]


def test_damage_in_the_middle_is_found_when_it_is_read(path: Path) -> None:
    filled(path)
    raw = bytearray(path.read_bytes())
    raw[4096 * 2 :] = b"\xa5" * (len(raw) - 4096 * 2)
    path.write_bytes(raw)
    with HistoryStore.open(path) as store:
        with pytest.raises(AppError) as caught:
            [store.get(number) for number in range(1, 31)]
        assert caught.value.kind is ErrorKind.IO
        (kept,) = aside(path)
        assert str(kept) in caught.value.hint
        assert kept.read_bytes() == raw
        assert store.add(Run(result=result()))
        assert store.count() == 1


def break_runs(path: Path) -> None:
    """Break the page that leads to all runs."""
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'runs'").fetchone()
    raw = bytearray(path.read_bytes())
    raw[4096 * (root - 1) : 4096 * root] = b"\xa5" * 4096
    path.write_bytes(raw)


def test_one_damaged_page_costs_no_test_and_no_second_try(path: Path) -> None:
    filled(path)
    break_runs(path)
    with HistoryStore.open(path) as store:
        assert len(store.retry_after_recovery(store.find)) == 30
        (message,) = store.messages
        assert "All 30 tests that it tells of are recovered." in message
        assert store.get(30).result.figures["write"].values == [1e6 + 29]


def test_of_two_that_find_it_damaged_both_go_on(path: Path) -> None:
    filled(path)
    break_runs(path)
    with HistoryStore.open(path) as first, HistoryStore.open(path) as second:
        assert len(first.retry_after_recovery(first.find)) == 30
        assert len(second.retry_after_recovery(second.find)) == 30
        assert "another program has mended it" in second.messages[0]
    assert len(aside(path)) == 1


def test_a_newer_one_is_only_read(path: Path) -> None:
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


def test_one_that_others_hold_is_busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_LOCK_TIMEOUT_S", 0.05)
    with HistoryStore.open(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(AppError) as caught:
            store.add(Run(result=result()))
        assert caught.value.kind is ErrorKind.BUSY
        assert store.count() == 0
        other.execute("ROLLBACK")
        other.close()
        assert store.add(Run(result=result())) == 1


def test_several_may_begin_it_at_once(path: Path) -> None:
    """A new file gets a write-ahead log: SQLite refuses the second who asks for it, and does not wait."""
    for turn in range(60):
        fresh = path.with_name(f"{turn}.sqlite")
        together = threading.Barrier(4)

        def begin(fresh: Path = fresh, together: threading.Barrier = together) -> int:
            together.wait()
            with HistoryStore.open(fresh) as store:
                return store.count()

        with ThreadPoolExecutor(4) as threads:
            assert [future.result() for future in [threads.submit(begin) for _ in range(4)]] == [0] * 4


def test_other_threads_keep_their_locks_when_one_opens_and_closes_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing any file of that name ends the locks of a process; then another one takes the log away."""
    use_mount_table(monkeypatch, LOCAL_DISK)
    other = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT id FROM runs'); c.close()"
    )
    with HistoryStore.open(path) as store:
        store.add(Run(result=result()))
        HistoryStore.open(path).close()
        subprocess.run([sys.executable, "-c", other, str(path)], check=True, timeout=60)
        assert path.with_name(path.name + "-wal").exists()


def test_one_that_a_newer_program_brings_up_to_date_meanwhile_keeps_its_mark(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        migrate(connection)
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)


def test_one_that_others_read_while_it_is_begun_is_busy_in_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_LOCK_TIMEOUT_S", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(AppError) as caught:
            HistoryStore.open(path)
        assert caught.value.kind is ErrorKind.BUSY
        other.execute("ROLLBACK")
    with HistoryStore.open(path) as store:
        assert store.count() == 0


def test_a_full_disk_is_named(path: Path) -> None:
    with HistoryStore.open(path) as store:
        with store._database.writing() as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
        with store._database.reading() as connection:
            connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(AppError) as caught:
            [store.add(Run(result=result([1e6 + place], samples=300))) for place in range(100)]
        assert caught.value.kind is ErrorKind.NO_SPACE


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AppError) as caught:
        HistoryStore.open(tmp_path / "file/history.sqlite")
    assert caught.value.kind is ErrorKind.IO
    assert "file/history.sqlite" in caught.value.message


def test_an_old_sqlite_is_named_and_takes_no_history_for_damaged(
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
    assert aside(path) == []
    with pytest.raises(AppError, match="The measurement is not lost"):
        record_test(result(), path=path)
    monkeypatch.undo()
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 37, 0))
    with HistoryStore.open(path) as store:
        assert store.count() == 30


def test_our_mark_is_in_the_file(path: Path) -> None:
    filled(path)
    look = sqlite3.connect(path)
    assert look.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    assert look.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
    look.close()

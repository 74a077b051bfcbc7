"""Watch of the mount table: it emits the table once and after each change, and ends at once."""

import queue
from pathlib import Path

import pytest
from waiting import DEADLINE_S

from app.errors import CancelledError
from app.mounts.model import MountTable
from app.mounts.table import watch_table
from app.tasks import CancelToken, run_in_thread


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    (tmp_path / "proc/self/mountinfo").write_text("27 1 254:1 / / rw - ext4 /dev/vda rw\n", encoding="utf-8")
    return tmp_path


def test_changes_of_fstab_are_emitted_and_others_are_not(root: Path) -> None:
    token = CancelToken()
    tables: queue.Queue[MountTable] = queue.Queue()
    done = run_in_thread("watch", lambda: watch_table(token, tables.put, root=str(root), interval_s=0.01))
    assert tables.get(timeout=DEADLINE_S).mounts == []
    fstab = root / "etc" / "fstab"
    fstab.write_text("nas:/a /a nfs - 0 0\n", encoding="utf-8")
    table = tables.get(timeout=DEADLINE_S)
    while not table.mounts:  # the file may have been seen while it was still empty
        table = tables.get(timeout=DEADLINE_S)
    assert table.mounts[0].share == "nas:/a"
    fstab.write_text("# a comment more\nnas:/b /b nfs - 0 0\n# and nothing else\n", encoding="utf-8")
    while table.mounts == [] or table.mounts[0].share != "nas:/b":
        table = tables.get(timeout=DEADLINE_S)
    (root / "etc/auto.master").write_text("/- /etc/auto.direct\n", encoding="utf-8")
    (root / "etc/auto.direct").write_text("/c nas:/c\n", encoding="utf-8")
    while [mount.share for mount in table.mounts] != ["nas:/b", "nas:/c"]:
        table = tables.get(timeout=DEADLINE_S)
    token.cancel()
    with pytest.raises(CancelledError):
        done.result(DEADLINE_S)
    assert tables.empty()


def test_an_unchanged_table_is_not_emitted_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = CancelToken()
    reads: queue.Queue[None] = queue.Queue()
    tables: list[MountTable] = []

    def read(_root: str) -> MountTable:
        reads.put(None)
        (root / "etc" / "fstab").write_text("# comment\n" * (reads.qsize() % 7), encoding="utf-8")
        if reads.qsize() > 5:
            token.cancel()
        return MountTable(mounts=[])

    monkeypatch.setattr("app.mounts.table.read_table", read)
    with pytest.raises(CancelledError):
        watch_table(token, tables.append, root=str(root), interval_s=0.001)
    assert len(tables) == 1


def test_cancelling_wakes_it_up(root: Path) -> None:
    token = CancelToken()
    tables: queue.Queue[MountTable] = queue.Queue()
    done = run_in_thread("watch", lambda: watch_table(token, tables.put, root=str(root), interval_s=3600))
    tables.get(timeout=DEADLINE_S)
    token.cancel()
    with pytest.raises(CancelledError):
        done.result(DEADLINE_S)


def test_a_set_token_ends_the_watch_before_the_first_table(root: Path) -> None:
    token = CancelToken()
    token.cancel()
    tables: list[MountTable] = []
    with pytest.raises(CancelledError):
        watch_table(token, tables.append, root=str(root))
    assert tables == []


def test_the_real_table_can_be_watched() -> None:
    token = CancelToken()
    with pytest.raises(CancelledError):
        watch_table(token, lambda _table: token.cancel())

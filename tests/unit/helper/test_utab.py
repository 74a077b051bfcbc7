"""libmount's utab: exactly the entries of one mount point are removed, and errors do no harm."""

import fcntl
import os

from app.helper import utab

LINES = (
    b"SRC=nas:/a TARGET=/mnt/a ROOT=/ ATTRS=vers=4.2,addr=10.0.0.1\n"
    b"SRC=nas:/a TARGET=/mnt/a/b ROOT=/ ATTRS=vers=3\n"
    b"ID=55 SRC=nas:/x\\040y TARGET=/mnt/x\\040y ROOT=/ OPTS=_netdev\n"
    b"SRC=nas:/a ROOT=/ TARGET=/mnt/a OPTS=_netdev\n"
)


def test_the_entries_of_one_mount_point_go(tmp_path):
    (tmp_path / "utab").write_bytes(LINES)
    previous = os.umask(0o077)
    try:
        assert utab.remove_entries("/mnt/a", str(tmp_path))
    finally:
        os.umask(previous)
    assert (tmp_path / "utab").read_bytes() == b"".join(LINES.splitlines(keepends=True)[1:3])
    assert (tmp_path / "utab").stat().st_mode & 0o777 == 0o644
    assert utab.remove_entries("/mnt/x y", str(tmp_path))
    assert not utab.remove_entries("/mnt/a", str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["utab", "utab.lock"]


def test_without_notes_nothing_is_written(tmp_path):
    assert not utab.remove_entries("/mnt/a", str(tmp_path / "none"))
    assert not utab.remove_entries("/mnt/a", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "real").write_bytes(LINES)
    (tmp_path / "utab").symlink_to(tmp_path / "real")
    assert not utab.remove_entries("/mnt/a", str(tmp_path))
    assert (tmp_path / "real").read_bytes() == LINES


def test_a_lock_that_is_held_is_respected(tmp_path, monkeypatch):
    monkeypatch.setattr(utab, "_LOCK_S", 0.0)
    (tmp_path / "utab").write_bytes(LINES)
    with (tmp_path / "utab.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not utab.remove_entries("/mnt/a", str(tmp_path))
    assert (tmp_path / "utab").read_bytes() == LINES

"""fstab and the kernel's table are merged without access to a mount point."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.mounts.model import Mount, MountTable
from app.mounts.table import read_table
from app.text.message import message_text

DATA = Path(__file__).parents[2] / "data" / "mounts"
ROOT = "27 1 254:1 / / rw,relatime - ext4 /dev/vda rw\n"
OPTIONS = "rw,vers=4.2,rsize=262144,wsize=262144,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys"
Tree = Callable[..., str]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A temporary root directory with files; a Path is copied, a text is written."""

    def build(**files: str | bytes | Path) -> str:
        places = {
            "fstab": "etc/fstab",
            "mountinfo": "proc/self/mountinfo",
            "mountstats": "proc/self/mountstats",
            "utab": "run/mount/utab",
            "read_ahead": "sys/class/bdi/0:33/read_ahead_kb",
        }
        for name, content in files.items():
            path = tmp_path / places[name]
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                shutil.copyfile(content, path)
            else:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(tmp_path)

    return build


def row(number: int, point: str, share: str, options: str = OPTIONS, parent: int = 27) -> str:
    return f"{number} {parent} 0:{number} / {point} rw,relatime - nfs4 {share} {options}\n"


def find(table: MountTable, point: str) -> Mount:
    return next(mount for mount in table.mounts if mount.mount_point == point)


def test_a_recorded_mount_with_everything_known_of_it(tree: Tree) -> None:
    stats = "device 127.0.0.1:/srv/sp\\040ace mounted on /mnt/s\\040p with fstype nfs4 statvers=1.1\n" + (
        "\txprt:\ttcp 0 0 2 0 1 5 5 0 5 0 2 0 3\n" * 4
    )
    root = tree(
        fstab="127.0.0.1:/srv/sp\\040ace /mnt/s\\040p nfs vers=4.2 0 0\n",
        mountinfo=DATA / "spaces.mountinfo",
        mountstats=stats,
        utab=DATA / "spaces.utab",
        read_ahead="128\n",
    )
    table = read_table(root)
    mount = find(table, "/mnt/s p")
    assert mount.state == "mounted"
    assert mount.share == "127.0.0.1:/srv/sp ace"
    assert mount.active is not None
    assert (mount.active.nconnect, mount.active.read_ahead_kb, mount.active.device) == (4, 128, "0:33")
    assert mount.active.recorded == "vers=4.2,_netdev"
    other = find(table, "/mnt/a")
    assert other.configured is None
    assert other.active is not None
    assert other.active.recorded == "soft,timeo=33,vers=4.2"
    assert (other.active.nconnect, other.active.read_ahead_kb) == (0, None)
    assert table.warnings == []


def test_states(tree: Tree) -> None:
    root = tree(
        fstab="nas:/a /a nfs hard 0 0\nnas:/b /b/ nfs soft,noauto 0 0\nnas:/c /c nfs4 noauto 0 0\n"
        "nas:/d /d nfs ro 0 0\n",
        mountinfo=ROOT + row(31, "/a", "nas:/a") + row(32, "/b", "nas:/b") + row(34, "/d", "nas:/other"),
    )
    table = read_table(root)
    assert {mount.mount_point: mount.state for mount in table.mounts} == {
        "/a": "mounted",
        "/b": "differs",
        "/c": "not-mounted",
        "/d": "differs",
    }
    (difference,) = find(table, "/b").differences
    assert message_text(difference) == "/etc/fstab says “soft”, in use is “hard”."
    difference = find(table, "/d").differences[0]
    assert message_text(difference) == "/etc/fstab says nas:/d, mounted is nas:/other."
    assert [mount.share for mount in table.mounts] == sorted(mount.share for mount in table.mounts)


def test_the_spelling_of_a_share_is_no_difference(tree: Tree) -> None:
    root = tree(fstab="NAS://srv//a/ /a nfs4 - 0 0\n", mountinfo=ROOT + row(31, "/a", "nas:/srv/a"))
    assert find(read_table(root), "/a").state == "mounted"


@pytest.mark.parametrize(("written", "shown"), [("nas:", "nas:/"), ("nas:export", "nas:/export")])
def test_version_4_shows_a_share_with_the_slash_that_was_not_written(
    tree: Tree, written: str, shown: str
) -> None:
    root = tree(fstab=f"{written} /mnt/a nfs defaults 0 0\n", mountinfo=ROOT + row(30, "/mnt/a", shown))
    assert find(read_table(root), "/mnt/a").state == "mounted"
    root = tree(mountinfo=ROOT + row(30, "/mnt/a", shown).replace("nfs4", "nfs"))
    assert find(read_table(root), "/mnt/a").state == "differs"


def test_sub_mounts_and_one_share_at_two_places_are_rows_of_their_own(tree: Tree) -> None:
    table = read_table(tree(mountinfo=DATA / "submounts.mountinfo"))
    assert [mount.mount_point for mount in table.mounts] == [
        "/mnt/a",
        "/mnt/a/srv",
        "/mnt/a/srv/a",
        "/mnt/a/srv/c",
    ]
    table = read_table(tree(mountinfo=DATA / "binds.mountinfo", utab=DATA / "binds.utab"))
    assert [mount.mount_point for mount in table.mounts] == ["/mnt/a", "/mnt/b", "/mnt/c"]
    requested = {mount.mount_point: mount.active.recorded for mount in table.mounts if mount.active}
    assert requested == {"/mnt/a": None, "/mnt/b": None, "/mnt/c": "vers=4.2"}  # the entry of /mnt/a is stale


def test_of_stacked_mounts_the_upper_is_listed_with_a_warning(tree: Tree) -> None:
    mountinfo = ROOT + row(31, "/a", "nas:/a") + row(32, "/a", "nas:/b", parent=31)
    table = read_table(tree(fstab="nas:/a /a nfs - 0 0\n", mountinfo=mountinfo))
    assert [(mount.share, mount.state) for mount in table.mounts] == [("nas:/b", "differs")]
    assert table.warnings == ["The mount of nas:/a at /a is hidden below nas:/b at /a."]


def test_an_automount_point_is_not_a_mount(tree: Tree) -> None:
    autofs = "30 27 0:30 / /a rw - autofs systemd-1 rw,fd=40,pgrp=1,timeout=600\n"
    fstab = "nas:/a /a nfs noauto,x-systemd.automount 0 0\n"
    assert find(read_table(tree(fstab=fstab, mountinfo=ROOT + autofs)), "/a").state == "not-mounted"
    root = tree(mountinfo=ROOT + autofs + row(31, "/a", "nas:/a", parent=30))
    assert find(read_table(root), "/a").state == "mounted"


def test_of_two_entries_for_one_place_the_one_that_is_mounted_gets_it(tree: Tree) -> None:
    root = tree(
        fstab="nas01:/a /a nfs - 0 0\nnas02:/a /a nfs - 0 0\n", mountinfo=ROOT + row(31, "/a", "nas02:/a")
    )
    table = read_table(root)
    assert [(mount.share, mount.state) for mount in table.mounts] == [
        ("nas01:/a", "not-mounted"),
        ("nas02:/a", "mounted"),
    ]
    assert table.warnings == ["Line 2 of /etc/fstab names /a once more."]


def test_odd_bytes_can_be_sent(tree: Tree) -> None:
    root = tree(
        fstab=b"nas:/l\xe9 /mnt/l\xe9 nfs ro 0 0\nnas:/x /y\nbad\xff line nfs ro \xfe\n", mountinfo=ROOT
    )
    table = read_table(root)
    assert table.mounts[0].mount_point == "/mnt/l\\xe9"
    assert len(table.warnings) == 2
    json.loads(msgspec.json.encode(table))


def test_missing_files_are_said_not_raised(tree: Tree, tmp_path: Path) -> None:
    table = read_table(str(tmp_path))
    assert table.mounts == []
    assert len(table.warnings) == 1
    root = tree(mountinfo=ROOT)
    (tmp_path / "etc" / "fstab").mkdir(parents=True)
    assert "cannot be read" in read_table(root).warnings[0]


@pytest.mark.parametrize("call", ["stat", "lstat", "statvfs", "scandir", "listdir", "readlink", "access"])
def test_no_mount_point_is_touched(tree: Tree, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    root = tree(
        fstab="nas:/a /nfs/a nfs - 0 0\n", mountinfo=ROOT + row(31, "/nfs/a", "nas:/a"), mountstats="\n"
    )
    real: Callable[..., Any] = getattr(os, call)

    def guarded(path: Any, *args: Any, **kwargs: Any) -> Any:
        assert not str(path).startswith("/nfs")
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, call, guarded)
    assert len(read_table(root).mounts) == 1

"""Mounts of autofs maps are listed with their file, and nothing outside /etc is opened."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.mounts import autofs
from app.mounts.model import Mount
from app.mounts.table import read_table
from app.text.message import message_text

Put = Callable[[str, str], Path]
ROOT = "27 1 254:1 / / rw,relatime - ext4 /dev/vda rw\n30 27 0:30 / /home rw - autofs /etc/auto.home rw\n"
OPTIONS = "rw,vers=4.2,rsize=262144,wsize=262144,hard,proto=tcp,timeo=600,retrans=2,sec=sys"


@pytest.fixture
def put(tmp_path: Path) -> Put:
    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def points(root: Path) -> dict[str, str]:
    return {point: mount.configured.share for point, mount in autofs.read(str(root)).mounts.items()}


def row(number: int, point: str, share: str) -> str:
    return f"{number} 30 0:{number} / {point} rw,relatime - nfs4 {share} {OPTIONS}\n"


def test_no_autofs_is_no_mistake(tmp_path: Path) -> None:
    assert autofs.read(str(tmp_path)) == autofs.Maps()


def test_indirect_direct_and_included_maps(put: Put, tmp_path: Path) -> None:
    put("etc/auto.master", "/home /etc/auto.home --timeout=60 -hard\n+dir:/etc/auto.master.d\n+auto.master\n")
    put("etc/auto.master.d/b.autofs", "/- /etc/auto.direct\n")
    put("etc/auto.master.d/ignored.conf", "/x /etc/auto.home\n")
    put("etc/auto.home", "alice -ro nas:/home/&\n+auto.more\nalice other:/x\ncd -fstype=iso9660 :/dev/sr0\n")
    put("etc/auto.more", "bob a,b:/bob\n* nas:/rest/&\n")
    put("etc/auto.direct", "/mnt/pc / nas:/ /usr -fstype=nfs4 nas:/usr\n")
    found = autofs.read(str(tmp_path))
    assert found.warnings == []
    assert points(tmp_path) == {
        "/home/alice": "nas:/home/alice",
        "/home/bob": "a,b:/bob",
        "/home/*": "nas:/rest/&",
        "/mnt/pc": "nas:/",
        "/mnt/pc/usr": "nas:/usr",
    }
    alice = found.mounts["/home/alice"].configured
    assert (alice.origin, alice.line, alice.keeper) == ("/etc/auto.home", 1, "autofs")
    assert (alice.automount, alice.ours) == (True, False)
    assert alice.options == "hard,ro,x-systemd.automount,x-systemd.idle-timeout=60"
    assert found.mounts["/home/bob"].configured.origin == "/etc/auto.more"
    assert found.mounts["/mnt/pc/usr"].configured.fstype == "nfs4"


def test_what_autofs_mounted_belongs_to_its_map(put: Put, tmp_path: Path) -> None:
    put("etc/auto.master", "/home /etc/auto.home\n")
    put("etc/auto.home", "alice nas:/home/&\nbob a,b:/$HOST/bob\ncarl nas:/carl\n* nas:/rest/&\n")
    mounted = {"alice": "nas:/home/alice", "bob": "b:/pc/bob", "carl": "nas:/other", "dora": "nas:/rest/dora",
               "emil": "elsewhere:/emil"}  # fmt: skip
    rows = "".join(row(31 + at, f"/home/{key}", share) for at, (key, share) in enumerate(mounted.items()))
    put("proc/self/mountinfo", ROOT + rows)
    table = read_table(str(tmp_path))
    assert table.warnings == []
    mounts = {mount.mount_point: mount for mount in table.mounts}
    assert {point: mount.state for point, mount in mounts.items()} == {
        "/home/alice": "mounted", "/home/bob": "mounted", "/home/carl": "differs", "/home/dora": "mounted",
        "/home/emil": "mounted", "/home/*": "not-mounted",
    }  # fmt: skip
    (difference,) = mounts["/home/carl"].differences
    assert message_text(difference) == "/etc/auto.home says nas:/carl, mounted is nas:/other."
    assert origin(mounts["/home/dora"]) == "/etc/auto.home"
    assert origin(mounts["/home/emil"]) == ""
    assert mounts["/home/bob"].share == "b:/pc/bob"


def origin(mount: Mount) -> str:
    return mount.configured.origin if mount.configured is not None else ""


def test_fstab_and_a_map_for_one_place(put: Put, tmp_path: Path) -> None:
    put("etc/fstab", "nas:/a /mnt/a nfs ro 0 0\n")
    put("etc/auto.master", "/- /etc/auto.direct\n")
    put("etc/auto.direct", "/mnt/a nas:/a\n")
    put("proc/self/mountinfo", ROOT)
    table = read_table(str(tmp_path))
    assert len(table.mounts) == 2
    assert table.warnings == ["The map /etc/auto.direct and /etc/fstab both configure /mnt/a."]


@pytest.mark.parametrize(
    ("master", "warning"),
    [
        ("/l ldap:ou=x", "The map ou=x for /l in /etc/auto.master is not read: it is of LDAP."),
        ("/l yp:a", "The map a for /l in /etc/auto.master is not read: it is of NIS."),
        ("/l exec:/etc/x", "The map /etc/x for /l in /etc/auto.master is not read: it is of a program."),
        ("/l file,amd:/x", "The map /x for /l in /etc/auto.master is not read: it is of the format amd."),
        ("/l multi:yp:a", "The map yp:a for /l in /etc/auto.master is not read: it is of the kind multi."),
        ("/l auto.l", "The map auto.l for /l in /etc/auto.master is not there."),
        ("/l /etc/run", "The map /etc/run is not read: it is a program."),
        ("/l /nfs/x", "The map /nfs/x cannot be read: it stands outside /etc, which is not looked at."),
        ("/l /etc/../x", "The map /etc/../x cannot be read: it stands outside /etc, which is not looked at."),
        ("/l /etc/link", "The map /etc/link cannot be read: /etc/link is a link, which is not followed."),
        ("/l /etc/over/x", "The map /etc/over/x cannot be read: /etc/over is a link, which is not followed."),
        ("/l /etc/none", "The map /etc/none cannot be read: No such file or directory."),
        ("/l /etc/folder", "The map /etc/folder cannot be read: it is no plain file."),
        ("/l /etc/fifo", "The map /etc/fifo cannot be read: it is no plain file."),
        ("/l /etc/long", "The map /etc/long cannot be read: it is longer than 1 MiB."),
        ("/l /etc/sub", "Line 1 of /etc/sub leads to a map of its own, which is not read."),
        ("/l /etc/direct", "Line 1 of /etc/direct names nothing that autofs can mount."),
        ("x\ny\nz", "Lines 1, 2, 3 of /etc/auto.master name nothing that autofs can mount."),
    ],
)  # fmt: skip
def test_maps_that_are_not_read_are_named(put: Put, tmp_path: Path, master: str, warning: str) -> None:
    put("etc/auto.master", f"{master}\n")
    put("etc/run", "#!/bin/sh\necho nas:/a\n").chmod(0o755)
    put("nfs/auto.l", "a nas:/a\n")
    put("etc/long", "#" * ((1 << 20) + 1))
    put("etc/sub", "a -fstype=autofs file:/etc/auto.b\n")
    put("etc/direct", "/a nas:/a\n")
    (tmp_path / "etc/folder").mkdir()
    os.mkfifo(tmp_path / "etc/fifo")
    (tmp_path / "etc/link").symlink_to(tmp_path / "nfs/auto.l")
    (tmp_path / "etc/over").symlink_to(tmp_path / "nfs")
    found = autofs.read(str(tmp_path))
    assert (found.mounts, found.warnings) == ({}, [warning])


@pytest.mark.parametrize("quiet", ["/net -hosts", "+auto.master", "+dir:/etc/none.d", "# /x y"])
def test_what_every_installation_has_is_no_warning(put: Put, tmp_path: Path, quiet: str) -> None:
    put("etc/auto.master", f"{quiet}\n")
    assert autofs.read(str(tmp_path)) == autofs.Maps()


def test_name_services_are_named(put: Put, tmp_path: Path) -> None:
    put("etc/nsswitch.conf", "passwd: files\nautomount: files sss # x\n")
    put("etc/auto.master", "/home auto.home\n/l auto.l\n+auto.master\n")
    put("etc/auto.home", "a nas:/a\n")
    found = autofs.read(str(tmp_path))
    assert list(found.mounts) == ["/home/a"]
    assert found.warnings == [
        "The map auto.l for /l in /etc/auto.master is not read: it is asked of SSSD.",
        "The map auto.master included in /etc/auto.master is not read: it is asked of SSSD.",
    ]


def test_of_one_place_the_first_line_counts_and_null_takes_one_away(put: Put, tmp_path: Path) -> None:
    put("etc/auto.master", "/a -null\n/a /etc/m\n/a /etc/n\n/a /etc/m\n/b /etc/m\n/b /etc/n\n")
    put("etc/m", "x nas:/m\n")
    put("etc/n", "x nas:/n\n")
    assert points(tmp_path) == {"/a/x": "nas:/n", "/b/x": "nas:/m"}


def test_maps_that_include_each_other_come_to_an_end(put: Put, tmp_path: Path) -> None:
    put("etc/auto.master", "+m2\n/a /etc/x\n")
    put("etc/m2", "+auto.master\n")
    put("etc/x", "+y\nk nas:/x\n")
    put("etc/y", "+/etc/x\nl nas:/y\n")
    assert points(tmp_path) == {"/a/l": "nas:/y", "/a/k": "nas:/x"}


def test_there_are_bounds(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autofs, "_MAX_FILES", 3)
    monkeypatch.setattr(autofs, "_MAX_ENTRIES", 2)
    put("etc/auto.master", "/a /etc/m\n/b /etc/m\n/c /etc/m\n")
    put("etc/m", "k nas:/k\nl nas:/l\n")
    found = autofs.read(str(tmp_path))
    assert list(found.mounts) == ["/a/k", "/a/l"]
    assert found.warnings == [
        "The maps of autofs have more than 2 mounts; the others are left out.",
        "The maps of autofs are more than 3 files; the others are not read.",
    ]

"""Mount units are read as systemd reads them, and nothing outside its directories is opened."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.helper.unit_text import MARKER
from app.mounts import systemd_units
from app.mounts.table import read_table

UNIT = "[Mount]\nWhat=nas:/a\nWhere=/mnt/a\nType=nfs\nOptions=ro\n[Install]\nWantedBy=remote-fs.target\n"
Put = Callable[[str, str], Path]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_a_unit_is_shown_with_its_file(put: Put, tmp_path: Path) -> None:
    put("usr/lib/systemd/system/mnt-a.mount", UNIT)
    (mount,) = read_table(str(tmp_path)).mounts
    assert (mount.share, mount.mount_point, mount.state) == ("nas:/a", "/mnt/a", "not-mounted")
    assert mount.configured is not None
    assert mount.configured.origin == "/usr/lib/systemd/system/mnt-a.mount"
    assert (mount.configured.keeper, mount.configured.automount) == ("unit", False)
    assert mount.configured.options == "ro,nofail"


def test_the_earlier_folder_wins_and_drop_ins_have_the_last_word(put: Put, tmp_path: Path) -> None:
    put("usr/lib/systemd/system/mnt-a.mount", UNIT.replace("nas:/a", "old:/a"))
    put("etc/systemd/system/mnt-a.mount", UNIT)
    put("usr/lib/systemd/system/mnt-a.mount.d/10.conf", "[Mount]\nOptions=soft\nTimeoutSec=9\n")
    put("etc/systemd/system/mnt-a.mount.d/20.conf", "[Mount]\nWhat=new:/a\n")
    put("run/systemd/system/mnt-a.mount.d/20.conf", "[Mount]\nWhat=never:/a\n")
    put("etc/systemd/system/mnt-a.automount", "[Automount]\nWhere=/mnt/a\nTimeoutIdleSec=60\n")
    ((point, configured),) = systemd_units.read(str(tmp_path)).mounts
    assert (point, configured.share, configured.automount) == ("/mnt/a", "new:/a", True)
    words = set(configured.options.split(","))
    assert {"soft", "x-systemd.mount-timeout=9", "x-systemd.automount", "x-systemd.idle-timeout=60"} <= words


def test_drop_ins_of_a_prefix_and_of_all_mounts(put: Put, tmp_path: Path) -> None:
    put("etc/systemd/system/srv-a-b.mount", UNIT.replace("/mnt/a", "/srv/a/b"))
    put("usr/lib/systemd/system/mount.d/10.conf", "[Mount]\nOptions=a=1\nTimeoutSec=9\n")
    put("etc/systemd/system/mount.d/20.conf", "[Mount]\nOptions=a=2\n")
    put("etc/systemd/system/srv-.mount.d/30.conf", "[Mount]\nOptions=a=3\n")
    put("etc/systemd/system/srv-a-.mount.d/30.conf", "[Mount]\nOptions=a=4\n")
    put("usr/lib/systemd/system/srv-a-b.mount.d/30.conf", "[Mount]\nOptions=a=never\n")
    put("etc/systemd/system/srv-a.mount.d/40.conf", "[Mount]\nOptions=a=not-ours\n")
    put("etc/systemd/system/mount.d/30.conf", "[Mount]\nOptions=a=never\n")
    ((_, configured),) = systemd_units.read(str(tmp_path)).mounts
    assert configured.options == "a=4,nofail,x-systemd.mount-timeout=9"


def test_lines_and_sections_as_systemd_reads_them(put: Put, tmp_path: Path) -> None:
    text = (
        "What=before:/any/section\n[Unit]\nSourcePath=/some/where\nWhat=of:/unit\nType=cifs\n"
        "[Mount]\nWhat = \\\n# between\n  nas:/a\r\nWhere=/mnt/a\nType=nfs\nOptions=ro\\\n;x\n\n"
        "[X-Own]\nType=cifs\nSourcePath=/etc/fstab\n"
    )
    put("etc/systemd/system/mnt-a.mount", text)
    put("etc/systemd/system/mnt-a.mount.d/no-section.conf", "What=no:/section\nOptions=rw\n")
    found = systemd_units.read(str(tmp_path))
    assert found.warnings == []
    ((point, configured),) = found.mounts
    assert (point, configured.share, configured.options) == ("/mnt/a", "nas:/a", "ro,noauto")


def test_specifiers_are_shown_as_they_are_written(put: Put, tmp_path: Path) -> None:
    text = UNIT.replace("nas:/a", "nas:/%u/100%%n").replace("/mnt/a", "/mnt/%j").replace("=ro", "=ro,%%x")
    put(r"etc/systemd/system/mnt-a\x2db.mount", text)
    found = systemd_units.read(str(tmp_path))
    ((point, configured),) = found.mounts
    assert (point, configured.share, configured.options) == ("/mnt/a-b", "nas:/%u/100%n", "ro,%x,nofail")
    assert found.warnings == [
        r"The unit mnt-a\x2db.mount has %j, %u in it, which systemd replaces; it is shown as written."
    ]


def test_a_unit_with_the_marker_is_ours(put: Put, tmp_path: Path) -> None:
    path = put("etc/systemd/system/mnt-a.mount", UNIT)
    assert [configured.ours for _, configured in systemd_units.read(str(tmp_path)).mounts] == [False]
    path.write_text(f"{MARKER}\n{UNIT}")
    assert [configured.ours for _, configured in systemd_units.read(str(tmp_path)).mounts] == [True]


def test_escaped_names(put: Put, tmp_path: Path) -> None:
    put(r"etc/systemd/system/mnt-a\x2db\x20c.mount", UNIT.replace("/mnt/a", "/mnt/a-b c"))
    found = systemd_units.read(str(tmp_path))
    assert [point for point, _ in found.mounts] == ["/mnt/a-b c"]
    assert found.warnings == []


@pytest.mark.parametrize(
    "text",
    ["", UNIT.replace("nfs", "cifs"), UNIT.replace("nas:/a", "/dev/sda1").replace("Type=nfs\n", ""),
     "[Unit]\nSourcePath=/etc/fstab\n" + UNIT],
)  # fmt: skip
def test_masked_units_other_types_and_fstab_entries_are_left_out(put: Put, tmp_path: Path, text: str) -> None:
    put("etc/systemd/system/mnt-a.mount", text)
    put("usr/lib/systemd/system/mnt-a.mount", UNIT)
    assert systemd_units.read(str(tmp_path)) == systemd_units.MountUnits()


def test_links_are_followed_within_the_folders_only(put: Put, tmp_path: Path) -> None:
    folder = tmp_path / "etc/systemd/system"
    put("usr/lib/systemd/system/mnt-a.mount", UNIT)
    folder.mkdir(parents=True)
    (folder / "mnt-a.mount").symlink_to("/usr/lib/systemd/system/mnt-a.mount")
    (folder / "mnt-b.mount").symlink_to("/nfs/dead/mnt-b.mount")
    (folder / "mnt-c.mount").symlink_to("/dev/null")
    found = systemd_units.read(str(tmp_path))
    assert [configured.share for _, configured in found.mounts] == ["nas:/a"]
    assert found.warnings == [
        "The unit mnt-b.mount cannot be read: it is a link to /nfs/dead/mnt-b.mount, which is not looked at."
    ]


@pytest.mark.parametrize(
    "text", [UNIT.replace("/mnt/a", "/mnt/b"), "x" * ((1 << 20) + 1), "[Mount]\nWhat=a:/b\n"]
)
def test_a_unit_that_cannot_be_read_is_named(put: Put, tmp_path: Path, text: str) -> None:
    put("etc/systemd/system/mnt-a.mount", text)
    found = systemd_units.read(str(tmp_path))
    assert found.mounts == []
    assert found.warnings[0].startswith("The unit mnt-a.mount cannot be read: ")


def test_fstab_and_a_unit_for_one_place(put: Put, tmp_path: Path) -> None:
    put("etc/fstab", "nas:/a /mnt/a nfs ro 0 0\n")
    put("etc/systemd/system/mnt-a.mount", UNIT)
    table = read_table(str(tmp_path))
    assert len(table.mounts) == 2
    assert "The unit /etc/systemd/system/mnt-a.mount and /etc/fstab both configure /mnt/a." in table.warnings

"""Mount table of the kernel: escapes, unusual bytes, stacked mounts, and the mount of a path."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kernel import mountinfo
from app.kernel.mountinfo import MountInfo, parse

DATA = Path(__file__).parents[2] / "data" / "mounts"
ROOT = b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"


def recorded(name: str) -> MountInfo:
    return parse((DATA / f"{name}.mountinfo").read_bytes())


def test_escapes_are_read() -> None:
    row = recorded("spaces").nfs_rows()[0]
    assert (row.mount_point, row.source) == ("/mnt/s p", "127.0.0.1:/srv/sp ace")
    assert (row.mount_id, row.parent_id, row.device, row.fstype) == (38, 27, "0:33", "nfs4")


def test_propagation_and_all_other_fields_are_read() -> None:
    rows = recorded("trunked").nfs_rows()
    assert [row.propagation for row in rows] == [("shared:12",), ("shared:13",)]
    # With a second address of the same server, the kernel shows the first one.
    assert rows[1].source == "127.0.0.2:/srv/c"
    assert rows[1].options.endswith("addr=127.0.0.1")


def test_odd_bytes_survive_as_surrogates() -> None:
    row = parse(b"2 1 0:9 / /mnt/l\xe9 rw master:1 propagate_from:2 - nfs nas:/\\134\\011\\043 rw\n").rows[0]
    assert row.mount_point == "/mnt/l\udce9"
    assert row.source == "nas:/\\\t#"
    assert row.propagation == ("master:1", "propagate_from:2")


@pytest.mark.parametrize(
    ("mount", "superblock", "merged"),
    [
        ("rw,relatime", "rw,vers=4.2,hard", "rw,relatime,vers=4.2,hard"),
        ("ro,nosuid", "rw,vers=3", "ro,nosuid,vers=3"),
        ("rw", "ro,sync,vers=3", "ro,sync,vers=3"),
        ("rw", 'rw,context="a,a",vers=3', 'rw,context="a,a",vers=3'),
    ],
)
def test_options_of_mount_and_superblock_are_merged(mount: str, superblock: str, merged: str) -> None:
    row = parse(f"2 1 0:9 / /m {mount} - nfs nas:/a {superblock}\n".encode()).rows[0]
    assert row.options == merged


def test_sub_mounts_are_found_by_path() -> None:
    info = recorded("submounts")

    def at(path: str) -> str | None:
        row = info.mount_of_path(path)
        return row.source if row else None

    assert at("/mnt/a") == "127.0.0.1:/"
    assert at("/mnt/a/srv/a/deep/file") == "127.0.0.1:/srv/a"
    assert at("/mnt/a/srv/ab") == "127.0.0.1:/srv"
    assert at("/mnt/a/srv/c/../a") == "127.0.0.1:/srv/a"
    assert at("//mnt//a/") == "127.0.0.1:/"
    assert at("/mnt/ab") == "/dev/vda"
    assert at("mnt/a") is None


def test_the_upper_of_stacked_mounts_is_the_visible_one() -> None:
    info = parse(
        ROOT + b"5 1 0:5 / /m rw - autofs systemd-1 rw\n7 5 0:7 / /m rw - nfs nas:/a rw\n"
        b"6 7 0:6 / /m rw - nfs nas:/b rw\n8 5 0:8 / /m/sub rw - nfs nas:/c rw\n"
    )
    assert [info.is_visible(row) for row in info.nfs_rows()] == [False, True, False]
    row = info.mount_of_path("/m/sub/x")
    assert row is not None
    assert row.source == "nas:/b"


def test_a_mount_below_a_covered_directory_is_not_visible() -> None:
    info = parse(ROOT + b"5 1 0:5 / /m/a rw - nfs nas:/a rw\n6 1 0:6 / /m rw - tmpfs none rw\n")
    assert not info.is_visible(info.nfs_rows()[0])


def test_rows_without_their_parents_are_found_all_the_same() -> None:
    info = parse(b"5 2 0:5 / /m rw - nfs nas:/a rw\n6 2 0:6 / /m/n rw - nfs nas:/b rw\n")
    assert all(info.is_visible(row) for row in info.rows)


@pytest.mark.usefixtures("mount_point_at_root")
def test_this_computer_has_a_root() -> None:
    row = mountinfo.read().mount_of_path("/")
    assert row is not None
    assert row.mount_point == "/"


LINE = st.sampled_from([*ROOT.split(b" "), b"-", b"\\040", b"\\999", b"", b"\n", b"nfs", b"\xff"])


@given(st.one_of(st.binary(), st.lists(LINE).map(b" ".join)))
def test_any_bytes_are_read_without_an_error(raw: bytes) -> None:
    info = parse(raw)
    for row in info.rows:
        info.is_visible(row)

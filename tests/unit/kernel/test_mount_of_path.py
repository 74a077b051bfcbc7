"""Mount of an open directory, according to the kernel."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from app.kernel.mount_of_path import mount_by_id, mount_of_directory
from app.mounts.table import read_table

if TYPE_CHECKING:
    from pathlib import Path

ROW = (
    "35 27 0:34 / /mnt/s\\040p rw,relatime shared:3 - nfs4 nas:/sp\\040ace "
    "rw,vers=4.2,rsize=262144,proto=tcp6,port=3049,addr=10.9.0.2"
)


def test_row_of_mountinfo() -> None:
    where = mount_by_id("1 0 8:1 / / rw - ext4 /dev/vda rw\n" + ROW, "35")
    assert where is not None
    assert (where.mount_point, where.share) == ("/mnt/s p", "nas:/sp ace")
    assert where.nfs
    assert where.v4
    assert where.tcp
    assert where.server == ("10.9.0.2", 3049)
    for transport in ("udp", "rdma"):
        other = mount_by_id(ROW.replace("tcp6", transport), "35")
        assert other is not None
        assert not other.tcp
    assert where.values["rsize"] == "262144"
    assert mount_by_id(ROW, "3") is None
    assert mount_by_id("35 27 torn", "35") is None


def test_a_mount_is_named_as_in_the_list(tmp_path: Path) -> None:
    row = ROW.replace("s\\040p", "caf\udce9").encode(errors="surrogateescape")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_bytes(row)
    where = mount_by_id(row.decode(errors="surrogateescape"), "35")
    assert where is not None
    (mount,) = read_table(str(tmp_path)).mounts
    told = where.printable()
    assert (told.mount_point, told.share) == (mount.mount_point, mount.share)
    assert told.mount_point == r"/mnt/caf\xe9"


@pytest.mark.usefixtures("mount_point_at_root")
def test_mount_of_a_real_directory(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    where = mount_of_directory(fd)
    os.close(fd)
    assert where is not None
    assert str(tmp_path).startswith(where.mount_point.rstrip("/"))
    assert not where.nfs

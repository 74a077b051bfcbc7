"""Foreign entries, translated to entries of this program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from app.errors import AppError, ErrorKind
from app.mounts.foreign_entries import foreign_entry
from app.mounts.table import read_table

if TYPE_CHECKING:
    from pathlib import Path

UNIT = """[Unit]
After=network-online.target
[Mount]
What=nas:/c
Where=/mnt/c
Type=nfs
Options=vers=4.1,ro,{options}
{more}
[Install]
WantedBy=multi-user.target
"""


def unit(root: Path, options: str = "hard", more: str = "") -> None:
    folder = root / "etc/systemd/system"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mnt-c.mount").write_text(UNIT.format(options=options, more=more))


def test_the_commonest_unit_is_taken_over_whole(tmp_path: Path) -> None:
    unit(tmp_path)
    entry = foreign_entry(read_table(str(tmp_path)).mounts, "/mnt/c")
    assert entry.is_plain
    assert (entry.share, entry.fstype) == ("nas:/c", "nfs")
    assert entry.options == entry.plain_options == "vers=4.1,ro,hard,nofail"


def test_what_root_alone_may_give_is_named_with_a_choice(tmp_path: Path) -> None:
    unit(tmp_path, "futureopt=7,nosuid,nodev,context=a:b:c", "[Unit]\nRequires=wg0.service\n")
    entry = foreign_entry(read_table(str(tmp_path)).mounts, "/mnt/c")
    assert entry.plain_options == "vers=4.1,ro,nofail"
    assert set(entry.options.split(",")) - set(entry.plain_options.split(",")) == {
        "futureopt=7", "context=a:b:c", "x-systemd.requires=wg0.service",
    }  # fmt: skip
    assert sorted(reason.split("”")[0] for reason in entry.reserved) == [
        "“context", "“futureopt", "“x-systemd.requires",
    ]  # fmt: skip
    assert entry.lost == []


def test_what_cannot_be_written_is_named_and_left_out(tmp_path: Path) -> None:
    unit(tmp_path, "suid,users,rsize=1k,defaults,hard", "DirectoryMode=0700")
    rows = read_table(str(tmp_path)).mounts
    assert len({row.configured for row in rows}) == 1  # caches compare them
    entry = foreign_entry(rows, "/mnt/c")
    assert entry.options == "vers=4.1,ro,hard,nofail"
    assert entry.reserved == []
    told = " ".join(entry.lost)
    for word in ("suid", "users", "rsize", "DirectoryMode=0700"):
        assert word in told
    assert "defaults" not in told


def test_an_entry_of_a_map_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/auto.master").write_text("/net/team /etc/auto.team --timeout=60\n")
    (tmp_path / "etc/auto.team").write_text("docs -fstype=nfs4,ro nas:/docs\n* nas:/home/&\n")
    rows = read_table(str(tmp_path)).mounts
    entry = foreign_entry(rows, "/net/team/docs")
    assert (entry.share, entry.fstype, entry.origin) == ("nas:/docs", "nfs4", "/etc/auto.team")
    assert entry.options == "ro,x-systemd.automount,x-systemd.idle-timeout=60"
    with pytest.raises(AppError) as many:
        foreign_entry(rows, "/net/team/*")
    assert many.value.kind is ErrorKind.USAGE
    with pytest.raises(AppError) as nothing:
        foreign_entry(rows, "/mnt/none")
    assert nothing.value.kind is ErrorKind.NOT_MOUNTED

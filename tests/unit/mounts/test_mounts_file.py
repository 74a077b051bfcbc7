"""File of mounts: a written file is read back unchanged, and a broken one is refused with its line."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import AppError, ErrorKind
from app.mounts.change_model import MountEntry
from app.mounts.model import Active, Configured, Mount, MountTable
from app.mounts.mounts_file import MAX_BYTES, entries_of_table, from_toml, to_toml

HEAD = 'format = "mountwright-mounts"\nversion = 1\n'
ONE = '[[mount]]\nshare = "nas:/a"\nmount_point = "/mnt/a"\n'
texts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40)


def entry(**changes: object) -> MountEntry:
    return MountEntry(**{"share": "nas:/a", "mount_point": "/mnt/a", **changes})  # type: ignore[arg-type]


def plain(entries: list[MountEntry]) -> list[dict[str, object]]:
    return [{name: getattr(one, name) for name in one.__struct_fields__ if name != "line"} for one in entries]


@given(st.lists(st.builds(
    MountEntry, share=texts, mount_point=texts, options=st.one_of(st.just(""), texts),
    fstype=st.sampled_from(["nfs", "nfs4"]),
    saved_in=st.sampled_from(["fstab", "systemd", "autofs", "nowhere"]),
    readahead_kib=st.one_of(st.none(), st.integers(0, 2**31 - 1)),
), max_size=3))  # fmt: skip
def test_a_written_file_is_read_back(entries: list[MountEntry]) -> None:
    assert plain(from_toml(to_toml(entries, "host"), "f")) == plain(entries)


def test_unknown_options_are_preserved() -> None:
    options = 'rw,,x-odd="a,b",nosuchoption=7,x-gvfs-name=A\\040B,vers=4.2'
    (read,) = from_toml(to_toml([entry(options=options)], "h"), "f")
    assert read.options == options


def test_lines_are_those_of_the_tables() -> None:
    text = HEAD + "\n# a remark\n" + ONE + "\n" + ONE.replace("/mnt/a", "/mnt/b")
    assert [one.line for one in from_toml(text.encode(), "f")] == [5, 9]


def test_a_hand_written_file_needs_little() -> None:
    (read,) = from_toml((HEAD + ONE).encode(), "f")
    assert (read.options, read.fstype, read.saved_in, read.readahead_kib) == ("", "nfs", "fstab", None)


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        ("", "f", "no line “format"),
        ("nas:/a /mnt/a nfs defaults 0 0\n", "f", "at line 1"),
        (HEAD + "[[mount]]\nshare = nas:/a\n", "f", "at line 4"),
        ('format = "other"\n', "f, line 1", "no line “format"),
        ('format = "mountwright-mounts"\nversion = 2\n', "f, line 2", "version 2"),
        ('format = "mountwright-mounts"\nversion = "1"\n', "f, line 2", "not a number"),
        (HEAD + 'colour = "red"\n', "f, line 3", "“colour” is no key of this format"),
        (HEAD + '\n[[mount]]\nmount_point = "/mnt/a"\n', "f, line 4", "no “share”"),
        (HEAD + ONE + ONE + "option = 7\n", "f, line 9", "“option” is no key of a mount"),
        (HEAD + ONE + "options = 7\n", "f, line 6", "the value of “options” is not a string"),
        (HEAD + ONE + 'saved_in = "cupboard"\n', "f, line 6", '"fstab", "systemd"'),
        (HEAD + ONE + "readahead_kib = -1\n", "f, line 6", "a whole number"),
        (HEAD + ONE + "readahead_kib = true\n", "f, line 6", "a whole number"),
        (HEAD + 'mount = "all"\n', "f, line 3", "[[mount]]"),
        (HEAD + 'mount = [{share = "nas:/a"}]\n', "f", "no “mount_point”"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(text: str, where: str, why: str) -> None:
    with pytest.raises(AppError) as caught:
        from_toml(text.encode(), "f")
    assert caught.value.kind is ErrorKind.USAGE
    assert caught.value.message.startswith(f"Could not import {where}: ")
    assert why in caught.value.message
    assert caught.value.hint


def test_bytes_that_are_no_text_are_refused_with_their_line() -> None:
    with pytest.raises(AppError, match="f, line 2: it has a byte that is not UTF-8"):
        from_toml(b"format = 1\n\xff", "f")
    with pytest.raises(AppError, match="too long"):
        from_toml(b"#" * (MAX_BYTES + 1), "f")


def test_every_mount_of_the_list_is_an_entry() -> None:
    def configured(keeper: str) -> Configured:
        return Configured(origin="x", line=1, share="nas:/c", fstype="nfs4", options="a,b,unknown=1",
                          keeper=keeper)  # type: ignore[arg-type]  # fmt: skip

    live = Active(mount_id=1, device="0:5", share="nas:/l", fstype="nfs4", options="rw,vers=4.2",
                  read_ahead_kb=1024)  # fmt: skip
    usual = Active(mount_id=2, device="0:6", share="nas:/c", fstype="nfs4", options="rw", read_ahead_kb=128)
    table = MountTable(mounts=[
        Mount(mount_point="/f", share="nas:/c", state="mounted", configured=configured("fstab"),
              active=usual),
        Mount(mount_point="/u", share="nas:/c", state="not-mounted", configured=configured("unit")),
        Mount(mount_point="/m", share="nas:/c", state="not-mounted", configured=configured("autofs")),
        Mount(mount_point="/l", share="nas:/l", state="mounted", active=live, requested="ro,vers=4.2"),
    ])  # fmt: skip
    entries = entries_of_table(table)
    for state, saved, kib in (
        ("default", None, None),
        ("nfs.conf", None, None),
        ("until-unmounted", None, 1024),
        ("nfs.conf", 512, 512),
    ):
        tuned = msgspec.structs.replace(live, read_ahead_state=state)
        row = msgspec.structs.replace(table.mounts[3], active=tuned, saved_read_ahead_kb=saved)
        assert entries_of_table(MountTable(mounts=[row]))[0].readahead_kib == kib
    assert [one.saved_in for one in entries] == ["fstab", "systemd", "autofs", "nowhere"]
    assert [one.options for one in entries] == ["a,b,unknown=1"] * 3 + ["ro,vers=4.2"]
    assert [one.fstype for one in entries] == ["nfs4"] * 3 + ["nfs"]
    assert [one.readahead_kib for one in entries] == [None, None, None, 1024]

"""fstab is parsed as mount(8) does, without loss of a byte."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from libmount import read_by_libmount

from app.kernel import fstab

ZOO = sorted((Path(__file__).parents[2] / "data" / "fstab").iterdir())

SHAPES = {
    "CRLF": rb"\S\r\n",
    "tabs": rb"\S\t+\S",
    "no newline at the end": rb"[^\n]\Z",
    "a comment": rb"(?m)^\s*#",
    "a comment behind an entry": rb"(?m)^[^#\n]+ nfs [^\n#]*#",
    "two fields": rb"(?m)^\S+[ \t]+\S+$",
    "three fields": rb"(?m)^\S+[ \t]+\S+[ \t]+nfs$",
    "four fields": rb"(?m)^\S+[ \t]+\S+[ \t]+nfs4?[ \t]+\S+$",
    "five fields": rb"(?m)^\S+([ \t]+\S+){4}$",
    "a label": rb"(?m)^LABEL=",
    "a UUID": rb"(?m)^UUID=",
    "bind": rb"\bbind\b",
    "a very long line": rb"[^\n]{5000}",
    "UTF-8": "ö".encode(),
    "Latin-1": rb"[\x80-\xff](?![\x80-\xbf])[a-z]",
    **{f"escape {code}": rb"\\" + code.encode() for code in ("040", "011", "012", "134", "043")},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_zoo_has_every_shape(shape: str) -> None:
    assert any(re.search(SHAPES[shape], path.read_bytes()) for path in ZOO)


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.name)
def test_every_byte_is_preserved(path: Path) -> None:
    raw = path.read_bytes()
    table = fstab.parse(raw)
    assert bytes(table) == raw
    assert [line.number for line in table.lines] == list(range(1, len(table.lines) + 1))


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.name)
def test_entries_are_those_that_libmount_reads(path: Path) -> None:
    found = [
        (e.source, e.target, e.fstype, e.options, e.freq, e.passno)
        for line in fstab.parse(path.read_bytes()).lines
        if (e := line.entry)
    ]
    assert found == read_by_libmount(path)


@given(st.one_of(st.binary(), st.lists(st.sampled_from([
    b"nas:/a", b" ", b"\t", b"\n", b"\r\n", b"#", b"/mnt/a", b"nfs", b"ro,hard", b"0", b"\\040", b"\\", b"\0",
    b"\xe9",
])).map(b"".join)))  # fmt: skip
def test_any_bytes_survive(raw: bytes) -> None:
    table = fstab.parse(raw)
    assert bytes(table) == raw
    table.warnings()
    table.nfs_lines()


def test_broken_lines_are_warned_about_with_their_number() -> None:
    table = fstab.parse(b"# fine\nnas01:/a /mnt/a\nnas01:/b /mnt/b nfs ro # home\n")
    assert [line.kind for line in table.lines] == ["comment", "broken", "broken"]
    first, second = table.warnings()
    assert first.startswith("Line 2 of /etc/fstab")
    assert "comment" in second


def test_only_nfs_entries_are_counted() -> None:
    table = fstab.parse((ZOO[0].parent / "mixed_1990s").read_bytes())
    assert [entry.source for _, entry in table.nfs_lines()] == ["192.0.2.9:/vol/vol0"]


def test_a_missing_file_is_empty(tmp_path: Path) -> None:
    assert fstab.read(str(tmp_path)).lines == ()

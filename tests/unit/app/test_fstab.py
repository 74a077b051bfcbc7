"""fstab is read as mount(8) reads it, and not a byte is lost."""

import ctypes
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.mounts import fstab

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
def test_every_byte_is_kept(path: Path) -> None:
    raw = path.read_bytes()
    table = fstab.parse(raw)
    assert bytes(table) == raw
    assert [line.number for line in table.lines] == list(range(1, len(table.lines) + 1))


def read_by_libmount(path: Path) -> list[tuple[str, str, str, str, int, int]]:
    """Return the entries that libmount itself reads, and skip the test where it is not installed.

    findmnt is no judge of broken lines: that of util-linux 2.41 crashes at the first one.
    """
    try:
        libmount = ctypes.CDLL("libmount.so.1")
    except OSError as error:
        pytest.skip(f"libmount is not here: {error}")
    pointer = ctypes.c_void_p
    libmount.mnt_new_table.restype = libmount.mnt_new_iter.restype = pointer
    libmount.mnt_table_parse_fstab.argtypes = [pointer, ctypes.c_char_p]
    libmount.mnt_table_next_fs.argtypes = [pointer, pointer, ctypes.POINTER(pointer)]
    texts = [getattr(libmount, f"mnt_fs_get_{name}") for name in ("source", "target", "fstype", "options")]
    for function in texts:
        function.argtypes, function.restype = [pointer], ctypes.c_char_p
    numbers = [libmount.mnt_fs_get_freq, libmount.mnt_fs_get_passno]
    for function in numbers:
        function.argtypes = [pointer]
    libmount.mnt_unref_table.argtypes = libmount.mnt_free_iter.argtypes = [pointer]
    table, each = pointer(libmount.mnt_new_table()), pointer(libmount.mnt_new_iter(0))
    found, entry = [], pointer()
    assert libmount.mnt_table_parse_fstab(table, os.fsencode(path)) == 0
    while libmount.mnt_table_next_fs(table, each, ctypes.byref(entry)) == 0:
        source, target, fstype, options = (os.fsdecode(function(entry) or b"") for function in texts)
        freq, passno = (function(entry) for function in numbers)
        found.append((source, target, fstype, options, freq, passno))
    libmount.mnt_free_iter(each)
    libmount.mnt_unref_table(table)
    return found


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

"""fstab as libmount reads it (ctypes), to verify every program that writes one."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def read_by_libmount(path: Path) -> list[tuple[str, str, str, str, int, int]]:
    """Return the entries that libmount reads from a file; skip the test if libmount is not installed.

    findmnt cannot replace it: findmnt of util-linux 2.41 crashes at the first malformed line.
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

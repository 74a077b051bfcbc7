"""No call that can block on a server is made by the window, the samplers or the helper.

On a dead server these calls never return: stat(2) and functions based on it, statvfs(2), and programs that
use them. Reading the kernel's tables and readlink(2) below /proc never block. This test searches the source;
test_no_touch.py, here and in tests/ui, watches the running code.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import app

ROOT = Path(app.__file__).parents[1]
#: Source of the window, the samplers, the readers of mount tables, and the helper.
PLACES = (
    *(ROOT / "ui").rglob("*.py"),
    *(ROOT / "app/stats").rglob("*.py"),
    *(ROOT / "app/helper").rglob("*.py"),
    *(ROOT / "app/kernel").rglob("*.py"),
    *(ROOT / "app/mounts" / f"{name}.py" for name in (
        "table", "systemd_units", "autofs", "option_comparison", "requested_options",
    )),
)  # fmt: skip
#: Methods of paths and functions of os, os.path and shutil.
CALLS = frozenset({
    "stat", "lstat", "fstat", "statvfs", "fstatvfs", "access", "exists", "lexists", "isdir", "isfile",
    "islink",
    "is_dir", "is_file", "is_symlink", "is_mount", "ismount", "realpath", "resolve", "samefile", "getsize",
    "getmtime", "disk_usage", "disk_partitions",
})  # fmt: skip
QT = frozenset({
    "QDir", "QDirIterator", "QFileDialog", "QFileInfo", "QFileSystemModel", "QFileSystemWatcher",
    "QStorageInfo",
})  # fmt: skip
PROGRAMS = frozenset({"df", "lsof", "mountpoint"})

#: Reasons why a call cannot wait for a server.
OPENED = "of a file of /etc that is open already, or of a pipe"
STATE = "a file in a directory of root's own, on the disk of the system"
SYSTEM = "a program or a directory of the system itself: without it nothing runs"
CHECKED = "check_table and check_walk have looked in the table of mounts: nothing is mounted there"
UNITS = "an entry of /etc/systemd/system, or of its like, which is not followed"
CHILD = "runs in a disposable child with a deadline"
MAPS = "a part of a path in /etc, which is not followed"
#: Allowed calls (file, function, call), with the reason.
ALLOWED = {
    ("app/helper/user_entries.py", "contains", "lexists"): STATE,
    ("app/helper/directories.py", "_make", "stat"): CHECKED,
    ("app/helper/directories.py", "remove_directory", "stat"): CHECKED,
    ("app/helper/files.py", "_open_lock", "fstat"): STATE,
    ("app/helper/files.py", "reload_systemd", "access"): SYSTEM,
    ("app/helper/files.py", "reload_systemd", "isdir"): SYSTEM,
    ("app/helper/fstab_writer.py", "FstabWriter._check_same", "fstat"): OPENED,
    ("app/helper/fstab_writer.py", "FstabWriter._read", "fstat"): OPENED,
    ("app/helper/fstab_writer.py", "FstabWriter._verify", "access"): SYSTEM,
    ("app/helper/fstab_writer.py", "_complaints", "access"): SYSTEM,
    ("app/helper/main.py", "_client", "fstat"): OPENED,
    ("app/helper/mount_nfs.py", "command", "access"): SYSTEM,
    ("app/helper/options.py", "catalogue_path", "access"): SYSTEM,
    ("app/helper/readahead_writer.py", "ReadaheadWriter._open_folder", "fstat"): OPENED,
    ("app/helper/readahead_writer.py", "ReadaheadWriter._read", "fstat"): OPENED,
    ("app/helper/readahead_writer.py", "ReadaheadWriter._reload", "access"): SYSTEM,
    ("app/helper/readahead_writer.py", "ReadaheadWriter._reload", "exists"): SYSTEM,
    ("app/helper/readahead_writer.py", "ReadaheadWriter.save", "access"): SYSTEM,
    ("app/helper/try_verbs.py", "_names", "is_dir"): CHILD,
    ("app/helper/callers.py", "read_small", "fstat"): OPENED,
    ("app/helper/unit_writer.py", "UnitWriter._check", "lexists"): UNITS,
    ("app/helper/unit_writer.py", "UnitWriter._read", "fstat"): OPENED,
    ("app/helper/unit_writer.py", "UnitWriter._read", "stat"): UNITS,
    ("app/helper/utab.py", "remove_entries", "lexists"): STATE,
    ("app/helper/safe_path.py", "_check_ancestor", "fstat"): CHECKED,
    ("app/helper/safe_path.py", "_may_search", "access"): CHECKED,
    ("app/helper/safe_path.py", "_not_a_directory", "stat"): CHECKED,
    ("app/mounts/autofs.py", "_Reader._map_file", "lexists"): MAPS,
    ("app/mounts/autofs.py", "_check_path", "is_symlink"): MAPS,
    ("app/mounts/autofs.py", "_read_file", "fstat"): OPENED,
    ("app/mounts/autofs.py", "read", "lexists"): MAPS,
    ("app/mounts/systemd_units.py", "_drop_ins", "is_symlink"): UNITS,
    ("app/mounts/systemd_units.py", "_text", "is_symlink"): UNITS,
    ("app/stats/stale_child.py", "_ask", "fstatvfs"): CHILD,
    ("app/mounts/table.py", "_signatures", "stat"): "fstab, utab and folders of units, on the local disk",
}


def calls() -> dict[tuple[str, str, str], int]:
    """Return every forbidden call with the first line that has it."""
    found: dict[tuple[str, str, str], int] = {}
    for path in PLACES:
        name = str(path.relative_to(ROOT))
        for where, node in _walk(ast.parse(path.read_text()), ""):
            for word in _words(node):
                found.setdefault((name, where, word), getattr(node, "lineno", 0))
    return found


def _walk(node: ast.AST, where: str) -> list[tuple[str, ast.AST]]:
    """Return every node below this one, with the name of its function."""
    found: list[tuple[str, ast.AST]] = []
    for child in ast.iter_child_nodes(node):
        inner = where
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{where}.{child.name}".removeprefix(".")
        found += [(inner, child), *_walk(child, inner)]
    return found


def _words(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Attribute) and node.attr in CALLS | QT:
        return [node.attr]
    if isinstance(node, ast.Name) and node.id in QT:
        return [node.id]
    if isinstance(node, ast.ImportFrom):
        names = {alias.name for alias in node.names}
        own = CALLS if node.module in {"os", "os.path", "posixpath", "shutil", "psutil"} else frozenset[str]()
        return sorted(names & (QT | own))
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value] if node.value.rpartition("/")[2] in PROGRAMS else []
    return []


def test_nothing_that_waits_for_a_server_is_called() -> None:
    found = calls()
    fresh = {key: line for key, line in found.items() if key not in ALLOWED}
    assert fresh == {}, "call it in a child with a deadline, or give a reason here why no server is asked"
    assert [key for key in ALLOWED if key not in found] == [], "these are gone: take them out"


@pytest.mark.parametrize("text", [
    "os.stat(path)", "Path(path).exists()", "os.path.realpath(path)", "from os.path import ismount",
    "shutil.disk_usage(path)", "from PySide6.QtCore import QFileInfo", "QtCore.QDir(path)",
    'run(["/usr/bin/df", path])', 'run(["mountpoint", "-q", path])', "look = os.statvfs", "QFileDialog()",
])  # fmt: skip
def test_a_call_is_found_however_it_is_written(text: str) -> None:
    assert [word for _where, node in _walk(ast.parse(text), "") for word in _words(node)]

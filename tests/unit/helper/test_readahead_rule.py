"""Text of the udev rule of a mount: its contents, and that no text of the caller gets into it."""

import hashlib
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.helper import readahead_rule, validate
from app.helper.errors import Refusal
from app.helper.readahead import MAX_READ_AHEAD_KB

HERE = Path(__file__).parents[3]
PROGRAM = HERE / "packaging" / "mountwright-readahead"
#: Lines of a rule file that udev evaluates, as a pattern for digest and number.
RULE = re.compile(
    r'SUBSYSTEM=="bdi", ACTION=="add", KERNEL=="0:\*", ENV\{\.MOUNTWRIGHT_MOUNT\}=="", '
    r'PROGRAM=="/usr/libexec/mountwright/mountwright-readahead %k", ENV\{\.MOUNTWRIGHT_MOUNT\}="%c"\n'
    r'SUBSYSTEM=="bdi", ACTION=="add", KERNEL=="0:\*", ENV\{\.MOUNTWRIGHT_MOUNT\}=="[0-9a-f]{64}", '
    r'ATTR\{read_ahead_kb\}="(0|[1-9][0-9]{0,5})"\n\Z'
)
#: Mount points, many of them with special characters of udev, shells or terminals.
PATHS = st.lists(
    st.text(st.sampled_from("aä 字\"'\\$%{}=,#*?[]`;&|<>\n\t\x1b\u202e.~") | st.characters(), max_size=12),
    min_size=1, max_size=4,
).map(lambda parts: "/" + "/".join(parts))  # fmt: skip
NUMBERS = st.integers(0, MAX_READ_AHEAD_KB)


def accepted(path):
    try:
        return validate.target(path) == path
    except Refusal:
        return False


def carried_out(data):
    """Return the lines that udev evaluates: those that do not begin with “#”."""
    return "".join(line + "\n" for line in data.decode().splitlines() if not line.startswith("#"))


@given(PATHS, NUMBERS)
def test_a_rule_has_nothing_of_the_caller_but_a_digest_and_a_number(path, number):
    if not accepted(path):
        return
    data = readahead_rule.text(path, number)
    assert data.isascii()
    assert data.decode().replace("\n", "").isprintable()
    assert RULE.match(carried_out(data))[1] == str(number)
    assert hashlib.sha256(path.encode()).hexdigest() in carried_out(data)
    assert not any(line.endswith("\\") for line in data.decode().split("\n"))
    assert max(map(len, data.split(b"\n"))) < 4096
    assert readahead_rule.read(data) == (path, number)


@given(PATHS)
def test_a_name_says_nothing_but_the_digest(path):
    if accepted(path):
        name = readahead_rule.name(path)
        assert re.fullmatch(r"99-zz-mountwright-readahead-[0-9a-f]{32}\.rules", name)
        assert readahead_rule.is_name(name)


def test_it_comes_after_the_rule_of_nfs_utils():
    assert readahead_rule.name("/mnt/a").encode() > b"99-nfs.rules"


@given(NUMBERS, st.integers(0, 10_000), st.binary(min_size=1, max_size=3))
def test_what_somebody_changed_is_not_ours(number, place, other):
    data = readahead_rule.text("/mnt/a", number)
    place %= len(data)
    changed = data[:place] + other + data[place + len(other) :]
    assert (readahead_rule.read(changed) is None) == (changed != data)


@pytest.mark.parametrize("more", [b"\n", b'RUN+="/bin/sh"\n', b"# more\n"])
def test_neither_is_what_somebody_added_to(more):
    data = readahead_rule.text("/mnt/a", 1024)
    assert readahead_rule.read(data + more) is None
    assert readahead_rule.read(more + data) is None
    assert readahead_rule.read(b"") is None


@pytest.mark.skipif(shutil.which("udevadm", path="/usr/bin:/bin") is None, reason="udev is not installed")
def test_udev_reads_it(tmp_path):
    (tmp_path / "99.rules").write_bytes(readahead_rule.text('/mnt/a "b" c', 1024))
    done = subprocess.run(["udevadm", "verify", str(tmp_path / "99.rules")], capture_output=True, check=False)
    if b"Unknown command verb" not in done.stderr:  # systemd older than 254
        assert done.returncode == 0, done


# The program that the rules run


def load():
    loader = importlib.machinery.SourceFileLoader("mountwright_readahead", str(PROGRAM))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


program = load()


def line(device, point, fstype="nfs4"):
    escaped = "".join(f"\\{ord(c):03o}" if c in " \t\n\\#" else c for c in point)
    return f"36 25 {device} / {escaped} rw,relatime shared:1 - {fstype} nas:/x rw,vers=4.2\n".encode()


@given(PATHS)
def test_the_program_and_the_rule_mean_the_same_path(path):
    if accepted(path):
        table = line("0:7", "/other") + line("0:45", path) + line("0:45", "/bound")
        assert program.answer_for(b"0:45", table) == readahead_rule.key(path)


def test_only_nfs_is_told_and_what_is_not_there_is_waited_for():
    table = line("0:4", "/a", "fuse") + line("0:5", "/b", "nfs")
    assert program.answer_for(b"0:4", table) == "none"
    assert program.answer_for(b"0:5", table) == readahead_rule.key("/b")
    assert program.answer_for(b"0:45", table) == ""
    assert program.answer_for(b"0:5", b"garbage\n\n - nfs\n") == ""


@pytest.mark.parametrize("words", [[], ["0"], ["0:x"], ["0:45\n"], ["../0:45"], ["0:45", "more"], ["-h"]])
def test_the_program_takes_nothing_but_a_device(words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (64, b"")


def test_a_device_that_is_gone_is_not_waited_for():
    done = subprocess.run([PROGRAM, "0:9999999"], capture_output=True, check=False, timeout=10)
    assert (done.returncode, done.stdout) == (0, b"none\n")


def test_the_program_is_small_isolated_and_writes_nothing():
    text = PROGRAM.read_text()
    assert text.startswith("#!/usr/bin/python3 -IBSXutf8\n")
    assert os.access(PROGRAM, os.X_OK)
    imports = set(re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE))
    assert imports == {"hashlib", "os", "re", "select", "sys", "time"}
    for word in ("subprocess", "exec", "O_WRONLY", "O_RDWR", "unlink", "environ", "import_module"):
        assert word not in text
    assert json.dumps(readahead_rule.PROGRAM) == '"/usr/libexec/mountwright/mountwright-readahead"'

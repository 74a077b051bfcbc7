"""fstab with many cases: parsers agree, power cuts tear nothing, other editors lose nothing.

The short versions always run. Tests marked long (./test --long) run with the full numbers.
"""

import ctypes
import hashlib
import itertools
import json
import os
import random
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from waiting import DEADLINE_S

from app.helper import fstab_text, fstab_writer
from app.helper.errors import Refusal
from app.helper.files import FileCalls
from app.helper.fstab_text import EntryEdit, NewEntry, apply
from app.helper.fstab_writer import TEMPORARY, FstabWriter
from app.helper.options import load
from app.kernel import fstab

CATALOGUE = load()
OLD = b"# head\n/dev/sda1 / ext4 ro 0 1\nbroken\n\n\tnas:/a\t/mnt/a  nfs ro 0 0\r\n# tail, no line end"
long = pytest.mark.long


@pytest.fixture(autouse=True)
def no_findmnt_of_the_writer(monkeypatch):
    monkeypatch.setattr(fstab_writer, "_FINDMNT", ())


# Written lines are read equally by this program, libmount and glibc.

_PIECES = [
    *"abcXYZ019#\"'=%$&*~-();|<>?!^`{}[]", " ", "  ", "\\", "\\040", "\\134x", "ä", "é", "文件", "😀"
]  # fmt: skip
_WORDS = [
    "ro", "hard", "vers=4.2", "rsize=65536", "timeo=600", "nofail", "_netdev", "bg", "noauto", "nconnect=4",
    "x-systemd.automount", "x-systemd.idle-timeout=600", "sec=krb5p"
]  # fmt: skip


def some_entries(count, seed):
    """Yield lines as the writer makes them, each with its fields."""
    rng = random.Random(seed)
    for number in range(count):
        share = f"nas{number}.example.org:/" + "".join(rng.choices(_PIECES, k=rng.randint(1, 12)))
        target = f"/mnt/{number}" + "".join(rng.choices(_PIECES, k=rng.randint(1, 12)))
        words = list(dict.fromkeys(rng.choices(_WORDS, k=rng.randint(0, 3))))
        if "x-systemd.automount" in words and "bg" in words:
            words.remove("bg")  # the two do not go together
        wanted = NewEntry(share, target, rng.choice(["nfs", "nfs4"]), tuple(words))
        line = apply(b"", EntryEdit(None, wanted), CATALOGUE).data
        (entry,) = fstab_text.entries(line)
        assert (entry.share, entry.target, entry.fstype) == wanted[:3]
        yield line, (share, target, wanted.fstype, entry.options)


def read_by_libmount(path):
    command = ["/usr/bin/findmnt", "--nocanonicalize", "--list", "--tab-file", path, "--json",
               "--output", "SOURCE,TARGET,FSTYPE,OPTIONS"]  # fmt: skip
    rows = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["filesystems"]
    return [(row["source"], row["target"], row["fstype"], row["options"]) for row in rows]


class _Mntent(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_char_p) for name in ("fsname", "dir", "type", "opts")),
                ("freq", ctypes.c_int), ("passno", ctypes.c_int)]  # fmt: skip


def read_by_glibc(path):
    libc = ctypes.CDLL(None)
    libc.setmntent.restype = ctypes.c_void_p
    libc.getmntent.argtypes = libc.endmntent.argtypes = [ctypes.c_void_p]
    libc.getmntent.restype = ctypes.POINTER(_Mntent)
    stream = libc.setmntent(os.fsencode(path), b"r")
    found = []
    while entry := libc.getmntent(stream):
        one = entry.contents
        found.append(tuple(map(os.fsdecode, (one.fsname, one.dir, one.type, one.opts))))
    libc.endmntent(stream)
    return found


@pytest.mark.skipif(not Path("/usr/bin/findmnt").exists(), reason="needs util-linux")
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("total", [3_000, pytest.param(1_000_000, marks=long)])
def test_what_is_written_is_read_alike_by_all(tmp_path, total):
    path = tmp_path / "fstab"
    each = min(total, 10_000)
    for seed in range(total // each):
        made = list(some_entries(each, seed))
        path.write_bytes(b"".join(line for line, _ in made))
        meant = [fields for _, fields in made]
        ours = fstab.parse(path.read_bytes()).nfs_lines()
        assert [(e.source, e.target, e.fstype, e.options) for _, e in ours] == meant
        assert read_by_libmount(path) == meant
        assert read_by_glibc(path) == meant


# A power cut at any moment.


class Op(NamedTuple):
    """One operation of the disk: contents or mode of a file, an entry of a directory, or a flush ("sync")."""

    kind: str
    of: int
    at: object = None
    value: object = None


class Recorder(FileCalls):
    """Makes the system calls and records their changes; write(2) writes only a few bytes at a time."""

    def __init__(self, *, exchange):
        self.ops, self._exchange = [], exchange

    def open(self, name, flags, *args, **kwargs):
        fd = os.open(name, flags, *args, **kwargs)
        if flags & os.O_CREAT:
            self._entry(kwargs["dir_fd"], name, os.fstat(fd).st_ino)
        return fd

    def write(self, fd, data):
        data = bytes(data[: max(40, len(data) // 4)])
        self.ops.append(Op("data", os.fstat(fd).st_ino, os.lseek(fd, 0, os.SEEK_CUR), data))
        return os.write(fd, data)

    def fchmod(self, fd, mode):
        os.fchmod(fd, mode)
        self.ops.append(Op("mode", os.fstat(fd).st_ino, None, mode))

    def fsync(self, fd):
        os.fsync(fd)
        self.ops.append(Op("sync", os.fstat(fd).st_ino))

    def unlink(self, name, *, dir_fd):
        os.unlink(name, dir_fd=dir_fd)
        self._entry(dir_fd, name, None)

    def rename(self, old, new, *, src_dir_fd, dst_dir_fd):
        number = os.stat(old, dir_fd=src_dir_fd).st_ino
        os.rename(old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        self._entry(dst_dir_fd, new, number)
        self._entry(src_dir_fd, old, None)

    def exchange(self, first, second, folder):
        if not self._exchange:
            raise OSError(22, "Invalid argument")
        numbers = [os.stat(name, dir_fd=folder).st_ino for name in (first, second)]
        FileCalls.exchange(first, second, folder)
        # Each half may be lost without the other, which is worse than with any journal.
        self._entry(folder, second, numbers[0])
        self._entry(folder, first, numbers[1])

    def _entry(self, folder, name, number):
        self.ops.append(Op("entry", os.fstat(folder).st_ino, name, number))


class Disk:
    """Possible contents of a disk after a crash."""

    def __init__(self, folders):
        self.entries = {}
        self.data = {}
        self.modes = {}
        for folder in folders:
            for path in folder.iterdir():
                number = path.stat().st_ino
                self.entries[folder.stat().st_ino, path.name] = number
                self.data[number] = path.read_bytes()
                self.modes[number] = stat.S_IMODE(path.stat().st_mode)

    def after(self, ops):
        """Return entries, contents and modes after these operations."""
        entries, data, modes = dict(self.entries), dict(self.data), dict(self.modes)
        for op in ops:
            if op.kind == "entry":
                entries[op.of, op.at] = op.value
            elif op.kind == "mode":
                modes[op.of] = op.value
            elif op.kind == "data":
                old = data.get(op.of, b"").ljust(op.at, b"\0")
                data[op.of] = old[: op.at] + op.value + old[op.at + len(op.value) :]
        return entries, data, modes


def crashes(ops):
    """Yield all states that a power cut may leave: each unflushed operation is complete, partial or lost."""
    for count in range(len(ops) + 1):
        done = ops[:count]
        flushed = {op.of: at for at, op in enumerate(done) if op.kind == "sync"}
        choices = []
        for at, op in enumerate(done):
            if op.kind != "sync":
                torn = [op._replace(value=op.value[: len(op.value) // 2])] if op.kind == "data" else []
                choices.append([op] if at < flushed.get(op.of, -1) else [op, *torn, None])
        for chosen in itertools.product(*choices):
            yield count, [op for op in chosen if op is not None]


def request(data, **changes):
    sha256 = hashlib.sha256(data).hexdigest()
    plain = {
        "share": "nas:/b c",
        "target": "/mnt/b c",
        "fstype": "nfs",
        "options": ["nofail"],
        "sha256": sha256,
    }
    return {**plain, **changes}


def folders_of(tmp_path):
    etc, backups = tmp_path / "etc", tmp_path / "state"
    for folder in (etc, backups):
        folder.mkdir(parents=True)
    (etc / "fstab").write_bytes(OLD)
    (etc / "fstab").chmod(0o640)
    return etc, backups


class Quiet:
    cancelled = False


CHANGES = {
    "add": {},
    "change": {"old_share": "nas:/a", "old_target": "/mnt/a"},
    "remove": {"share": "nas:/a", "target": "/mnt/a"},
    "restore": {},
}


@pytest.mark.parametrize("exchange", [True, False])
@pytest.mark.parametrize("verb", CHANGES)
def test_a_power_cut_leaves_the_old_or_the_new_file(tmp_path, verb, exchange):
    etc, backups = folders_of(tmp_path)
    before, extra = OLD, dict(CHANGES[verb])
    if verb == "restore":
        writer = FstabWriter(str(etc), str(backups), None, CATALOGUE)
        extra["backup"] = writer.add(request(OLD), Quiet())["backup"]
        before = (etc / "fstab").read_bytes()
    (etc / TEMPORARY).write_bytes(b"of a helper that was killed")
    disk, recorder = Disk([etc, backups]), Recorder(exchange=exchange)
    writer = FstabWriter(str(etc), str(backups), recorder, CATALOGUE)
    getattr(writer, verb)(request(before, **extra), Quiet())
    after = (etc / "fstab").read_bytes()
    assert after != before
    etc_number, backups_number = etc.stat().st_ino, backups.stat().st_ino
    seen = {before: 0, after: 0}
    for count, ops in crashes(recorder.ops):
        entries, data, modes = disk.after(ops)
        number = entries[etc_number, "fstab"]
        found = data.get(number, b"")
        assert found in seen, (count, ops)
        assert modes.get(number) == 0o640
        seen[found] += 1
        if found == after:
            kept = [number for (folder, _), number in entries.items() if folder == backups_number]
            assert before in [data.get(number) for number in kept], "the copy is there before the file is new"
        if count == len(recorder.ops):
            assert found == after, "what was answered lasts"
    print(f"{verb}: {len(recorder.ops)} operations, {sum(seen.values())} states after a crash")
    assert min(seen.values()) > 1


def test_the_model_finds_a_writer_that_does_not_flush(tmp_path):
    etc, backups = folders_of(tmp_path)
    disk, recorder = Disk([etc, backups]), Recorder(exchange=True)
    FstabWriter(str(etc), str(backups), recorder, CATALOGUE).add(request(OLD), Quiet())
    after = (etc / "fstab").read_bytes()
    careless = [op for op in recorder.ops if op.kind != "sync"]
    number = etc.stat().st_ino
    torn = 0
    for _, ops in itertools.islice(crashes(careless[-12:]), 100_000):
        entries, data, _ = disk.after(ops)
        torn += data.get(entries[number, "fstab"], b"") not in {OLD, after}
    assert torn > 0


# Another program edits fstab at the same time.

EDITOR = r"""
import os, sys, time
from pathlib import Path
path = Path(sys.argv[1])
for line in sys.stdin:
    number, wait_us = line.split()
    end = time.perf_counter_ns() + int(wait_us) * 1000
    while time.perf_counter_ns() < end:
        pass
    read = path.read_bytes()
    theirs = f"# theirs {number}\n".encode()
    if sys.argv[2] == "replace":
        other = path.with_name("fstab.theirs")
        other.write_bytes(read + theirs)
        other.replace(path)
    else:
        with path.open("ab") as file:
            file.write(theirs)
    print(int(b"/mnt/ours" in read), flush=True)
"""


def outcome_of(writer):
    """Return the code of the refusal, "" if the entry was written."""
    try:
        writer.add(request(OLD + b"\n", target="/mnt/ours"), Quiet())
    except Refusal as refusal:
        return refusal.code
    return ""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("rounds", [40, pytest.param(1_000, marks=long)])
@pytest.mark.parametrize("how", ["replace", "append"])
def test_another_editor_at_the_same_time_is_never_written_over(tmp_path, how, rounds):
    etc, backups = folders_of(tmp_path)
    path = etc / "fstab"
    rng = random.Random(rounds)
    editor = subprocess.Popen([sys.executable, "-c", EDITOR, path, how], stdin=-1, stdout=-1, text=True)
    outcomes = {"both": 0, "refused": 0, "theirs over ours": 0}
    try:
        for number in range(rounds):
            path.write_bytes(OLD + b"\n")
            writer = FstabWriter(str(etc), str(backups), None, CATALOGUE)
            print(number, rng.randrange(6_000), file=editor.stdin, flush=True)
            code = outcome_of(writer)
            assert code in {"", "fstab-changed"}
            they_saw_ours = editor.stdout.readline().strip() == "1"
            now = path.read_bytes()
            assert f"# theirs {number}\n".encode() in now, f"round {number}: their line was lost"
            assert now.startswith(OLD)
            if code:
                outcomes["refused"] += 1
                assert b"/mnt/ours" not in now
            elif b"/mnt/ours" in now:
                outcomes["both"] += 1
            else:
                # The other editor read the file before the exchange, and overwrote the new one.
                outcomes["theirs over ours"] += 1
                assert not they_saw_ours
                assert how == "replace"
    finally:
        editor.stdin.close()
        editor.wait(DEADLINE_S)
        editor.stdout.close()
    print(outcomes)
    assert sum(outcomes.values()) == rounds
    assert sorted(entry.name for entry in etc.iterdir()) == ["fstab"]

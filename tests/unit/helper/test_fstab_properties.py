"""fstab editing with random files and requests, checked by libmount and by independent rules.

The rules of this file repeat the requirements and do not use the program's tables.
"""

from __future__ import annotations

import hashlib
import random
import re
import stat
from typing import NamedTuple

import pytest
from libmount import read_by_libmount

from app.helper import fstab_writer
from app.helper.errors import Refusal
from app.helper.fstab_text import EntryEdit, NewEntry, NewFstab, apply
from app.helper.fstab_writer import FstabWriter
from app.helper.options import load

CATALOGUE = load()
KINDS = ("add", "change", "remove")

SHARES = ["nas:/a", "nas:/b", "nas01.example.org:/export/some where", "[fe80::1%eth0]:/x", "10.0.0.7:/ä"]
TARGETS = ["/mnt/a", "/mnt/b", "/mnt/some where", "/srv/x/y", "/mnt/back\\slash", "/mnt/#1", "/media/ö"]
WORDS = [
    "ro", "hard", "vers=4.2", "rsize=65536", "timeo=600", "nofail", "_netdev", "noauto", "nconnect=4", "bg",
    "x-systemd.automount", "x-systemd.idle-timeout=600", "x-systemd.mount-timeout=30s", "sec=krb5p",
    "nosuid", "nodev", "noexec", "comment=x", "x-gvfs-show",
]  # fmt: skip
BAD_SHARES = [
    "nas", "-o:/a", "nas:a", "nas:/a,b:/c", "nas:/a\nx", "nas:/\x9b", "nas:/\u202e", "", "/dev/sda1",
]  # fmt: skip
BAD_TARGETS = [
    "/", "/usr", "/etc/x", "/bin", "mnt", "/mnt/../etc", "/mnt/a/", "/mnt/\x85", "/mnt/\u2028x", "/dev/x",
]  # fmt: skip
BAD_WORDS = [
    "suid", "dev", "user", "users", "owner", "group", "x-systemd.requires=a.service", "context=a", "bind",
    "addr=1.2.3.4", "comment=systemd.automount", "X-mount.mkdir", "bogus", "ro,suid", "a b", "ro\n",
    "rsize=x", "defaults", "nofail\x9b", "NOSUID", "nosuid=1", "remount", "x-systemd.mount-timeout=1;2",
]  # fmt: skip
#: Option words that root's entries may have.
OLD_WORDS = [
    *WORDS, "suid", "dev", "user", "users", "owner", "user=ann", "x-systemd.requires=a.service", "rw", "exec",
]  # fmt: skip


class Case(NamedTuple):
    """Contents of an fstab, and a request to change it."""

    data: bytes
    kind: str
    old: tuple[str, str] | None
    new: NewEntry | None


def escaped(text: str) -> bytes:
    """Encode a field with octal escapes (fstab(5)), independently of the program."""
    return b"".join(b"\\%03o" % b if b <= 32 or b in b"\\#" else bytes([b]) for b in text.encode())


def some_field(rng: random.Random) -> bytes:
    return bytes(rng.choices(b"abcxyz/:.=,-_\\#0123456789\xe9\xff\x01\x0b\x7f", k=rng.randint(1, 12)))


def some_entry(rng: random.Random) -> bytes:
    """Return an NFS entry, mostly with names that the requests use too."""
    fields = [
        escaped(rng.choice(SHARES)), escaped(rng.choice(TARGETS) + "/" * (rng.random() < 0.05)),
        rng.choice([b"nfs", b"nfs4"]), ",".join(rng.choices(OLD_WORDS, k=rng.randint(1, 6))).encode(),
        rng.choice([b"0", b"1"]), rng.choice([b"0", b"2"]), b"# note",
    ]  # fmt: skip
    gaps = [rng.choice([b" ", b"\t", b"  \t "]) for _ in fields]
    count = rng.choice([3, 4, 4, 5, 6, 6, 6, 7])
    line = b"".join(gap + field for gap, field in zip(gaps, fields[:count], strict=False))
    return line[len(gaps[0]) :] if rng.random() < 0.8 else line


def some_line(rng: random.Random) -> bytes:
    make = rng.choice([
        lambda: some_entry(rng),
        lambda: some_entry(rng),
        lambda: some_entry(rng) + rng.choice([b" ", b"\t\t", b"\r"]),
        lambda: b"",
        lambda: rng.choice([b" ", b"\t", b" \t "]),
        lambda: b"# " + some_field(rng),
        lambda: b"  # indented " + some_field(rng),
        "# Größe, 文件".encode,
        lambda: "# Größe".encode("latin-1"),
        lambda: b"# " + b"long " * 1800,
        lambda: b"UUID=0-1 / ext4 errors=remount-ro 0 1",
        lambda: b"LABEL=swap none swap sw 0 0",
        lambda: b"/dev/sdb1\t/home\text4\tdefaults\t0\t2",
        lambda: b"//nas/x /mnt/cifs cifs credentials=/root/c 0 0",
        lambda: b"nas:/long /mnt/long nfs x-note=" + b"a" * 9000,
        lambda: b" ".join(some_field(rng) for _ in range(rng.randint(1, 8))),
        lambda: b"nas:/n /mnt/n nfs ro 0 zero",
        lambda: b"nas:/n\0x /mnt/n nfs ro 0 0",
        lambda: b"nas:/n /mnt/n",
    ])  # fmt: skip
    return make()


def some_file(rng: random.Random) -> bytes:
    """Return a file of up to 9 lines: equal or mixed line ends, some without a last one or with a BOM."""
    style = rng.choice([b"\n", b"\n", b"\n", b"\r\n", b""])
    parts = [some_line(rng) + (style or rng.choice([b"\n", b"\r\n"])) for _ in range(rng.randint(0, 9))]
    data = b"".join(parts)
    if rng.random() < 0.3:
        data = rng.choice([data[:-1], data.removesuffix(b"\n").removesuffix(b"\r")])
    return b"\xef\xbb\xbf" + data if rng.random() < 0.05 else data


def some_words(rng: random.Random, kept: list[str]) -> tuple[str, ...]:
    words = rng.sample(WORDS, rng.randint(0, 4)) + rng.sample(kept, rng.randint(0, len(kept)))
    if rng.random() < 0.25:
        words.append(rng.choice([*BAD_WORDS, "ro", ""]))
    rng.shuffle(words)
    return tuple(words if rng.random() < 0.1 else dict.fromkeys(words))


def some_case(rng: random.Random, path) -> tuple[Case, list[tuple]]:
    """Return a case, and the entries that libmount reads from its file."""
    data = some_file(rng)
    path.write_bytes(data)
    found = read_by_libmount(path)
    kind = rng.choice(KINDS)
    old, kept = None, []
    if kind != "add":
        here = [entry for entry in found if entry[2].startswith("nfs")]
        if here and rng.random() < 0.9:
            entry = rng.choice(here)
            old, kept = entry[:2], list(dict.fromkeys(entry[3].split(",")))[:8]
        else:
            old = rng.choice([(rng.choice(SHARES), rng.choice(TARGETS)), ("UUID=0-1", "/"), ("", "")])
    if kind == "remove":
        return Case(data, kind, old, None), found
    share, target = rng.choice(SHARES), rng.choice(TARGETS)
    if old is not None and rng.random() < 0.6:
        share, target = old
    if rng.random() < 0.1:
        share = rng.choice(BAD_SHARES)
    if rng.random() < 0.1:
        target = rng.choice(BAD_TARGETS)
    fstype = rng.choice(["nfs", "nfs4"]) if rng.random() < 0.97 else rng.choice(["ext4", "nfs ", ""])
    return Case(data, kind, old, NewEntry(share, target, fstype, some_words(rng, kept))), found


# Independent rules.


def allows(options: str) -> dict[str, bool]:
    """Whether set-user-ID programs and devices work on a mount with these options (mount(8))."""
    state = {"suid": True, "dev": True}
    for word in options.split(","):
        if word.split("=")[0] in {"user", "users", "owner", "group"}:
            state = dict.fromkeys(state, False)
        elif word in {"suid", "dev"}:
            state[word] = True
        elif word in {"nosuid", "nodev"}:
            state[word[2:]] = False
    return state


def must_be_accepted(case: Case, found: list[tuple]) -> bool:
    """Whether a request breaks no rule, so that it must be accepted."""
    if b"\0" in case.data.rpartition(b"\n")[2]:
        return False  # libmount reads such a last line differently once it has an end
    if case.old is not None:
        places = [
            at for at, entry in enumerate(found) if entry[:2] == case.old and entry[2] in {"nfs", "nfs4"}
        ]
        if len(places) != 1:
            return False
        rest = found[: places[0]] + found[places[0] + 1 :]
        was = found[places[0]][3].split(",")
    else:
        rest, was = found, []
    new = case.new
    if new is None:
        return True
    same = case.old == new[:2]
    words = [word for word in new.words if word]
    fresh = set(words) - (set(was) if same else set())
    return (
        (same or (new.share in SHARES and new.target in TARGETS))
        and new.fstype in {"nfs", "nfs4"}
        and new.target.rstrip("/") not in {entry[1].rstrip("/") for entry in rest}
        and len(set(words)) == len(words)
        and fresh <= set(WORDS)
        and not ({"bg", "x-systemd.automount"} <= set(words) and {"bg", "x-systemd.automount"} & fresh)
        and all(word.isprintable() for word in words)
        and sum(map(len, words)) < 500
    )


def check_bytes(case: Case, edited: NewFstab) -> None:
    """Check that one line was added, removed or changed, and no other byte."""
    before, after = case.data.split(b"\n"), edited.data.split(b"\n")
    line = edited.line.encode("utf-8", "surrogateescape")
    if case.kind == "add":
        gap = edited.data.removeprefix(case.data).partition(line)
        assert edited.data.startswith(case.data)
        open_end = bool(case.data) and not case.data.endswith(b"\n")
        assert gap[0] in ({b"\n", b"\r\n"} if open_end else {b""})
        assert gap[2] in ({b""} if open_end else {b"\n", b"\r\n"})
        return
    differ = [at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]]
    if case.kind == "remove":
        at = differ[0] if differ else len(after) - 1
        assert after == before[:at] + before[at + 1 :] or b"".join(after) == b"".join(
            before[:at] + before[at + 1 :]
        )
        assert edited.line == ""
        return
    assert len(before) == len(after)
    assert len(differ) <= 1
    for at in differ:
        was, now = before[at], after[at]
        assert now.rstrip(b"\r") == line
        blanks = re.compile(rb"[ \t]+")
        # The dump and pass numbers, what stands behind them, and the layout of the line stay.
        assert blanks.split(was.strip())[4:] == blanks.split(now.strip())[4:]
        assert re.match(rb"[ \t]*", was)[0] == re.match(rb"[ \t]*", now)[0]
        assert was.endswith(b"\r") == now.endswith(b"\r") or was.endswith(b"\r\r")


def check_meaning(case: Case, found: list[tuple], now: list[tuple]) -> None:
    """Check that libmount reads the requested entry, and all others as before."""
    if case.old is None:
        place, was = len(found), None
        assert now[:-1] == found
    else:
        place = next(at for at, e in enumerate(found) if e[:2] == case.old and e[2] in {"nfs", "nfs4"})
        was = found[place]
        assert now[:place] == found[:place]
        assert now[place + (case.new is not None) :] == found[place + 1 :]
    if case.new is None:
        return
    share, target, fstype, options, *numbers = now[place]
    assert (share, target, fstype) == case.new[:3]
    assert tuple(numbers) == ((0, 0) if was is None else was[4:])
    same = case.old == (share, target)
    words = [] if options == "defaults" else options.split(",")
    kept = set(was[3].split(",")) if same else set()
    assert set(words) <= {*WORDS, "rw", "exec", *kept}, "nothing comes in that only root may write"
    asked = [word for word in case.new.words if word]
    assert [word for word in words if word not in {"nosuid", "nodev"}] == [
        word for word in asked if word not in {"nosuid", "nodev"}
    ]
    assert set(words) - set(asked) <= {"nosuid", "nodev"}
    before = allows(was[3]) if same else {"suid": False, "dev": False}
    for word, allowed in allows(",".join(words)).items():
        assert not allowed or before[word], f"no{word} was taken"
    if not same:
        assert (share, target) == (share, target.rstrip("/"))
        assert (share + target).isprintable()
        top = target.split("/")[1]
        assert top not in {"", "bin", "boot", "dev", "etc", "lib", "lib64", "proc", "sbin", "sys"}
        assert target not in {"/usr", "/var", "/run", "/root", "/tmp"}


class Quiet:
    cancelled = False


def check_written(case: Case, edited: NewFstab, folder) -> None:
    """Check that the writer writes the same bytes, keeps the mode, leaves no files, and can be undone."""
    path = folder / "etc" / "fstab"
    path.write_bytes(case.data)
    path.chmod(0o640)
    writer = FstabWriter(str(path.parent), str(folder / "state"), None, CATALOGUE)
    args: dict[str, object] = {"sha256": hashlib.sha256(case.data).hexdigest()}
    if case.new is not None:
        args |= {**case.new._asdict(), "options": list(case.new.words)}
    if case.old is not None:
        prefix = "" if case.kind == "remove" else "old_"
        args |= {f"{prefix}share": case.old[0], f"{prefix}target": case.old[1]}
    answer = getattr(writer, case.kind)(args, Quiet())
    assert path.read_bytes() == edited.data
    assert (answer["line"], answer["warnings"][1:]) == (edited.line, [])
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [entry.name for entry in path.parent.iterdir()] == ["fstab"]
    sha256 = hashlib.sha256(edited.data).hexdigest()
    writer.restore({"backup": answer["backup"], "sha256": sha256}, Quiet())
    assert path.read_bytes() == case.data


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("total", [2_000, pytest.param(200_000, marks=pytest.mark.long)])
def test_random_files_and_requests(tmp_path, monkeypatch, total):
    monkeypatch.setattr(fstab_writer, "_FINDMNT", ())
    (tmp_path / "etc").mkdir()
    path = tmp_path / "fstab"
    counts = dict.fromkeys(("written", "refused", *KINDS, "needed"), 0)
    for seed in range(total):
        case, found = some_case(random.Random(seed), path)
        needed = must_be_accepted(case, found)
        counts["needed"] += needed
        try:
            edited = apply(case.data, EntryEdit(case.old, case.new), CATALOGUE)
        except Refusal as refusal:
            if needed or not refusal.message.endswith("."):
                raise AssertionError(f"seed {seed}: {case}") from refusal
            counts["refused"] += 1
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}: {case}") from error
        counts["written"] += 1
        counts[case.kind] += 1
        path.write_bytes(edited.data)
        try:
            check_bytes(case, edited)
            check_meaning(case, found, read_by_libmount(path))
            if seed % 20 == 0:
                check_written(case, edited, tmp_path)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {case}") from error
    print(counts)
    assert min(counts.values()) > total // 20, "every way was gone often"

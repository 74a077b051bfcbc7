"""Editing of fstab: one entry changes and no other byte, and the result is read as intended."""

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.helper import fstab_text
from app.helper.errors import Refusal
from app.helper.fstab_text import EntryEdit, NewEntry, apply, entries
from app.helper.options import load, split

ZOO = sorted((Path(__file__).parents[2] / "data" / "fstab").iterdir())
CATALOGUE = load()
KEY = ("new.example.org:/export/some where", "/mnt/new one")
NEW = NewEntry(*KEY, "nfs4", ("_netdev", "nofail"))


def edit(data, old, new):
    return apply(data, EntryEdit(old, new), CATALOGUE).data


def code(data, old, new):
    with pytest.raises(Refusal) as caught:
        edit(data, old, new)
    return caught.value.code


def test_the_zoo_is_large():
    assert len(ZOO) >= 40


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.name)
def test_added_changed_and_removed_every_other_byte_stays(path):
    data = path.read_bytes()
    added = edit(data, None, NEW)
    assert added.startswith(data)
    assert entries(added)[-1][1:] == (*KEY, "nfs4", "_netdev,nofail,nosuid,nodev", 0, 0)
    changed = edit(added, KEY, NEW._replace(words=("ro",)))
    assert changed.startswith(data)
    assert b"\tro" in changed[len(data) :]
    # Only a line end that was added to the last line remains.
    assert edit(changed, KEY, None) in {data, data + b"\n", data + b"\r\n"}


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.name)
def test_entries_are_those_of_the_application(path):
    from app.kernel import fstab

    data = path.read_bytes()
    theirs = [
        (line.number, e.source, e.target, e.fstype, e.options, e.freq, e.passno)
        for line in fstab.parse(data).lines
        if (e := line.entry)
    ]
    assert [tuple(entry) for entry in entries(data)] == theirs


def test_the_layout_of_a_changed_line_stays():
    data = b"  nas:/a   /mnt/a\t\tnfs   ro  1 2  # mine\r\n#x\r\n"
    new = NewEntry("nas:/a", "/mnt/a", "nfs4", ("rw", "hard"))
    assert edit(data, ("nas:/a", "/mnt/a"), new) == (
        b"  nas:/a   /mnt/a\t\tnfs4   rw,hard  1 2  # mine\r\n#x\r\n"
    )


@pytest.mark.parametrize("line", [b"nas:/a /mnt/a nfs", b"nas:/a /mnt/a nfs ", b"nas:/a /mnt/a nfs\t\n"])
def test_options_are_added_to_a_short_line(line):
    data = edit(line, ("nas:/a", "/mnt/a"), NewEntry("nas:/a", "/mnt/a", "nfs", ("ro",)))
    assert entries(data)[0].options == "ro"


def test_crlf_is_kept_for_a_new_line():
    assert edit(b"# a\r\n", None, NEW).endswith(b"\t0\t0\r\n")


@pytest.mark.parametrize(
    "word",
    ["suid", "dev", "user", "rsize=x", "a b", "bind", "x-systemd.idle-timeout=-1", "nosuid=1", "helper=a",
     "x-systemd.mount-timeout=1;2", "ro,suid", "addr=1.2.3.4", "nofail\n/dev/sda", "x-systemd.makefs",
     "comment=a,b", "defaults", "user=ann"],
)  # fmt: skip
def test_a_word_that_nobody_writes_is_refused(word):
    for free in (False, True):
        with pytest.raises(Refusal) as caught:
            fstab_text.apply(b"", EntryEdit(None, NEW._replace(words=(word,))), CATALOGUE, free=free)
        assert caught.value.code == "option-invalid"


#: Words that only root may write, each with a part of the reason in the message.
RESERVED = {
    "x-systemd.requires=a.service": "starts or orders", "x-systemd.wanted-by=multi-user.target": "starts or",
    "X-SYSTEMD.after=a": "starts or orders", "X-mount.mkdir": "directory", "x-initrd.mount": "directory",
    "context=a": "labels", 'fscontext="a:c1,c2"': "labels", "futureopt=7": "every user",
    "bogus": "every user",
    "comment=systemd.automount": "every user", 'comment="a,x-systemd.requires=b"': "every user",
    'x-gvfs-name="a,x-systemd.requires=b"': "every user", "contextual": "every user",
}  # fmt: skip


@pytest.mark.parametrize("word", RESERVED)
def test_a_word_of_root_s_is_written_for_root_alone(word):
    new = NEW._replace(words=("ro", word))
    with pytest.raises(Refusal, match=RESERVED[word]) as caught:
        fstab_text.apply(b"", EntryEdit(None, new), CATALOGUE)
    assert caught.value.code == "option-reserved"
    assert f"“{word.partition('=')[0]}”" in caught.value.message
    written = fstab_text.apply(b"", EntryEdit(None, new), CATALOGUE, free=True).data
    assert entries(written)[0].options == f"ro,{word},nosuid,nodev"


def test_every_word_of_root_s_is_named():
    with pytest.raises(Refusal) as caught:
        fstab_text.apply(
            b"", EntryEdit(None, NEW._replace(words=("future=1", "context=a", "rsize=4096"))), CATALOGUE
        )
    assert "“future”" in caught.value.message
    assert "“context”" in caught.value.message


@pytest.mark.parametrize(
    "word",
    ["bg", "noauto", "x-systemd.automount", "x-systemd.idle-timeout=600", "x-systemd.mount-timeout=30s",
     "rsize=65536", "vers=4.2", "soft", "comment=hi", "x-gvfs-show", "x-gvfs-name=Data"],
)  # fmt: skip
def test_a_word_of_fstab_is_allowed(word):
    assert word in entries(edit(b"", None, NEW._replace(words=(word,))))[0].options.split(",")


def test_what_root_wrote_may_stay_at_its_place_and_goes_nowhere_else():
    data = b'nas:/a /mnt/a nfs suid,x-systemd.requires=a.service,context="a,b" 0 0\n'
    words = ("suid", "x-systemd.requires=a.service", 'context="a,b"', "ro")
    kept = edit(data, ("nas:/a", "/mnt/a"), NewEntry("nas:/a", "/mnt/a", "nfs", words))
    assert entries(kept)[0].options == ",".join(words)
    moved = NewEntry("evil:/a", "/mnt/a", "nfs", words)
    assert code(data, ("nas:/a", "/mnt/a"), moved) == "option-invalid"  # suid is refused to every user
    moved = moved._replace(words=words[1:])
    assert code(data, ("nas:/a", "/mnt/a"), moved) == "option-reserved"


def test_what_nobody_knows_stays_word_by_word():
    data = b"nas:/a /mnt/a nfs4 futureopt=7,vers=4.1,comment=hi 1 2 # tail\n"
    new = NewEntry("nas:/a", "/mnt/a", "nfs4", ("futureopt=7", "vers=4.1", "comment=hi", "rsize=65536"))
    changed = edit(data, ("nas:/a", "/mnt/a"), new)
    assert changed == data.replace(b"comment=hi", b"comment=hi,rsize=65536")
    assert code(data, ("nas:/a", "/mnt/a"), new._replace(words=("futureopt=8",))) == "option-reserved"
    assert code(data, ("nas:/a", "/mnt/a"), new._replace(share="other:/a")) == "option-reserved"
    # Words that only people read are accepted.
    edit(data, ("nas:/a", "/mnt/a"), new._replace(share="other:/a", words=("comment=hi", "vers=4.1")))


def test_what_is_not_clear_is_refused():
    data = b"nas:/a /mnt/a nfs ro 0 0\nnas:/a /mnt/a nfs rw 0 0\n/dev/sda1 / ext4 ro 0 1\n"
    assert code(data, ("nas:/a", "/mnt/a"), None) == "fstab-refused"
    assert code(data, ("/dev/sda1", "/"), None) == "not-mounted"
    assert code(data, None, NEW._replace(target="/")) == "mount-point-system"
    assert code(data, None, NEW._replace(target="/usr")) == "mount-point-system"
    assert code(data, None, NEW._replace(target="/etc/x")) == "mount-point-system"
    assert code(data, None, NEW._replace(target="/mnt/a")) == "mount-point-busy"
    assert code(data, None, NEW._replace(share="nas")) == "share-invalid"
    assert code(data, None, NEW._replace(fstype="ext4")) == "option-invalid"


SAME = ("nas:/a", "/mnt/a")


def change_of(options, *words):
    """Return the options after a change of the entry with the same share and mount point."""
    data = f"nas:/a /mnt/a nfs {options} 0 0\n".encode()
    return entries(edit(data, SAME, NewEntry(*SAME, "nfs", words)))[0].options


@pytest.mark.parametrize(
    ("before", "words", "after"),
    [
        ("rw,nosuid,nodev", ("rw",), "rw,nosuid,nodev"),
        ("nosuid,nodev,rw", ("nodev", "ro"), "nodev,ro,nosuid"),
        ("nosuid,nodev", (), "nosuid,nodev"),
        # Words that root's entry does not have are not added.
        ("rw", ("ro",), "ro"),
        ("rw,nodev", ("ro",), "ro,nodev"),
        ("suid,nodev", ("suid", "ro"), "suid,ro,nodev"),
        # The last of nosuid and suid decides (mount(8)), so their order must not change.
        ("suid,nosuid,rw", ("nosuid", "suid", "rw"), "suid,rw,nosuid"),
        ("nosuid,suid,rw", ("nosuid", "suid", "ro"), "nosuid,suid,ro"),
        ("dev,nodev", ("dev",), "dev,nodev"),
        # user, users, owner and group imply both (mount(8)).
        ("user,rw", ("rw",), "rw,nosuid,nodev"),
        ("users", ("ro",), "ro,nosuid,nodev"),
        ("group", ("ro",), "ro,nosuid,nodev"),
        ("owner", ("ro",), "ro,nosuid,nodev"),
        ("username=ann", ("ro",), "ro"),
        ("owner,suid", ("ro",), "ro,nodev"),
        ("user=ann,rw", ("user=ann", "ro"), "user=ann,ro"),
        ("suid,user", ("user", "suid"), "user,suid,nosuid"),
    ],
)
def test_nosuid_and_nodev_are_never_taken_from_an_entry(before, words, after):
    assert change_of(before, *words) == after


@pytest.mark.parametrize("other", [("nas:/b", "/mnt/a"), ("nas:/a", "/mnt/b")])
def test_an_entry_that_moves_gets_nosuid_and_nodev(other):
    data = b"nas:/a /mnt/a nfs rw 0 0\n"
    assert entries(edit(data, SAME, NewEntry(*other, "nfs", ("rw",))))[0].options == "rw,nosuid,nodev"


@pytest.mark.parametrize(
    ("data", "after"),
    [
        (b"# a\r\n/dev/sda1 / ext4 ro 0 1\r", b"# a\r\n/dev/sda1 / ext4 ro 0 1\r\n"),
        (b"# a\n/dev/sda1 / ext4 ro 0 1\r", b"# a\n/dev/sda1 / ext4 ro 0 1\r\n"),
        (b"nas:/b /mnt/b nfs ro\r\r", b"nas:/b /mnt/b nfs ro\r\r\n"),
        (b"\r", b"\r\n"),
    ],
)
def test_a_last_line_that_ends_in_a_carriage_return_gets_the_rest_of_its_end(data, after):
    added = edit(data, None, NEW)
    assert added.startswith(after)
    assert not added.endswith(b"\n")
    assert [e[1:] for e in entries(added)][:-1] == [e[1:] for e in entries(data)]
    assert edit(added, KEY, None) == after


def test_a_last_line_with_a_nul_byte_gets_no_end():
    """libmount reads the line up to the NUL byte, but ignores it once it has an end."""
    last = b"nas:/n /mnt/n nfs ro 0 0\0x"
    with pytest.raises(Refusal, match="NUL byte"):
        edit(b"# a\n" + last, None, NEW)
    data = b"# a\n" + last + b"\n"
    assert edit(data, None, NEW).startswith(data)
    before = b"nas:/a /mnt/a nfs ro 0 0\n"
    assert edit(before + last, SAME, None) == last


def test_a_carriage_return_of_an_option_is_no_line_end():
    data = b"nas:/a /mnt/a nfs ro\r\r\n"
    assert edit(data, SAME, NewEntry(*SAME, "nfs", ("rw",))) == b"nas:/a /mnt/a nfs rw\r\n"


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (b"nas:/a /mnt/a nfs", ("", 0, 0)),
        (b"nas:/a\t /mnt/a \tnfs ro", ("ro", 0, 0)),
        (b" \tnas:/a /mnt/a nfs ro 1", ("ro", 1, 0)),
        (b"nas:/a /mnt/a nfs ro 1 2", ("ro", 1, 2)),
        (b"nas:/a /mnt/a nfs ro +1 -2 # and more", ("ro", 1, -2)),
        (b"nas:/a /mnt/a nfs ro 0123456789 2147483647", ("ro", 123456789, 2147483647)),
        (b"nas:/a /mnt/a nfs r\\054o\\000x 0 0", ("r,o", 0, 0)),
        (b"nas:/a /mnt/a nfs ro 1x 0", None),
        (b"nas:/a /mnt/a nfs ro 1 x", None),
        (b"nas:/a /mnt/a nfs ro 12345678901 0", None),
        (b"nas:/a /mnt/a", None),
        (b"#nas:/a /mnt/a nfs ro 0 0", None),
        (b" \t# nas:/a /mnt/a nfs", None),
        (b"nas:/a /mnt/a n\0fs ro 0 0", None),
        (b"", None),
    ],
)
def test_an_entry_is_read_as_mount_reads_it(line, fields):
    found = entries(b"# head\n" + line + b"\n")
    expected = fields and [fstab_text.FstabEntry(2, "nas:/a", "/mnt/a", "nfs", *fields)]
    assert found == (expected or [])
    assert len(entries(b"nas:/b /mnt/b nfs\n" * 3)) == 3
    assert entries(b"\tXnas:/b /mnt/b nfs X\t")[0][1:5] == ("Xnas:/b", "/mnt/b", "nfs", "X")
    assert [entry.number for entry in entries(b"nas:/b /mnt/b nfs\n\nnas:/b /mnt/b nfs")] == [1, 3]


@pytest.mark.parametrize("span", ["0", "30", "999999", "1ms", "1s", "1sec", "1min", "1m", "1h"])
@pytest.mark.parametrize("key", ["x-systemd.idle-timeout", "x-systemd.mount-timeout"])
def test_a_time_is_written_as_systemd_reads_it(key, span):
    assert change_of("rw", f"{key}={span}") == f"{key}={span}"
    for wrong in (f"{span}x", f"x{span}", "1000000", "1d", "", "-1", "1 s", "s", f"{span};{span}"):
        with pytest.raises(Refusal, match="30s") as caught:
            change_of("rw", f"{key}={wrong}")
        assert caught.value.code == "option-invalid"


@pytest.mark.parametrize("word", ["_netdev", "nofail", "noauto", "auto", "bg", "x-systemd.automount"])
def test_every_word_of_fstab_alone_is_allowed(word):
    assert change_of("rw", word) == word
    for wrong in (f"{word}X", f"X{word}", f"{word}=1"):
        with pytest.raises(Refusal):
            change_of("rw", wrong)


def test_an_entry_has_4000_bytes():
    """The limit includes the end of the line; glibc's buffer is large enough for that."""
    room = 4000 - len(edit(b"", None, NEW._replace(share="nas:/")))
    share = "nas:/" + " " * (room // 4) + "x" * (room % 4)
    new = NEW._replace(share=share)
    data = edit(b"", None, new)
    assert len(data) == 4000
    key = (share, NEW.target)
    longer = NEW._replace(words=("_netdev", "nofail", "ro"))
    assert code(b"", None, NEW._replace(share=share + "x")) == "option-invalid"
    assert code(data, key, longer._replace(share=share)) == "option-invalid"
    assert edit(data, key, new._replace(words=("nofail", "_netdev"))).endswith(
        b"nofail,_netdev,nosuid,nodev\t0\t0\n"
    )


@pytest.mark.parametrize("there", [b"/mnt/a", b"/mnt/a/", b"/mnt/a//"])
@pytest.mark.parametrize("fstype", [b"nfs", b"ext4", b"cifs"])
def test_a_mount_point_is_declared_once(there, fstype):
    data = b"x " + there + b" " + fstype + b" ro 0 0\nnas:/c /mnt/c nfs\n"
    assert code(data, None, NEW._replace(target="/mnt/a")) == "mount-point-busy"
    assert code(data, ("nas:/c", "/mnt/c"), NEW._replace(target="/mnt/a")) == "mount-point-busy"
    edit(data, None, NEW._replace(target="/mnt/ab"))
    edit(data, ("nas:/c", "/mnt/c"), NEW._replace(target="/mnt/c"))


@pytest.mark.parametrize(
    ("line", "after"),
    [
        (b"nas:/a /mnt/a nfs", b"nas:/a /mnt/a nfs4 ro"),
        (b"\tnas:/a\t/mnt/a  nfs ", b"\tnas:/a\t/mnt/a  nfs4  ro"),
        (b"nas:/a /mnt/a nfs rw ", b"nas:/a /mnt/a nfs4 ro "),
        (b"nas:/a /mnt/a nfs rw 1", b"nas:/a /mnt/a nfs4 ro 1"),
        (b"nas:/a /mnt/a  nfs\trw", b"nas:/a /mnt/a  nfs4\tro"),
        (b" nas:/a /mnt/a nfs rw 1 2 # x \r", b" nas:/a /mnt/a nfs4 ro 1 2 # x \r"),
    ],
)
def test_a_changed_line_keeps_what_was_not_asked_for(line, after):
    for end in (b"", b"\n", b"\r\n"):
        changed = edit(b"# a\n" + line + end, SAME, NewEntry(*SAME, "nfs4", ("ro",)))
        assert changed == b"# a\n" + after + end


def test_words_are_divided_as_mount_divides_them():
    assert split('ro,context="a,b",,x="",hard') == ["ro", 'context="a,b"', 'x=""', "hard"]
    assert split("") == []
    assert split('a="b,c') == ['a="b,c']
    for words in (("hard", "hard"), ("hard", "soft"), ("ro", "", "ro"), ("nofail", "ro", "nofail")):
        with pytest.raises(Refusal, match="twice"):
            change_of("rw", *words)
    assert change_of("rw", "", "ro", "") == "ro"
    assert change_of("rw") == "defaults"
    for word in ("defaults", "user", "group"):
        assert code(b"", None, NEW._replace(words=(word,))) == "option-invalid"


@pytest.mark.parametrize("words", [("x-systemd.automount",), ("bg",)])
def test_either_of_bg_and_automount_may_be_the_new_one(words):
    other = {"bg": "x-systemd.automount", "x-systemd.automount": "bg"}[words[0]]
    with pytest.raises(Refusal, match="go together"):
        change_of(other, other, *words)


@pytest.mark.parametrize("fstype", ["nfs", "nfs4"])
def test_both_types_are_written(fstype):
    assert entries(edit(b"", None, NEW._replace(fstype=fstype)))[0].fstype == fstype


@pytest.mark.parametrize(
    "word", ["ro,suid", "a=b,suid", "fsc=a\x9b", "\u202ero", "x-systemd.mount-timeout=1,2", "nofail\n"]
)
def test_a_sign_that_cannot_be_written_is_refused(word):
    with pytest.raises(Refusal) as caught:
        change_of("rw", word)
    assert caught.value.code == "option-invalid"
    assert caught.value.message.isprintable()
    # Words of root's entry may stay.
    data = "nas:/a /mnt/a nfs rw,x-note=a\x9bb 0 0\n".encode()
    assert edit(data, SAME, NewEntry(*SAME, "nfs", ("ro", "x-note=a\x9bb"))) == data.replace(b"rw", b"ro")


def test_a_name_of_root_that_begins_with_a_number_sign_stays_an_entry():
    data = b"\\043nas:/a /mnt/a nfs rw 0 0\n"
    key = ("#nas:/a", "/mnt/a")
    assert edit(data, key, NewEntry(*key, "nfs", ("ro",))) == data.replace(b"rw", b"ro")


def test_the_first_line_s_end_is_that_of_a_new_one():
    assert edit(b"# a\r\n# b\n", None, NEW).endswith(b"\t0\r\n")
    assert edit(b"# a\n# b\r\n", None, NEW).endswith(b"\t0\n")
    assert edit(b"# a\r\n# b", None, NEW).startswith(b"# a\r\n# b\r\nnew")


BEFORE = b"# a\nnas:/a /mnt/a nfs ro 1 2\nnas:/b /mnt/b nfs ro 0 0\n"
FIELDS = ("nas:/a", "/mnt/a", "nfs", "rw")


@pytest.mark.parametrize(
    ("fields", "after"),
    [
        # A different entry, a missing entry, an additional one, another order, two lines.
        (FIELDS, BEFORE),
        (FIELDS, BEFORE.replace(b"ro 1 2", b"rw 0 2")),
        (FIELDS, BEFORE.replace(b"ro 1 2", b"rw 1 0")),
        (FIELDS, BEFORE.replace(b"ro 1 2", b"rw 1 2 ").replace(b"/b", b"/c")),
        (FIELDS, BEFORE.replace(b"ro 1 2", b"rw 1 2\n# more\n# and more")),
        (FIELDS, BEFORE.replace(b"ro 1 2", b"rw 1 2\nnas:/c /mnt/c nfs")),
        (FIELDS, b"# a\nnas:/b /mnt/b nfs ro 0 0\nnas:/a /mnt/a nfs rw 1 2\n"),
        (FIELDS, b"# a\nnas:/a /mnt/a nfs rw 1 2\n"),
        (FIELDS, b"# b\nnas:/a /mnt/a nfs rw 1 2\nnas:/b /mnt/b nfs ro 0 0\n"),
        (None, BEFORE),
        (None, b"# a\n"),
        (None, b"# b\nnas:/b /mnt/b nfs ro 0 0\n"),
    ],
)
def test_the_proof_finds_what_should_not_have_changed(fields, after):
    old = entries(BEFORE)[0]
    fstab_text._verify(BEFORE, BEFORE.replace(b"ro 1 2", b"rw 1 2"), old, FIELDS)
    fstab_text._verify(BEFORE, b"# a\nnas:/b /mnt/b nfs ro 0 0\n", old, None)
    with pytest.raises(Refusal) as caught:
        fstab_text._verify(BEFORE, after, old, fields)
    assert caught.value.code == "fstab-refused"


def test_the_proof_of_a_new_entry_wants_it_at_the_end():
    line = b"nas:/c /mnt/c nfs ro 0 0\n"
    fields = ("nas:/c", "/mnt/c", "nfs", "ro")
    fstab_text._verify(BEFORE, BEFORE + line, None, fields)
    for after in (line + BEFORE, BEFORE, BEFORE + line + line, BEFORE + line.replace(b"0 0", b"1 0")):
        with pytest.raises(Refusal):
            fstab_text._verify(BEFORE, after, None, fields)


def test_what_would_be_read_in_another_way_is_not_written(monkeypatch):
    """With a faulty writer that does not escape, the refusal names the line."""
    monkeypatch.setattr(fstab_text, "escaped", str.encode)
    with pytest.raises(Refusal, match="would be missing"):
        edit(b"# a\n", None, NEW)
    monkeypatch.setattr(fstab_text, "escaped", lambda text: text.replace(" ", "").encode())
    with pytest.raises(Refusal, match="line 3 of fstab"):
        edit(b"# a\nnas:/b /mnt/b nfs\n", None, NEW)


def test_the_line_that_was_written_is_told_without_its_end():
    done = apply(b"# a\r\n", EntryEdit(None, NEW), CATALOGUE)
    assert done.line == (
        "new.example.org:/export/some\\040where\t/mnt/new\\040one\tnfs4\t_netdev,nofail,nosuid,nodev\t0\t0"
    )
    assert done.data == b"# a\r\n" + done.line.encode() + b"\r\n"
    assert apply(done.data, EntryEdit(KEY, None), CATALOGUE) == (b"# a\r\n", "")
    noted = EntryEdit(SAME, NewEntry(*SAME, "nfs", ("ro",)))
    assert apply(b"nas:/a /mnt/a nfs rw 0 0 # X\r\n", noted, CATALOGUE).line == "nas:/a /mnt/a nfs ro 0 0 # X"


def test_bg_is_allowed_where_it_does_not_escape_systemd():
    assert change_of("rw", "bg") == "bg"
    assert change_of("bg,x-systemd.automount", "bg", "x-systemd.automount", "ro") == (
        "bg,x-systemd.automount,ro"
    )
    with pytest.raises(Refusal, match="automount") as caught:
        change_of("bg", "bg", "x-systemd.automount")
    assert caught.value.code == "option-invalid"


@pytest.mark.parametrize(
    "sign", ["\x1b", "\x7f", "\x9b", "\x85", "\u202e", "\u2066", "\u2028", "\u200b", "\u00a0", "\ud800"]
)
def test_what_is_not_printable_is_written_nowhere(sign):
    assert code(b"", None, NEW._replace(target=f"/mnt/a{sign}b")) == "mount-point-invalid"
    assert code(b"", None, NEW._replace(share=f"nas:/a{sign}b")) == "share-invalid"
    assert code(b"", None, NEW._replace(words=(f"x-systemd.mount-timeout=1{sign}",))) == "option-invalid"
    assert code(b"", None, NEW._replace(words=(f"fsc=a{sign}",))) == "option-invalid"


def test_what_root_named_may_stay_as_it_is():
    """A name that the program would not write itself does not prevent a change of the options."""
    data = "nas:/a\u00a0b /mnt/a\u00a0b/ nfs ro,x-note=a\u00a0b 0 0\n".encode()
    key = ("nas:/a\u00a0b", "/mnt/a\u00a0b/")
    kept = edit(data, key, NewEntry(*key, "nfs", ("hard", "x-note=a\u00a0b")))
    assert kept == data.replace(b"ro,x-note", b"hard,x-note")


def test_the_copy_of_before_differs_in_one_nfs_entry():
    rest = b"# a\n/dev/sda1 / ext4 ro 0 1\n"
    one, other = b"nas:/a /mnt/a nfs ro 0 0\n", b"nas:/a /mnt/a nfs rw 0 0\n"
    good = [(rest + one, rest), (rest, one + rest), (rest + one, rest + other), (rest, rest)]
    for now, then in [*good, (rest[:-1] + b"\n" + one[:-1], rest[:-1])]:
        fstab_text.check_copy(now, then)
    bad = [b"", rest.replace(b"ro", b"rw") + one, rest[:20], one + one + rest + one, b"# b\n" + rest + other]
    two = b"nas:/b /mnt/b nfs ro\nnas:/c /mnt/c nfs ro"
    with pytest.raises(Refusal):
        fstab_text.check_copy(two, two.replace(b"ro", b"rw"))
    for then in [*bad, rest + one.replace(b"nfs", b"ext4"), rest + one + b"# b\n# c\n"]:
        with pytest.raises(Refusal) as caught:
            fstab_text.check_copy(rest + one, then)
        assert caught.value.code == "fstab-refused"


PATHS = st.lists(
    st.text(
        st.characters(exclude_characters="/,:", exclude_categories=("C", "Z"), include_characters=" "),
        min_size=1,
        max_size=9,
    ),
    min_size=1,
    max_size=3,
).filter(lambda parts: not {".", ".."} & set(parts))


@settings(max_examples=100)
@given(PATHS, PATHS)
def test_any_path_is_written_so_that_it_is_read_back(export, target):
    # Below a name that is no system directory: the random names have included “/dev”.
    share, point = "nas:/" + "/".join(export), "/x" + "/".join(target)
    data = edit(b"# x\n", None, NewEntry(share, point, "nfs", ()))
    assert [(e.share, e.target) for e in entries(data)] == [(share, point)]
    assert edit(data, (share, point), None) == b"# x\n"


@pytest.mark.skipif(not Path("/usr/bin/findmnt").exists(), reason="needs util-linux")
def test_libmount_reads_what_is_written(tmp_path):
    keys = [("nas:/a b\\c", f"/mnt/{name}") for name in ("a b", "a\\b", "#a", "ä", "a#b", "a\\040b")]
    data = b""
    for share, target in keys:
        data = edit(data, None, NewEntry(share, target, "nfs", ()))
    path = tmp_path / "fstab"
    path.write_bytes(data)
    done = subprocess.run(["/usr/bin/findmnt", "--tab-file", path, "--json"], capture_output=True, check=True)
    rows = json.loads(done.stdout)["filesystems"]
    assert [(row["source"], row["target"]) for row in rows] == keys


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data):
    assert b"".join(fstab_text.lines(data)) == data
    entries(data)

"""Attacks on fstab and units: removal of options, undoing of others' changes, and manipulated bytes."""

import contextlib
import hashlib
import os
import subprocess

import pytest
from rig import ANN, NOBODY

EVIL = "evil.example:/x"
ALWAYS = {"nosuid", "nodev"}


def words_of(rig, target):
    """Return the option words of each fstab entry at this mount point."""
    lines = [line.split() for line in rig.read("/etc/fstab").splitlines()]
    return [set(fields[3].split(",")) for fields in lines if len(fields) > 3 and fields[1] == target]


def unit_words(rig):
    """Return the option words of each mount unit."""
    lines = [line for text in rig.units().values() for line in text.splitlines()]
    return [set(line[len("Options=") :].split(",")) for line in lines if line.startswith("Options=")]


@pytest.mark.parametrize("words", [("rw",), ("rw", "nosuid"), ("rw", "nodev"), ()])
def test_a_change_does_not_let_programs_of_the_server_raise_rights(rig, words):
    session = rig.session("persist").hello()
    session.add(EVIL, "/mnt/x", "rw")
    assert words_of(rig, "/mnt/x") == [{"rw", *ALWAYS}]
    steps = [
        ((EVIL, "/mnt/x"), EVIL, "/mnt/x"),
        ((EVIL, "/mnt/x"), EVIL, "/mnt/y"),
        ((EVIL, "/mnt/y"), EVIL, "/mnt/y"),
        ((EVIL, "/mnt/y"), "evil.example:/z", "/mnt/y"),
        (("evil.example:/z", "/mnt/y"), "evil.example:/z", "/mnt/y"),
    ]
    for old, share, target in steps:
        session.change(old, share, target, *words)
        found = [each for place in ("/mnt/x", "/mnt/y") for each in words_of(rig, place)]
        assert len(found) == 1
        assert all(each >= ALWAYS for each in found), rig.read("/etc/fstab")


def test_what_root_wrote_loses_neither_word(rig):
    """An entry of root keeps nosuid or nodev, even if it has only one of them."""
    session = rig.session("persist").hello()
    for written, kept in (("nosuid,nodev", ALWAYS), ("nosuid", {"nosuid"}), ("nodev", {"nodev"})):
        rig.write("/etc/fstab", f"prod:/d /mnt/d nfs ro,{written} 0 0\n")
        session.change(("prod:/d", "/mnt/d"), "prod:/d", "/mnt/d", "ro")
        session.change(("prod:/d", "/mnt/d"), "prod:/d", "/mnt/d", "rw")
        assert words_of(rig, "/mnt/d")[0] >= kept, rig.read("/etc/fstab")
        session.change(("prod:/d", "/mnt/d"), "evil.example:/d", "/mnt/d", "rw")
        (now,) = words_of(rig, "/mnt/d")
        assert now >= (ALWAYS if "evil.example" in rig.read("/etc/fstab") else kept)


def test_units_have_both_words_however_they_are_written(rig):
    session = rig.session("persist").hello()
    session.write_unit(EVIL, "/mnt/x", "rw", automount=False)
    for words in (("rw",), ("rw", "nosuid"), ("rw", "nodev"), ()):
        old = hashlib.sha256(b"").hexdigest()
        for sha256 in ("", old):
            session.write_unit(EVIL, "/mnt/x", *words, automount=False, sha256=sha256)
        found = unit_words(rig)
        assert len(found) == 1
        assert found[0] >= ALWAYS


def test_what_is_given_back_is_only_the_own_change(rig):
    """The administrator has changed fstab since the backup; a restore would undo that change."""
    rig.write("/etc/fstab", "UUID=old-disk / ext4 defaults 0 1\n")
    session = rig.session("persist").hello()
    backup = session.add(EVIL, "/mnt/x", "nofail")["backup"]
    changed = rig.read("/etc/fstab").replace("old-disk", "new-disk") + "tmpfs /scratch tmpfs defaults 0 0\n"
    rig.write("/etc/fstab", changed)
    for name in (backup, backup.replace("/fstab/", "/fstab/../fstab/"), f"{backup}+"):
        session.ask("restore", backup=name, sha256=rig.fstab_sha256())
        assert rig.read("/etc/fstab") == changed
    rig.session("persist").hello().ask("restore", backup=backup, sha256=rig.fstab_sha256())
    assert rig.read("/etc/fstab") == changed


def test_the_own_change_is_given_back(rig):
    """Counter-test: restore works, so the test above shows a refusal and not an error."""
    rig.write("/etc/fstab", "UUID=old-disk / ext4 defaults 0 1\n")
    before = rig.read("/etc/fstab")
    session = rig.session("persist").hello()
    backup = session.add(EVIL, "/mnt/x", "nofail")["backup"]
    session.ask("restore", backup=backup, sha256=rig.fstab_sha256())
    assert rig.read("/etc/fstab") == before


#: Program that locks all files that it can open below its arguments, and prints their number.
HOLD_LOCKS = """
import fcntl, json, os, sys
held = []
for top in sys.argv[1:]:
    places = [top]
    for folder, folders, files in os.walk(top):
        places += [os.path.join(folder, name) for name in folders + files]
    for place in places:
        try:
            fd = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held.append(fd)
        except OSError:
            pass
print(len(held), flush=True)
sys.stdin.read()
"""


def test_no_other_user_keeps_the_helper_from_writing(rig):
    # The first change creates the directories of the helper, so that they can be locked.
    first = rig.session("persist", uid=ANN).hello()
    first.add("nas:/x", "/mnt/x", "nofail")
    first.write_unit("nas:/x", "/mnt/u", "nofail")
    first.end()
    tops = [
        "/etc/systemd",
        "/etc/udev",
        "/var/lib/mountwright",
        "/run/mountwright",
        "/usr/libexec/mountwright",
    ]
    single = ["/", "/etc", "/etc/fstab", "/var/lib", "/run", "/run/lock", "/usr/libexec", "/var/lock"]
    holder = rig.start(
        "/usr/bin/python3", "-I", "-c", HOLD_LOCKS, *tops, uid=NOBODY,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    more = rig.start(
        "/usr/bin/python3", "-I", "-c", HOLD_LOCKS.replace("os.walk(top)", "()"), *single, uid=NOBODY,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with holder, more:
        assert int(holder.stdout.readline()) > 0
        assert int(more.stdout.readline()) > 3
        tune = rig.session("tune", uid=ANN).hello()
        tune.ask("readahead-save", target="/mnt/x", read_ahead_kb=1024, sha256="")
        assert len(rig.udev_rules()) == 1
        session = rig.session("persist", uid=ANN).hello()
        session.add("nas:/y", "/mnt/y", "nofail")
        assert words_of(rig, "/mnt/y")
        session.write_unit("nas:/y", "/mnt/v", "nofail")
        assert "mnt-v.mount" in rig.units()
        session.ask("remove", share="nas:/y", target="/mnt/y", sha256=rig.fstab_sha256())
        assert not words_of(rig, "/mnt/y")
        holder.stdin.close()
        more.stdin.close()


#: Characters that control a terminal, or mislead a reader of the file.
UNPRINTABLE = [
    "\x9b2J",
    "\x85",
    "\u202e",
    "\u2066",
    "\u200f",
    "\u2028",
    "\u2029",
    "\x1b[2J",
    "\x7f",
    "\ufeff",
]


@pytest.mark.parametrize("text", UNPRINTABLE, ids=[f"U+{ord(text[0]):04X}" for text in UNPRINTABLE])
def test_no_character_that_steers_a_terminal_is_written(rig, text):
    persist, session = rig.session("persist").hello(), rig.session("mount").hello()
    before = rig.read("/etc/fstab")
    for share, target, words in (
        (EVIL, f"/mnt/a{text}b", ("nofail",)),
        (f"evil.example:/a{text}b", "/mnt/x", ("nofail",)),
        (EVIL, "/mnt/x", ("nofail", f"a{text}b")),
        (EVIL, "/mnt/x", ("nofail", f"context=a{text}b")),
        (EVIL, "/mnt/x", (f"x-systemd.idle-timeout=5{text}s",)),
    ):
        persist.add(share, target, *words)
        persist.write_unit(share, target, *words)
        session.mount(share, target, *words)
        assert rig.read("/etc/fstab") == before
        assert rig.units() == {}
        assert all((mount.source, mount.point) == (EVIL, "/mnt/x") for mount in rig.mounts())
    rig.write("/etc/fstab", f"{EVIL} /mnt/x nfs nofail 0 0\n")
    before = rig.read("/etc/fstab")
    persist.change((EVIL, "/mnt/x"), EVIL, f"/mnt/a{text}b", "nofail")
    persist.change((EVIL, "/mnt/x"), EVIL, "/mnt/x", "nofail", f"a{text}b")
    assert rig.read("/etc/fstab") == before


#: Name of a locale, its character map, and a mount point that the locale would encode differently.
LOCALES = {
    "xx_XX.ISO-8859-1": ("ISO-8859-1", "/mnt/\u00e9"),
    "xx_XX.BIG5": ("BIG5", "/mnt/\u529fx"),
    "xx_XX.SHIFT_JIS": ("SHIFT_JIS", "/mnt/a\u00a5040b"),
}

#: Character classes (LC_CTYPE) of a locale for ASCII.
LOCALE = """comment_char %
escape_char /
LC_CTYPE
upper <U0041>..<U005A>
lower <U0061>..<U007A>
digit <U0030>..<U0039>
xdigit <U0030>..<U0039>;<U0041>..<U0046>;<U0061>..<U0066>
space <U0009>..<U000D>;<U0020>
blank <U0009>;<U0020>
cntrl <U0000>..<U001F>;<U007F>
punct <U0021>..<U002F>;<U003A>..<U0040>;<U005B>..<U0060>;<U007B>..<U007E>
END LC_CTYPE
"""


@pytest.mark.parametrize("name", LOCALES)
def test_the_caller_s_locale_does_not_choose_the_bytes(rig, name):
    charset, target = LOCALES[name]
    make_locale(rig, name, charset)
    session = rig.session("persist", env={"LC_ALL": name}).hello()
    session.add(EVIL, target, "nofail")
    written = rig.path("/etc/fstab").read_bytes()
    assert not written or written.split()[1] == target.encode(), written
    session.write_unit(EVIL, target, "nofail")
    for unit in rig.units().values():
        where = [line for line in unit.splitlines() if line.startswith("Where=")]
        assert where in ([], [f"Where={target}"])
    mount = rig.session("mount", env={"LC_ALL": name}).hello()
    mount.mount(EVIL, target)
    assert {os.fsencode(mounted.point) for mounted in rig.mounts()} <= {target.encode()}
    made = {os.fsencode(path.name) for path in rig.path("/mnt").iterdir()}
    assert made <= {target.encode().removeprefix(b"/mnt/")}


def make_locale(rig, name, charset):
    """Compile a locale with this character map into the directory where programs search for locales."""
    rig.run("mount", "-n", "-t", "tmpfs", "tmpfs", "/usr/lib/locale")
    rig.write("/tmp/charmap", charmap(charset))
    rig.write("/tmp/locale", LOCALE)
    language, _, codeset = name.partition(".")
    where = f"/usr/lib/locale/{language}.{codeset.replace('-', '').replace('_', '').lower()}"
    done = rig.run("localedef", "-c", "-f", "/tmp/charmap", "-i", "/tmp/locale", where, check=False)
    assert rig.path(f"{where}/LC_CTYPE").exists(), done.stderr


def charmap(charset):
    """Return a character map in the format of localedef(1)."""
    codes = {}
    for number in range(0x10000):
        with contextlib.suppress(UnicodeError):
            codes[number] = chr(number).encode(charset)
    lines = [
        f"<U{number:04X}> " + "".join(f"/x{byte:02x}" for byte in data) for number, data in codes.items()
    ]
    longest = max(map(len, codes.values()))
    head = [f"<code_set_name> {charset}", "<comment_char> %", "<escape_char> /", "<mb_cur_min> 1",
            f"<mb_cur_max> {longest}", "CHARMAP"]  # fmt: skip
    return "\n".join([*head, *lines, "END CHARMAP", ""])


#: What a user would like to be written, or handed to mount.nfs, without root: each starts or orders units,
#: prepares directories, sets labels, names programs, undoes nosuid, or is known to nobody yet.
WISHES = [
    "x-systemd.wanted-by=multi-user.target", "x-systemd.required-by=sysinit.target", "x-systemd.makefs",
    "x-systemd.requires=evil.service", "x-systemd.before=polkit.service", "x-systemd.after=evil.service",
    "X-SYSTEMD.requires=evil.service", "x-systemd.device-timeout=0", "x-initrd.mount", "X-mount.mode=4777",
    "x-mount.owner=nobody", "X-mount.subdir=a", "context=system_u:object_r:shadow_t:s0", "futureopt=7",
    'fscontext="system_u:object_r:etc_t:s0:c1,c2"', "helper=evil", "uhelper=evil", "source=prod:/d", "suid",
    "nosuid=0", "user", "users", "comment=systemd.requires=evil.service", "x-gvfs-name=a,suid",
    'comment="a,x-systemd.requires=evil.service"', 'comment="', 'x-gvfs-name="', "comment=a\\",
]  # fmt: skip


@pytest.mark.parametrize("wish", WISHES)
def test_words_of_root_s_are_written_for_no_user(rig, wish):
    """A reserved word is refused in a new entry, in addition to words of root, and for another share."""
    persist, mount = rig.session("persist").hello(), rig.session("mount").hello()
    persist.add(EVIL, "/mnt/x", "rw", wish)
    persist.write_unit(EVIL, "/mnt/y", "rw", wish, automount=False)
    answer = mount.mount(EVIL, "/mnt/z", "rw", wish)
    assert wish not in answer.get("command", [""])[-1].split(",")
    assert wish not in rig.read("/etc/fstab") + "".join(rig.units().values())
    before = "prod:/d /mnt/d nfs ro,nosuid,nodev,rootopt=1 0 0\n"
    rig.write("/etc/fstab", before)
    persist.change(("prod:/d", "/mnt/d"), "prod:/d", "/mnt/d", "ro", "rootopt=1", wish)
    persist.change(("prod:/d", "/mnt/d"), EVIL, "/mnt/d", "ro", wish)
    assert rig.read("/etc/fstab") == before


def test_what_root_wrote_for_one_share_goes_to_no_other(rig):
    words = ("ro", "futureopt=7", "context=a:b:c", "x-systemd.requires=a.service")
    line = f"prod:/d /mnt/d nfs {','.join(words)} 0 0\n"
    rig.write("/etc/fstab", line)
    persist = rig.session("persist").hello()
    for share, target in ((EVIL, "/mnt/d"), ("prod:/d", "/mnt/e"), ("prod:/other", "/mnt/d")):
        persist.change(("prod:/d", "/mnt/d"), share, target, *words)
        assert rig.read("/etc/fstab") == line
    persist.add("prod:/d", "/mnt/e", *words)
    assert rig.read("/etc/fstab") == line
    # Counter-test: in root's own entry the words may stay.
    persist.change(("prod:/d", "/mnt/d"), "prod:/d", "/mnt/d", *words, "hard")
    assert rig.read("/etc/fstab").split()[3].split(",")[: len(words)] == list(words)


def test_an_entry_of_a_user_s_frees_no_word(open_rig):
    """An entry outside the roots, written with an approval, permits no reserved word later."""
    rig = open_rig
    rig.write("/etc/fstab", "prod:/d /srv/d nfs ro,futureopt=7,context=a 0 0\n")
    session = rig.session("mount").hello()
    for share, target in ((EVIL, "/srv/x"), ("prod:/d", "/srv/x"), ("prod:/e", "/srv/d")):
        answer = session.mount(share, target, "ro", "futureopt=7")
        assert answer["code"] == "option-reserved"
    assert rig.mounts() == []
    assert "mount_id" in session.mount("prod:/d", "/srv/d", "ro", "futureopt=7")


def test_words_of_a_unit_go_to_no_other_share(rig):
    session = rig.session("persist").hello()
    session.write_unit("prod:/d", "/mnt/d", "hard", automount=False)
    text = rig.units()["mnt-d.mount"].replace("Options=", "Options=futureopt=7,suid,x-systemd.requires=a,")
    rig.write("/etc/systemd/system/mnt-d.mount", text)
    sha256 = hashlib.sha256(text.encode() + b"\0").hexdigest()
    for share, words in (
        (EVIL, ("futureopt=7",)),
        ("prod:/d", ("suid",)),
        ("prod:/d", ("x-systemd.requires=a",)),
        ("prod:/d", ("futureopt=8",)),
    ):
        session.write_unit(share, "/mnt/d", "hard", *words, automount=False, sha256=sha256)
        assert rig.units()["mnt-d.mount"] == text
    session.write_unit("prod:/d", "/mnt/d", "futureopt=7", automount=False, sha256=sha256)
    assert "Options=futureopt=7,nosuid,nodev\n" in rig.units()["mnt-d.mount"]

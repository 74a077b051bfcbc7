"""Text of systemd units: built from checked fields, and read equally by the dialect that parses them."""

import hashlib
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.dialects import systemd
from advisor.dialects.entry import MountSpec
from advisor.options import MountOptions
from advisor.systemd_syntax import unit_name
from app.helper import unit_text
from app.helper.errors import Refusal
from app.helper.options import load

CATALOGUE = load()


def build(share="nas:/a", target="/mnt/a", words=("nofail",), automount=False, idle_s=-1):
    return unit_text.build(unit_text.NewUnits(share, target, tuple(words), automount, idle_s), CATALOGUE)


CASES = [
    ("nas:/a", "/mnt/a", ["nofail", "_netdev"], -1),
    ("nas:/a", "/mnt/a", ["vers=4.2", "rsize=65536", "x-systemd.mount-timeout=30s"], -1),
    ("[fe80::1%eth0]:/exp ort", "/mnt/100% ä-b/.c", ["ro", "nofail"], -1),
    ("nas:/a", "/srv/by hand", ["noauto", "soft"], -1),
    ("nas:/a", "/mnt/a\\x2d", ["nofail"], -1),
    ("nas:/a", "/mnt/demand", ["nofail", "x-systemd.automount"], -1),
    ("nas:/a", "/mnt/demand", ["x-systemd.automount", "x-systemd.idle-timeout=600"], 600),
]


@pytest.mark.parametrize(("share", "target", "words", "idle_s"), CASES)
def test_the_dialect_writes_the_same(share, target, words, idle_s):
    automount = "x-systemd.automount" in words
    mine = [word for word in words if not word.startswith(("x-systemd.automount", "x-systemd.idle"))]
    units = build(share, target, mine, automount, idle_s)
    entry = MountSpec.make(share, target, MountOptions.parse(",".join([*words, "nosuid", "nodev"])))
    written = systemd.write_mount(entry)
    assert units.mount == f"{unit_text.MARKER}\n{written.text}"
    assert written.file_name == systemd.DIRECTORY + unit_text.name(target)
    assert all("belongs in the .automount unit" in note for note in written.untranslated)
    if automount:
        other = systemd.write_automount(entry)
        assert units.automount == f"{unit_text.MARKER}\n{other.text}"
        assert other.file_name == systemd.DIRECTORY + unit_text.name(target, "automount")
    else:
        assert units.automount == ""
    read = systemd.read(units.mount + units.automount)
    assert (str(read.entry.share), read.entry.mount_point) == (share, target)
    assert read.entry.when == ("on-demand" if automount else "by-hand" if "noauto" in words else "start-up")


def test_a_unit_is_written_to_the_letter():
    units = build("nas:/a%b", "/mnt/a", ["ro", "x-systemd.mount-timeout=30s", "nodev", ""])
    assert units == unit_text.UnitFiles(
        "# Made by Mountwright, which writes it anew at each change.\n"
        "[Unit]\nDescription=nas:/a%%b on /mnt/a\n\n"
        "[Mount]\nWhat=nas:/a%%b\nWhere=/mnt/a\nType=nfs\nOptions=ro,nodev,nosuid\nTimeoutSec=30s\n\n"
        "[Install]\nRequiredBy=remote-fs.target\n",
        "",
        ("remote-fs.target.requires/mnt-a.mount",),
    )
    assert build(words=["noauto", "nosuid"]).mount.endswith("Type=nfs\nOptions=nosuid,nodev\n")


def test_a_pair_is_written_to_the_letter():
    units = build(words=["noauto", "nofail"], automount=True, idle_s=0)
    assert units == unit_text.UnitFiles(
        "# Made by Mountwright, which writes it anew at each change.\n"
        "# Started by the .automount unit of the same name.\n"
        "[Unit]\nDescription=nas:/a on /mnt/a\n\n"
        "[Mount]\nWhat=nas:/a\nWhere=/mnt/a\nType=nfs\nOptions=nofail,nosuid,nodev\n",
        "# Made by Mountwright, which writes it anew at each change.\n"
        "# Goes with mnt-a.mount, which has the share and the options.\n"
        "[Unit]\nDescription=nas:/a on /mnt/a, on demand\n\n"
        "[Automount]\nWhere=/mnt/a\nTimeoutIdleSec=0\n\n[Install]\nWantedBy=remote-fs.target\n",
        ("remote-fs.target.wants/mnt-a.automount",),
    )
    assert "TimeoutIdleSec" not in build(automount=True, idle_s=-1).automount
    assert unit_text.NewUnits("nas:/a", "/mnt/a", (), automount=True).idle_s == -1


@pytest.mark.parametrize(
    ("idle_s", "fits"), [(-2, False), (-1, True), (0, True), (31 * 86400, True), (2678401, False)]
)
def test_the_time_without_use_has_limits(idle_s, fits):
    if fits:
        build(automount=True, idle_s=idle_s)
    else:
        with pytest.raises(Refusal) as caught:
            build(automount=True, idle_s=idle_s)
        assert caught.value.code == "option-invalid"
    if idle_s != -1:
        with pytest.raises(Refusal):
            build(idle_s=idle_s)


def test_a_name_has_255_signs():
    assert unit_text.name("/" + "a" * 249) == "a" * 249 + ".mount"
    assert len(unit_text.name("/" + "a" * 245, "automount")) == 255
    for path, suffix in (
        ("/" + "a" * 250, "mount"),
        ("/" + "a" * 246, "automount"),
        ("/" + "ä" * 32, "mount"),
    ):
        with pytest.raises(Refusal) as caught:
            unit_text.name(path, suffix)
        assert caught.value.code == "mount-point-invalid"
    assert unit_text.name("/") == "-.mount"
    assert unit_text.name("/.a/.b") == "\\x2ea-.b.mount"
    # Characters that are not escaped.
    plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_."
    assert unit_text.name("/" + plain) == plain + ".mount"
    for sign in map(chr, range(32, 256)):
        if sign not in plain + "/":
            escape = "".join(f"\\x{byte:02x}" for byte in sign.encode())
            assert unit_text.name(f"/a{sign}") == f"a{escape}.mount"


def test_every_file_and_link_of_a_mount_point_is_known():
    assert unit_text.unit_paths("/mnt/a") == (
        "mnt-a.mount",
        "mnt-a.automount",
        "remote-fs.target.wants/mnt-a.mount",
        "remote-fs.target.requires/mnt-a.mount",
        "remote-fs.target.wants/mnt-a.automount",
    )


def test_the_checksum_of_a_pair_tells_which_is_which():
    def sha256(data):
        return hashlib.sha256(data).hexdigest()

    assert unit_text.pair_sha256(None, None) == ""
    assert unit_text.pair_sha256(b"a", None) == sha256(b"a\0")
    assert unit_text.pair_sha256(None, b"a") == sha256(b"\0a")
    assert unit_text.pair_sha256(b"a", b"b") == sha256(b"a\0b")
    assert unit_text.pair_sha256(b"", b"") == sha256(b"\0")


def test_what_enables_them():
    assert build().links == ("remote-fs.target.wants/mnt-a.mount",)
    assert build(words=[]).links == ("remote-fs.target.requires/mnt-a.mount",)
    assert build(words=["noauto"]).links == ()
    assert build(automount=True).links == ("remote-fs.target.wants/mnt-a.automount",)


@pytest.mark.skipif(shutil.which("systemd-escape") is None, reason="systemd-escape is not installed")
@pytest.mark.parametrize("path", ["/mnt/a", "/mnt/a-b c/.d", "/.hidden/ü", "/mnt/a\\b%", "/srv/x:y_z.1"])
def test_names_are_systemd_s(path):
    done = subprocess.run(
        ["systemd-escape", "--path", "--suffix=mount", path], capture_output=True, text=True, check=True
    )
    assert unit_text.name(path) == done.stdout.strip()


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=10))
def test_a_name_is_one_safe_word_and_the_dialect_s(text):
    path = "/mnt/x" + text.replace("/", "")
    name = unit_text.name(path)
    assert name == unit_name(path)
    assert name.isascii()
    assert "/" not in name
    assert name.isprintable()
    assert " " not in name


@pytest.mark.parametrize(
    "changes",
    [
        {"share": "nas"},
        {"share": "nas:/x\nExecStart=/bin/sh"},
        {"share": "nas:/x\\"},
        {"share": "nas:/x "},
        {"target": "/mnt/x\n[Service]"},
        {"target": "/mnt/x\r"},
        {"target": "/mnt/x\\"},
        {"target": "/mnt/x "},
        {"target": "mnt"},
        {"target": "/mnt/../etc"},
        {"target": "/"},
        {"target": "/etc/x"},
        {"target": "/usr"},
        {"target": "/mnt/" + "ä" * 60},
        {"words": ["suid"]},
        {"words": ["ro\nExecStart=x"]},
        {"words": ["ro,suid"]},
        {"words": ["bg"]},
        {"words": ["auto"]},
        {"words": ["defaults"]},
        {"words": ["x-systemd.automount"]},
        {"words": ["x-systemd.idle-timeout=5"]},
        {"words": ["x-systemd.mount-timeout=5\n"]},
        {"words": ["x-systemd.mount-timeout=%n"]},
        {"words": ["x-systemd.requires=evil.service"]},
        {"words": ["user"]},
        {"words": ["nofail", "nofail"]},
        {"idle_s": 60},
        {"idle_s": -2, "automount": True},
        {"idle_s": 10**9, "automount": True},
    ],
)
def test_everything_else_is_refused(changes):
    with pytest.raises(Refusal) as caught:
        build(**changes)
    assert caught.value.code in {
        "share-invalid",
        "mount-point-invalid",
        "mount-point-system",
        "option-invalid",
        "option-reserved",
    }


@pytest.mark.parametrize("word", ["futureopt=7", "context=a", "x-mount.mkdir"])
def test_words_of_root_s_are_in_units_that_root_asks_for(word):
    wanted = unit_text.NewUnits("nas:/a", "/mnt/a", ("ro", word), automount=False)
    with pytest.raises(Refusal) as caught:
        unit_text.build(wanted, CATALOGUE, ["ro"])
    assert caught.value.code == "option-reserved"
    units = unit_text.build(wanted, CATALOGUE, [word])
    assert f"Options=ro,{word},nosuid,nodev\n" in units.mount
    assert unit_text.read(units.mount) == ("nas:/a", ["ro", word, "nosuid", "nodev"])


@pytest.mark.parametrize(
    "word", ["suid", "dev", "user", "helper=x", "x-systemd.requires=a", "x-systemd.makefs"]
)
def test_no_word_is_in_units_that_nobody_writes(word):
    with pytest.raises(Refusal) as caught:
        unit_text.build(unit_text.NewUnits("nas:/a", "/mnt/a", (word,), automount=False), CATALOGUE, [word])
    assert caught.value.code == "option-invalid"


def test_what_others_wrote_has_no_words_that_may_stay():
    text = build(words=["hard"]).mount
    assert unit_text.read(text) == ("nas:/a", ["hard", "nosuid", "nodev"])
    assert unit_text.read(text.partition("\n")[2]) == ("", [])
    assert unit_text.read("") == ("", [])


@given(st.text(max_size=20), st.text(max_size=20), st.lists(st.text(max_size=12), max_size=3), st.booleans())
def test_no_line_comes_from_outside(share, target, words, automount):
    try:
        units = build("nas:/" + share, "/mnt/" + target, words, automount)
    except Refusal:
        return
    keys = {"Description", "What", "Where", "Type", "Options", "TimeoutSec", "WantedBy", "RequiredBy"}
    for line in (units.mount + units.automount).split("\n"):
        assert line == "" or line[0] in "#[" or line.partition("=")[0] in keys

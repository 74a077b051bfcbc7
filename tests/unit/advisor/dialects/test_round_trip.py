"""Linux dialects: written entries are read back unchanged, for any share and path."""

import shutil
import subprocess

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from advisor.dialects import (
    DIALECTS,
    DialectError,
    MountSpec,
    UnreadableMountError,
    autofs,
    linux,
    read_any,
    systemd,
)
from advisor.dialects.bsd_read import is_bsd, is_nextstep
from advisor.options import MountOptions
from advisor.systemd_syntax import UnitNameError, unit_name

# All characters that are valid in a path and a share, without control characters.
TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=12)
PART = TEXT.map(lambda text: text.replace("/", "x")).filter(lambda text: text not in {".", ".."})
PATHS = st.lists(PART, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
HOSTS = st.sampled_from(["nas01", "10.9.0.1", "[2001:db8::7]", "[fe80::1%eth0]", "nas.example.org", "büro"])
ITEMS = st.sampled_from([
    "ro", "rw", "vers=4.2", "nfsvers=3", "rsize=32768", "timeo=600", "soft", "hard", "noac", "proto=tcp",
    'context="system_u:object_r:nfs_t:s0:c1,c2"', "bg", "sec=krb5p", "made_up=1%2", "nofail", "_netdev",
    "x-my.tool", "noatime", "nconnect=4", "clientaddr=10.0.0.9", "comment=a b",
])  # fmt: skip
OPTIONS = st.lists(ITEMS, max_size=6).map(lambda items: MountOptions.parse(",".join(items)))
WORDS = st.lists(
    st.sampled_from([
        "x-systemd.idle-timeout=10min", "x-systemd.requires=wg0.service", "x-systemd.mount-timeout=30s",
        "x-systemd.after=b.service",
    ]), max_size=3, unique=True,
)  # fmt: skip


@st.composite
def entries(draw: st.DrawFn) -> MountSpec:
    return MountSpec.make(draw(HOSTS) + ":" + draw(PATHS), draw(PATHS), draw(OPTIONS))


AWKWARD = MountSpec.make("[2001:db8::7]:/päth with  50% #1", '/mnt/it\'s "here" \\040%h', 'context="a,b",ro')


@given(entries())
@example(AWKWARD)
@settings(max_examples=60, deadline=None)
def test_command(entry: MountSpec) -> None:
    reading = linux.read_command(linux.write_command(entry).text)
    assert reading.entry == entry
    assert reading.untranslated == []


@given(entries())
@example(AWKWARD)
@settings(max_examples=60, deadline=None)
def test_fstab(entry: MountSpec) -> None:
    reading = linux.read_fstab(linux.write_fstab(entry).text)
    assert reading.entry == entry
    assert reading.untranslated == []


@given(entries(), WORDS, st.sampled_from(["start-up", "on-demand", "by-hand"]))
@example(AWKWARD, [], "by-hand")
@settings(max_examples=80, deadline=None)
def test_systemd(entry: MountSpec, words: list[str], when: str) -> None:
    plain = [item for item in entry.options if not item.startswith("comment=")]
    wanted = MountSpec(entry.share, entry.mount_point, MountOptions([*plain, *words])).with_mount_time(when)  # type: ignore[arg-type]
    try:
        mount = systemd.write_mount(wanted)
        automount = systemd.write_automount(wanted) if when == "on-demand" else None
    except DialectError:
        assume(False)  # the unit name would be too long
        raise
    assume(not [problem for problem in mount.problems if "bg" not in problem])
    reading = systemd.read(mount.text + "\n" + (automount.text if automount else ""))
    assert reading.entry.share == wanted.share
    assert reading.entry.mount_point == wanted.mount_point
    assert reading.entry.when == when
    assert list(reading.entry.options)[: len(plain)] == plain
    lost = {"auto"} if when != "by-hand" else set()
    expected = {name: value for name, value in wanted.options.values().items() if name not in lost}
    assert reading.entry.options.values() == expected
    assert reading.untranslated == []


@given(entries())
@example(MountSpec.make("nas01:/ends in a blank ", "/0"))
@example(MountSpec.make("nas01:/ends in a backslash\\", "/0"))
@example(MountSpec.make("nas01:/0", "/-"))
@settings(max_examples=60, deadline=None)
def test_autofs(entry: MountSpec) -> None:
    wanted = entry.with_mount_time("on-demand")
    written = autofs.write(wanted)
    assume(not [problem for problem in written.problems if "bg" not in problem])
    reading = autofs.read(written.text)
    assert (reading.entry.share, reading.entry.mount_point) == (wanted.share, wanted.mount_point)
    told = {item for item in wanted.options if f"“{item}” means nothing to autofs." in written.untranslated}
    kept = [item for item in wanted.options if item not in told | {"nofail", "_netdev"}]
    assert list(reading.entry.options) == kept


@given(entries(), st.sampled_from(["command", "fstab"]))
@example(AWKWARD, "fstab")
@settings(max_examples=40, deadline=None)
def test_read_any_recognises_them(entry: MountSpec, name: str) -> None:
    assert not is_bsd(entry.options)
    assert not is_nextstep(entry.options)
    assert read_any(DIALECTS[name].write(entry).text).entry == entry


#: Dialects with limited unit names, or with files without escapes.
CANNOT_HOLD_EVERY_PATH = {
    "systemd-mount", "systemd-automount", "nfsmount.conf", "openbsd-fstab", "nextstep", "macos-autofs",
}  # fmt: skip


@given(entries())
@example(AWKWARD)
@settings(max_examples=60, deadline=None)
def test_every_dialect_writes_every_entry(entry: MountSpec) -> None:
    for dialect in DIALECTS.values():
        try:
            written = dialect.write(entry)
        except DialectError:
            assert dialect.name in CANNOT_HOLD_EVERY_PATH
            continue
        assert written.text.endswith("\n")
        assert all(note.strip() for note in [*written.untranslated, *written.problems])


@given(st.text(max_size=80))
@settings(max_examples=150, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_any(text)
    except UnreadableMountError as error:
        refused = error
    else:
        return
    assert str(refused)
    assert refused.tried


NAMES = {
    "/": "-",
    "/home": "home",
    "/mnt/with space": "mnt-with\\x20space",
    "/mnt/a-b": "mnt-a\\x2db",
    "/.hidden/x": "\\x2ehidden-x",
    "/mnt//twice/": "mnt-twice",
    "/größe": "gr\\xc3\\xb6\\xc3\\x9fe",
    "/mnt/100%": "mnt-100\\x25",
    "/a/b:c_d.e": "a-b:c_d.e",
    "/back\\slash": "back\\x5cslash",
}


@pytest.mark.parametrize("path", NAMES)
def test_unit_names(path: str) -> None:
    assert unit_name(path) == NAMES[path] + ".mount"


@pytest.mark.skipif(not shutil.which("systemd-escape"), reason="systemd-escape is not installed")
@given(st.lists(PATHS.filter(lambda path: len(path.encode()) < 60), min_size=10, max_size=10))
@example(list(NAMES))
@settings(max_examples=5, deadline=None)
def test_unit_names_are_those_of_systemd(paths: list[str]) -> None:
    # One call gets many paths, all short enough for a unit name.
    command = ["systemd-escape", "--path", "--suffix=mount", "--", *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0].split(" ") == [unit_name(path) for path in paths]


def test_unit_name_refuses_parents() -> None:
    with pytest.raises(UnitNameError, match=r"“\.\.”"):
        unit_name("/mnt/../etc")


def test_unit_name_refuses_long_names() -> None:
    with pytest.raises(UnitNameError, match="too long"):
        unit_name("/" + "é" * 200)


@pytest.mark.parametrize("share", ["192.168.122.76:s_test", "nas01:", "[2001:db8::7]:a/b"])
def test_a_share_without_a_slash_stays_as_it_is_written(share: str) -> None:
    entry = MountSpec.make(share, "/m", "ro")
    for name in ("command", "fstab", "openbsd", "freebsd", "macos"):
        text = DIALECTS[name].write(entry).text
        assert share in text
        assert str(read_any(text).entry.share) == share
    unit = DIALECTS["systemd-mount"].write(entry).text
    assert f"What={share}\n" in unit
    kubernetes = DIALECTS["kubernetes"].write(entry)
    assert f"path: /{entry.share.export}\n" in kubernetes.text
    assert any("absolute" in problem for problem in kubernetes.problems)

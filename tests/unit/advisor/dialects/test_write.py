"""Golden files: the text of three entries in every dialect, with untranslated options and problems.

To rewrite the files after an intended change: ``MOUNTWRIGHT_GOLDEN=write pytest`` on this file.
"""

import os
import re
from pathlib import Path

import pytest

from advisor.dialects import DIALECTS, Dialect, DialectError, DialectText, MountSpec
from advisor.dialects.orchestration import yaml_scalar

GOLDEN = Path(__file__).parents[3] / "data" / "dialects"
ENTRIES = {
    "tuned": MountSpec.make(
        "nas01:/export/home",
        "/home",
        "_netdev,nofail,vers=4.2,rsize=1048576,wsize=1048576,nconnect=4,timeo=600,retrans=2,hard,noatime",
    ),
    "old": MountSpec.make(
        "10.0.0.7:/scratch",
        "/scratch",
        "ro,bg,retry=3,vers=3,udp,rsize=65536,wsize=1000,timeo=3,softerr,nolock,noac,nosuid,nodev,noresvport",
    ),
    "awkward": MountSpec.make(
        "[2001:db8::7]:/größe 50%/#1",
        "/mnt/{{ it's }}",
        'x-systemd.automount,x-systemd.idle-timeout=10min,x-systemd.requires=wg0.service,context="a:b,c"',
    ),
}


def as_text(written: DialectText) -> str:
    parts = [f"file: {written.file_name}", written.text.rstrip("\n")]
    parts += [f"untranslated: {note}" for note in written.untranslated]
    parts += [f"problem: {note}" for note in written.problems]
    return "\n".join(parts) + "\n"


def as_text_of(dialect: Dialect, entry: MountSpec) -> str:
    try:
        return as_text(dialect.write(entry))
    except DialectError as error:
        return f"refused: {error}\n"


@pytest.mark.parametrize("entry", ENTRIES)
def test_golden(entry: str) -> None:
    text = "\n".join(
        f"== {name}\n{as_text_of(dialect, ENTRIES[entry])}" for name, dialect in DIALECTS.items()
    )
    path = GOLDEN / f"{entry}.txt"
    if os.environ.get("MOUNTWRIGHT_GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


def write(dialect: str, options: str) -> DialectText:
    return DIALECTS[dialect].write(MountSpec.make("nas:/x", "/m", options))


@pytest.mark.parametrize(("options", "flags"), [
    ("rsize=65536", "-r 65536"),
    ("rsize=65537", "-r 65536"),
    ("rsize=1048576,proto=tcp", "-r 65536"),
    ("udp,rsize=32768", "-r 32768"),
    ("udp,rsize=65536", "-r 32768"),
    ("wsize=1000", "-w 512"),
    ("timeo=3", "-t 10"),
    ("timeo=600", "-t 600"),
    ("timeo=900", "-t 600"),
])  # fmt: skip
def test_openbsd_limits(options: str, flags: str) -> None:
    written = write("openbsd", f"nolock,{options}")  # other lock options are reported
    assert flags in written.text
    asked = options.rpartition("=")[2]
    assert bool(written.problems) == (asked not in flags)


@pytest.mark.parametrize(("size", "limited"), [(8192, False), (8193, True), (32768, True), (1024, False)])
def test_nextstep_limit(size: int, limited: bool) -> None:
    written = write("nextstep", f"rsize={size},wsize={size}")
    kept = min(size, 8192)
    assert f"rsize={kept},wsize={kept}" in written.text
    assert any("at most 8192" in problem for problem in written.problems) == limited


def test_nextstep_counts_tries() -> None:
    assert "mnttimeo=20,retry=6" in write("nextstep", "bg,retry=2").text


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("item", ["nconnect=4", "lookupcache=none", "made_up=1", "x-systemd.automount"])
def test_nothing_is_dropped_in_silence(dialect: str, item: str) -> None:
    written = write(dialect, item)
    said = written.text + "".join(written.untranslated + written.problems)
    key = item.partition("=")[0]
    if dialect == "systemd-automount":
        assert "[Automount]" in said  # the .mount unit has the options
    elif item == "x-systemd.automount" and dialect in {"autofs", "macos-autofs", "systemd-mount"}:
        assert "automount" in said or "/- " in said
    else:
        assert key in said


def test_on_demand_units() -> None:
    assert "[Install]" not in write("systemd-mount", "x-systemd.automount").text
    assert "[Install]" not in write("systemd-mount", "noauto").text
    assert "RequiredBy=remote-fs.target" in write("systemd-mount", "").text
    assert "WantedBy=remote-fs.target" in write("systemd-mount", "nofail").text
    automount = write("systemd-automount", "x-systemd.automount,x-systemd.idle-timeout=5min")
    assert "TimeoutIdleSec=5min" in automount.text
    assert automount.file_name == "/etc/systemd/system/m.automount"


def test_percent_is_no_specifier() -> None:
    unit = DIALECTS["systemd-mount"].write(MountSpec.make("nas:/100%", "/m%h", "made_up=%n"))
    assert "What=nas:/100%%" in unit.text
    assert "Where=/m%%h" in unit.text
    assert "Options=made_up=%%n" in unit.text


def test_ansible_texts_are_no_templates() -> None:
    text = DIALECTS["ansible"].write(MountSpec.make("nas:/{{ x }}", "/m")).text
    assert 'src: !unsafe "nas:/{{ x }}"' in text


@pytest.mark.parametrize(("text", "quoted"), [
    ("/export/home", "/export/home"), ("vers=4.2", "vers=4.2"), ("yes", '"yes"'), ("No", '"No"'),
    ("4.2", '"4.2"'), ("", '""'), ("nas:/x", '"nas:/x"'), ("~", '"~"'), ("a b", '"a b"'), ("ü", '"ü"'),
    ('say "x"\\', '"say \\"x\\"\\\\"'), ("- x", '"- x"'), ("a #b", '"a #b"'), ("\x07", '"\\x07"'),
    ("\u2028", '"\\u2028"'), ("null", '"null"'), ("1e3", '"1e3"'), ("{{x", '"{{x"'),
])  # fmt: skip
def test_yaml_scalars(text: str, quoted: str) -> None:
    assert yaml_scalar(text) == quoted


#: Allowed YAML subset: keys, plain or double-quoted values, dashes, indentation by two spaces.
YAML_LINE = re.compile(
    r'( {2})*(- )?([a-zA-Z.]+:( (!unsafe )?([A-Za-z0-9/][\w./=-]*|"([^"\\]|\\.)*"))?'
    r'|(!unsafe )?([A-Za-z/][\w./=-]*|"([^"\\]|\\.)*"))'
)


@pytest.mark.parametrize("dialect", ["ansible", "kubernetes"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_yaml_lines(dialect: str, entry: str) -> None:
    for line in DIALECTS[dialect].write(ENTRIES[entry]).text.splitlines():
        assert YAML_LINE.fullmatch(line), line

"""Translation between dialects: every option that cannot be expressed is reported.

The expected meanings of other systems' options come from their manuals, independent of the program's tables.
"""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from advisor.dialects import DIALECTS, DialectError, DialectText, MountSpec, ParseResult, read_any
from advisor.nfsmount_conf import parse_conf as read_conf
from advisor.options import ATTRIBUTE_TIMES, NO, YES, MountOptions, catalogue, implied_values

LINUX = ("command", "fstab", "ansible", "systemd-mount", "autofs", "kubernetes")
OTHERS = ("openbsd", "openbsd-fstab", "freebsd", "freebsd-fstab", "macos", "macos-autofs", "nextstep")

VALUES = {
    "size": ["8192", "65536", "1048576"], "decisec": ["20", "600"], "sec": ["3", "60"], "uint": ["2", "3"],
    "minutes": ["2"], "port": ["2050"], "version": ["3", "4", "4.1", "4.2"], "seclist": ["sys", "krb5p"],
    "addr": ["10.9.0.9"], "string": ["wg0.service"],
}  # fmt: skip


def items_of_catalogue() -> list[str]:
    """Return all items of the catalogue's options: all words, and every value after an equals sign."""
    items: list[str] = []
    for option in catalogue():
        items += option.all_words()
        samples = list(option.values) or VALUES.get(option.kind, [])
        items += [form + value for form in option.forms if form.endswith("=") for value in samples]
    return items


#: Options that imply values of other options.
IMPLY = {
    **dict.fromkeys(ATTRIBUTE_TIMES, ("ac", "actimeo")), "sync": ("ac",), "softreval": ("hard",),
    "local_lock": ("lock",),
}  # fmt: skip
#: Defaults of each system: mount_nfs(8) of OpenBSD 7, FreeBSD 13 and macOS 13.
_ALL_BSD = {
    "suid": {YES}, "dev": {YES}, "noexec": {NO}, "sync": {"async"}, "cto": {YES}, "sharecache": {YES},
    "lookupcache": {"all"}, "xprtsec": {"none"}, "ac": {YES}, "intr": {NO}, "hard": {"hard"}, "bg": {"fg"},
    "atime": {"relatime", "norelatime", "atime", "strictatime"}, "defaults": {YES}, "mountproto": {"tcp"},
    "rdirplus": {"none"},
}  # fmt: skip
DEFAULTS: dict[str, dict[str, set[str]]] = {
    "openbsd": _ALL_BSD | {
        "resvport": {YES}, "sec": {"sys"}, "auto": {YES}, "proto": {"udp"},
        # nfs_advlock() makes every lock local.
        "lock": {NO}, "local_lock": {"all"},
    },
    "freebsd": _ALL_BSD | {
        "dev": {YES, NO}, "lock": {YES}, "local_lock": {"none"}, "resvport": {YES}, "auto": {YES},
        "nofail": {NO}, "_netdev": {YES},
    },
    "macos": _ALL_BSD | {"lock": {YES}, "local_lock": {"none"}},
    "fstab": {"defaults": {YES}},
    # A map mounts on demand, so options for boot have no effect.
    "macos-autofs": {"auto": {YES, NO}, "nofail": {YES, NO}, "_netdev": {YES}, "x-systemd.automount": {YES}},
    "nextstep": {"auto": {YES}, "_netdev": {YES}, "defaults": {YES}, "proto": {"udp"}, "bg": {"fg"},
                 "ac": {YES}},
    "autofs": {"auto": {YES, NO}, "nofail": {YES, NO}, "_netdev": {YES}, "x-systemd.automount": {YES},
               "defaults": {YES}},
    "kubernetes": {"ro": {"rw"}},
    # The unit expresses it by WantedBy=, or by a missing [Install] section.
    "systemd-mount": {"auto": {YES, NO}, "defaults": {YES}, "x-systemd.automount": {YES}},
}  # fmt: skip


def defaults_of(dialect: str) -> dict[str, set[str]]:
    return DEFAULTS.get(dialect.partition("-")[0], {}) | DEFAULTS.get(dialect, {})


def said_in(notes: list[str], options: MountOptions, name: str) -> bool:
    """Whether a note contains the option's canonical name or its item as written."""
    written = [item for item in options if item and catalogue().read_item(item)[1] == name]
    return any(word in note for note in notes for word in (name, *written))


def means(options: MountOptions) -> dict[str, str]:
    """Return the values in force, with noac replaced by the values that it implies.

    x-systemd.requires and x-systemd.wants imply x-systemd.after for the same unit (systemd.mount(5)).
    """
    values = implied_values(options)
    if values.get("x-systemd.after") in {values.get("x-systemd.requires"), values.get("x-systemd.wants")}:
        values.pop("x-systemd.after", None)
    if values.get("ac") == NO:
        values.pop("ac")
    if values.get("lock") == NO:
        values.pop("lock")
        values["local_lock"] = "all"
    if values.get("rdirplus") == "force":
        values["rdirplus"] = "heuristic"  # rdirplus without a value means “always” on these systems
    return values


def lost(dialect: str, options: MountOptions, written: DialectText, again: ParseResult | None) -> list[str]:
    """Return the options that are neither translated, nor a default of the target, nor reported."""
    notes = [*written.untranslated, *written.problems, *(again.untranslated if again else [])]
    wanted = means(options)
    kept = means(again.entry.options) if again else {}
    defaults = defaults_of(dialect)
    return [
        f"{name}={value}"
        for name, value in wanted.items()
        if kept.get(name) != value
        and value not in defaults.get(name, set())
        and not said_in(notes, options, name)
        # Implied values are reported under the option that implies them.
        and (name in options.values() or not any(said_in(notes, options, n) for n in IMPLY.get(name, ())))
    ]  # fmt: skip


ITEMS = items_of_catalogue()
LISTS = st.lists(st.sampled_from([*ITEMS, "made_up=1", "x-my.tool"]), max_size=5).map(MountOptions)


def entry_of(options: MountOptions) -> MountSpec:
    return MountSpec.make("nas:/x", "/m", options)


def lost_in(dialect: str, options: MountOptions) -> list[str]:
    written = DIALECTS[dialect].write(entry_of(options))
    again = read_any(written.text) if dialect not in {"ansible", "kubernetes"} else None
    if again is None:
        notes = [*written.untranslated, *written.problems]
        defaults = defaults_of(dialect)
        # The last item of an option is in force; earlier items stay in the text.
        return [
            item
            for item in options
            if item not in written.text
            and not said_in(notes, MountOptions([item]), catalogue().read_item(item)[1])
            and catalogue().read_item(item)[2] not in defaults.get(catalogue().read_item(item)[1], set())
            and not (item == "ro" and "readOnly: true" in written.text)
        ]
    return lost(dialect, options, written, again)


@pytest.mark.parametrize("dialect", [*LINUX, *OTHERS])
def test_every_option_alone(dialect: str) -> None:
    assert {item: missing for item in ITEMS if (missing := lost_in(dialect, MountOptions([item])))} == {}


@pytest.mark.parametrize("dialect", [*LINUX, *OTHERS])
@given(options=LISTS)
@example(options=MountOptions.parse("actimeo=60,acregmin=3"))
@example(options=MountOptions.parse("acregmin=3,noac"))
@example(options=MountOptions.parse("vers=4,minorversion=1"))
@example(options=MountOptions.parse("noauto,x-systemd.wanted-by=wg0.service"))
@example(options=MountOptions.parse("x-systemd.automount,x-systemd.wanted-by=wg0.service"))
@settings(max_examples=150, deadline=None)
def test_several_options(dialect: str, options: MountOptions) -> None:
    assert lost_in(dialect, options) == []


@pytest.mark.parametrize("item", [item for item in ITEMS if '"' not in item])
def test_the_file_of_mount_nfs(item: str) -> None:
    written = DIALECTS["nfsmount.conf"].write(entry_of(MountOptions([item])))
    name = catalogue().read_item(item)[1]
    back = {catalogue().read_item(setting.item)[1:] for setting in read_conf(written.text, "x")}
    assert catalogue().read_item(item)[1:] in back or said_in(
        written.untranslated, MountOptions([item]), name
    )


def test_the_idle_time_of_a_unit_is_in_the_other_unit_and_that_is_said() -> None:
    options = MountOptions.parse("x-systemd.automount,x-systemd.idle-timeout=10min")
    written = DIALECTS["systemd-mount"].write(entry_of(options))
    assert any("x-systemd.idle-timeout" in note and ".automount" in note for note in written.untranslated)


#: Options of the BSDs and macOS to Linux options; "" where a note must report the option.
BSD_WORDS = {
    "nfsv3": "vers=3", "nfsv2": "", "vers=2": "", "nfsv4": "vers=4.0", "tcp": "proto=tcp", "udp": "proto=udp",
    "soft": "soft", "hard": "hard", "intr": "intr", "rdirplus": "rdirplus", "nordirplus": "nordirplus",
    "resvport": "resvport", "noresvport": "noresvport", "nolockd": "nolock", "locallocks": "local_lock=all",
    "nolocks": "nolock", "nolock": "nolock", "nonlm": "nolock", "lock": "lock", "lockd": "lock",
    "nlm": "lock", "locks": "lock", "rsize=32768": "rsize=32768", "wsize=32768": "wsize=32768",
    "rwsize=32768": "rsize=32768", "timeout=20": "timeo=20", "timeo=20": "timeo=20", "retrans=4": "retrans=4",
    "readahead=4": "", "readdirsize=8192": "", "dsize=8192": "", "maxgroups=8": "", "deadthresh=9": "",
    "deadtimeout=60": "", "wcommitsize=65536": "", "noncontigwr": "", "oneopenown": "", "mutejukebox": "",
    "nobrowse": "", "nonegnamecache": "", "negnametimeo=5": "", "nocallback": "", "nonamedattr": "",
    "noquota": "", "realm=EXAMPLE": "", "principal=x": "", "sprincipal=x": "", "tlscertname=x": "",
    "syskrb5": "", "allgssname": "", "gssname=host": "", "pnfs": "", "inet6": "", "dumbtimer": "",
    "noconn": "",
    "tls": "xprtsec=tls", "failok": "nofail", "late": "_netdev", "noatime": "noatime", "rdonly": "ro",
    "noac": "actimeo=0", "acregmin=7": "acregmin=7", "mntudp": "mountproto=udp", "nosuid": "nosuid",
    "union": "", "nosymfollow": "nosymfollow", "minorversion=1": "", "noacl": "noacl",
    "nconnect=4": "nconnect=4",
    "retrycnt=3": "retry=3", "fsc": "fsc",
}  # fmt: skip


def lost_in_reading(reading: ParseResult, words: list[str]) -> list[str]:
    values = reading.entry.options.values()
    problems: list[str] = []
    for word in words:
        _, name, value = catalogue().read_item(BSD_WORDS[word])
        kept = bool(BSD_WORDS[word]) and values.get(name) == value
        if not kept and not any(f"“{word}”" in note for note in reading.untranslated):
            problems.append(word)
    return problems


@pytest.mark.parametrize("word", BSD_WORDS)
def test_every_word_of_the_others(word: str) -> None:
    said = f"nfsv4,{word}" if word == "minorversion=1" else word
    expected = "vers=4.1" if word == "minorversion=1" else BSD_WORDS[word]
    reading = read_any(f"mount_nfs -o {said} nas:/x /m")
    if expected:
        _, name, value = catalogue().read_item(expected)
        assert reading.entry.options.get(name) == value
    else:
        assert any(f"“{word}”" in note for note in reading.untranslated)


def subject(word: str) -> str:
    """Return the subject of an option word; of several words on one subject the last counts."""
    return catalogue().read_item(BSD_WORDS[word])[1] if BSD_WORDS[word] else word


@given(st.lists(st.sampled_from(sorted(BSD_WORDS)), max_size=5, unique_by=subject))
@settings(max_examples=200, deadline=None)
def test_several_words_of_the_others(words: list[str]) -> None:
    options = [word for word in words if catalogue().read_item(BSD_WORDS[word])[1] != "vers"]
    for text in (f"mount_nfs -o {','.join(['late', *options])} nas:/x /m",
                 f"nas:/x /m nfs {','.join(['late', *options])} 0 0",
                 f"/m -fstype=nfs,{','.join(['late', *options])} nas:/x"):  # fmt: skip
        assert lost_in_reading(read_any(text), options) == []


@pytest.mark.parametrize("word", ["nolock", "nolocks", "nonlm"])
def test_macos_without_locks_becomes_local_locks_and_that_is_said(word: str) -> None:
    reading = read_any(f"mount_nfs -o vers=3,{word},soft q:/d /Users/m")
    assert reading.entry.options.get("lock") == NO
    assert any(word in note and "this computer" in note for note in reading.untranslated)


@pytest.mark.parametrize("dialect", ["freebsd", "freebsd-fstab", "macos", "macos-autofs"])
@pytest.mark.parametrize("item", ["rdirplus", "rdirplus=force"])
def test_rdirplus_is_written_where_it_is_not_the_default(dialect: str, item: str) -> None:
    written = DIALECTS[dialect].write(MountSpec.make("n:/a", "/b", f"{item},vers=3"))
    assert ",rdirplus" in written.text or "=rdirplus" in written.text


def test_rdirplus_is_a_flag_on_openbsd() -> None:
    assert " -l " in DIALECTS["openbsd"].write(MountSpec.make("n:/a", "/b", "rdirplus")).text
    assert ",-l," in DIALECTS["openbsd-fstab"].write(MountSpec.make("n:/a", "/b", "rdirplus")).text


@pytest.mark.parametrize("dialect", ["openbsd-fstab", "nextstep", "macos-autofs"])
@pytest.mark.parametrize(("share", "point"), [("nas:/a b", "/m"), ("nas:/a", "/m n")])
def test_a_path_that_a_file_cannot_hold_is_refused(dialect: str, share: str, point: str) -> None:
    with pytest.raises(DialectError, match="blank"):
        DIALECTS[dialect].write(MountSpec.make(share, point))


def test_a_mount_point_that_nfsmount_conf_cannot_name_is_refused() -> None:
    with pytest.raises(DialectError, match="MountPoint"):
        DIALECTS["nfsmount.conf"].write(MountSpec.make("nas:/a", '/m"n'))

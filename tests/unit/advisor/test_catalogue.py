"""Option catalogue: completeness, consistency, and errors that name the invalid key."""

import copy
import gzip
import re
from pathlib import Path
from typing import Any

import pytest

from advisor.catalogue import NO, YES, CatalogueError, catalogue, load_catalogue
from resources import read_toml

#: Options of nfs(5), nfs-utils 2.6.2.
MANUAL = """
nfsvers vers soft hard softreval intr nointr timeo retrans rsize wsize ac noac acregmin acregmax acdirmin
acdirmax actimeo bg fg nconnect max_connect rdirplus nordirplus retry sec sharecache nosharecache resvport
noresvport lookupcache fsc nofsc sloppy proto udp tcp rdma port mountport mountproto mounthost mountvers
namlen lock nolock cto nocto acl noacl local_lock minorversion clientaddr migration nomigration
"""
#: Options of the kernel's fs_parameter table (fs/nfs/fs_context.c) that nfs(5) lacks.
KERNEL = """
addr alignwrite noalignwrite bsize cert_serial fatal_neterrors mountaddr posix noposix privkey_serial softerr
trunkdiscovery notrunkdiscovery v3 v4 v4.0 v4.1 v4.2 write xprtsec rdirplus=none rdirplus=force
"""
BASIC = {
    "vers", "rsize", "wsize", "timeo", "retrans", "hard", "bg", "ro", "acregmin", "acregmax", "acdirmin",
    "acdirmax", "ac",
}  # fmt: skip
#: Options that the privileged helper must reject.
FORBIDDEN = """
suid dev nosuid nodev bind rbind remount user users owner group context fscontext defcontext rootcontext addr
clientaddr mountaddr mounthost mountvers sloppy comment X-mount.mkdir x-mount.mkdir x-systemd.requires
x-systemd.after x-systemd.before x-systemd.wanted-by x-systemd.required-by X-mount.owner X-mount.group
X-mount.mode X-mount.idmap X-mount.subdir
"""


#: Options of all file systems in mount(8), without those for local file systems, and X-* and x-*.
GENERIC = """
async atime auto context defaults dev dirsync exec group iversion mand _netdev nofail relatime strictatime
lazytime suid silent loud owner remount ro rw sync user users noatime noauto nodev nodiratime diratime noexec
noiversion nomand nostrictatime norelatime nolazytime nosuid nouser fscontext defcontext rootcontext
nosymfollow X-mount.mkdir X-mount.subdir x-mount.mkdir comment X-mount.owner X-mount.group X-mount.mode
X-mount.idmap X-mount.nocanonicalize X-mount.noloop X-mount.auto-fstypes
"""
#: Options for fstab in systemd.mount(5).
SYSTEMD = """
automount idle-timeout mount-timeout device-timeout requires wants before after wanted-by required-by
requires-mounts-for wants-mounts-for rw-only graceful-option device-bound makefs growfs pcrfs
"""


@pytest.mark.parametrize("name", [*MANUAL.split(), *KERNEL.split(), *GENERIC.split()])
def test_every_option_of_manual_and_kernel_is_known(name: str) -> None:
    assert catalogue().find(name) is not None


@pytest.mark.parametrize("name", SYSTEMD.split())
def test_every_word_of_systemd_is_known(name: str) -> None:
    assert catalogue()[f"x-systemd.{name}"].scope == "fstab"


@pytest.mark.parametrize(
    ("section", "page", "names"),
    [
        (5, "nfs", r"^\.(?:BI|BR|B) ([a-z_]+)[= ]"),
        (5, "nfs", r'^\.(?:BI|BR|B) [a-z]+ " / " (no[a-z]+)$'),
        (8, "mount", r"(?:^|, )\\fB((?:X-|no|_)[a-z.-]+)=?\\fP"),
        (5, "systemd.mount", r"^\\fB(x-systemd[a-z.-]+)=?\\fR"),
    ],
)
def test_the_manual_installed_here_has_nothing_else(section: int, page: str, names: str) -> None:
    file = Path(f"/usr/share/man/man{section}/{page}.{section}.gz")
    if not file.exists():
        pytest.skip(f"{file} is not installed")
    text = gzip.decompress(file.read_bytes()).decode()
    text = text.replace("\\-", "-").replace("\\&", "")
    if page == "nfs":
        text = text.partition('.SH "DATA AND')[0]
        text = "\n".join(re.findall(r"^\.TP[^\n]*\n([^\n]*)", text, re.MULTILINE))
    if page == "mount":
        text = text.partition('.SH "FILESYSTEM-INDEPENDENT')[2].partition('.SH "FILESYSTEM-SPECIFIC')[0]
    found = set(re.findall(names, text, re.MULTILINE))
    assert len(found) > 3
    # nfs(5) documents it, but the kernel rejects it.
    assert {name for name in found if catalogue().find(name) is None} <= {"nosoftreval"}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (
            "cache",
            {"acregmin", "acregmax", "acdirmin", "acdirmax", "actimeo", "ac", "lookupcache", "cto", "fsc"},
        ),
        ("attribute directory", {"acdirmin", "acdirmax"}),
        ("KERBEROS", {"sec"}),
        ("nfsvers", {"vers"}),
        ("nolock", {"lock"}),
        ("selinux label", {"context", "fscontext"}),
        ("timeout", {"timeo", "retrans", "x-systemd.idle-timeout"}),
        ("mnttimeo", {"timeo"}),
    ],
)
def test_a_search_finds_what_belongs_together(query: str, names: set[str]) -> None:
    assert names <= {option.name for option in catalogue() if option.matches(query)}


def test_a_search_does_not_find_everything() -> None:
    assert not any(option.matches("cache zebra") for option in catalogue())
    assert not catalogue()["sec"].matches("cache")
    assert all(option.keywords and option.matches("") for option in catalogue())


def test_the_first_settings_form_has_its_options() -> None:
    assert {option.name for option in catalogue() if option.basic} == BASIC


@pytest.mark.parametrize("name", FORBIDDEN.split())
def test_the_helper_never_passes_on(name: str) -> None:
    assert not catalogue()[name].helper


@pytest.mark.parametrize("option", list(catalogue()), ids=lambda option: option.name)
def test_every_option_is_described_in_sentences(option: Any) -> None:
    assert option.label[0].isupper()
    assert not option.label.endswith(".")
    assert option.help.endswith(".")
    assert option.minimum is None or option.minimum <= option.maximum
    for value in option.values:
        assert catalogue().read_item(option.word_for(option.canonical(value)) or f"{option.forms[0]}{value}")
    if option.is_number and option.default is not None:
        assert option.minimum <= int(option.default) <= option.maximum


@pytest.mark.parametrize(
    ("name", "version", "transport", "default"),
    [
        ("timeo", "4.2", "tcp", "600"),
        ("timeo", "3", "udp", "11"),
        ("timeo", "3", "udp6", "11"),
        ("timeo", "4.1", "rdma", "600"),
        ("timeo", "", "", "600"),
        ("retrans", "3", "udp", "3"),
        ("retrans", "3", "tcp6", "2"),
        ("port", "4.0", "tcp", "2049"),
        ("port", "4.2", "rdma6", "20049"),
        ("port", "3", "tcp", None),
        ("rsize", "4.2", "tcp", None),
        ("ac", "3", "tcp", YES),
        ("softreval", "4.2", "tcp", NO),
    ],
)
def test_defaults_go_by_version_and_transport(
    name: str, version: str, transport: str, default: str | None
) -> None:
    assert catalogue()[name].default_for(version, transport) == default


#: Options that a remount can change (nfs_compare_remount_data and mount(8)).
BY_REMOUNT = {"ro", "sync", "suid", "dev", "noexec", "nosymfollow", "atime", "diratime", "lazytime"}


@pytest.mark.parametrize("option", list(catalogue()), ids=lambda option: option.name)
def test_what_a_change_takes_follows_who_has_the_value(option: Any) -> None:
    assert (option.change == "remount") == (option.name in BY_REMOUNT)
    if option.scope == "fstab":
        assert option.change == "boot"
    if option.scope in {"client", "superblock"} and option.versions and option.name not in BY_REMOUNT:
        assert option.change == "mount"


def test_a_name_not_known_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        catalogue()["nothing"]
    assert catalogue().order("nothing") == len(catalogue())


DOCUMENT = read_toml("options.toml")


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("rsize", {"kind": "sizes"}, r"option\.rsize: “kind”"),
        ("rsize", {"label": None}, r"option\.rsize: “label” is missing"),
        ("rsize", {"min": "0"}, r"option\.rsize: “min” is not of type int"),
        ("rsize", {"min": True}, r"option\.rsize: “min” is not of type int"),
        ("rsize", {"max": None}, r"option\.rsize: “min” or “max” is missing"),
        ("rsize", {"colour": "red"}, r"option\.rsize: “colour”"),
        ("rsize", {"forms": [1]}, r"option\.rsize: “forms”"),
        ("rsize", {"forms": []}, r"option\.rsize: “forms” is empty"),
        ("rsize", {"forms": ["wsize="]}, r"wsize="[:-1]),
        ("rsize", {"default_note": None}, r"option\.rsize: “default” is missing"),
        ("ac", {"default": "maybe"}, r"option\.ac: “default”"),
        ("lookupcache", {"default": "some"}, r"option\.lookupcache: “default”"),
        ("lookupcache", {"values": None}, r"option\.lookupcache: “values”"),
        ("lookupcache", {"synonyms": {"a": "b"}}, r"option\.lookupcache: “synonyms”"),
        ("lookupcache", {"synonyms": {"a": 1}}, r"option\.lookupcache: “synonyms”"),
        ("vers", {"helper": None}, r"option\.vers: “helper” is missing"),
        ("vers", {"group": "other"}, r"option\.vers: “group”"),
        ("vers", {"change": None}, r"option\.vers: “change” is missing"),
        ("timeo", {"change": "never"}, r"option\.timeo: “change”"),
        ("timeo", {"defaults": {"udp": "11"}}, r"option\.timeo: “defaults”"),
    ],
)
def test_a_wrong_table_is_named(name: str, change: dict[str, Any], words: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    for key, value in change.items():
        if value is None:
            document["option"][name].pop(key)
        else:
            document["option"][name][key] = value
    with pytest.raises(CatalogueError, match=words):
        load_catalogue(document)


@pytest.mark.parametrize("document", [{}, {"option": {}}, {"option": {"a": 1}}])
def test_a_file_without_options_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(CatalogueError):
        load_catalogue(document)

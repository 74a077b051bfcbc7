"""Every option of the catalogue is mounted once; the kernel's result is compared with the catalogue."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from advisor.options import NO, YES, MountOptions, Option, catalogue, check_item

pytestmark = pytest.mark.lab

ANY = "…"
REFUSED = "refused"
FOLDER = "folder"  # of the share
#: What is tried where the catalogue does not offer a choice, and what mountinfo has to show then.
TRIED: dict[str, dict[str, str | None]] = {
    "vers": {"3": "3", "4": "4.2", "4.0": "4.0", "4.1": "4.1", "4.2": "4.2"},
    "rsize": {"65536": "65536", "1000": "4096", "1500": "1024", "100000": "98304", "4194304": "1048576"},
    "wsize": {"65536": "65536", "1000": "4096", "12345": "12288", "4194304": "1048576"},
    "bsize": {"4096": "4096", "1000": "1000"},
    "timeo": {"100": "100", "9000": "6000"},
    "retrans": {"5": "5"},
    "retry": {"1": None},
    "acregmin": {"4": "4"},
    "acregmax": {"61": "61"},
    "acdirmin": {"31": "31"},
    "acdirmax": {"61": "61"},
    "actimeo": {"30": None},
    "nconnect": {"4": "4"},
    "max_connect": {"4": "4"},
    "port": {"2049": "2049"},
    "minorversion": {"1": None},
    "namlen": {"100": "100"},
    "mountport": {"0": ANY},
    "mountvers": {"3": "3"},
    "mounthost": {"10.9.0.1": None},
    "mountaddr": {"10.9.0.1": "10.9.0.1"},
    "mountproto": {"tcp": "tcp", "udp": "udp"},
    "addr": {"192.0.2.1": "10.9.0.1"},
    "clientaddr": {"0.0.0.0": "0.0.0.0"},
    "proto": {"tcp": "tcp", "udp": REFUSED, "rdma": REFUSED},
    "sec": {"sys": "sys", "krb5": REFUSED},
    "xprtsec": {"none": "none", "tls": REFUSED, "mtls": REFUSED},
    "fsc": {YES: YES, "tag": "tag"},
    "cert_serial": {"1": "1"},
    "privkey_serial": {"1": "1"},
    "rdirplus": {"none": "none", "force": REFUSED},
    "context": {"system_u:object_r:nfs_t:s0": ANY},
    "fscontext": {"system_u:object_r:nfs_t:s0": ANY},
    "defcontext": {"system_u:object_r:nfs_t:s0": ANY},
    "rootcontext": {"system_u:object_r:nfs_t:s0": ANY},
    "x-systemd.idle-timeout": {"10min": None},
    "X-mount.mkdir": {YES: None, "0700": None},
    "X-mount.subdir": {FOLDER: None},
    "X-mount.owner": {"1000": None},
    "X-mount.group": {"1000": None},
    "X-mount.mode": {"1777": None},
    "X-mount.idmap": {"b:0:1000:1": None},
    "X-mount.nocanonicalize": {YES: None, "source": None},
    "X-mount.auto-fstypes": {"ext4": None},
}
#: Why an option is refused although it is right, or is not tried.
WHY = {
    "proto=udp": "Debian's kernels are built without NFS over UDP",
    "proto=rdma": "the guest has no RDMA device",
    "sec=krb5": "the guest has no Kerberos",
    "rdirplus=force": "since Linux 6.15",
    "xprtsec=tls": "the guest has no tlshd",
    "xprtsec=mtls": "the guest has no tlshd",
    "remount": "not a mount of its own: it changes one",
    "bind": "not an NFS mount",
}
NOT_TRIED = {"remount", "bind"}


@dataclass(frozen=True)
class Case:
    """One mount: the option, its value, the whole option string, what mountinfo has to show."""

    option: Option
    value: str
    item: str
    options: str
    promised: str | None


def version_for(option: Option, value: str) -> str:
    """Return the version words of a mount on which the option has an effect."""
    if option.name == "vers":
        return f"vers={value}"
    if option.name == "minorversion":
        return "vers=4"
    if option.name == "port" or value == "udp":
        return "vers=3"
    return f"vers={option.versions[-1] if option.versions else '4.2'}"


def tried(option: Option) -> dict[str, str | None]:
    """Return each value to try, and what mountinfo has to show by the catalogue's word."""
    if option.name in TRIED:
        return TRIED[option.name]
    if option.kind == "flag":
        value = NO if option.default == YES else YES
        return {value: value}
    if option.values:
        return {value: value for value in option.values if value not in option.synonyms}
    return {"x.target" if option.scope == "fstab" else "1": None}


def newer(since: str, release: str) -> bool:
    """Whether what came with a version of Linux, if it is named, came after this kernel."""
    numbers = [tuple(int(part) for part in re.findall(r"[0-9]+", text)[:2]) for text in (since, release)]
    return bool(since) and numbers[0] > numbers[1]


def cases() -> list[Case]:
    found = []
    for option in catalogue():
        for value, shown in tried(option).items() if option.name not in NOT_TRIED else ():
            words = MountOptions()
            words.set(option.name, value)
            item = str(words)
            version = version_for(option, value)
            options = item if option.name == "vers" else f"{version},{item}"
            found.append(Case(option, value, item, options, promise(option, value, version, shown)))
    return found


def promise(option: Option, value: str, version: str, shown: str | None) -> str | None:
    """Return what the catalogue says that mountinfo shows: a value, None for nothing, or ANY."""
    if shown in {REFUSED, ANY} or not option.versions:
        return shown if shown == REFUSED else ANY
    on = version.removeprefix("vers=") if option.name != "vers" else "4.2"
    if option.shown == "never" or (on != "4" and on not in option.shown_on):
        return None
    if option.shown == "if-not-default" and value == option.default_for(on, "tcp"):
        return None
    return shown


#: Option strings of which we, the kernel and mount.nfs each say whether they are right.
JUDGED = [
    "hard", "soft", "softerr", "softreval", "nosoftreval", "timeo=600", "timeo=0", "timeo=1m", "timeo",
    "timeo=0600", "timeo=0x10", "timeo=-1", "timeo=2147483648", "retrans=0", "retrans=-1", "rsize=65536",
    "rsize=1m", "rsize=64k", "rsize", "rsize=4294967296", "wsize=0", "bsize=5", "nconnect=16", "nconnect=17",
    "nconnect=0", "nconnect=08", "max_connect=17", "acregmin=0", "acregmin=abc", "acregmin=4294967295",
    "actimeo=60", "noac", "noac=1", "hard=1", "lookupcache=positive", "lookupcache=some", "local_lock=all",
    "local_lock=yes", "sec=sys", "sec=foo", "sec=sys:foo", "sec=none:sys", "proto=tcp", "proto=quic",
    "vers=4.2", "vers=4.3", "vers=5", "vers=abc", "minorversion=3", "port=2049", "port=65536", "port=abc",
    "write=eager", "write=never", "namlen=255", "vres=3", "rsise=4096", "nointr", "posix", "nosharecache",
    "nofsc", "fsc=a", "rdirplus=none", "mountport=70000", "mountvers=9", "mountproto=quic", "retry=1",
    "retry=abc", "clientaddr=abc", "migration=1", "resvport", "noresvport", "lock", "nolock", "foo",
    "local_lock=none", "xprtsec=tls", "alignwrite", "trunkdiscovery", "nordirplus", "cto=1", "ro", "sync",
    # A comma inside quotation marks parts nothing.
    'context="system_u:object_r:nfs_t:s0:c1,c2"', 'x-note="one,two"', 'foo="ro,sync"',
]  # fmt: skip
#: Where our word differs from the machine's on purpose, and why.
STRICTER = {
    "timeo=0600": "read as octal 384, which nobody means",
    "timeo=0x10": "read as hexadecimal, which nobody means",
    "acregmin=4294967295": "overflows in the kernel and comes out as something else",
    "retry=abc": "mount.nfs takes its default instead",
}
#: Values that came later than their option, and the first kernel that knows them.
VALUE_SINCE = {"rdirplus=none": "6.15"}
#: A kernel that shows the value, and what mountinfo of an older one shows instead: 6.1 keeps the name of a
#: cache to itself, 6.12 shows it.
SHOWN_SINCE = {"fsc=tag": ("6.12", YES)}
#: Right, but not in the guest.
NOT_HERE = {"xprtsec=tls": "the guest has no tlshd",
            "sec=none:sys": "the guest's server lets nobody in without an identity"}  # fmt: skip


def not_here(item: str, release: str) -> str:
    """Return why the guest refuses an item that is right, "" if it takes it."""
    option = catalogue().read_item(item)[0]
    since = VALUE_SINCE.get(item) or (option.since if option else "")
    return f"since Linux {since}" if newer(since, release) else NOT_HERE.get(item, "")


#: What a remount is tried with: first what it cannot change by the catalogue's word, then what it can.
REMOUNTED = [
    "rsize=4096", "timeo=100", "retrans=9", "nconnect=4", "max_connect=2", "soft", "noac", "actimeo=1",
    "nosharecache", "lookupcache=none", "bsize=1024", "noresvport", "port=2050", "nordirplus", "write=eager",
    "nosuid", "nodev", "noexec", "nosymfollow", "noatime", "nodiratime", "sync", "ro",
]  # fmt: skip


@pytest.fixture(scope="module")
def found(guest_job: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    mounts = [case.options for case in cases()] + [with_version(item) for item in JUDGED]
    return guest_job({
        "folder": FOLDER, "mounts": list(dict.fromkeys(mounts)), "judge": JUDGED, "remounts": REMOUNTED,
    })  # fmt: skip


def with_version(item: str) -> str:
    """Return the item on a version that takes it, without a second word for the version."""
    if item.startswith(("vers=", "minorversion")):
        return item if item.startswith("vers=") else f"vers=4,{item}"
    return (
        f"vers=3,{item}" if item.startswith(("mount", "lock", "nolock", "local_lock")) else f"vers=4.2,{item}"
    )


def effective(line: str) -> dict[str, str]:
    """Return what one line of mountinfo shows, options of the mount and of its superblock."""
    before, _, after = line.partition(" - ")
    return MountOptions.parse(f"{before.split()[5]},{after.split(maxsplit=2)[2]}").values()


def test_every_option_is_mounted_and_shown_as_promised(found: dict[str, Any]) -> None:
    rows, wrong = [], []
    for case in cases():
        result = found["mounts"][case.options]
        promised = REFUSED if newer(case.option.since, found["release"]) else case.promised
        shown_since, instead = SHOWN_SINCE.get(case.item, ("", None))
        promised = instead if newer(shown_since, found["release"]) else promised
        shown = effective(result["line"]) if result["line"] else None
        became = REFUSED if shown is None else shown.get(case.option.name)
        good = became == promised or (promised == ANY and shown is not None)
        why = WHY.get(case.item, f"since Linux {case.option.since}") if became == REFUSED else ""
        if case.option.name in TRIED and promised not in {ANY, REFUSED, None, case.value}:
            why = "rounded or limited"
        rows.append([case.options, text(promised), text(became), "as promised" if good else "NOT SO", why])
        if not good:
            wrong.append(f"{case.options}: promised {promised}, became {became}. {result['text']}")
    rows += [[name, "", "", "not tried", WHY[name]] for name in sorted(NOT_TRIED)]
    show(["options", "promised", "in mountinfo", "", "why"], rows)
    assert {case.option.name for case in cases()} | NOT_TRIED == {option.name for option in catalogue()}
    assert wrong == []


def test_connections_are_counted(found: dict[str, Any]) -> None:
    assert found["mounts"]["vers=4.2,nconnect=4"]["xprts"] == 4


def test_our_word_is_the_kernels_and_mounts_word(found: dict[str, Any]) -> None:
    rows, wrong = [], []
    for item in JUDGED:
        problem = check_item(item, catalogue())
        mounted, kernel = found["mounts"][with_version(item)], found["judged"][item]
        ours, theirs = problem is None, mounted["ok"]
        rows.append([
            item, "right" if ours else "wrong", kernel or "right",
            "mounted" if theirs else mounted["text"].splitlines()[0] if mounted["text"] else "refused",
            STRICTER.get(item, "") or not_here(item, found["release"]),
        ])  # fmt: skip
        expected = True if item in STRICTER and not ours else not not_here(item, found["release"]) and ours
        if theirs != expected:
            wrong.append(f"{item}: we say {ours}, mount says {theirs} ({mounted['text']}), kernel “{kernel}”")
    show(["item", "our word", "kernel", "mount", "why"], rows)
    assert wrong == []


def test_a_remount_changes_what_we_say_it_changes(found: dict[str, Any]) -> None:
    rows, wrong = [], []
    for item, result in zip(REMOUNTED, found["remounts"], strict=True):
        option, name, value = catalogue().read_item(item)
        assert option is not None
        changed = effective(result["after"]).get(name) == value
        rows.append([item, option.change, "accepted" if result["ok"] else "refused",
                     "changed" if changed else "as before"])  # fmt: skip
        same = effective(result["before"]) == effective(result["after"])
        if changed != (option.change == "remount") or (option.change != "remount" and not same):
            wrong.append(f"{item}: {option.change}, but {result}")
    show(["remount with", "takes", "mount says", "then"], rows)
    assert wrong == []


def text(value: str | None) -> str:
    return {None: "not shown", YES: "yes"}.get(value, str(value))


def show(head: list[str], rows: list[list[str]]) -> None:
    """Print a table, and append it to the file that the environment names."""
    widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
             for row in [head, *rows]]  # fmt: skip
    print("\n".join(lines))
    if file := os.environ.get("MOUNTWRIGHT_OPTION_TABLE"):
        with Path(file).open("a", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n\n")

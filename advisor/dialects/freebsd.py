"""FreeBSD: the mount command and fstab(5) with the named options of mount_nfs(8)."""

from __future__ import annotations

from advisor.dialects.bsd_write import GENERIC, System, Translation, fstab_fields, mount_command, translate
from advisor.dialects.entry import Entry, Written
from advisor.dialects.linux_fstab import escape
from advisor.options import NO, YES, implied_values

FILE = "/etc/fstab"
#: vfs.maxbcachebuf unless /boot/loader.conf raises it.
DEFAULT_LIMIT = 65536

SYSTEM = System(
    name="FreeBSD",
    tcp_limit=None,
    udp_limit=None,
    timeo_min=10,
    words={
        **GENERIC,
        "dev": {NO: "", YES: ""},  # devices exist in devfs only
        "vers": {
            "3": "nfsv3", "4": "nfsv4", "4.0": "nfsv4", "4.1": "nfsv4,minorversion=1",
            "4.2": "nfsv4,minorversion=2",
        },
        "proto": {"tcp": "tcp", "udp": "udp", "tcp6": "proto=tcp6", "udp6": "proto=udp6"},
        "rsize": "rsize={}",
        "wsize": "wsize={}",
        "timeo": "timeout={}",
        "retrans": "retrans={}",
        "retry": "retrycnt={}",
        "bg": {"bg": "bg", "fg": "fg"},
        "hard": {"hard": "hard", "soft": "soft", "softerr": "soft"},
        "intr": {YES: "intr", NO: ""},
        "rdirplus": {"force": "rdirplus", "heuristic": "rdirplus", "none": ""},
        "mountproto": {"udp": "mntudp", "tcp": ""},
        "port": "port={}",
        "acregmin": "acregmin={}",
        "acregmax": "acregmax={}",
        "acdirmin": "acdirmin={}",
        "acdirmax": "acdirmax={}",
        "actimeo": "actimeo={}",
        "ac": {NO: "noac", YES: ""},
        "cto": {NO: "nocto", YES: ""},
        "lock": {NO: "nolockd", YES: ""},
        "local_lock": {"all": "nolockd", "none": ""},
        "resvport": {NO: "noresvport", YES: ""},
        "sec": {flavor: f"sec={flavor}" for flavor in ("sys", "krb5", "krb5i", "krb5p")},
        "xprtsec": {"tls": "tls", "none": ""},
        "auto": {NO: "noauto", YES: ""},
        "nofail": {YES: "failok", NO: ""},
        "_netdev": {YES: ""},  # network file systems wait for the network anyway
    },
)  # fmt: skip


def write(entry: Entry) -> Written:
    """Return the mount command."""
    return mount_command(entry, _told(entry, fstab=False))


def write_fstab(entry: Entry) -> Written:
    """Return the fstab line; blanks are escaped as vis(3) does it."""
    told = _told(entry, fstab=True)
    fields = map(escape, fstab_fields(entry, told.words))
    text = " ".join([*fields, "0", "0"]) + "\n"
    return Written(text, FILE, told.untranslated, told.problems)


def _told(entry: Entry, *, fstab: bool) -> Translation:
    told = translate(entry, SYSTEM, fstab=fstab)
    for name in ("rsize", "wsize"):
        value = entry.options.get(name) or ""
        if value.isascii() and value.isdigit() and int(value[:15]) > DEFAULT_LIMIT:
            told.problems.append(
                f"FreeBSD cuts {name} to vfs.maxbcachebuf, {DEFAULT_LIMIT} unless loader.conf raises it."
            )
    if implied_values(entry.options).get("vers") == "4":
        told.problems.append("FreeBSD takes minor version 0 where Linux takes the highest: vers=4 is 4.0.")
    return told

"""OpenBSD: mount_nfs(8), and fstab(5) with its flags among the options (mount(8): ``-r=32768``)."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from advisor.dialects.bsd_write import GENERIC, System, Translation, fstab_fields, fstab_line, translate
from advisor.dialects.entry import Entry, Written
from advisor.options import NO, YES

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = "/etc/fstab"

#: sys/nfs/nfs.h: MAXBSIZE over TCP, NFS_MAXDGRAMDATA over UDP, time-outs from 1 s to 60 s.
SYSTEM = System(
    name="OpenBSD",
    tcp_limit=65536,
    udp_limit=32768,
    timeo_min=10,
    timeo_max=600,
    always={"proto": "-T"},
    words={
        **GENERIC,
        "vers": {"3": "-3"},
        "proto": {"tcp": "-T", "udp": ""},
        "rsize": "-r={}",
        "wsize": "-w={}",
        "timeo": "-t={}",
        "retrans": "-x={}",
        "retry": "-R={}",
        "bg": {"bg": "-b", "fg": ""},
        "hard": {"hard": "", "soft": "-s", "softerr": "-s"},
        "intr": {YES: "-i", NO: ""},
        "rdirplus": {"force": "-l", "heuristic": "-l", "none": ""},
        # nfs_advlock (sys/nfs/nfs_vnops.c) asks no server: every lock is local.
        "lock": {NO: ""},
        "local_lock": {"all": ""},
        "mountproto": {"udp": "-U", "tcp": ""},
        "port": "port={}",
        "acregmin": "acregmin={}",
        "acregmax": "acregmax={}",
        "acdirmin": "acdirmin={}",
        "acdirmax": "acdirmax={}",
        "actimeo": "acregmin={},acregmax={},acdirmin={},acdirmax={}",
        "ac": {NO: "noac", YES: ""},
        "resvport": {YES: ""},
        "sec": {"sys": ""},
        "auto": {NO: "noauto", YES: ""},
        "_netdev": {YES: "net"},
    },
)


def write(entry: Entry) -> Written:
    """Return the mount_nfs command."""
    told = _told(entry, fstab=False)
    words = ["mount_nfs", *_flags(told.words)]
    plain = [word for word in told.words if not word.startswith("-")]
    words += ["-o", ",".join(plain)] if plain else []
    text = shlex.join([*words, str(entry.share), entry.mount_point]) + "\n"
    return Written(text, "", told.untranslated, told.problems)


def write_fstab(entry: Entry) -> Written:
    """Return the fstab line. This fstab has no escapes.

    Raises:
        DialectError: if a path has a blank in it.
    """
    told = _told(entry, fstab=True)
    return Written(
        fstab_line(SYSTEM, fstab_fields(entry, told.words)), FILE, told.untranslated, told.problems
    )


def _told(entry: Entry, *, fstab: bool) -> Translation:
    told = translate(entry, SYSTEM, fstab=fstab)
    if ":" in entry.share.host:
        told.problems.append("OpenBSD's mount_nfs knows IPv4 addresses and names only.")
    if (entry.options.get("vers") or "").startswith("4"):
        told.problems.append("OpenBSD speaks NFS versions 2 and 3 only; it will try 3 first.")
    if entry.options.get("lock") != NO and entry.options.get("local_lock") != "all":
        told.problems.append("OpenBSD keeps every lock on this computer: others do not see it.")
    return told


def _flags(words: list[str]) -> Iterator[str]:
    for word in words:
        if word.startswith("-"):
            flag, _, value = word.partition("=")
            yield flag
            if value:
                yield value

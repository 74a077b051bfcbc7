"""macOS: the mount command with the options of mount_nfs(8), and a direct map of its automounter."""

from __future__ import annotations

import re

from advisor.dialects.bsd_write import GENERIC, System, Translation, mount_command, translate
from advisor.dialects.entry import DialectError, Entry, Written
from advisor.options import NO, YES, implied_values

MAP = "/etc/auto_nfs"
#: Blanks, quotes, a comment, the key, a variable.
_SPECIAL = re.compile(r"[\s\\\"'#&$]")

#: Its NFS client reads and writes up to 1 MiB over TCP and 16 KiB over UDP (nfsproto.h).
SYSTEM = System(
    name="macOS",
    tcp_limit=1048576,
    udp_limit=16384,
    always={"resvport": "resvport"},  # servers on Linux want it, and macOS does not do it by itself
    words={
        **GENERIC,
        "vers": {version: f"vers={version}" for version in ("3", "4", "4.0")}
        | {"4.1": "vers=4.0", "4.2": "vers=4.0"},
        "proto": {"tcp": "tcp", "udp": "udp", "tcp6": "proto=tcp6", "udp6": "proto=udp6"},
        "rsize": "rsize={}",
        "wsize": "wsize={}",
        "timeo": "timeo={}",
        "retrans": "retrans={}",
        "retry": "retrycnt={}",
        "bg": {"bg": "bg", "fg": ""},
        "hard": {"hard": "hard", "soft": "soft", "softerr": "soft"},
        "intr": {YES: "intr", NO: "nointr"},
        "rdirplus": {"force": "rdirplus", "heuristic": "rdirplus", "none": "nordirplus"},
        "port": "port={}",
        "mountport": "mountport={}",
        "acregmin": "acregmin={}",
        "acregmax": "acregmax={}",
        "acdirmin": "acdirmin={}",
        "acdirmax": "acdirmax={}",
        "actimeo": "actimeo={}",
        "ac": {NO: "noac", YES: ""},
        "lock": {NO: "locallocks", YES: ""},
        "local_lock": {"all": "locallocks", "none": ""},
        "resvport": {NO: "noresvport", YES: "resvport"},
        "sec": "sec={}",
    },
)


def write(entry: Entry) -> Written:
    """Return the mount command."""
    return mount_command(entry, _told(entry))


def write_autofs(entry: Entry) -> Written:
    """Return the line of /etc/auto_master and that of the direct map, each under its file's name.

    Raises:
        DialectError: if a path has a character that the map takes for something else.
    """
    special = _SPECIAL.search(f"{entry.share}{entry.mount_point}")
    if special:
        name = "a blank" if special[0].isspace() else f"“{special[0]}”"
        raise DialectError(f"A map of macOS's automounter cannot hold {name} inside a path.")
    options = entry.options.copy()
    for name in ("x-systemd.automount", "auto", "nofail", "_netdev"):
        options.remove(name)  # a map is on demand, and holds no start-up up
    told = _told(Entry(entry.share, entry.mount_point, options))
    if entry.when != "on demand":
        told.untranslated.append("The automounter mounts on demand, never at start-up and not by hand.")
    lines = [
        "# /etc/auto_master",
        "/- auto_nfs",
        "",
        f"# {MAP}",
        f"{entry.mount_point} {','.join(['-fstype=nfs', *told.words])} {entry.share}",
    ]
    return Written("\n".join(lines) + "\n", MAP, told.untranslated, told.problems)


def _told(entry: Entry) -> Translation:
    told = translate(entry, SYSTEM, fstab=False)
    version = implied_values(entry.options).get("vers")
    if version in {"4.1", "4.2"}:
        told.problems.append(f"macOS speaks NFS up to version 4.0, so vers={version} became vers=4.0.")
    return told

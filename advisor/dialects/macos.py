"""macOS: the mount command with the options of mount_nfs(8), and a direct map of its automounter."""

from __future__ import annotations

import re

from advisor.dialects.bsd_writing import GENERIC, System, Translation, mount_command, translate
from advisor.dialects.entry import Entry, Written
from advisor.options import NO, YES

MAP = "/etc/auto_nfs"

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
        "rdirplus": {"force": "rdirplus", "none": "nordirplus", "heuristic": ""},
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
    """Return the line of /etc/auto_master and that of the direct map, each under its file's name."""
    options = entry.options.copy()
    for name in ("x-systemd.automount", "auto", "nofail", "_netdev"):
        options.remove(name)  # a map is on demand, and holds no start-up up
    told = _told(Entry(entry.share, entry.mount_point, options))
    if entry.when != "on demand":
        told.untranslated.append("The automounter mounts on demand, never at start-up and not by hand.")
    if re.search(r"[\s\\\"'#&$]", f"{entry.share}{entry.mount_point}"):
        told.problems.append("A map may misread blanks, quotes, “#”, “$” and “&” in a path.")
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
    if entry.options.get("vers") in {"4.1", "4.2"}:
        told.problems.append("macOS speaks NFS up to version 4.0, which was written.")
    return told

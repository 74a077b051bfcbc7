"""NeXTSTEP: the fields of its NFS Manager as a line of fstab (NFS Performance Tuning, NeXT, 1993)."""

from __future__ import annotations

from advisor.dialects.bsd_write import System, fstab_fields, fstab_line, translate
from advisor.dialects.entry import Entry, Written
from advisor.options import NO, YES

FILE = "/etc/fstab"
#: NFS version 2 moves at most 8192 bytes at a time.
LIMIT = 8192
#: The default of mnttimeo: one try waits so many seconds.
MOUNT_WAIT_S = 20

SYSTEM = System(
    name="NeXTSTEP",
    tcp_limit=None,
    udp_limit=LIMIT,
    transports=("udp",),
    block=1,
    words={
        "ro": {"ro": "ro", "rw": "rw"},
        "bg": {"bg": "bg", "fg": "fg"},
        "hard": {"hard": "hard", "soft": "soft", "softerr": "soft"},
        "proto": {"udp": ""},
        "rsize": "rsize={}",
        "wsize": "wsize={}",
        "timeo": "timeo={}",
        "retrans": "retrans={}",
        "acregmin": "acregmin={}",
        "acregmax": "acregmax={}",
        "acdirmin": "acdirmin={}",
        "acdirmax": "acdirmax={}",
        "actimeo": "acregmin={},acregmax={},acdirmin={},acdirmax={}",
        "ac": {NO: "noac", YES: ""},
        "auto": {YES: ""},
        "_netdev": {YES: ""},
        "defaults": {YES: ""},
        "retry": "retry={}",
    },
)


def write(entry: Entry) -> Written:
    """Return the line. ``retry`` counts tries of ``mnttimeo`` seconds there, and minutes on Linux.

    Raises:
        DialectError: if a path has a blank in it.
    """
    told = translate(entry, SYSTEM, fstab=True)
    told.problems.append("NeXTSTEP speaks NFS version 2 over UDP only; the server has to offer both.")
    fields = fstab_fields(entry, [_retry(word) for word in told.words])
    if ":" in entry.share.host:
        told.problems.append("NeXTSTEP knows IPv4 only.")
    return Written(fstab_line(SYSTEM, fields), FILE, told.untranslated, told.problems)


def _retry(word: str) -> str:
    key, _, minutes = word.partition("=")
    if key != "retry" or not (minutes.isascii() and minutes.isdigit()):
        return word
    tries = max(1, int(minutes[:9]) * 60 // MOUNT_WAIT_S)
    return f"mnttimeo={MOUNT_WAIT_S},retry={tries}"

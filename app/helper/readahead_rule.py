r"""Text of the udev rule that sets the readahead of one NFS mount at each mount (udev(7)).

The readahead belongs to the backing device info (bdi) of a superblock. The kernel creates it at each mount.
udev gets an event for it (SUBSYSTEM bdi, ACTION add; mm/backing-dev.c). The event does not name the mount
point, so the rule runs PROGRAM, which finds the device in /proc/self/mountinfo. PROGRAM prints the SHA-256 of
the mount point, and the rule compares it: 64 hexadecimal digits, whatever the path contains. The only values
of the caller in a rule are the number and this digest. A comment contains the path as ASCII JSON.

The file name sorts after 99-nfs.rules of nfs-utils, whose nfsrahead sets a value by NFS version
(nfsrahead(5)). udev applies the rules of an event in this order, so the value of this rule is the last one.
PROGRAM runs once an event even with many such files: its output is stored in the event's ENV{.…}. A key with
a leading dot is not stored in udev's database.

The functions are pure, so a preview without root shows exactly what the helper will write.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import NamedTuple

FOLDER = "/etc/udev/rules.d"
PROGRAM = "/usr/libexec/mountwright/mountwright-readahead"
#: The prefix sorts after “99-nfs.rules”; udev sorts file names by bytes.
_PREFIX, _SUFFIX = "99-zz-mountwright-readahead-", ".rules"
#: Digits of the digest in a file name, fewer than 64 to keep the name readable.
_NAME_DIGITS = 32
_ENV = "ENV{.MOUNTWRIGHT_MOUNT}"
_MARKER = "# Made by Mountwright, which changes and removes it. SHA-256 of the lines below: "
_FILE = re.compile(
    re.escape(_MARKER) + r"([0-9a-f]{64})\n"
    r'(# Mount point: ("[ -~]*")\n(?:[ -~]*\n)*?[ -~]*, ATTR\{read_ahead_kb\}="([0-9]{1,6})"\n)'
)


class SavedReadahead(NamedTuple):
    """Saved readahead of a mount point.

    Attributes:
        target: mount point.
        read_ahead_kb: readahead, KiB.
    """

    target: str
    read_ahead_kb: int


def name(target: str) -> str:
    """Return the file name of the rule for a mount point."""
    return f"{_PREFIX}{key(target)[:_NAME_DIGITS]}{_SUFFIX}"


def is_name(text: str) -> bool:
    """Whether a file name is that of a rule for some mount point."""
    return (
        re.fullmatch(re.escape(_PREFIX) + f"[0-9a-f]{{{_NAME_DIGITS}}}" + re.escape(_SUFFIX), text)
        is not None
    )


def key(target: str) -> str:
    """Return the SHA-256 of a mount point in hexadecimal digits, as PROGRAM prints it."""
    return hashlib.sha256(os.fsencode(target)).hexdigest()


def text(target: str, read_ahead_kb: int) -> bytes:
    """Return the contents of the rule file; the caller has checked mount point and readahead (KiB)."""
    match = 'SUBSYSTEM=="bdi", ACTION=="add", KERNEL=="0:*"'
    body = (
        f"# Mount point: {json.dumps(target)}\n"
        f'{match}, {_ENV}=="", PROGRAM=="{PROGRAM} %k", {_ENV}="%c"\n'
        f'{match}, {_ENV}=="{key(target)}", ATTR{{read_ahead_kb}}="{read_ahead_kb:d}"\n'
    ).encode("ascii")
    return f"{_MARKER}{hashlib.sha256(body).hexdigest()}\n".encode("ascii") + body


def read(data: bytes) -> SavedReadahead | None:
    """Parse a rule file; return None if its checksum or its form is not that of this program."""
    match = _FILE.fullmatch(data.decode("latin-1"))
    if match is None or hashlib.sha256(match[2].encode("latin-1")).hexdigest() != match[1]:
        return None
    try:
        target = json.loads(match[3])
    except ValueError:
        return None
    return SavedReadahead(target, int(match[4])) if isinstance(target, str) else None

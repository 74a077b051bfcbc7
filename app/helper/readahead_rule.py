r"""The udev rule that sets the readahead of one NFS mount whenever that is mounted, as text.

A readahead is a property of the kernel's backing device info (“bdi”) of a superblock, which is new with each
mount. udev hears of it (SUBSYSTEM bdi, ACTION add; mm/backing-dev.c), but no attribute of it names the mount
point, so the rule asks PROGRAM, which looks for the device in /proc/self/mountinfo. What PROGRAM prints, and
what the rule compares, is the SHA-256 of the mount point: 64 digits, whatever the path contains. Of the
caller, a rule has the number and that digest; a comment has the path as ASCII JSON.

The file sorts behind 99-nfs.rules of nfs-utils, whose nfsrahead sets a value for each version of NFS
(nfsrahead(5)): udev carries out the rules of one event one after the other, so the value here comes last.
PROGRAM runs once an event, however many such files there are: its answer stays in the event's ENV{.…}, a key
that begins with a dot and is stored nowhere (udev(7)).

Everything here is pure, so that a preview without root shows exactly what the helper will write.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import NamedTuple

FOLDER = "/etc/udev/rules.d"
PROGRAM = "/usr/libexec/mountwright/mountwright-readahead"
#: Behind “99-nfs.rules” in the order of udev, which is that of bytes.
_PREFIX, _SUFFIX = "99-zz-mountwright-readahead-", ".rules"
#: Of the digest, in a name that people may have to read.
_NAME_DIGITS = 32
_ENV = "ENV{.MOUNTWRIGHT_MOUNT}"
_MARKER = "# Made by Mountwright, which changes and removes it. SHA-256 of the lines below: "
_FILE = re.compile(
    re.escape(_MARKER) + r"([0-9a-f]{64})\n"
    r'(# Mount point: ("[ -~]*")\n(?:[ -~]*\n)*?[ -~]*, ATTR\{read_ahead_kb\}="([0-9]{1,6})"\n)'
)


class SavedReadahead(NamedTuple):
    """What a rule says: the mount point, and its readahead in KiB."""

    target: str
    read_ahead_kb: int


def name(target: str) -> str:
    """Return the name of the file for a mount point."""
    return f"{_PREFIX}{key(target)[:_NAME_DIGITS]}{_SUFFIX}"


def is_name(text: str) -> bool:
    """Whether a file of this name is one for a mount point."""
    return (
        re.fullmatch(re.escape(_PREFIX) + f"[0-9a-f]{{{_NAME_DIGITS}}}" + re.escape(_SUFFIX), text)
        is not None
    )


def key(target: str) -> str:
    """Return what PROGRAM prints for the mount at this path."""
    return hashlib.sha256(os.fsencode(target)).hexdigest()


def text(target: str, read_ahead_kb: int) -> bytes:
    """Return the file for a mount point, whose path and number have been checked."""
    match = 'SUBSYSTEM=="bdi", ACTION=="add", KERNEL=="0:*"'
    body = (
        f"# Mount point: {json.dumps(target)}\n"
        f'{match}, {_ENV}=="", PROGRAM=="{PROGRAM} %k", {_ENV}="%c"\n'
        f'{match}, {_ENV}=="{key(target)}", ATTR{{read_ahead_kb}}="{read_ahead_kb:d}"\n'
    ).encode("ascii")
    return f"{_MARKER}{hashlib.sha256(body).hexdigest()}\n".encode("ascii") + body


def read(data: bytes) -> SavedReadahead | None:
    """Return what a file says, None if this program did not write it, or somebody has changed it since."""
    match = _FILE.fullmatch(data.decode("latin-1"))
    if match is None or hashlib.sha256(match[2].encode("latin-1")).hexdigest() != match[1]:
        return None
    try:
        target = json.loads(match[3])
    except ValueError:
        return None
    return SavedReadahead(target, int(match[4])) if isinstance(target, str) else None

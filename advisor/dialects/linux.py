"""The mount(8) command of Linux, and mount.nfs(8), which takes the same options behind the two places."""

from __future__ import annotations

import shlex

from advisor.dialects.commands import LINUX_PROGRAMS, Command, parse_command, parse_flags
from advisor.dialects.entry import DialectError, Entry, OtherFormError, Reading, Written, set_nfs4
from advisor.options import MountOptions

FORM = "a mount command"

_SHORT = "t:o:rwvnsfimlFO:hV"
_LONG = (
    "types=", "options=", "read-only", "ro", "rw", "read-write", "verbose", "no-mtab", "fake", "mkdir",
    "source=", "target=", "internal-only", "onlyonce", "make-private", "make-shared", "test-opts=",
)  # fmt: skip
#: Flags that are options by another name.
_AS_OPTION = {
    "-r": "ro", "--read-only": "ro", "--ro": "ro", "-w": "rw", "--rw": "rw", "--read-write": "rw",
    "-s": "sloppy", "-m": "X-mount.mkdir", "--mkdir": "X-mount.mkdir",
}  # fmt: skip
#: They change what is printed or noted, not the mount.
_QUIET = frozenset({"-v", "--verbose", "-n", "--no-mtab", "--source", "--target"})


def mount_command(share: str, mount_point: str, options: MountOptions) -> str:
    """Return the command line, quoted for a shell; mount(8) passes over the words meant for fstab."""
    words = ["mount", "-t", "nfs"]
    if str(options):
        words += ["-o", str(options)]
    return shlex.join([*words, share, mount_point])


def write(entry: Entry) -> Written:
    """Return the command."""
    return Written(mount_command(str(entry.share), entry.mount_point, entry.options) + "\n")


def read(text: str) -> Reading:
    """Return what a mount command says, its options in whatever order.

    Raises:
        DialectError: if it is not one or not complete.
    """
    command = parse_command(text)
    if command.program not in LINUX_PROGRAMS:
        raise OtherFormError("It begins with mount_nfs, not with mount.")
    items, fstype, untranslated, share, mount_point = read_flags(command)
    options = MountOptions.parse(",".join(items))
    if fstype == "nfs4" or command.program == "mount.nfs4":
        set_nfs4(options)
    return Reading(Entry.make(share, mount_point, options), FORM, untranslated)


def read_flags(command: Command) -> tuple[list[str], str, list[str], str, str]:
    """Return option texts, file system type, what is not translated, share and mount point.

    Raises:
        DialectError: if it is not a complete command for NFS.
    """
    flags, share, mount_point = parse_flags(command, _SHORT, _LONG)
    items: list[str] = []
    untranslated: list[str] = []
    fstype = "nfs"
    for flag, value in flags:
        if flag in {"-t", "--types"}:
            fstype = value
        elif flag in {"-o", "--options"}:
            items += [value] if value else []
        elif flag in _AS_OPTION:
            items.append(_AS_OPTION[flag])
        elif flag not in _QUIET:
            untranslated.append(f"The flag {flag} {value}".rstrip() + " of mount is not an option.")
    if fstype not in {"nfs", "nfs4"}:
        raise DialectError(f"The file system type is “{fstype}”, not nfs.")
    if command.behind:
        untranslated.append(f"What stands behind the command was left out: {command.behind}")
    return items, fstype, untranslated, share, mount_point

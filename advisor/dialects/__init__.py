"""The dialects in which an NFS mount is written: reading any of them, writing each of them.

Entries are kept in Linux's words; what another system cannot say is listed, never dropped in silence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.dialects import (
    ansible,
    autofs,
    bsd_read,
    freebsd,
    kubernetes,
    linux,
    linux_fstab,
    macos,
    nextstep,
    nfsmount_conf,
    openbsd,
    systemd,
)
from advisor.dialects.commands import parse_command
from advisor.dialects.entry import DialectError, Entry, OtherFormError, Reading, When, Written
from advisor.options import MountOptions

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DIALECTS", "Dialect", "DialectError", "Entry", "Reading", "UnreadableError", "When", "Written",
           "read_any", "read_every"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to write an entry.

    Attributes:
        name: for the command line.
        label: for people.
        write: returns the entry in it; raises DialectError if it cannot be written at all.
    """

    name: str
    label: str
    write: Callable[[Entry], Written]


#: A unit's section: its lines belong together.
_SECTION = re.compile(r"^\s*\[\w+\]\s*$", re.MULTILINE)
#: A line that goes on behind a backslash.
_CONTINUED = re.compile(r"\\\n")

#: All dialects by name, in the order to offer them.
DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect("command", "Linux mount command", linux.write),
        Dialect("fstab", "Linux fstab line", linux_fstab.write),
        Dialect("systemd-mount", "systemd mount unit", systemd.write_mount),
        Dialect("systemd-automount", "systemd automount unit", systemd.write_automount),
        Dialect("autofs", "autofs direct map", autofs.write),
        Dialect("nfsmount.conf", "section of nfsmount.conf", nfsmount_conf.write),
        Dialect("ansible", "Ansible task", ansible.write),
        Dialect("kubernetes", "Kubernetes PersistentVolume", kubernetes.write),
        Dialect("openbsd", "OpenBSD mount_nfs command", openbsd.write),
        Dialect("openbsd-fstab", "OpenBSD fstab line", openbsd.write_fstab),
        Dialect("freebsd", "FreeBSD mount command", freebsd.write),
        Dialect("freebsd-fstab", "FreeBSD fstab line", freebsd.write_fstab),
        Dialect("macos", "macOS mount command", macos.write),
        Dialect("macos-autofs", "macOS automounter map", macos.write_autofs),
        Dialect("nextstep", "NeXTSTEP fstab line", nextstep.write),
    )
}


class UnreadableError(DialectError):
    """No form fits the text.

    Attributes:
        tried: what was tried, with the reason why it is not that.
    """

    def __init__(self, message: str, tried: list[tuple[str, str]]) -> None:
        super().__init__(message)
        self.tried = tried


def read_any(text: str) -> Reading:
    """Return what a pasted text says, with the form that it was recognised as.

    A mount command, an fstab line, a systemd mount unit, an autofs map, or a command or fstab line of
    OpenBSD, FreeBSD, macOS or NeXTSTEP.

    Raises:
        UnreadableError: if it is none of these, or is one and not complete.
    """
    tried: list[tuple[str, str]] = []
    for form, read in _READERS:
        try:
            return read(text)
        except OtherFormError as error:
            tried.append((form, str(error)))
        except DialectError as error:
            tried.append((form, str(error)))
            raise UnreadableError(f"This looks like {form}, but it cannot be read. {error}", tried) from error
    raise UnreadableError("This is nothing that says how to mount NFS.", tried)


def read_every(text: str) -> list[Reading]:
    """Return every mount that a pasted text says: a line each, or one for all of it.

    Lines of other file systems, comments and what is no mount are passed over where at least two lines say
    one; a text that says a single mount is read as a whole, so that what it leaves out is told.

    Raises:
        UnreadableError: as :func:`read_any`.
    """
    found = _read_whole_map(text)
    if not found and not _SECTION.search(text):
        for line in _CONTINUED.sub(" ", text).splitlines():
            try:
                found.append(read_any(line))
            except UnreadableError:
                continue
    return found if len(found) > 1 else [read_any(text)]


def _read_bsd_command(text: str) -> Reading:
    return bsd_read.read_command(parse_command(text))


def _read_command(text: str) -> Reading:
    reading = linux.read(text)
    if bsd_read.is_bsd(reading.entry.options):
        return bsd_read.reread(reading, bsd_read.FORM_MOUNT)
    return reading


def _read_whole_map(text: str) -> list[Reading]:
    """Return the entries of a map, whose master line counts for all, [] if the text is none or has one."""
    try:
        found = [_in_words_of_linux(reading) for reading in autofs.read_all(text)]
    except DialectError:
        return []
    return found if len(found) > 1 else []


def _read_map(text: str) -> Reading:
    return _in_words_of_linux(autofs.read(text))


def _in_words_of_linux(reading: Reading) -> Reading:
    """Return the entry of a map that may be one of macOS or FreeBSD."""
    if not bsd_read.is_bsd(reading.entry.options):
        return reading
    # What says "on demand" was added in reading; the rest is in the words of macOS or FreeBSD.
    own = [item for item in reading.entry.options if not item.startswith("x-systemd.")]
    added = [item for item in reading.entry.options if item.startswith("x-systemd.")]
    entry = Entry(reading.entry.share, reading.entry.mount_point, MountOptions(own))
    again = bsd_read.reread(Reading(entry, reading.form, reading.untranslated), reading.form)
    options = MountOptions([*again.entry.options, *added])
    return Reading(Entry(entry.share, entry.mount_point, options), again.form, again.untranslated)


def _read_fstab(text: str) -> Reading:
    reading = linux_fstab.read(text)
    if bsd_read.is_next(reading.entry.options):
        return bsd_read.reread_next(reading)
    if bsd_read.is_bsd(reading.entry.options):
        return bsd_read.reread(reading, bsd_read.FORM_FSTAB)
    return reading


_READERS: tuple[tuple[str, Callable[[str], Reading]], ...] = (
    (systemd.FORM, systemd.read),
    (bsd_read.FORM_COMMAND, _read_bsd_command),
    (linux.FORM, _read_command),
    (autofs.FORM, _read_map),
    (linux_fstab.FORM, _read_fstab),
)

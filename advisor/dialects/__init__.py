"""Dialects: notations of an NFS mount (commands, fstab lines, units, maps) that can be read and written.

Entries are stored with Linux mount options. Settings that another system cannot express are reported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.dialects import autofs, bsd_read, bsd_write, linux, orchestration, systemd
from advisor.dialects.entry import (
    DialectError,
    DialectText,
    MountSpec,
    MountTime,
    ParseResult,
    WrongDialectError,
)
from advisor.dialects.linux import parse_command
from advisor.options import MountOptions

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "DIALECTS",
    "Dialect",
    "DialectError",
    "DialectText",
    "MountSpec",
    "MountTime",
    "ParseResult",
    "UnreadableMountError",
    "read_any",
    "read_every",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dialect:
    """One notation of a mount entry.

    Attributes:
        name: name on the command line.
        label: label for display.
        write: function that writes an entry; raises DialectError if the entry cannot be written.
    """

    name: str
    label: str
    write: Callable[[MountSpec], DialectText]


#: Section header of a systemd unit.
_UNIT_SECTION = re.compile(r"^\s*\[\w+\]\s*$", re.MULTILINE)
#: A backslash at the end of a line, which continues the line.
_CONTINUED_LINE = re.compile(r"\\\n")

#: All dialects by name, in display order.
DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect("command", "Linux mount command", linux.write_command),
        Dialect("fstab", "Linux fstab line", linux.write_fstab),
        Dialect("systemd-mount", "systemd mount unit", systemd.write_mount),
        Dialect("systemd-automount", "systemd automount unit", systemd.write_automount),
        Dialect("autofs", "autofs direct map", autofs.write),
        Dialect("nfsmount.conf", "section of nfsmount.conf", linux.write_nfsmount_conf),
        Dialect("ansible", "Ansible task", orchestration.write_ansible),
        Dialect("kubernetes", "Kubernetes PersistentVolume", orchestration.write_kubernetes),
        Dialect("openbsd", "OpenBSD mount_nfs command", bsd_write.write_openbsd),
        Dialect("openbsd-fstab", "OpenBSD fstab line", bsd_write.write_openbsd_fstab),
        Dialect("freebsd", "FreeBSD mount command", bsd_write.write_freebsd),
        Dialect("freebsd-fstab", "FreeBSD fstab line", bsd_write.write_freebsd_fstab),
        Dialect("macos", "macOS mount command", bsd_write.write_macos),
        Dialect("macos-autofs", "macOS automounter map", bsd_write.write_macos_autofs),
        Dialect("nextstep", "NeXTSTEP fstab line", bsd_write.write_nextstep),
    )
}


class UnreadableMountError(DialectError):
    """A text is no mount in any readable dialect.

    Attributes:
        tried: tried forms, each with the reason why the text does not match.
    """

    def __init__(self, message: str, tried: list[tuple[str, str]]) -> None:
        super().__init__(message)
        self.tried = tried


def read_any(text: str) -> ParseResult:
    """Return the first mount in a text, and the recognized form.

    The forms are a mount command, an fstab line, a systemd mount unit, an autofs map, and a command or fstab
    line of OpenBSD, FreeBSD, macOS or NeXTSTEP.

    Raises:
        UnreadableMountError: if the text has none of these forms, or is incomplete.
    """
    tried: list[tuple[str, str]] = []
    for form, read in _READERS:
        try:
            return read(text)
        except WrongDialectError as error:
            tried.append((form, str(error)))
        except DialectError as error:
            tried.append((form, str(error)))
            raise UnreadableMountError(
                f"This looks like {form}, but it cannot be read. {error}", tried
            ) from error
    raise UnreadableMountError("This is nothing that says how to mount NFS.", tried)


def read_every(text: str) -> list[ParseResult]:
    """Return every mount in a text.

    With two or more mounts, comments and all other lines are ignored. A text with one mount is parsed as a
    whole, so that the result reports its unsupported parts.

    Raises:
        UnreadableMountError: if :func:`read_any` cannot read the text either.
    """
    found = _read_all_of_map(text)
    if not found and not _UNIT_SECTION.search(text):
        for line in _CONTINUED_LINE.sub(" ", text).splitlines():
            try:
                found.append(read_any(line))
            except UnreadableMountError:
                continue
    return found if len(found) > 1 else [read_any(text)]


def _read_bsd_command(text: str) -> ParseResult:
    return bsd_read.read_mount_nfs(parse_command(text))


def _read_command(text: str) -> ParseResult:
    reading = linux.read_command(text)
    if bsd_read.is_bsd(reading.entry.options):
        return bsd_read.translate_bsd_options(reading, bsd_read.BSD_COMMAND_FORM)
    return reading


def _read_all_of_map(text: str) -> list[ParseResult]:
    """Return the entries of an autofs map with two or more entries, else []."""
    try:
        found = [_translate_bsd_map(reading) for reading in autofs.read_all(text)]
    except DialectError:
        return []
    return found if len(found) > 1 else []


def _read_autofs_map(text: str) -> ParseResult:
    return _translate_bsd_map(autofs.read(text))


def _translate_bsd_map(reading: ParseResult) -> ParseResult:
    """Return the entry of an autofs map, translated if its options are those of macOS or FreeBSD."""
    if not bsd_read.is_bsd(reading.entry.options):
        return reading
    # The reader added the x-systemd options; the other options are those of macOS or FreeBSD.
    bsd_items = [item for item in reading.entry.options if not item.startswith("x-systemd.")]
    added = [item for item in reading.entry.options if item.startswith("x-systemd.")]
    entry = MountSpec(reading.entry.share, reading.entry.mount_point, MountOptions(bsd_items))
    translated = bsd_read.translate_bsd_options(
        ParseResult(entry, reading.form, reading.untranslated), reading.form
    )
    options = MountOptions([*translated.entry.options, *added])
    return ParseResult(
        MountSpec(entry.share, entry.mount_point, options), translated.form, translated.untranslated
    )


def _read_fstab(text: str) -> ParseResult:
    reading = linux.read_fstab(text)
    if bsd_read.is_nextstep(reading.entry.options):
        return bsd_read.translate_nextstep_options(reading)
    if bsd_read.is_bsd(reading.entry.options):
        return bsd_read.translate_bsd_options(reading, bsd_read.BSD_FSTAB_FORM)
    return reading


_READERS: tuple[tuple[str, Callable[[str], ParseResult]], ...] = (
    (systemd.FORM, systemd.read),
    (bsd_read.MOUNT_NFS_FORM, _read_bsd_command),
    (linux.COMMAND_FORM, _read_command),
    (autofs.FORM, _read_autofs_map),
    (linux.FSTAB_FORM, _read_fstab),
)

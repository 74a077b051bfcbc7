"""Mount entry common to all dialects, and the results of reading and writing it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from advisor.options import YES, MountOptions, catalogue, is_comment
from advisor.share import Share, ShareError
from advisor.systemd_syntax import parse_time_span

MountTime = Literal["start-up", "on-demand", "by-hand"]


class DialectError(ValueError):
    """A text cannot be read, or an entry written, in a dialect; the message says why, one sentence."""


class WrongDialectError(DialectError):
    """A text does not have the form of this dialect; another dialect may read it."""


@dataclass(frozen=True, slots=True)
class MountSpec:
    """A mount entry: share, mount point and options.

    Attributes:
        share: server and export.
        mount_point: absolute path.
        options: all options of a Linux fstab line, including those for the time of mounting (noauto,
            x-systemd.automount, x-systemd.idle-timeout).
    """

    share: Share
    mount_point: str
    options: MountOptions = field(default_factory=MountOptions)

    @classmethod
    def make(cls, share: str, mount_point: str, options: MountOptions | str = "") -> MountSpec:
        """Return an entry parsed from texts.

        Raises:
            DialectError: if the share or the mount point is invalid.
        """
        try:
            parsed = Share.parse(share)
        except ShareError as error:
            raise DialectError(f"“{share}” is not a share: {error}") from error
        if not mount_point.startswith("/"):
            raise DialectError(f"The mount point “{mount_point}” is not an absolute path.")
        if any(ord(c) < 0x20 or ord(c) == 0x7F or 0xD800 <= ord(c) <= 0xDFFF for c in mount_point):
            raise DialectError("The mount point contains a control character or a byte that is not UTF-8.")
        parsed_options = MountOptions.parse(options) if isinstance(options, str) else options.copy()
        return cls(parsed, mount_point, parsed_options)

    @property
    def when(self) -> MountTime:
        """Time of mounting according to the options, as read by mount -a and systemd."""
        return mount_time_of(self.options)

    @property
    def idle_timeout_s(self) -> int | None:
        """Seconds until an unused on-demand mount is unmounted, None if never or if the text is invalid."""
        seconds = parse_time_span(self.options.get("x-systemd.idle-timeout") or "")
        return int(seconds) or None if seconds is not None and math.isfinite(seconds) else None

    def with_mount_time(self, when: MountTime) -> MountSpec:
        """Return a copy with another time of mounting; only on-demand mounts keep an idle timeout.

        Raises:
            DialectError: if an unclosed quotation mark prevents adding options.
        """
        options = self.options.copy()
        set_mount_time(options, when)
        return MountSpec(self.share, self.mount_point, options)


def mount_time_of(options: MountOptions) -> MountTime:
    """Return the time of mounting according to options, as read by mount -a and systemd."""
    if options.get("x-systemd.automount") == YES:
        return "on-demand"
    return "by-hand" if options.get("noauto") == YES else "start-up"


def set_mount_time(options: MountOptions, when: MountTime) -> None:
    """Set the options for a time of mounting; only on-demand mounts keep an idle timeout.

    Raises:
        DialectError: if an unclosed quotation mark prevents adding options.
    """
    if when == "on-demand":
        options.remove("auto")
        set_option(options, "x-systemd.automount", YES)
        return
    options.remove("x-systemd.automount")
    options.remove("x-systemd.idle-timeout")
    if when == "by-hand":
        set_option(options, "noauto", YES)
    else:
        options.remove("auto")


@dataclass(frozen=True, slots=True)
class DialectText:
    """An entry written in one dialect.

    Attributes:
        text: the entry, with a final newline.
        file_name: path of the file for the text, "" for a command.
        untranslated: settings that the dialect cannot express, one sentence each.
        problems: limits and differences of the other system, one sentence each.
    """

    text: str
    file_name: str = ""
    untranslated: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class ParseResult:
    """A mount entry read from a text.

    Attributes:
        entry: the entry with Linux options.
        form: recognized form of the text, for example "an fstab line".
        untranslated: parts of the text that were not understood or have no Linux equivalent, one sentence
            each.
    """

    entry: MountSpec
    form: str
    untranslated: list[str] = field(default_factory=list[str])


def split_fstab_items(options: MountOptions) -> tuple[list[str], list[str]]:
    """Return the items for mount.nfs, and the items that only fstab and systemd use."""
    inner: list[str] = []
    outer: list[str] = []
    for item in options:
        option = catalogue().read_item(item)[0] if item else None
        if option.scope == "fstab" if option else is_comment(item):
            outer.append(item)
        elif item:
            inner.append(item)
    return inner, outer


def set_option(options: MountOptions, name: str, value: str) -> None:
    """Set an option to a canonical value.

    Raises:
        DialectError: if an unclosed quotation mark prevents adding options.
    """
    try:
        options.set(name, value)
    except ValueError as error:
        raise DialectError("A quotation mark in the options is not closed.") from error


def set_version_4(options: MountOptions) -> None:
    """Set vers=4 for the file system type ``nfs4`` (mount.nfs4(8)), unless a version is present.

    Raises:
        DialectError: if an unclosed quotation mark prevents adding options.
    """
    if options.get("vers") is None:
        set_option(options, "vers", "4")


def control_character_problem(text: str, what: str) -> list[str]:
    """Return a sentence if a text contains a control character, else [].

    Args:
        text: text to write into a file.
        what: name of the text in the sentence, for example "options".
    """
    bad = any(ord(c) < 0x20 or ord(c) in {0x7F, 0x85, 0x2028, 0x2029} for c in text)
    return [f"The {what} contain a control character, which cannot be written here."] if bad else []

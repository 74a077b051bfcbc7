"""Mount entry that all dialects share, and the results of reading and writing it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from advisor.options import YES, MountOptions, catalogue, is_comment
from advisor.share import Share, ShareError
from advisor.systemd_syntax import parse_time_span

MountTime = Literal["start-up", "on demand", "by hand"]


class DialectError(ValueError):
    """The text cannot be read as this dialect; the message says why, one sentence."""


class WrongDialectError(DialectError):
    """The text is of another form altogether, so another dialect may read it."""


@dataclass(frozen=True, slots=True)
class MountSpec:
    """A share, where it is mounted, and how.

    Attributes:
        share: the export.
        mount_point: absolute path.
        options: every option as Linux writes it in fstab; the words that say when (noauto,
            x-systemd.automount, x-systemd.idle-timeout) are among them.
    """

    share: Share
    mount_point: str
    options: MountOptions = field(default_factory=MountOptions)

    @classmethod
    def make(cls, share: str, mount_point: str, options: MountOptions | str = "") -> MountSpec:
        """Return the entry of these texts.

        Raises:
            DialectError: if the share or the mount point is none.
        """
        try:
            parsed = Share.parse(share)
        except ShareError as error:
            raise DialectError(f"“{share}” is not a share: {error}") from error
        if not mount_point.startswith("/"):
            raise DialectError(f"The mount point “{mount_point}” is not an absolute path.")
        if any(ord(c) < 0x20 or ord(c) == 0x7F or 0xD800 <= ord(c) <= 0xDFFF for c in mount_point):
            raise DialectError("The mount point contains a control character or a byte that is not UTF-8.")
        made = MountOptions.parse(options) if isinstance(options, str) else options.copy()
        return cls(parsed, mount_point, made)

    @property
    def when(self) -> MountTime:
        """When it is mounted, as mount -a and systemd read the options."""
        return mount_time_of(self.options)

    @property
    def idle_timeout_s(self) -> int | None:
        """Seconds after which an unused on-demand mount goes, None if it stays or the text is no time."""
        seconds = parse_time_span(self.options.get("x-systemd.idle-timeout") or "")
        return int(seconds) or None if seconds is not None and math.isfinite(seconds) else None

    def with_mount_time(self, when: MountTime) -> MountSpec:
        """Return a copy that is mounted then; an idle time-out stays only where it means something.

        Raises:
            DialectError: if the options are broken, so that nothing can be added.
        """
        options = self.options.copy()
        set_mount_time(options, when)
        return MountSpec(self.share, self.mount_point, options)


def mount_time_of(options: MountOptions) -> MountTime:
    """Return when these options mount, as mount -a and systemd read them."""
    if options.get("x-systemd.automount") == YES:
        return "on demand"
    return "by hand" if options.get("noauto") == YES else "start-up"


def set_mount_time(options: MountOptions, when: MountTime) -> None:
    """Change the options so that they mount then; an idle time-out stays only where it means something.

    Raises:
        DialectError: if the options are broken, so that nothing can be added.
    """
    if when == "on demand":
        options.remove("auto")
        set_option(options, "x-systemd.automount", YES)
        return
    options.remove("x-systemd.automount")
    options.remove("x-systemd.idle-timeout")
    if when == "by hand":
        set_option(options, "noauto", YES)
    else:
        options.remove("auto")


@dataclass(frozen=True, slots=True)
class DialectText:
    """An entry in one dialect.

    Attributes:
        text: what to copy, with a line end.
        file_name: where it belongs, "" for a command.
        untranslated: what the dialect cannot say, one sentence each.
        problems: what the other system limits or changes, one sentence each.
    """

    text: str
    file_name: str = ""
    untranslated: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class ParseResult:
    """What a text says.

    Attributes:
        entry: in Linux's words.
        form: what the text was recognised as, for example "an fstab line".
        untranslated: what of it Linux cannot say or is not understood, one sentence each.
    """

    entry: MountSpec
    form: str
    untranslated: list[str] = field(default_factory=list[str])


def split_fstab_items(options: MountOptions) -> tuple[list[str], list[str]]:
    """Return the items that reach mount.nfs, and those that only fstab and systemd read."""
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
    """Give an option a value.

    Raises:
        DialectError: if the options are broken, so that nothing can be added.
    """
    try:
        options.set(name, value)
    except ValueError as error:
        raise DialectError("A quotation mark in the options is not closed.") from error


def set_version_4(options: MountOptions) -> None:
    """Say in an option what the file system type ``nfs4`` says (mount.nfs4(8)), unless a version is given.

    Raises:
        DialectError: as :func:`set_option`.
    """
    if options.get("vers") is None:
        set_option(options, "vers", "4")


def control_character_problem(text: str, what: str) -> list[str]:
    """Return a sentence if the text has a character that no line of a file can hold."""
    bad = any(ord(c) < 0x20 or ord(c) in {0x7F, 0x85, 0x2028, 0x2029} for c in text)
    return [f"The {what} contain a control character, which cannot be written here."] if bad else []

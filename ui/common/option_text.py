"""Texts of mount options: values in plain words with their spelling, defaults, help and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QLocale

from advisor.catalogue import NO, YES
from app.units import format_size
from ui.common.translation import tr

if TYPE_CHECKING:
    from advisor.catalogue import Option


#: Python refuses to read numbers of thousands of digits, and none of these means anything to the kernel.
_TOO_MANY_DIGITS = 20
#: How many versions of NFS the catalogue speaks of.
_VERSIONS = 4


def _words() -> dict[str, str]:
    return {
        "rw": tr("read and write"),
        "ro": tr("read only"),
        "fg": tr("wait, then fail"),
        "bg": tr("go on trying"),
        "hard": tr("keep trying"),
        "soft": tr("give up"),
        "softerr": tr("give up, as timed out"),
    }


def value_text(option: Option, value: str) -> str:
    """Return a canonical value for reading: ``1 MiB (1048576)``, ``60 s``, ``keep trying (hard)``, ``no``."""
    if option.kind == "flag":
        return {YES: tr("yes"), NO: tr("no")}.get(value, value)
    word = _words().get(value)
    if option.kind == "enum" and word is not None:
        return f"{word} ({value})"
    if not (option.is_number and is_plain_number(value)):
        return value
    return _number_text(option, value)


def _number_text(option: Option, value: str) -> str:
    if option.kind == "size":
        return size_item(int(value))
    if option.kind == "decisec":
        return f"{QLocale().toString(int(value) / 10, 'f', 1)} s"
    if option.kind in ("sec", "minutes"):
        return f"{value} s" if option.kind == "sec" else f"{value} min"
    return value


def size_item(count: int) -> str:
    """Return a transfer size with its plain number of bytes, which is what the option string carries."""
    return f"{count} ({format_size(count)})" if count >= 1024 else str(count)


def is_plain_number(value: str) -> bool:
    """Whether a text is a plain number that can be reckoned with; the string may hold anything."""
    return value.isascii() and value.isdigit() and len(value) < _TOO_MANY_DIGITS


def default_text(option: Option, version: str = "", transport: str = "") -> str:
    """Return the default on a mount of this version and transport: its value, or how it comes about."""
    default = option.default_for(version, transport)
    return option.default_note if default is None else value_text(option, default)


def real_name(option: Option) -> str:
    """Return the spelling in the option string, for the tool tip."""
    if option.kind == "enum" and option.words:
        return ", ".join(option.values)
    if option.kind == "flag":
        return ", ".join(option.all_words())
    return option.name


def help_text(option: Option) -> str:
    """Return the tool tip of a row: real name, help, default in words, and what a change takes."""
    lines = [real_name(option), option.help]
    if option.default_note:
        lines.append(tr("Default: {text}.").format(text=option.default_note))
    lines.append(limits_text(option))
    return "\n".join(line for line in lines if line)


def limits_text(option: Option) -> str:
    """Return what a change of an option takes, and where it counts."""
    changes = {
        "live": tr("A change takes effect at once."),
        "remount": tr("A change takes effect by a remount."),
        "mount": tr("A change takes an unmount and a new mount."),
        "host": tr("A change concerns the whole computer."),
        "boot": tr("It counts at the next start, or when it is mounted next."),
    }
    parts = [changes[option.change]]
    if not option.versions:
        parts = [tr("It has no effect on NFS.")]
    elif len(option.versions) < _VERSIONS:
        parts.append(tr("Only on version {versions}.").format(versions=", ".join(option.versions)))
    if option.since:
        parts.append(tr("Since Linux {version}.").format(version=option.since))
    return " ".join(parts)


def spelling(option: Option) -> str:
    """Return how an option is written, in short: ``rsize``, ``hard/soft``, ``ac/noac``."""
    if option.words:
        return "/".join(option.values[:2])
    return f"{option.name}/{option.negation}" if option.negation else option.name


def help_line(option: Option) -> str:
    """Return the help of an option for one or two lines of running text."""
    default = tr("Default: {text}.").format(text=default_text(option))
    return f"{real_name(option)}: {option.help} {default} {limits_text(option)}"

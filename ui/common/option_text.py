"""Texts of mount options: values in words and as spelled, defaults, help and effect of a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QLocale

from advisor.catalogue import NO, YES
from advisor.options import catalogue
from app.text.units import format_size
from ui.common.translation import tr

if TYPE_CHECKING:
    from advisor.catalogue import Option


#: Number of digits from which on a value is no number: Python limits int(), the kernel has 64 bits.
_MAX_DIGITS = 20
#: Number of NFS versions in the catalogue (3, 4.0, 4.1, 4.2).
_VERSION_COUNT = 4


def _enum_texts() -> dict[str, str]:
    return {
        "rw": tr("read and write"),
        "ro": tr("read only"),
        "fg": tr("wait, then fail"),
        "bg": tr("go on trying"),
        "hard": tr("keep trying"),
        "soft": tr("give up"),
        "softerr": tr("give up, as timed out"),
    }


def option_label(name: str) -> str:
    """Return the label of an option; an unknown option is called by its name."""
    option = catalogue().find(name)
    return option.label if option is not None else name


def value_text(option: Option, value: str) -> str:
    """Format a canonical value: ``1048576 (1 MiB)``, ``60 s (timeo=600)``, ``keep trying (hard)``, ``no``."""
    if option.kind == "flag":
        return {YES: tr("yes"), NO: tr("no")}.get(value, value)
    word = _enum_texts().get(value)
    if option.kind == "enum" and word is not None:
        return f"{word} ({value})"
    if not (option.is_number and is_plain_number(value)):
        return value
    return _number_text(option, value)


def _number_text(option: Option, value: str) -> str:
    if option.kind == "size":
        return size_item(int(value))
    if option.kind == "decisec":
        seconds = int(value) / 10
        shown = QLocale().toString(seconds, "f", 0 if seconds.is_integer() else 1)
        return f"{shown} s ({option.name}={value})"
    if option.kind in ("sec", "minutes"):
        return f"{value} s" if option.kind == "sec" else f"{value} min"
    return value


def size_item(count: int) -> str:
    """Format a transfer size in bytes as in the option string, with a readable size in parentheses."""
    return f"{count} ({format_size(count)})" if count >= 1024 else str(count)


def is_plain_number(value: str) -> bool:
    """Return whether a value is a plain decimal number of less than 20 digits."""
    return value.isascii() and value.isdigit() and len(value) < _MAX_DIGITS


def default_text(option: Option, version: str = "", transport: str = "") -> str:
    """Return the default for a version and a transport: its value, or a note if it is not fixed."""
    default = option.default_for(version, transport)
    return option.default_note if default is None else value_text(option, default)


def real_name(option: Option) -> str:
    """Return the spellings of an option in the option string, separated by commas."""
    if option.kind == "enum" and option.words:
        return ", ".join(option.values)
    if option.kind == "flag":
        return ", ".join(option.all_words())
    return option.name


def help_text(option: Option) -> str:
    """Return the tooltip of an option: spelling, help, default, and effect of a change."""
    lines = [real_name(option), option.help]
    if option.default_note:
        lines.append(tr("Default: {text}.").format(text=option.default_note))
    lines.append(limits_text(option))
    return "\n".join(line for line in lines if line)


def limits_text(option: Option) -> str:
    """Return when a change of an option takes effect, and for which NFS and Linux versions."""
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
    elif len(option.versions) < _VERSION_COUNT:
        parts.append(tr("Only on version {versions}.").format(versions=", ".join(option.versions)))
    if option.since:
        parts.append(tr("Since Linux {version}.").format(version=option.since))
    return " ".join(parts)


def spelling(option: Option) -> str:
    """Return a short spelling of an option: ``rsize``, ``hard/soft``, ``ac/noac``."""
    if option.words:
        return "/".join(option.values[:2])
    return f"{option.name}/{option.negation}" if option.negation else option.name


def help_line(option: Option) -> str:
    """Return the help of an option as running text: spelling, help, default, and effect of a change."""
    default = tr("Default: {text}.").format(text=default_text(option))
    return f"{real_name(option)}: {option.help} {default} {limits_text(option)}"

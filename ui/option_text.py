"""Option values as people read them: plain words first, the real spelling beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QLocale

from advisor.catalogue import NO, YES
from app.units import format_size

if TYPE_CHECKING:
    from advisor.catalogue import Option


def _tr(text: str) -> str:
    return QCoreApplication.translate("option_text", text)


def _words() -> dict[str, str]:
    return {
        "rw": _tr("read and write"),
        "ro": _tr("read only"),
        "fg": _tr("wait, then fail"),
        "bg": _tr("go on trying"),
        "hard": _tr("keep trying"),
        "soft": _tr("give up"),
        "softerr": _tr("give up, as timed out"),
    }


def value_text(option: Option, value: str) -> str:
    """Return a canonical value for reading: ``1 MiB (1048576)``, ``60 s``, ``keep trying (hard)``, ``no``."""
    if option.kind == "flag":
        return {YES: _tr("yes"), NO: _tr("no")}.get(value, value)
    word = _words().get(value)
    if option.kind == "enum" and word is not None:
        return f"{word} ({value})"
    if not (option.is_number and value.isdigit()):
        return value
    return _number_text(option, value)


def _number_text(option: Option, value: str) -> str:
    if option.kind == "size":
        return size_item(int(value))
    if option.kind == "decisec":
        return f"{QLocale().toString(int(value) / 10, 'f', 1)} s"
    if option.kind == "sec":
        return f"{value} s"
    return value


def size_item(count: int) -> str:
    """Return a transfer size with its plain number of bytes, which is what the option string carries."""
    return f"{count} ({format_size(count)})" if count >= 1024 else str(count)


def default_text(option: Option) -> str:
    """Return the default: its value, or how it comes about."""
    if option.default is None:
        return option.default_note
    return value_text(option, option.default)


def real_name(option: Option) -> str:
    """Return the spelling in the option string, for the tool tip."""
    if option.kind == "enum" and option.words:
        return ", ".join(option.values)
    if option.kind == "flag":
        return ", ".join(option.all_words())
    return option.name


def help_text(option: Option) -> str:
    """Return the tool tip of a row: real name, help, default in words."""
    lines = [f"{real_name(option)}", option.help]
    if option.default_note:
        lines.append(_tr("Default: {text}.").format(text=option.default_note))
    return "\n".join(lines)


def spelling(option: Option) -> str:
    """Return how an option is written, in short: ``rsize``, ``hard/soft``, ``ac/noac``."""
    if option.words:
        return "/".join(option.values[:2])
    return f"{option.name}/{option.negation}" if option.negation else option.name

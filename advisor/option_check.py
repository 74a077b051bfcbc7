"""Whether a single item of an option string is right: its name, the kind of its value, the range."""

from __future__ import annotations

import difflib
import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from advisor.catalogue import Catalogue, Option

_SUFFIX = re.compile(r"([0-9]+)([kKmMgG])[iI]?[bB]?")
_FACTORS = {"k": 1024, "m": 1024**2, "g": 1024**3}
#: The kernel's list of flavors has this many places (NFS_AUTH_INFO_MAX_FLAVORS, fs/nfs/internal.h: 12).
_MAX_FLAVORS = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionProblem:
    """What is wrong with one item.

    Attributes:
        name: canonical name of the option, or the item's own name if it is unknown.
        item: the item as written.
        code: unknown, missing (a value), value (of the wrong kind), range, or text (quotes, odd characters).
        message: what is wrong, one sentence.
        hint: what to do, one sentence, or "".
    """

    name: str
    item: str
    code: Literal["unknown", "missing", "value", "range", "text"]
    message: str
    hint: str = ""


def check_item(item: str, options: Catalogue) -> OptionProblem | None:
    """Return the item's problem, or None; an empty item is none, mount passes over it."""
    if not item:
        return None
    option, name, value = options.read_item(item)
    problem = _check_text(item, name)
    if problem is None:
        if option is None:
            problem = _check_unknown(item, name, options)
        elif item not in option.all_words():
            problem = _check_value(option, item, value)
    return problem


def _check_text(item: str, name: str) -> OptionProblem | None:
    if item.count('"') % 2:
        message = f"In “{item}” a quotation mark is not closed."
        return OptionProblem(name=name, item=item, code="text", message=message)
    if any(ord(c) < 0x20 or ord(c) == 0x7F or 0xD800 <= ord(c) <= 0xDFFF for c in item):
        message = "An option contains a control character or a byte that is not UTF-8."
        return OptionProblem(name=name, item=item, code="text", message=message)
    if item != item.strip():
        message = f"There is a blank before or after “{item.strip()}”."
        hint = "Write the options with commas between and no blanks."
        return OptionProblem(name=name, item=item, code="text", message=message, hint=hint)
    return None


def _check_unknown(item: str, name: str, options: Catalogue) -> OptionProblem | None:
    if item.startswith(("x-", "X-")):
        return None  # for mount and systemd, or for anybody: they never reach the kernel
    message = f"There is no mount option “{name}”."
    if name == "nosoftreval":
        hint = "The manual names it, but the kernel refuses it; leave softreval out instead."
    else:
        close = close_spelling(name, options)
        hint = f"Did you mean “{close}”?" if close else "Leave it out, or check its spelling in nfs(5)."
    return OptionProblem(name=name, item=item, code="unknown", message=message, hint=hint)


def close_spelling(name: str, options: Catalogue) -> str | None:
    """Return the spelling of an option that an unknown name is closest to, or None if none is close."""
    spellings = {form.removesuffix("=") for option in options for form in option.forms}
    spellings |= {option.negation for option in options if option.negation}
    close = difflib.get_close_matches(name, sorted(spellings), n=1, cutoff=0.7)
    return close[0] if close else None


def bytes_of(value: str) -> int | None:
    """Return the number that a size with a suffix means (32k, 1MiB), which mount does not read; or None."""
    suffix = _SUFFIX.fullmatch(value)
    return int(suffix[1]) * _FACTORS[suffix[2].lower()] if suffix else None


def _check_value(option: Option, item: str, value: str) -> OptionProblem | None:
    if not option.takes_value:
        words = ", ".join(option.all_words())
        message = f"“{item}” is not a spelling of the option “{option.name}”."
        return OptionProblem(
            name=option.name, item=item, code="value", message=message, hint=f"Write one of: {words}."
        )
    if value == "" and option.kind != "string":
        message = f"The option “{option.name}” needs a value."
        hint = f"Write {option.name}=…, for example {option.name}={_example(option)}."
        return OptionProblem(name=option.name, item=item, code="missing", message=message, hint=hint)
    if option.is_number:
        problem = _check_number(option, item, value)
    elif option.kind == "seclist":
        problem = _check_list(option, item, value)
    elif option.kind == "addr":
        problem = _check_address(option, item, value)
    elif option.values and value not in option.values:
        problem = _not_a_value(option, item, value)
    else:
        problem = None
    return problem


def _example(option: Option) -> str:
    if option.kind == "addr":
        return "192.0.2.7"
    return option.default or (option.values[0] if option.values else "65536")


def _not_a_value(option: Option, item: str, value: str) -> OptionProblem:
    message = f"“{value}” is not a value of the option “{option.name}”."
    hint = f"It takes {', '.join(option.values)}."
    return OptionProblem(name=option.name, item=item, code="value", message=message, hint=hint)


def _check_number(option: Option, item: str, value: str) -> OptionProblem | None:
    if not (value.isascii() and value.isdigit()):
        message = f"“{value}” is not a whole number, which the option “{option.name}” needs."
        size = bytes_of(value)
        hint = f"The kernel reads plain decimal numbers only{_unit(option)}."
        if size is not None:
            hint = f"Write {option.name}={size}."
        return OptionProblem(name=option.name, item=item, code="value", message=message, hint=hint)
    if value != "0" and value.startswith("0"):
        message = f"The kernel reads “{value}” as an octal number because of its leading 0."
        hint = f"Write {option.name}={value.lstrip('0') or '0'}."
        return OptionProblem(name=option.name, item=item, code="value", message=message, hint=hint)
    low, high = option.minimum or 0, option.maximum or 0
    # Longer than any limit: not turned into a number, which takes long for thousands of digits.
    if len(value) > 20 or not low <= int(value) <= high:
        message = f"“{option.name}” must be from {low} to {high}{_unit(option)}."
        return OptionProblem(name=option.name, item=item, code="range", message=message)
    return None


def _unit(option: Option) -> str:
    return f" ({option.unit})" if option.unit else ""


def _check_list(option: Option, item: str, value: str) -> OptionProblem | None:
    parts = value.split(":")
    for part in parts:
        if part not in option.values:
            return _not_a_value(option, item, part)
    if len(parts) > _MAX_FLAVORS or len(set(parts)) != len(parts):
        message = f"The option “{option.name}” names something twice, or too much."
        return OptionProblem(name=option.name, item=item, code="value", message=message)
    return None


def _check_address(option: Option, item: str, value: str) -> OptionProblem | None:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        message = f"“{value}” is not an IP address, which the option “{option.name}” needs."
        return OptionProblem(name=option.name, item=item, code="value", message=message)
    return None

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
_APART = re.compile(r"[\s;]+")
_TIME = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|sec|m|min|h)?")
_SECONDS = {"ms": 0.001, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
#: What a second is in the unit of the option.
_PER_SECOND = {"decisec": 10, "sec": 1, "minutes": 1 / 60}
#: The kernel's list of flavors has this many places (NFS_AUTH_INFO_MAX_FLAVORS, fs/nfs/internal.h: 12).
_MAX_FLAVORS = 11
#: Characters of an item that a message shows.
_MAX_SHOWN = 40


#: Names of other systems that people bring along, and what they are there (mount_nfs of the BSDs and macOS,
#: mount(8) of NeXTSTEP).
_ELSEWHERE = {
    "mnttimeo": "NeXTSTEP calls the time-out of the mount request so; the closest here is “retry”.",
    "readahead": "The BSDs and macOS set it here; Linux has it beside the mount, as read_ahead_kb.",
    "dumbtimer": "The BSDs know it; here “timeo” is always taken as it stands.",
    "deadthresh": "FreeBSD and macOS know it; the closest here is “softerr”.",
    "mntudp": "The BSDs write it so; here it is “mountproto=udp”.",
    "locallocks": "macOS writes it so; here it is “nolock” or “local_lock=all”.",
    "nfsv3": "The BSDs write it so; here it is “vers=3”.",
    "nfsv4": "FreeBSD writes it so; here it is “vers=4”.",
    "uid": "Other file systems know it; on NFS the server decides who owns a file.",
    "gid": "Other file systems know it; on NFS the server decides who owns a file.",
    "umask": "Other file systems know it; on NFS permissions stand on the server.",
    "pnfs": "FreeBSD writes it so; Linux uses pNFS by itself where the server offers it.",
}
#: What people mean by words that no option has, where the closest spelling would be another option.
_MEANT = {
    "version": "vers", "nfsversion": "vers", "timeout": "timeo", "readonly": "ro", "read-only": "ro",
    "readwrite": "rw", "read-write": "rw", "retries": "retrans", "protocol": "proto", "security": "sec",
    "background": "bg", "foreground": "fg", "connections": "nconnect", "locallock": "local_lock",
}  # fmt: skip
#: Words of exports(5), of mount.cifs(8), of file systems on disks, and flavors of sec: no option of NFS.
_MISPLACED = {
    **dict.fromkeys(
        ("no_root_squash", "root_squash", "all_squash", "no_all_squash", "subtree_check", "no_subtree_check",
         "insecure", "secure", "insecure_locks", "secure_locks", "no_wdelay", "wdelay", "crossmnt", "hide",
         "nohide", "no_acl", "anonuid", "anongid", "fsid", "auth_nlm", "no_auth_nlm", "refer", "replicas",
         "mountpoint", "mp", "no_pnfs", "security_label"),
        "It belongs to the exports(5) of the server, not to a mount. Leave it out.",
    ),
    **dict.fromkeys(
        ("credentials", "cred", "username", "password", "pass", "domain", "workgroup", "guest", "file_mode",
         "dir_mode", "iocharset", "noperm", "mfsymlinks", "forceuid", "forcegid", "nobrl", "seal"),
        "It belongs to mounts of Windows shares (mount.cifs(8)). Leave it out.",
    ),
    **dict.fromkeys(
        ("errors", "discard", "nodiscard", "data", "barrier", "nobarrier", "commit", "usrquota", "grpquota",
         "quota", "noquota", "user_xattr", "nouser_xattr", "compress", "subvol", "utf8", "codepage", "fmask",
         "dmask", "loop", "journal_checksum", "nr_inodes", "size", "allow_other"),
        "It belongs to other file systems. Leave it out.",
    ),
    **dict.fromkeys(
        ("krb5", "krb5i", "krb5p", "sys"),
        "It is a security flavor: write sec=krb5p, and colons between several, as in sec=krb5p:krb5i.",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionProblem:
    """What is wrong with one item.

    Attributes:
        name: canonical name of the option, or the item's own name if it is unknown.
        item: the item as written.
        code: unknown (to this program, not to every kernel), foreign (of another system, or refused by every
            kernel), missing (a value), value (of the wrong kind), range, or text (quotes, odd characters).
        message: what is wrong, one sentence.
        hint: the likely cause if it is not clear, and what to do or write instead.
    """

    name: str
    item: str
    code: Literal["unknown", "foreign", "missing", "value", "range", "text"]
    message: str
    hint: str


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
        hint = "Close it, or leave it out: only values with a comma in them need quotation marks."
        return OptionProblem(name=name, item=item, code="text", message=message, hint=hint)
    if not item.isprintable():
        message = "An option contains a control character or another character that is not printable."
        hint = "It may have come along with a pasted text; type the option anew."
        return OptionProblem(name=name, item=item, code="text", message=message, hint=hint)
    if item != item.strip():
        message = f"There is a blank before or after “{item.strip()}”."
        hint = "Write the options with commas between and no blanks."
        return OptionProblem(name=name, item=item, code="text", message=message, hint=hint)
    return None


def _check_unknown(item: str, name: str, options: Catalogue) -> OptionProblem | None:
    if item.startswith(("x-", "X-")):
        return None  # for mount and systemd, or for anybody: they never reach the kernel
    words = _APART.split(item.strip())
    if len(words) > 1 and "=" not in words[0]:
        message = f"“{item}” is no option: commas stand between options, not blanks or semicolons."
        hint = f"Write {','.join(words)}."
        return OptionProblem(name=name, item=item, code="text", message=message, hint=hint)
    if not name:
        message = f"“{item}” has no option name."
        return OptionProblem(
            name=name,
            item=item,
            code="text",
            message=message,
            hint="Write options as NAME or NAME=VALUE with commas between, for example vers=4.2,ro.",
        )
    foreign = ""
    if name == "nosoftreval":
        foreign = "The manual names it, but the kernel refuses it; leave softreval out instead."
    elif name in _ELSEWHERE:
        foreign = f"{_ELSEWHERE[name]} Leave it out, or paste the whole line to have it translated."
    elif name in _MISPLACED:
        foreign = _MISPLACED[name]
    if foreign:
        message = f"There is no mount option “{name}”" + (f" (“{item}”)." if item != name else ".")
        return OptionProblem(name=name, item=item, code="foreign", message=message, hint=foreign)
    message = f"The option “{name}” is not known to this program."
    close = close_spelling(name, options)
    cause = "It may be newer than this program, or belong to another file system. Look it up in nfs(5)."
    hint = f"Did you mean “{close}”?" if close else cause
    return OptionProblem(name=name, item=item, code="unknown", message=message, hint=hint)


def close_spelling(name: str, options: Catalogue) -> str | None:
    """Return the spelling of an option that an unknown name is closest to, or None if none is close."""
    spellings = {form.removesuffix("=") for option in options for form in option.forms}
    spellings |= {option.negation for option in options if option.negation}
    lower = {spelling.lower(): spelling for spelling in sorted(spellings)}
    if name.lower() in _MEANT:
        return _MEANT[name.lower()]
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.7)
    return lower[close[0]] if close else None


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
        hint = f"Put one behind an equals sign, for example {option.name}={_example(option)}."
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
    close = difflib.get_close_matches(value, option.values, n=1)
    hint = f"It takes {', '.join(option.values)}."
    if close:
        hint = f"Did you mean “{close[0]}”? {hint}"
    return OptionProblem(name=option.name, item=item, code="value", message=message, hint=hint)


def _check_number(option: Option, item: str, value: str) -> OptionProblem | None:
    if not (value.isascii() and value.isdigit()):
        message = f"“{value}” is not a whole number, which the option “{option.name}” needs."
        return OptionProblem(
            name=option.name, item=item, code="value", message=message, hint=_number_hint(option, value)
        )
    if value != "0" and value.startswith("0"):
        message = f"The kernel reads “{value}” as an octal number because of its leading 0."
        hint = f"Write {option.name}={value.lstrip('0') or '0'}."
        return OptionProblem(name=option.name, item=item, code="value", message=message, hint=hint)
    low, high = option.minimum or 0, option.maximum or 0
    # Longer than any limit: not turned into a number, which takes long for thousands of digits.
    number = int(value) if len(value) <= 20 else high + 1
    if not low <= number <= high:
        written = item if len(item) <= _MAX_SHOWN else f"{item[:_MAX_SHOWN]}…"
        message = f"“{written}” is out of range: it must be from {low} to {high}{_unit(option)}."
        hint = f"The least is {option.name}={low}." if number < low else f"The most is {option.name}={high}."
        return OptionProblem(name=option.name, item=item, code="range", message=message, hint=hint)
    return None


def _number_hint(option: Option, value: str) -> str:
    """Return what to write instead of a value that mount would not take for a number."""
    meant = bytes_of(value) if option.kind == "size" else _time_of(option, value)
    if meant is None and re.fullmatch(r"0[xX][0-9a-fA-F]{1,15}", value):
        meant = int(value, 16)
    if meant is not None and (option.minimum or 0) <= meant <= (option.maximum or 0):
        unit = f", in {option.unit}" if option.unit else ""
        return f"Write {option.name}={meant}{unit}."
    return f"Only plain decimal digits are read, without sign or unit{_unit(option)}."


def _time_of(option: Option, value: str) -> int | None:
    """Return the number for a time with a unit or a fraction (60s, 2min, 1.5), which mount does not read."""
    match = _TIME.fullmatch(value)
    if match is None or option.kind not in _PER_SECOND:
        return None
    seconds = float(match[1]) * _SECONDS[match[2]] if match[2] else None
    if seconds is None:  # a bare fraction: of seconds, as forms show them
        seconds = float(match[1]) * (60 if option.kind == "minutes" else 1)
    return round(seconds * _PER_SECOND[option.kind])


def _unit(option: Option) -> str:
    return f" ({option.unit})" if option.unit else ""


def _check_list(option: Option, item: str, value: str) -> OptionProblem | None:
    parts = value.split(":")
    for part in parts:
        if part not in option.values:
            return _not_a_value(option, item, part)
    if len(parts) > _MAX_FLAVORS or len(set(parts)) != len(parts):
        message = f"The option “{option.name}” names something twice, or too much."
        once = ":".join(list(dict.fromkeys(parts))[:_MAX_FLAVORS])
        hint = f"Write {option.name}={once}."
        return OptionProblem(name=option.name, item=item, code="value", message=message, hint=hint)
    return None


def _check_address(option: Option, item: str, value: str) -> OptionProblem | None:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        message = f"“{value}” is not an IP address, which the option “{option.name}” needs."
        hint = "Names are not looked up here; write the address in digits, for example 192.0.2.7."
        return OptionProblem(name=option.name, item=item, code="value", message=message, hint=hint)
    return None

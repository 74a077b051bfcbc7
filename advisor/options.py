"""Mount options: lossless parsing, printing, comparing and checking of an option string.

The text is split as by mount.nfs and libmount (utils/mount/parse_opt.c, libmount/src/optstr.c): at commas
outside of double quotes. A backslash does not escape a comma. Each item is checked against the option
catalogue: its name, the type of its value, and the range.
"""

from __future__ import annotations

import difflib
import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from advisor.catalogue import NO, YES, Catalogue, CatalogueError, Option, catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "NO", "YES", "Catalogue", "CatalogueError", "MountOptions", "Option", "OptionChange", "OptionProblem",
    "catalogue", "check_options", "implied_values", "options_for_mount",
]  # fmt: skip

#: The four attribute cache times, which actimeo sets together and noac sets to 0 (nfs(5)).
ATTRIBUTE_TIMES = ("acregmin", "acregmax", "acdirmin", "acdirmax")


class OptionChange(NamedTuple):
    """One difference between two option sets; a value is None where the option is absent."""

    name: str
    before: str | None
    after: str | None


class MountOptions:
    """The options of one mount as written, including spellings, duplicates and empty items.

    Methods accept canonical names of the catalogue and other spellings: ``nfsvers`` is ``vers``, ``soft`` is
    the option ``hard``, and ``noac`` is the negation of ``ac``. Values are canonical: a flag has YES ("")
    or NO ("no"), an alternative written as a word has that word as its value (``soft``), and times are in the
    unit of the option (timeo in tenths of a second). The last of several items for one option wins, as in
    mount.nfs and in the kernel.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[str] = ()) -> None:
        self._items = list(items)

    @classmethod
    def parse(cls, text: str) -> MountOptions:
        """Return the options of a text. Any text is accepted; :func:`check_options` finds its errors."""
        return cls(_split_items(text) if text else ())

    def __str__(self) -> str:
        return ",".join(self._items)

    def __repr__(self) -> str:
        return f"MountOptions.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MountOptions) and self._items == other._items

    __hash__ = None  # type: ignore[assignment] # instances are mutable

    def __iter__(self) -> Iterator[str]:
        """Iterate over the items as written."""
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def copy(self) -> MountOptions:
        """Return an independent copy."""
        return MountOptions(self._items)

    def get(self, name: str) -> str | None:
        """Return the canonical value of an option, or None if it is absent.

        A negated name negates the value: if ``noac`` is present, ``get("noac")`` is YES and ``get("ac")``
        is NO.
        """
        option, canonical_name = _find_option(name)
        for item in reversed(self._items):
            if not item:
                continue
            _, canonical, value = catalogue().read_item(item)
            if canonical == canonical_name:
                return _value_for_spelling(option, name, value)
        return None

    def set(self, name: str, value: str) -> None:
        """Set an option to a canonical value.

        The last item of the option keeps its position and, as far as possible, its spelling: ``nfsvers=3``
        becomes ``nfsvers=4.2``, ``v3`` becomes ``v4.2``. Earlier items of the same option are removed. An
        absent option is appended.

        Raises:
            ValueError: if no spelling of the value would be parsed as the same value.
        """
        option, canonical_name = _find_option(name)
        value = _value_for_spelling(option, name, value)
        places = self._places(canonical_name)
        old = self._items[places[-1]] if places else ""
        item = _spelled_item(option, canonical_name, value, old)
        items = self._replaced(places, item)
        understood = catalogue().read_item(item)[1:] == (canonical_name, _canonical_value(option, value))
        spelled = option is None or option.takes_value or item in option.all_words()
        # All items are parsed again, because an unclosed quotation mark would include the new item.
        if (
            not item
            or not understood
            or not spelled
            or _split_items(",".join(items)) != items
            or item.count('"') % 2
        ):
            raise ValueError(f"“{value}” cannot be written as a value of “{canonical_name}”.")
        self._items = items

    def remove(self, name: str) -> None:
        """Remove every item of an option; an absent option is no error."""
        for place in reversed(self._places(_find_option(name)[1])):
            del self._items[place]

    def values(self) -> dict[str, str]:
        """Return canonical name to canonical value, from the last item of each option.

        The order is that of the catalogue; unknown options follow. Values implied by other options are not
        included; see :func:`implied_values`.
        """
        found: dict[str, str] = {}
        for item in self._items:
            if item:
                _, name, value = catalogue().read_item(item)
                found[name] = value
        return dict(sorted(found.items(), key=lambda pair: catalogue().order(pair[0])))

    def diff(self, other: MountOptions) -> list[OptionChange]:
        """Return the changes from this set to another one by canonical values, in the catalogue's order."""
        before, after = self.values(), other.values()
        names = sorted(before | after, key=catalogue().order)
        return [
            OptionChange(name, before.get(name), after.get(name))
            for name in names
            if before.get(name) != after.get(name)
        ]

    def _replaced(self, places: list[int], item: str) -> list[str]:
        """Return the items with ``item`` at the last of ``places``, or appended, without the other places."""
        if not places:
            return [*self._items, item]
        items = [*self._items]
        items[places[-1]] = item
        for place in reversed(places[:-1]):
            del items[place]
        return items

    def _places(self, canonical: str) -> list[int]:
        return [
            place
            for place, item in enumerate(self._items)
            if item and catalogue().read_item(item)[1] == canonical
        ]


def implied_values(options: MountOptions) -> dict[str, str]:
    """Return the values of all options, including those implied by other options.

    Sources: fs/nfs/fs_context.c, fs/nfs/client.c.

    - ``actimeo=N`` sets the four attribute cache times; a later single time overrides it.
    - ``noac`` sets the four times to 0 and makes writes synchronous, independent of the order.
    - ``softerr`` implies ``softreval``, also if ``soft`` follows; ``hard`` removes it.
    - ``minorversion=N`` has an effect only with ``vers=4``, which becomes ``4.N``.
    - ``nolock`` on version 3 makes all locks local.
    """
    values = options.values()
    # The order among different options matters only for these.
    for item in options:
        _, name, value = catalogue().read_item(item) if item else (None, "", "")
        if name == "actimeo":
            values.update(dict.fromkeys(ATTRIBUTE_TIMES, value))
        elif name in ATTRIBUTE_TIMES:
            values[name] = value
        elif name == "softreval" or item == "softerr":
            values["softreval"] = YES
        elif item == "hard":
            values.pop("softreval", None)
    values.pop("actimeo", None)
    if values.get("ac") == NO:
        values.update(dict.fromkeys(ATTRIBUTE_TIMES, "0"), sync="sync")
    minor = values.pop("minorversion", None)
    if minor is not None and values.get("vers") == "4":
        values["vers"] = f"4.{minor}"
    if values.get("lock") == NO and values.get("vers") == "3":
        values["local_lock"] = "all"
    return dict(sorted(values.items(), key=lambda pair: catalogue().order(pair[0])))


def options_for_mount(options: MountOptions) -> MountOptions:
    """Return the options for mounting immediately: without items for fstab and systemd, in the foreground.

    ``bg`` is removed, since its background process would retry for days. ``user`` and ``users`` imply
    ``noexec`` in mount(8), which is added unless ``exec`` is present. They also imply nosuid and nodev, which
    the privileged helper always adds.
    """
    items: list[str] = []
    for item in options:
        option = catalogue().read_item(item)[0] if item else None
        if not item or (option is None and is_comment(item)) or (option and option.scope == "fstab"):
            continue
        items.append(item)
    filtered = MountOptions(items)
    filtered.remove("bg")
    if options.get("user") in {"user", "users"} and options.get("noexec") is None:
        filtered.set("noexec", YES)
    return filtered


def is_comment(item: str) -> bool:
    """Whether mount(8) does not pass an item on to mount.nfs: ``x-…``, ``X-…`` and ``comment=``."""
    return item.startswith(("x-", "X-", "comment="))


def check_options(options: MountOptions) -> list[OptionProblem]:
    """Return the errors of single items: unknown names, values of the wrong type or out of range."""
    problems: list[OptionProblem] = []
    for item in options:
        problem = check_item(item, catalogue())
        if problem is not None:
            problems.append(problem)
    return problems


def _split_items(text: str) -> list[str]:
    items: list[str] = []
    start = 0
    quoted = False
    for place, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif character == "," and not quoted:
            items.append(text[start:place])
            start = place + 1
    items.append(text[start:])
    return items


def _find_option(name: str) -> tuple[Option | None, str]:
    option = catalogue().find(name)
    return option, option.name if option else name


def _value_for_spelling(option: Option | None, name: str, value: str) -> str:
    """Negate a flag's value if ``name`` is the negation of the option (in both directions)."""
    if option is None or option.kind != "flag" or name != option.negation:
        return value
    return {YES: NO, NO: YES}.get(value, value)


def _canonical_value(option: Option | None, value: str) -> str:
    return option.canonical(value) if option else value


def _spelled_item(option: Option | None, name: str, value: str, old: str) -> str:
    """Return the item for a value, in the spelling of the old item if possible."""
    if option is None:
        return name + ("=" + value if value or "=" in old else "")
    word = option.word_for(_canonical_value(option, value))
    was_word = bool(old) and old in option.all_words()
    if word is not None and (was_word or option.words or not option.takes_value or value in {YES, NO}):
        return _keep_spelling(option, word, old)
    key, equals, _ = old.partition("=")
    if not equals or key + "=" not in option.forms:
        key = next((form[:-1] for form in option.forms if form.endswith("=")), name)
    return f"{key}={value}"


def _keep_spelling(option: Option, word: str, old: str) -> str:
    # Of two words with one value, such as X-mount.mkdir and x-mount.mkdir, the one in use stays.
    if old in option.all_words() and option.value_of_word(old) == option.value_of_word(word):
        return old
    return word


_SIZE_SUFFIX = re.compile(r"([0-9]+)([kKmMgG])[iI]?[bB]?")
_SIZE_FACTORS = {"k": 1024, "m": 1024**2, "g": 1024**3}
_SEPARATORS = re.compile(r"[\s;]+")
_TIME_VALUE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|sec|m|min|h)?")
_TIME_UNITS_S = {"ms": 0.001, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
#: Kind of number to its units per second.
_UNITS_PER_SECOND = {"decisec": 10, "sec": 1, "minutes": 1 / 60}
#: Maximum number of security flavors (fs/nfs/internal.h: NFS_AUTH_INFO_MAX_FLAVORS is 12).
_MAX_FLAVORS = 11
#: Maximum length of an item in a message, characters.
_MAX_SHOWN = 40


#: Option names of other systems, and a hint for each (mount_nfs of the BSDs and macOS, mount(8) of NeXTSTEP).
_OPTIONS_OF_OTHER_SYSTEMS = {
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
#: Unknown names with a clear meaning, where the closest spelling would be a wrong option.
_COMMON_SYNONYMS = {
    "version": "vers", "nfsversion": "vers", "timeout": "timeo", "readonly": "ro", "read-only": "ro",
    "readwrite": "rw", "read-write": "rw", "retries": "retrans", "protocol": "proto", "security": "sec",
    "background": "bg", "foreground": "fg", "connections": "nconnect", "locallock": "local_lock",
}  # fmt: skip
#: Options of exports(5), mount.cifs(8), mount_nfs(1M) of Solaris and local file systems, flavors of sec, and
#: a setting of the kernel (nfsrahead(5)), with a hint for each.
_OPTIONS_OF_OTHER_FILE_SYSTEMS = {
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
    "llock": "Solaris writes it so; here it is “local_lock=all”, or “nolock” on version 3.",
    "read_ahead_kb": (
        "The kernel has it beside the mount, in /sys/class/bdi; udev or nfsrahead(5) sets it. Leave it out."
    ),
    **dict.fromkeys(
        ("krb5", "krb5i", "krb5p", "sys"),
        "It is a security flavor: write sec=krb5p, and colons between several, as in sec=krb5p:krb5i.",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionProblem:
    """An error in one item.

    Attributes:
        name: canonical name of the option, or the item's own name if it is unknown.
        item: the item as written.
        code: unknown (to this program, perhaps not to the kernel), foreign (of another system, or rejected by
            every kernel), missing (a value), value (of the wrong type), range, or text (quotes, unprintable
            characters).
        message: the error, one sentence.
        hint: the likely cause, and a correction.
    """

    name: str
    item: str
    code: Literal["unknown", "foreign", "missing", "value", "range", "text"]
    message: str
    hint: str


def check_item(item: str, options: Catalogue) -> OptionProblem | None:
    """Return the error of an item, or None. An empty item is valid, since mount ignores it."""
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
        return None  # options for mount, systemd or other programs, which the kernel never gets
    words = _SEPARATORS.split(item.strip())
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
    elif name in _OPTIONS_OF_OTHER_SYSTEMS:
        foreign = (
            f"{_OPTIONS_OF_OTHER_SYSTEMS[name]} Leave it out, or paste the whole line to have it translated."
        )
    elif name in _OPTIONS_OF_OTHER_FILE_SYSTEMS:
        foreign = _OPTIONS_OF_OTHER_FILE_SYSTEMS[name]
    if foreign:
        message = f"There is no mount option “{name}”" + (f" (“{item}”)." if item != name else ".")
        return OptionProblem(name=name, item=item, code="foreign", message=message, hint=foreign)
    message = f"The option “{name}” is not known to this program."
    close = close_spelling(name, options)
    cause = "It may be newer than this program, or belong to another file system. Look it up in nfs(5)."
    hint = f"Did you mean “{close}”?" if close else cause
    return OptionProblem(name=name, item=item, code="unknown", message=message, hint=hint)


def close_spelling(name: str, options: Catalogue) -> str | None:
    """Return the known option spelling closest to an unknown name, or None if none is similar."""
    spellings = {form.removesuffix("=") for option in options for form in option.forms}
    spellings |= {option.negation for option in options if option.negation}
    lower = {spelling.lower(): spelling for spelling in sorted(spellings)}
    if name.lower() in _COMMON_SYNONYMS:
        return _COMMON_SYNONYMS[name.lower()]
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.7)
    return lower[close[0]] if close else None


def size_in_bytes(value: str) -> int | None:
    """Return the bytes of a size with a suffix (32k, 1MiB), which mount.nfs does not parse; or None."""
    suffix = _SIZE_SUFFIX.fullmatch(value)
    return int(suffix[1]) * _SIZE_FACTORS[suffix[2].lower()] if suffix else None


def _check_value(option: Option, item: str, value: str) -> OptionProblem | None:
    if not option.takes_value:
        words = ", ".join(option.all_words())
        message = f"“{item}” is not a spelling of the option “{option.name}”."
        return OptionProblem(
            name=option.name, item=item, code="value", message=message, hint=f"Write one of: {words}."
        )
    if value == "" and (option.kind != "string" or "=" not in item):
        message = f"The option “{option.name}” needs a value."
        hint = f"Put one behind an equals sign, for example {option.name}={_example_value(option)}."
        return OptionProblem(name=option.name, item=item, code="missing", message=message, hint=hint)
    if option.is_number:
        problem = _check_number(option, item, value)
    elif option.kind == "seclist":
        problem = _check_flavors(option, item, value)
    elif option.kind == "addr":
        problem = _check_address(option, item, value)
    elif option.values and value not in option.values:
        problem = _value_problem(option, item, value)
    else:
        problem = None
    return problem


def _example_value(option: Option) -> str:
    if option.kind == "addr":
        return "192.0.2.7"
    if option.kind == "string":
        return "TEXT"
    return option.default or (option.values[0] if option.values else "65536")


def _value_problem(option: Option, item: str, value: str) -> OptionProblem:
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
    # Longer texts exceed every limit; converting thousands of digits would be slow.
    number = int(value) if len(value) <= 20 else high + 1
    if not low <= number <= high:
        written = item if len(item) <= _MAX_SHOWN else f"{item[:_MAX_SHOWN]}…"
        message = f"“{written}” is out of range: it must be from {low} to {high}{_unit_text(option)}."
        hint = f"The least is {option.name}={low}." if number < low else f"The most is {option.name}={high}."
        return OptionProblem(name=option.name, item=item, code="range", message=message, hint=hint)
    return None


def _number_hint(option: Option, value: str) -> str:
    """Return a hint with the correct spelling of a value that mount.nfs would not parse as a number."""
    meant = size_in_bytes(value) if option.kind == "size" else _time_number(option, value)
    if meant is None and re.fullmatch(r"0[xX][0-9a-fA-F]{1,15}", value):
        meant = int(value, 16)
    if meant is not None and (option.minimum or 0) <= meant <= (option.maximum or 0):
        unit = f", in {option.unit}" if option.unit else ""
        return f"Write {option.name}={meant}{unit}."
    return f"Only plain decimal digits are read, without sign or unit{_unit_text(option)}."


def _time_number(option: Option, value: str) -> int | None:
    """Return the option's number for a time with a unit or a fraction (60s, 2min, 1.5), or None."""
    match = _TIME_VALUE.fullmatch(value)
    if match is None or option.kind not in _UNITS_PER_SECOND:
        return None
    seconds = float(match[1]) * _TIME_UNITS_S[match[2]] if match[2] else None
    if seconds is None:  # a fraction without a unit: seconds, as in the forms
        seconds = float(match[1]) * (60 if option.kind == "minutes" else 1)
    return round(seconds * _UNITS_PER_SECOND[option.kind])


def _unit_text(option: Option) -> str:
    return f" ({option.unit})" if option.unit else ""


def _check_flavors(option: Option, item: str, value: str) -> OptionProblem | None:
    parts = value.split(":")
    for part in parts:
        if part not in option.values:
            return _value_problem(option, item, part)
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

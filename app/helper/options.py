"""Option catalogue of the helper: checks each option word and builds the options for mount.nfs.

Each option arrives as one word (``rsize=65536``, ``noac``). The catalogue (options.toml) must have its
spelling, for an option marked ``helper = true``, and the value must be in the option's range. Any other word
is reserved to root: it is passed on only if root's fstab entry has it, or if root or a system action requests
it.
"""

from __future__ import annotations

import functools
import os
import re
import tomllib
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from app.helper import validate
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Collection

#: Options added at the end of every mount's options, where no other word overrides them. They disarm
#: set-user-ID programs and device files on the server.
ALWAYS = ("nosuid", "nodev")
#: Names of options that are refused to every user, root included, whatever the catalogue contains: they undo
#: ALWAYS, make another kind of mount, let users mount, name a program for umount(8), or make a file system
#: (mount(8), systemd.mount(5)).
_NEVER = frozenset({
    *ALWAYS, "suid", "dev", "remount", "bind", "rbind", "move", "loop", "offset", "sizelimit", "encryption",
    "user", "users", "nouser", "owner", "group", "helper", "uhelper", "source", "sloppy", "addr", "bg",
    "defaults", "x-systemd.makefs", "x-systemd.growfs", "x-systemd.pcrfs",
})  # fmt: skip
#: Most option words of a mount.
MAX_OPTIONS = 64
#: Longest option string of a mount, characters, without ALWAYS.
MAX_STRING = 1024
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,9})\Z")
_STRING = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}\Z")
#: Form of a word that the catalogue does not have. A comma in double quotes does not separate options
#: (libmount, mount.nfs).
_PLAIN = re.compile(r'[A-Za-z_][\w.:-]{0,63}(=([!#-+\--\[\]-~]{0,255}|"[!#-\[\]-~]{0,255}"))?\Z', re.ASCII)
_NUMBER_KINDS = frozenset({"uint", "size", "decisec", "sec", "minutes", "port"})
_U32 = 2**32 - 1


class CatalogueEntry(NamedTuple):
    """One option of the catalogue, with the fields that the helper needs.

    Attributes:
        name: name of the option.
        kind: type of its value, such as "size", "string" or "flag".
        values: allowed values, empty for none.
        minimum: smallest number allowed.
        maximum: largest number allowed.
    """

    name: str
    kind: str
    values: tuple[str, ...]
    minimum: int
    maximum: int


class Catalogue:
    """Options that the helper passes on for every user.

    Attributes:
        bare: option by spelling without a value, such as "noac" or "v4.2".
        keyed: option by spelling up to the equals sign, such as "rsize=".
        elsewhere: spellings that only mount(8) or systemd reads in fstab; mount.nfs never gets them.
        remount: spellings that a remount changes.
    """

    def __init__(self, keyed: dict[str, CatalogueEntry] | None = None) -> None:
        self.bare: dict[str, CatalogueEntry] = {}
        self.keyed = {} if keyed is None else keyed
        self.elsewhere: set[str] = set()
        self.remount: set[str] = set()

    def has(self, name: str) -> bool:
        """Whether the catalogue has an option of this name, which every user may set."""
        return name in self.bare or f"{name}=" in self.keyed

    def build(self, words: list[str], free: Collection[str] = ()) -> tuple[str, ...]:
        """Check the requested words; return those for mount.nfs, without ALWAYS.

        Args:
            words: requested option words.
            free: words that may be passed on although the catalogue does not have them.

        Raises:
            Refusal: code option-invalid for a malformed, refused or repeated option; option-reserved for a
                word that is neither in the catalogue nor in ``free``.
        """
        if len(words) > MAX_OPTIONS:
            raise Refusal("option-invalid", "There are too many options.")
        built: dict[str, str] = {}
        for word in words:
            key, equals, _value = word.partition("=")
            if word in ALWAYS or key + equals in self.elsewhere:
                continue
            name = self._check(word) if self.has(key) else check_unknown(word)
            if not self.has(key) and word not in free:
                raise Refusal("option-reserved", f"“{key}” is none of the options that every user may give.")
            if name in built:
                raise Refusal("option-invalid", f"The option “{name}” is given twice.")
            built[name] = word
        if sum(map(len, built.values())) + len(built) > MAX_STRING:
            raise Refusal("option-invalid", "The options are too long.")
        return tuple(built.values())

    def _check(self, word: str) -> str:
        """Check a word against the catalogue; return the name of the option that it sets."""
        key, equals, value = word.partition("=")
        # A spelling may have its value fixed: rdirplus=force.
        entry = (self.keyed.get(key + "=") if equals else None) or self.bare.get(word)
        if entry is None:
            raise Refusal("option-invalid", f"The option “{shown(word)}” cannot be used in this form.")
        if equals and word not in self.bare:
            _check_value(entry, value)
        return entry.name


def split(options: str) -> list[str]:
    """Split an option string at its commas, except for commas in double quotes."""
    return re.findall(r'(?:[^,"]|"[^"]*"?)+', options)


def check_unknown(word: str) -> str:
    """Check a word that the catalogue does not have; return the name of its option.

    Raises:
        Refusal: code option-invalid if the word is malformed, or refused to every user.
    """
    if (name := word.partition("=")[0]) in _NEVER or not _PLAIN.match(word):
        raise Refusal("option-invalid", f"The option “{shown(word)}” cannot be used here.")
    return name


def _check_value(entry: CatalogueEntry, text: str) -> None:
    good: bool
    if entry.kind in _NUMBER_KINDS:
        # mount.nfs and the kernel read 010 as octal, so leading zeros are refused.
        good = bool(_DECIMAL.match(text)) and entry.minimum <= int(text) <= entry.maximum
    elif entry.kind == "seclist":
        parts = text.split(":")
        good = all(part in entry.values for part in parts) and len(set(parts)) == len(parts)
    elif entry.kind == "addr":
        good = validate.is_address(text)
    elif entry.kind == "string" and not entry.values:
        good = bool(_STRING.match(text))
    else:
        good = text in entry.values
    if not good:
        raise Refusal("option-invalid", f"The value of the option “{entry.name}” is not allowed.")


def shown(word: str) -> str:
    """Return the option name of a word for a message, "?" if it is long or has unusual characters."""
    return name if re.fullmatch(r"[A-Za-z0-9_.+-]{1,40}", name := word.partition("=")[0]) else "?"


def catalogue_path() -> str:
    """Return the path of options.toml, of the installed helper or of the checkout."""
    root = os.path.abspath(__file__).rsplit("/", 3)[0]  # noqa: PTH100 - pathlib is slow to load
    installed = f"{root}/options.toml"
    return installed if os.access(installed, os.F_OK) else f"{root}/resources/options.toml"


@functools.cache
def load(path: str | None = None) -> Catalogue:
    """Read the catalogue from a file; None for the helper's own.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is not TOML, or has no options for the helper.
    """
    with open(path or catalogue_path(), "rb") as file:  # noqa: PTH123
        document = tomllib.load(file)
    catalogue = Catalogue()
    for name, table in cast("dict[str, dict[str, Any]]", document.get("option", {})).items():
        if table.get("helper") is True:
            _add(catalogue, name, table)
        elif table.get("scope") == "fstab":
            catalogue.elsewhere.update(_spellings(table))
    if not catalogue.bare or not catalogue.keyed:
        raise ValueError("the option catalogue has no options for the helper")
    return catalogue


def _add(catalogue: Catalogue, name: str, table: dict[str, Any]) -> None:
    entry = CatalogueEntry(
        name=name, kind=str(table["kind"]), values=tuple(str(value) for value in table.get("values", ())),
        minimum=int(table.get("min", 0)), maximum=min(int(table.get("max", _U32)), _U32),
    )  # fmt: skip
    for spelling in _spellings(table):
        if spelling.rstrip("=") in _NEVER or not re.fullmatch(r"[A-Za-z0-9_.=:-]{1,40}", spelling):
            continue
        (catalogue.keyed if spelling.endswith("=") else catalogue.bare)[spelling] = entry
        if table.get("change") == "remount":
            catalogue.remount.add(spelling)


def _spellings(table: dict[str, Any]) -> list[str]:
    spellings = [str(form) for form in table["forms"]]
    return [*spellings, str(table["neg"])] if table.get("neg") else spellings

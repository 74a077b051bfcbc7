"""The helper's own reading of the option catalogue. A client's words are looked up, never passed on.

Each option arrives as one word (``rsize=65536``, ``noac``). It must be a spelling that the catalogue has,
of an option marked ``helper = true``, with a value in its range; what mount.nfs gets is written here. Any
other word is the administrator's: it passes only if root's own entry has it, or root or a system action asks.
"""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from app.helper import validate
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Collection

#: Added to every mount, last, so that nothing before it can win: the server's files are strangers.
ALWAYS = ("nosuid", "nodev")
#: Names of options that nobody is given, whatever the catalogue says: what undoes ALWAYS, makes another kind
#: of mount, lets users mount, names a program that umount(8) runs, or makes a file system (systemd.mount(5)).
_NEVER = frozenset({
    *ALWAYS, "suid", "dev", "remount", "bind", "rbind", "move", "loop", "offset", "sizelimit", "encryption",
    "user", "users", "nouser", "owner", "group", "helper", "uhelper", "source", "sloppy", "addr", "bg",
    "defaults", "x-systemd.makefs", "x-systemd.growfs", "x-systemd.pcrfs",
})  # fmt: skip
MAX_OPTIONS = 64
MAX_STRING = 1024
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,9})\Z")
_STRING = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}\Z")
#: A word that is not looked up. Between double quotes a comma does not divide (libmount, mount.nfs).
_PLAIN = re.compile(r'[A-Za-z_][\w.:-]{0,63}(=([!#-+\--\[\]-~]{0,255}|"[!#-\[\]-~]{0,255}"))?\Z', re.ASCII)
_NUMBER_KINDS = frozenset({"uint", "size", "decisec", "sec", "minutes", "port"})
_U32 = 2**32 - 1


@dataclass(frozen=True)
class CatalogueEntry:
    """One option of the catalogue, as far as the helper needs it."""

    name: str
    kind: str
    values: tuple[str, ...]
    minimum: int
    maximum: int


@dataclass(frozen=True)
class Catalogue:
    """The options that the helper passes on.

    Attributes:
        bare: spellings without a value ("noac", "v4.2") to their option.
        keyed: spellings before a value ("rsize=") to their option.
        elsewhere: spellings that mount(8) or systemd reads in fstab and that never reach mount.nfs.
        remount: spellings without a value that a remount changes.
    """

    bare: dict[str, CatalogueEntry] = field(default_factory=dict[str, CatalogueEntry])
    keyed: dict[str, CatalogueEntry] = field(default_factory=dict[str, CatalogueEntry])
    elsewhere: set[str] = field(default_factory=set[str])
    remount: set[str] = field(default_factory=set[str])

    def has(self, name: str) -> bool:
        """Whether the option is one that every user may set."""
        return name in self.bare or f"{name}=" in self.keyed

    def build(self, words: list[str], free: Collection[str] = ()) -> tuple[str, ...]:
        """Return the words for mount.nfs, each option at most once, without those always added.

        Args:
            words: asked for.
            free: those that pass as they are where the catalogue does not have them.

        Raises:
            Refusal: with code option-invalid; option-reserved for a word that is not free.
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
        """Return the name of the option that a word sets."""
        key, equals, value = word.partition("=")
        # A spelling may have its value fixed: rdirplus=force.
        entry = (self.keyed.get(key + "=") if equals else None) or self.bare.get(word)
        if entry is None:
            raise Refusal("option-invalid", f"The option “{shown(word)}” cannot be used in this form.")
        if equals and word not in self.bare:
            _check_value(entry, value)
        return entry.name


def split(options: str) -> list[str]:
    """Return the words of an option string; a comma between double quotes does not divide."""
    return re.findall(r'(?:[^,"]|"[^"]*"?)+', options)


def check_unknown(word: str) -> str:
    """Check a word that the catalogue does not have, whoever asks; return the name of its option.

    Raises:
        Refusal: with code option-invalid.
    """
    if (name := word.partition("=")[0]) in _NEVER or not _PLAIN.match(word):
        raise Refusal("option-invalid", f"The option “{shown(word)}” cannot be used here.")
    return name


def _check_value(entry: CatalogueEntry, text: str) -> None:
    good: bool
    if entry.kind in _NUMBER_KINDS:
        # mount.nfs and the kernel read 010 as eight: only plain decimals pass.
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
    """Return the name of an option, as far as a message can show it."""
    return name if re.fullmatch(r"[A-Za-z0-9_.+-]{1,40}", name := word.partition("=")[0]) else "?"


def catalogue_path() -> Path:
    """Return the catalogue that stands next to this code: installed, or in a checkout."""
    root = Path(__file__).absolute().parents[2]
    installed = root / "options.toml"
    return installed if installed.exists() else root / "resources" / "options.toml"


@functools.cache
def load(path: Path | None = None) -> Catalogue:
    """Read the catalogue.

    Raises:
        OSError: if it cannot be read.
        ValueError: if it is not the catalogue that is expected (tomllib's error is one too).
    """
    with (path or catalogue_path()).open("rb") as file:
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

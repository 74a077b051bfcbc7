"""The helper's own reading of the option catalogue. A client's words are looked up, never passed on.

Each option arrives as one word (``rsize=65536``, ``noac``). It must be a spelling that the catalogue has,
of an option marked ``helper = true``, with a value in its range; what mount.nfs gets is written here.
"""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from app.helper import validate
from app.helper.errors import Refusal

#: Added to every mount, last, so that nothing before it can win: the server's files are strangers.
ALWAYS = ("nosuid", "nodev")
#: Never passed on, whatever the catalogue says.
_NEVER = frozenset({
    "suid", "dev", "remount", "bind", "rbind", "move", "loop", "user", "users", "owner", "group",
    "sloppy", "addr=", "bg",
})  # fmt: skip
MAX_OPTIONS = 64
MAX_STRING = 1024
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,9})\Z")
_STRING = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}\Z")
_NUMBER_KINDS = frozenset({"uint", "size", "decisec", "sec", "minutes", "port"})
_U32 = 2**32 - 1


@dataclass(frozen=True)
class Entry:
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

    bare: dict[str, Entry] = field(default_factory=dict[str, Entry])
    keyed: dict[str, Entry] = field(default_factory=dict[str, Entry])
    elsewhere: set[str] = field(default_factory=set[str])
    remount: set[str] = field(default_factory=set[str])

    def build(self, words: list[str]) -> tuple[str, ...]:
        """Return the words for mount.nfs, each option at most once, without those always added.

        Raises:
            Refusal: with code option-invalid.
        """
        if len(words) > MAX_OPTIONS:
            raise Refusal("option-invalid", "There are too many options.")
        built: dict[str, str] = {}
        for word in words:
            key, equals, _value = word.partition("=")
            if word in ALWAYS or key + equals in self.elsewhere:
                continue
            entry, rendered = self._render(word)
            if entry.name in built:
                raise Refusal("option-invalid", f"The option “{entry.name}” is given twice.")
            built[entry.name] = rendered
        if sum(map(len, built.values())) + len(built) > MAX_STRING:
            raise Refusal("option-invalid", "The options are too long.")
        return tuple(built.values())

    def _render(self, word: str) -> tuple[Entry, str]:
        key, equals, value = word.partition("=")
        known = self.keyed.get(key + "=") if equals else self.bare.get(word)
        if known is None and equals:
            known = self.bare.get(word)  # a spelling with its value fixed: rdirplus=force
            if known is not None:
                return known, word
        if known is None:
            raise Refusal("option-invalid", f"The option “{_shown(key)}” cannot be used here.")
        if not equals:
            return known, word
        return known, key + "=" + _value(known, value)


def _value(entry: Entry, text: str) -> str:
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
    return text


def _shown(word: str) -> str:
    return word if re.fullmatch(r"[A-Za-z0-9_.=+-]{1,40}", word) else "?"


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
    for name, table in _tables(document):
        if table.get("helper") is True:
            _add(catalogue, name, table)
        elif table.get("scope") == "fstab":
            catalogue.elsewhere.update(_spellings(table))
    if not catalogue.bare or not catalogue.keyed:
        raise ValueError("the option catalogue has no options for the helper")
    return catalogue


def _tables(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return every table that describes an option, in whatever group it stands."""
    found: list[tuple[str, dict[str, Any]]] = []
    for key, value in document.items():
        if isinstance(value, dict):
            table = cast("dict[str, Any]", value)
            if isinstance(table.get("kind"), str):
                found.append((key, table))
            else:
                found += _tables(table)
    return found


def _add(catalogue: Catalogue, name: str, table: dict[str, Any]) -> None:
    entry = Entry(
        name=name, kind=str(table["kind"]), values=tuple(str(value) for value in table.get("values", ())),
        minimum=int(table.get("min", 0)), maximum=min(int(table.get("max", _U32)), _U32),
    )  # fmt: skip
    for spelling in _spellings(table):
        if spelling in _NEVER or not re.fullmatch(r"[A-Za-z0-9_.=:-]{1,40}", spelling):
            continue
        (catalogue.keyed if spelling.endswith("=") else catalogue.bare)[spelling] = entry
        if table.get("change") == "remount":
            catalogue.remount.add(spelling)


def _spellings(table: dict[str, Any]) -> list[str]:
    spellings = [str(form) for form in table["forms"]]
    return [*spellings, str(table["neg"])] if table.get("neg") else spellings

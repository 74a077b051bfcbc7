"""The options that an entry of fstab or a unit may have: those for mount.nfs, and those for the boot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from app.helper import validate
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.helper.options import Catalogue

_SPAN = re.compile(r"[0-9]{1,6}(ms|s|sec|min|m|h)?\Z")
#: What mount(8) and systemd read in fstab, beside the words for mount.nfs (systemd.mount(5), nfs(5)).
_WORDS = frozenset({"_netdev", "nofail", "noauto", "auto", "bg", "x-systemd.automount"})
_SPANS = frozenset({"x-systemd.idle-timeout", "x-systemd.mount-timeout"})
#: Words that set nosuid and nodev too (mount(8)); they may have a value, as in user=ann.
_IMPLY = frozenset({"user", "users", "owner", "group"})


def split(options: str) -> list[str]:
    """Return the words of an option string; a comma between double quotes does not divide."""
    return re.findall(r'(?:[^,"]|"[^"]*"?)+', options)


def sets(words: Sequence[str], wanted: str) -> bool:
    """Whether mount(8) takes nosuid or nodev from these words: the last one that speaks of it decides."""
    opposite = wanted.removeprefix("no")
    said = [word for word in words if word in {wanted, opposite} or word.partition("=")[0] in _IMPLY]
    return bool(said) and said[-1] != opposite


def check(fresh: list[str], all_words: list[str], catalogue: Catalogue) -> None:
    """Check the words of an entry; of those that root wrote before, only the fresh ones by the catalogue.

    Raises:
        Refusal: with code option-invalid.
    """
    if len(set(all_words)) != len(all_words):
        raise Refusal("option-invalid", "An option is given twice.")
    for word in fresh:
        if "," in word or not word.isprintable():
            which = validate.which(word)
            raise Refusal("option-invalid", f"An option contains a character that cannot be written{which}.")
    if {"bg", "x-systemd.automount"} <= set(all_words) and {"bg", "x-systemd.automount"} & set(fresh):
        # systemd turns bg into nofail and waits itself, but not so for an automount (systemd.mount(5)):
        # there mount.nfs would go on trying, for a week, where nothing watches it.
        raise Refusal("option-invalid", "Use either “bg” or “x-systemd.automount”: they do not go together.")
    for word in [word for word in fresh if word.partition("=")[0] in _SPANS]:
        if not _SPAN.match(word.partition("=")[2]):
            raise Refusal("option-invalid", f"“{word.partition('=')[0]}” takes a time such as 30s.")
    for_mount: list[str] = []
    for word in fresh:
        key, equals, _value = word.partition("=")
        if word in _WORDS or key in _SPANS:
            continue
        if key + equals in catalogue.elsewhere:
            raise Refusal("option-invalid", f"The option “{key}” is not written to fstab by this program.")
        for_mount.append(word)
    catalogue.build(for_mount)

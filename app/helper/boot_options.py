"""The options that an entry of fstab or a unit may have: those for mount.nfs, and those for the boot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from app.helper.errors import Refusal
from app.helper.options import ALWAYS, check_unknown

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from app.helper.options import Catalogue

_SPAN = re.compile(r"[0-9]{1,6}(ms|s|sec|min|m|h)?\Z")
#: What mount(8) and systemd read in fstab, beside the words for mount.nfs (systemd.mount(5), nfs(5)).
_WORDS = frozenset({"_netdev", "nofail", "noauto", "auto", "bg", "x-systemd.automount"})
_SPANS = frozenset({"x-systemd.idle-timeout", "x-systemd.mount-timeout"})
#: Words that root alone may write, by their names, and why.
_RESERVED = {
    r"x-systemd\.": "starts or orders other units of systemd",
    r"x-(mount|initrd)\.": "changes how and when the directory is prepared",
    r"(fs|def|root)?context\Z": "sets security labels",
    "": "is none of the options that every user may give",
}
#: Words that set nosuid and nodev too (mount(8)); they may have a value, as in user=ann.
_IMPLY = frozenset({"user", "users", "owner", "group"})


def sets_flag(words: Sequence[str], wanted: str) -> bool:
    """Whether mount(8) takes nosuid or nodev from these words: the last one that speaks of it decides."""
    opposite = wanted.removeprefix("no")
    said = [word for word in words if word in {wanted, opposite} or word.partition("=")[0] in _IMPLY]
    return bool(said) and said[-1] != opposite


def reserved_reason(word: str, catalogue: Catalogue) -> str:
    """Return why only root may write a word, "" for one that every user may.

    Raises:
        Refusal: with code option-invalid for one that nobody may.
    """
    key, _equals, value = word.partition("=")
    if word in {*_WORDS, *ALWAYS} or key in _SPANS or catalogue.has(key):
        return ""
    check_unknown(word)
    # Read by people and by the desktop alone. Without quotation marks: systemd divides there all the same.
    for_people = key.startswith("x-gvfs-") or (key == "comment" and not value.startswith("systemd."))
    if for_people and '"' not in value:
        return ""
    why = next(why for pattern, why in _RESERVED.items() if re.match(pattern, key, re.IGNORECASE))
    return f"“{key}” {why}, so only root may give it."


def check(fresh: list[str], all_words: list[str], catalogue: Catalogue, free: Collection[str] = ()) -> None:
    """Check the words of an entry; of those that root wrote before, only the fresh ones by the catalogue.

    Args:
        fresh: the words that are new.
        all_words: of the entry.
        catalogue: of the options.
        free: the words that may be fresh although only root may write them.

    Raises:
        Refusal: with code option-invalid; option-reserved for words that are root's.
    """
    if len(set(all_words)) != len(all_words):
        raise Refusal("option-invalid", "An option is given twice.")
    if {"bg", "x-systemd.automount"} <= set(all_words) and {"bg", "x-systemd.automount"} & set(fresh):
        # systemd turns bg into nofail and waits itself, but not so for an automount (systemd.mount(5)):
        # there mount.nfs would go on trying, for a week, where nothing watches it.
        raise Refusal("option-invalid", "Use either “bg” or “x-systemd.automount”: they do not go together.")
    for word in [word for word in fresh if word.partition("=")[0] in _SPANS]:
        if not _SPAN.match(word.partition("=")[2]):
            raise Refusal("option-invalid", f"“{word.partition('=')[0]}” takes a time such as 30s.")
    told = [why for word in fresh if (why := reserved_reason(word, catalogue)) and word not in free]
    catalogue.build([word for word in fresh if catalogue.has(word.partition("=")[0])])
    if told:
        raise Refusal("option-reserved", " ".join(dict.fromkeys(told)))

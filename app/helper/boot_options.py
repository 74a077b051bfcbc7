"""Option words of fstab entries and units: those for mount.nfs, and those that control the boot.

Sources: mount(8), nfs(5), systemd.mount(5).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from app.helper.errors import Refusal
from app.helper.options import ALWAYS, check_unknown

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from app.helper.options import Catalogue

#: Time span as systemd reads it (systemd.time(7)), restricted to one number and one unit.
_SPAN = re.compile(r"[0-9]{1,6}(ms|s|sec|min|m|h)?\Z")
#: Words without a value that mount(8) or systemd reads in fstab, allowed to every user.
_WORDS = frozenset({"_netdev", "nofail", "noauto", "auto", "bg", "x-systemd.automount"})
#: Names of words whose value is a time span, allowed to every user.
_SPANS = frozenset({"x-systemd.idle-timeout", "x-systemd.mount-timeout"})
#: Patterns of names that only root may write, each with the reason; the last one matches every name.
_RESERVED = {
    r"x-systemd\.": "starts or orders other units of systemd",
    r"x-(mount|initrd)\.": "changes how and when the directory is prepared",
    r"(fs|def|root)?context\Z": "sets security labels",
    "": "is none of the options that every user may give",
}
#: Names of words that imply nosuid and nodev (mount(8)); a value may follow, as in user=ann.
_IMPLY = frozenset({"user", "users", "owner", "group"})


def sets_flag(words: Sequence[str], wanted: str) -> bool:
    """Whether mount(8) sets a flag for these words; the last word that concerns the flag decides.

    Args:
        words: option words in their order.
        wanted: ``nosuid`` or ``nodev``.
    """
    opposite = wanted.removeprefix("no")
    relevant = [word for word in words if word in {wanted, opposite} or word.partition("=")[0] in _IMPLY]
    return bool(relevant) and relevant[-1] != opposite


def reserved_reason(word: str, catalogue: Catalogue) -> str:
    """Return the reason why only root may write a word, "" if every user may write it.

    Raises:
        Refusal: code option-invalid for a word that not even root may write.
    """
    key, _equals, value = word.partition("=")
    if word in {*_WORDS, *ALWAYS} or key in _SPANS or catalogue.has(key):
        return ""
    check_unknown(word)
    # Only people and the desktop read these words. No quotation marks: systemd splits at commas inside them.
    for_people = key.startswith("x-gvfs-") or (key == "comment" and not value.startswith("systemd."))
    if for_people and '"' not in value:
        return ""
    why = next(why for pattern, why in _RESERVED.items() if re.match(pattern, key, re.IGNORECASE))
    return f"“{key}” {why}, so only root may give it."


def check(fresh: list[str], all_words: list[str], catalogue: Catalogue, free: Collection[str] = ()) -> None:
    """Check the option words of an entry; only new words are checked against the catalogue.

    Args:
        fresh: words that the existing entry does not have.
        all_words: all words of the entry to be written.
        catalogue: options that every user may set.
        free: reserved words that this request may add although only root may write them.

    Raises:
        Refusal: code option-invalid for a word that is malformed, refused or given twice; option-reserved for
            new words that only root may write.
    """
    if len(set(all_words)) != len(all_words):
        raise Refusal("option-invalid", "An option is given twice.")
    if {"bg", "x-systemd.automount"} <= set(all_words) and {"bg", "x-systemd.automount"} & set(fresh):
        # systemd replaces bg by nofail and waits itself (systemd.mount(5)), but not for an automount unit.
        # There mount.nfs would retry in the background, unsupervised, for up to a week (nfs(5), retry=).
        raise Refusal("option-invalid", "Use either “bg” or “x-systemd.automount”: they do not go together.")
    for word in [word for word in fresh if word.partition("=")[0] in _SPANS]:
        if not _SPAN.match(word.partition("=")[2]):
            raise Refusal("option-invalid", f"“{word.partition('=')[0]}” takes a time such as 30s.")
    reasons = [why for word in fresh if (why := reserved_reason(word, catalogue)) and word not in free]
    catalogue.build([word for word in fresh if catalogue.has(word.partition("=")[0])])
    if reasons:
        raise Refusal("option-reserved", " ".join(dict.fromkeys(reasons)))

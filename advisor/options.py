"""Mount options: an ordered, lossless option string, and what its values mean.

The text is split as mount.nfs and libmount do it (utils/mount/parse_opt.c, libmount/src/optstr.c): at commas
that are not inside double quotes. A backslash before a comma does not keep it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from advisor.catalogue import NO, YES, Catalogue, CatalogueError, Option, catalogue
from advisor.option_check import OptionProblem, check_item

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "NO", "YES", "Catalogue", "CatalogueError", "MountOptions", "Option", "OptionChange", "OptionProblem",
    "catalogue", "check", "implied_values", "to_mount",
]  # fmt: skip

#: The four attribute times that actimeo sets, and that noac sets to 0.
ATTRIBUTE_TIMES = ("acregmin", "acregmax", "acdirmin", "acdirmax")


class OptionChange(NamedTuple):
    """One difference between two option sets; a value is None where the option is not given."""

    name: str
    before: str | None
    after: str | None


class MountOptions:
    """The options of one mount as written: every item, spelling, duplicate and empty place is kept.

    Names are canonical names of the catalogue, or any other spelling of an option: ``nfsvers`` is ``vers``,
    ``soft`` is the option ``hard``, and ``noac`` is ``ac`` the other way round. Values are canonical: a
    flag's is YES ("") or NO ("no"), a choice written as a word has that word as its value (``soft``), and
    times are in the option's own unit (timeo in tenths of a second). Of several items for one option the
    last wins, as in mount.nfs and in the kernel.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[str] = ()) -> None:
        self._items = list(items)

    @classmethod
    def parse(cls, text: str) -> MountOptions:
        """Return the options that the text writes; any text is accepted, :func:`check` judges it."""
        return cls(_split(text) if text else ())

    def __str__(self) -> str:
        return ",".join(self._items)

    def __repr__(self) -> str:
        return f"MountOptions.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MountOptions) and self._items == other._items

    __hash__ = None  # type: ignore[assignment] # it can change

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
        """Return the canonical value of an option, or None if it is not given.

        Asked by its negation, the answer is about that word: with ``noac`` given, ``get("noac")`` is YES and
        ``get("ac")`` is NO.
        """
        option, wanted = _resolve(name)
        for item in reversed(self._items):
            if not item:
                continue
            _, canonical, value = catalogue().read_item(item)
            if canonical == wanted:
                return _as_asked(option, name, value)
        return None

    def set(self, name: str, value: str) -> None:
        """Give an option a value.

        The item that counts keeps its place and as much of its spelling as the value allows (``nfsvers=3``
        becomes ``nfsvers=4.2``, ``v3`` becomes ``v4.2``); earlier items for the same option, which it
        outdoes, go. An option that is not given yet is appended.

        Raises:
            ValueError: if the value cannot be spelled: it would be read back as something else.
        """
        option, wanted = _resolve(name)
        value = _as_asked(option, name, value)
        places = self._places(wanted)
        old = self._items[places[-1]] if places else ""
        item = _spell(option, wanted, value, old)
        items = self._replaced(places, item)
        understood = catalogue().read_item(item)[1:] == (wanted, _canonical(option, value))
        spelled = option is None or option.takes_value or item in option.all_words()
        # Read back whole, because an open quotation mark before it would swallow a new item.
        if (
            not item
            or not understood
            or not spelled
            or _split(",".join(items)) != items
            or item.count('"') % 2
        ):
            raise ValueError(f"“{value}” cannot be written as a value of “{wanted}”.")
        self._items = items

    def remove(self, name: str) -> None:
        """Remove every item of an option; nothing happens if there is none."""
        for place in reversed(self._places(_resolve(name)[1])):
            del self._items[place]

    def values(self) -> dict[str, str]:
        """Return canonical name to canonical value, the last item of each option, in the catalogue's order.

        Options that the catalogue does not know follow in their own order. What one option implies for
        another is not in it; see :func:`implied_values`.
        """
        found: dict[str, str] = {}
        for item in self._items:
            if item:
                _, name, value = catalogue().read_item(item)
                found[name] = value
        return dict(sorted(found.items(), key=lambda pair: catalogue().order(pair[0])))

    def diff(self, other: MountOptions) -> list[OptionChange]:
        """Return what changes from this set to the other, by canonical values, in the catalogue's order."""
        before, after = self.values(), other.values()
        names = sorted(before | after, key=catalogue().order)
        return [
            OptionChange(name, before.get(name), after.get(name))
            for name in names
            if before.get(name) != after.get(name)
        ]

    def _replaced(self, places: list[int], item: str) -> list[str]:
        """Return the items with the new one in the last of the places, or at the end, and the others gone."""
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
    """Return the values with everything that options imply for others (fs/nfs/fs_context.c, client.c).

    - ``actimeo=N`` sets the four attribute times; one given after it outdoes it, one before it is lost.
    - ``noac`` sets the four to 0 and makes writes synchronous, in whatever order they stand.
    - ``softerr`` includes ``softreval``, which stays if soft follows; ``hard`` takes it away.
    - ``minorversion=N`` counts only beside ``vers=4``, which it makes ``4.N``.
    - ``nolock`` on version 3 keeps all locks local.
    """
    values = options.values()
    # Only for these does the order among different options matter.
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


def to_mount(options: MountOptions) -> MountOptions:
    """Return the options for a mount made now: without the words for fstab and systemd, in the foreground.

    ``bg`` would leave a process behind that tries for days, so it becomes the default ``fg``. ``user`` and
    ``users`` imply ``noexec`` in mount(8), which is spelled out unless ``exec`` is given; nosuid and nodev,
    which they imply too, are always added by the helper.
    """
    items: list[str] = []
    for item in options:
        option = catalogue().read_item(item)[0] if item else None
        if not item or (option is None and is_comment(item)) or (option and option.scope == "fstab"):
            continue
        items.append(item)
    kept = MountOptions(items)
    kept.remove("bg")
    if options.get("user") in {"user", "users"} and options.get("noexec") is None:
        kept.set("noexec", YES)
    return kept


def is_comment(item: str) -> bool:
    """Whether an item is one that mount(8) keeps to itself: ``x-…`` and ``X-…`` and ``comment=``."""
    return item.startswith(("x-", "X-", "comment="))


def check(options: MountOptions) -> list[OptionProblem]:
    """Return what is wrong with single items: unknown names, values of the wrong kind or out of range."""
    problems: list[OptionProblem] = []
    for item in options:
        problem = check_item(item, catalogue())
        if problem is not None:
            problems.append(problem)
    return problems


def _split(text: str) -> list[str]:
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


def _resolve(name: str) -> tuple[Option | None, str]:
    option = catalogue().find(name)
    return option, option.name if option else name


def _as_asked(option: Option | None, name: str, value: str) -> str:
    """Turn a flag's value round if it is asked for by its negation (the same both ways)."""
    if option is None or option.kind != "flag" or name != option.negation:
        return value
    return {YES: NO, NO: YES}.get(value, value)


def _canonical(option: Option | None, value: str) -> str:
    return option.canonical(value) if option else value


def _spell(option: Option | None, name: str, value: str, old: str) -> str:
    """Return the item for a value, in the manner of the old item if there is one."""
    if option is None:
        return name + ("=" + value if value or "=" in old else "")
    word = option.word_for(_canonical(option, value))
    was_word = bool(old) and old in option.all_words()
    if word is not None and (was_word or option.words or not option.takes_value or value in {YES, NO}):
        return _same_prefix(option, word, old)
    key, equals, _ = old.partition("=")
    if not equals or key + "=" not in option.forms:
        key = next((form[:-1] for form in option.forms if form.endswith("=")), name)
    return f"{key}={value}"


def _same_prefix(option: Option, word: str, old: str) -> str:
    # Two words for one value, as in X-mount.mkdir and x-mount.mkdir: the one in use stays.
    if old in option.all_words() and option.value_of_word(old) == option.value_of_word(word):
        return old
    return word

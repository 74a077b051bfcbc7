"""Option catalogue: names, values, defaults and scope of each mount option.

The data is in resources/options.toml, from nfs(5), mount(8), systemd.mount(5) and fs/nfs/fs_context.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from resources import read_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ValueKind = Literal["flag", "enum", "uint", "size", "decisec", "sec", "minutes", "port",
               "string", "addr", "version", "seclist"]  # fmt: skip
OptionGroup = Literal["general", "transfer", "timing", "caching", "security", "advanced"]
MountinfoVisibility = Literal["always", "if-not-default", "if-given", "never"]
OptionScope = Literal["client", "superblock", "mount", "command", "fstab"]
ChangeMethod = Literal["live", "remount", "mount", "host", "boot"]

#: Kinds whose value is a plain decimal number in the option string.
NUMBER_KINDS = frozenset({"uint", "size", "decisec", "sec", "minutes", "port"})
#: Canonical values of a flag: set, and negated (``noac`` is the option ``ac`` with the value NO).
YES = ""
NO = "no"
_KERNEL_RELEASE = re.compile(r"([0-9]{1,6})\.([0-9]{1,6})(?:\.([0-9]{1,6}))?")
_DEFAULT_CONDITION = re.compile(r"(\*|3|4|4\.[0-2])/(\*|tcp|udp|rdma)")


class CatalogueError(ValueError):
    """The catalogue's file is invalid; the message names the table and the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One entry of the catalogue; resources/options.toml describes each field.

    Attributes:
        name: canonical name.
        label: short label for a form.
        help: its effect, when to change it, and its cost.
        keywords: further search words.
        kind: type of the value.
        forms: all spellings; a spelling that ends in ``=`` takes a value.
        negation: the spelling for NO, or None.
        means: spelling without a value to the value that it stands for.
        words: whether to write a value as a word where one exists (``soft``).
        values: allowed values of an enum, version or seclist, in display order.
        synonyms: value to its canonical equivalent.
        minimum: least number, in the unit of the option string.
        maximum: greatest number, in the unit of the option string.
        unit: unit of the number in the option string, or "".
        default: canonical value of an absent option (YES or NO for a flag), None if it is negotiated.
        defaults: defaults that depend on "VERSION/TRANSPORT", see :meth:`default_for`.
        default_note: description of the default, or "".
        group: group of the option in forms.
        basic: whether the basic Settings form has it.
        shown: when mountinfo shows it.
        shown_on: NFS versions whose mounts show it.
        versions: NFS versions on which it has an effect.
        scope: objects that share the value: one client, superblock or mount, the mount command, or fstab.
        change: way to change it on an active mount: live, remount, new mount, host setting or boot.
        since: first kernel release with the option, or "".
        since_values: canonical value to its first kernel release, where that is later than the option's.
        helper: whether the privileged helper accepts it.
    """

    name: str
    label: str
    help: str
    keywords: tuple[str, ...]
    kind: ValueKind
    forms: tuple[str, ...]
    negation: str | None
    means: Mapping[str, str]
    words: bool
    values: tuple[str, ...]
    synonyms: Mapping[str, str]
    minimum: int | None
    maximum: int | None
    unit: str
    default: str | None
    defaults: Mapping[str, str]
    default_note: str
    group: OptionGroup
    basic: bool
    shown: MountinfoVisibility
    shown_on: tuple[str, ...]
    versions: tuple[str, ...]
    scope: OptionScope
    change: ChangeMethod
    since: str
    since_values: Mapping[str, str]
    helper: bool

    @property
    def is_number(self) -> bool:
        """Whether the value is a plain decimal number."""
        return self.kind in NUMBER_KINDS

    @property
    def takes_value(self) -> bool:
        """Whether the option has a spelling ``name=value``."""
        return any(form.endswith("=") for form in self.forms)

    def newer_than(self, release: str) -> bool:
        """Whether the option needs a later kernel than a release as printed by uname; False if unknown."""
        return _is_newer(self.since, release)

    def newer_values(self, release: str) -> dict[str, str]:
        """Return the values that need a later kernel than a release, each with its first kernel release."""
        return {value: since for value, since in self.since_values.items() if _is_newer(since, release)}

    def matches(self, query: str) -> bool:
        """Whether every word of a search query occurs in the option's names, label, keywords or unit."""
        text = " ".join((self.name, self.label, *self.all_words(), *self.forms, *self.keywords, self.unit))
        return all(word in text.casefold() for word in query.casefold().split())

    def canonical(self, value: str) -> str:
        """Return the canonical spelling of a value: synonyms are replaced, other values unchanged."""
        if self.kind == "seclist":
            return ":".join(self.synonyms.get(part, part) for part in value.split(":"))
        return self.synonyms.get(value, value)

    def default_for(self, version: str, transport: str) -> str | None:
        """Return the canonical value of the absent option on a mount of a version and transport.

        Args:
            version: NFS version as in mountinfo ("3", "4.2"), or "" if unknown.
            transport: transport as in mountinfo ("tcp", "udp6", "rdma"), or "" for TCP.

        Returns:
            None if client and server negotiate the value; :attr:`default_note` describes it.
        """
        carrier = transport.removesuffix("6") or "tcp"
        for condition, value in self.defaults.items():
            for_version, _, for_transport = condition.partition("/")
            fits = for_version in {"*", version, version.partition(".")[0]}
            if fits and for_transport in {"*", carrier}:
                return value
        return self.default

    def from_wire(self, text: str) -> int | float | str:
        """Return the value for editing in a form: integers, decisec times in seconds, other values as text.

        Raises:
            ValueError: if a number is not a plain decimal.
        """
        if not self.is_number:
            return text
        if not (text.isascii() and text.isdigit()):
            raise ValueError(f"“{text}” is not a whole number.")
        return int(text) / 10 if self.kind == "decisec" else int(text)

    def to_wire(self, value: float | str) -> str:
        """Return an edited value in the spelling of the option string: 60.0 seconds of timeo become "600".

        Raises:
            ValueError: if a number is negative, not finite, or finer than the option's resolution.
        """
        if isinstance(value, str):
            return value
        scaled = value * 10 if self.kind == "decisec" else value
        if not abs(scaled) < 2**63:  # also false for a value that is not a number
            raise ValueError(f"{value} is too large.")
        whole = round(scaled)
        if abs(scaled - whole) > 1e-6 or whole < 0:
            step = "tenths of a second" if self.kind == "decisec" else "whole numbers"
            raise ValueError(f"“{self.name}” goes in {step}, from 0 up.")
        return str(whole)

    def word_for(self, value: str) -> str | None:
        """Return the word without an equals sign that stands for this value, or None."""
        # Plain words first: nordirplus works on older kernels than its synonym rdirplus=none.
        for word in sorted(self.all_words(), key=lambda word: "=" in word):
            if self.value_of_word(word) == value:
                return word
        return None

    def all_words(self) -> list[str]:
        """Return the spellings without a value, the negation last."""
        words = [form for form in self.forms if not form.endswith("=")]
        return [*words, self.negation] if self.negation else words

    def value_of_word(self, word: str) -> str:
        """Return the canonical value that one of :meth:`all_words` stands for."""
        if word in self.means:
            return self.means[word]
        if word == self.negation:
            return NO
        if "=" in word:
            return self.canonical(word.partition("=")[2])
        return self.canonical(word) if word in self.values else YES


def _is_newer(since: str, release: str) -> bool:
    needed, running = _KERNEL_RELEASE.match(since), _KERNEL_RELEASE.match(release)
    if needed is None or running is None:
        return False
    first, second = (tuple(map(int, found.groups(default="0"))) for found in (needed, running))
    if first[:2] == second[:2] == (2, 6):  # 2.6.x: the third number was the feature release
        return first > second
    return first[:2] > second[:2]


class Catalogue:
    """All options, indexed by every spelling. Iteration is in display order."""

    def __init__(self, options: list[Option]) -> None:
        """Index the options.

        Raises:
            CatalogueError: if two options share a spelling.
        """
        self.options = tuple(options)
        self._by_name = {option.name: option for option in self.options}
        self._places = {option.name: place for place, option in enumerate(self.options)}
        self._words: dict[str, Option] = {}
        self._keys: dict[str, Option] = {}
        for option in self.options:
            for word in option.all_words():
                _index_spelling(self._words, word, option)
            for form in option.forms:
                if form.endswith("="):
                    _index_spelling(self._keys, form[:-1], option)

    def __iter__(self) -> Iterator[Option]:
        return iter(self.options)

    def __len__(self) -> int:
        return len(self.options)

    def __getitem__(self, name: str) -> Option:
        """Return the option with this name, alias, word or negation.

        Raises:
            KeyError: if no option has this spelling.
        """
        option = self.find(name)
        if option is None:
            raise KeyError(name)
        return option

    def find(self, name: str) -> Option | None:
        """Return the option with this name, alias, word or negation, or None."""
        return self._by_name.get(name) or self._keys.get(name) or self._words.get(name)

    def read_item(self, item: str) -> tuple[Option | None, str, str]:
        """Return option, canonical name and canonical value of one item of an option string.

        For an unknown item the option is None, and the name is the item's text before the equals sign.
        """
        word = self._words.get(item)
        if word is not None:
            return word, word.name, word.value_of_word(item)
        key, equals, value = item.partition("=")
        option = self._keys.get(key) if equals else None
        if option is None:
            known = self.find(key)
            # rsize without a value, or hard=1: invalid, but the option is clear.
            return known, known.name if known else key, value
        return option, option.name, option.canonical(value)

    def order(self, name: str) -> int:
        """Return the sort position of a canonical name; unknown names come last."""
        return self._places.get(name, len(self.options))


def _index_spelling(index: dict[str, Option], spelling: str, option: Option) -> None:
    other = index.setdefault(spelling, option)
    if other is not option:
        raise CatalogueError(f"option.{option.name}: the spelling “{spelling}” is taken by “{other.name}”.")


@cache
def catalogue() -> Catalogue:
    """Return the catalogue of resources/options.toml."""
    return load_catalogue(read_toml("options.toml"))


def load_catalogue(document: Mapping[str, Any]) -> Catalogue:
    """Return the catalogue of a parsed TOML document.

    Raises:
        CatalogueError: if the document is invalid; the message names the table and the key.
    """
    tables = document.get("option")
    if not isinstance(tables, dict) or not tables:
        raise CatalogueError("The catalogue has no [option.…] tables.")
    return Catalogue([_parse_option(name, table) for name, table in cast("dict[str, Any]", tables).items()])


class _Table:
    """One TOML table, read key by key; :meth:`end` reports the keys that were not read."""

    def __init__(self, name: str, table: object) -> None:
        self._name = name
        if not isinstance(table, dict):
            raise CatalogueError(f"option.{name}: not a table.")
        self._rest = dict(cast("dict[str, Any]", table))

    def error(self, key: str, problem: str) -> CatalogueError:
        return CatalogueError(f"option.{self._name}: “{key}” {problem}.")

    def take(self, key: str, of: type, default: object) -> Any:
        value = self._rest.pop(key, default)
        if value is ...:
            raise self.error(key, "is missing")
        if value is not None and type(value) is not of:
            raise self.error(key, f"is not of type {of.__name__}")
        return value

    def text(self, key: str, default: object = "") -> str:
        return cast("str", self.take(key, str, default))

    def flag(self, key: str, default: object) -> bool:
        return cast("bool", self.take(key, bool, default))

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        value = self.text(key, ...)
        if value not in allowed:
            raise self.error(key, f"is “{value}”, not one of {', '.join(allowed)}")
        return value

    def texts(self, key: str, default: object = None) -> tuple[str, ...]:
        items = cast("list[Any]", self.take(key, list, default) or [])
        if not all(isinstance(item, str) for item in items):
            raise self.error(key, "is not a list of strings")
        return tuple(cast("list[str]", items))

    def mapping(self, key: str) -> dict[str, str]:
        items = cast("dict[str, Any]", self.take(key, dict, None) or {})
        if not all(isinstance(item, str) for item in items.values()):
            raise self.error(key, "is not a table of strings")
        return items

    def end(self) -> None:
        for key in self._rest:
            raise self.error(key, "is not a key of the catalogue")


def _parse_option(name: str, raw: object) -> Option:
    table = _Table(name, raw)
    kind = cast("ValueKind", table.choice("kind", get_args(ValueKind)))
    default = cast("str | None", table.take("default", str, None))
    default_note = table.text("default_note")
    if default is None and not default_note:
        raise table.error("default", "is missing, and so is “default_note”")
    negation = table.text("neg") or None
    if kind == "flag" and default not in {"yes", "no"}:
        raise table.error("default", "of a flag is neither yes nor no")
    if kind == "flag" or (negation and default in {"yes", "no"}) or (kind == "string" and default == "no"):
        default = YES if default == "yes" else NO
    versions = table.texts("versions", ...)
    option = Option(
        name=name,
        label=table.text("label", ...),
        help=table.text("help", ...),
        keywords=table.texts("keywords", ...),
        kind=kind,
        forms=table.texts("forms", ...),
        negation=negation,
        means=table.mapping("means"),
        words=table.flag("words", default=False),
        values=table.texts("values"),
        synonyms=table.mapping("synonyms"),
        minimum=cast("int | None", table.take("min", int, None)),
        maximum=cast("int | None", table.take("max", int, None)),
        unit=table.text("unit"),
        default=default,
        defaults=table.mapping("defaults"),
        default_note=default_note,
        group=cast("OptionGroup", table.choice("group", get_args(OptionGroup))),
        basic=table.flag("basic", default=False),
        shown=cast("MountinfoVisibility", table.choice("shown", get_args(MountinfoVisibility))),
        shown_on=table.texts("shown_on") or ("3", "4.0", "4.1", "4.2"),
        versions=versions,
        scope=cast("OptionScope", table.choice("scope", get_args(OptionScope))),
        change=cast("ChangeMethod", table.choice("change", get_args(ChangeMethod))),
        since=table.text("since"),
        since_values=table.mapping("since_values"),
        helper=table.flag("helper", default=...),
    )
    table.end()
    _check_option(table, option)
    return option


def _check_option(table: _Table, option: Option) -> None:
    if not option.forms:
        raise table.error("forms", "is empty")
    if option.kind in {"enum", "version", "seclist"} and not option.values:
        raise table.error("values", "is missing")
    if option.is_number and (option.minimum is None or option.maximum is None):
        raise table.error("min", "or “max” is missing")
    if option.values and option.default is not None and option.default not in option.values:
        raise table.error("default", f"“{option.default}” is not one of the values")
    if not all(_DEFAULT_CONDITION.fullmatch(condition) for condition in option.defaults):
        raise table.error("defaults", "has a key that is not VERSION/TRANSPORT")
    if not set(option.since_values) <= set(option.values):
        raise table.error("since_values", "names a value that is not one of the values")
    for key, mapping in (("means", option.means), ("synonyms", option.synonyms)):
        if not set(mapping.values()) <= set(option.values):
            raise table.error(key, "names a value that is not one of the values")

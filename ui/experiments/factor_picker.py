"""What an experiment can vary, as a form offers it: factors with their help, levels, and a good start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from advisor.catalogue import NO
from advisor.options import catalogue
from app.experiment.factors import (
    BLOCK_SIZE,
    CACHE_MODE,
    DEFAULT,
    FILE_SIZE,
    PATTERN,
    READ_AHEAD,
    RECORD_SIZE,
    STREAMS,
    TRANSFER_SIZE,
    YES_LEVEL,
    label,
)
from ui.common.option_search import find_options
from ui.common.option_text import help_line, value_text
from ui.common.translation import tr

if TYPE_CHECKING:
    from advisor.catalogue import Option

#: With a mount that cannot be written to, nothing can be copied to it.
_USELESS = frozenset({"ro"})
#: Sizes that tell most with few trials; anything else can be typed.
_START = {
    "rsize": ("65536", "262144", "1048576"), "wsize": ("65536", "262144", "1048576"),
    "nconnect": ("1", "2", "4", "8"), "timeo": ("10", "100", "600"), "retrans": ("2", "5"),
    "vers": ("3", "4.2"), "proto": ("tcp", "udp"), "actimeo": (DEFAULT, "0", "60"),
    "sec": ("sys", "krb5"), "lookupcache": ("all", "none"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorChoice:
    """One factor that a form offers.

    Attributes:
        name: as recipes have it.
        label: a few plain words.
        help: what it does, in sentences.
        offered: all levels there are, () where they are typed.
        start: the levels to begin with.
        hint: what can be typed, "" where all levels are offered.
    """

    name: str
    label: str
    help: str
    offered: tuple[str, ...] = ()
    start: tuple[str, ...]
    hint: str = ""

    def text_of(self, level: str) -> str:
        """Return a level for people."""
        if level == DEFAULT:
            return tr("default")
        option = catalogue().find(self.name)
        return level if option is None or self.name == CACHE_MODE else value_text(option, level)


@cache
def factor_choices() -> tuple[FactorChoice, ...]:
    """Return all of them: what most people want to vary first, then the options in the catalogue's order."""
    options = [
        option
        for option in catalogue()
        if option.scope != "fstab" and option.helper and option.name not in _USELESS
    ]
    return (*_special(), *map(_of_option, options))


def choice_of(name: str) -> FactorChoice:
    """Return the choice of a factor; one that cannot be chosen (of another system) has typed levels."""
    for choice in factor_choices():
        if choice.name == name:
            return choice
    return FactorChoice(
        name=name, label=label(name), help="", start=(), hint=tr("Levels, with commas between")
    )


def find_factors(query: str) -> frozenset[str]:
    """Return the names of the factors in which every word of the query occurs."""
    words = query.casefold().split()
    own = {
        choice.name
        for choice in factor_choices()
        if all(word in f"{choice.label} {choice.name} {choice.help}".casefold() for word in words)
    }
    return find_options(query) | own


def _of_option(option: Option) -> FactorChoice:
    offered: tuple[str, ...] = ()
    if option.kind == "flag":
        offered = (YES_LEVEL, NO)
    elif option.values:
        offered = tuple(value for value in option.values if value not in option.synonyms)
    start = _START.get(option.name) or offered[:2] or (DEFAULT,)
    return FactorChoice(
        name=option.name,
        label=option.label,
        help=help_line(option),
        offered=(*offered, DEFAULT) if offered else (),
        start=start,
        hint="" if offered else _range_text(option),
    )


def _range_text(option: Option) -> str:
    """Return what can be typed."""
    if option.kind == "size":
        return tr("Sizes with commas between, such as 64k, 256k, 1M; or default")
    if not option.is_number:
        return tr("Values with commas between; or default")
    low, high = option.minimum or 0, option.maximum or 0
    numbers = tr("Numbers from {low} to {high}").format(low=low, high=high)
    if high >= _ENDLESS:
        numbers = tr("Numbers from {low} up").format(low=low)
    unit = tr(" ({unit})").format(unit=option.unit) if option.unit else ""
    return tr("{numbers}{unit}, with commas between; or default").format(numbers=numbers, unit=unit)


#: A limit as high as this is the kernel's type, and says nothing to people.
_ENDLESS = 10**6


def _special() -> tuple[FactorChoice, ...]:
    sizes = tr("Sizes with commas between, such as 4k, 64k, 1M")
    numbers = tr("Numbers with commas between, such as {example}")
    entries: list[tuple[str, str, tuple[str, ...], tuple[str, ...], str]] = [
        (TRANSFER_SIZE,
         tr("rsize and wsize together: how much is asked for and sent in one request."),
         (), ("64k", "256k", "1M"), tr("Sizes with commas between, such as 64k, 256k, 1M; or default")),
        (READ_AHEAD,
         tr("How far the kernel reads ahead of a program, in KiB; 128 is what a new mount has."),
         (), ("128", "1024", "4096"), numbers.format(example="128, 1024, 4096")),
        (CACHE_MODE,
         tr("How long what is known of files is believed: as usual, never and with synchronous writing "
             "(noac), or never with writing as usual (actimeo=0)."),
         (DEFAULT, "noac", "actimeo=0"), (DEFAULT, "noac", "actimeo=0"), ""),
        (STREAMS,
         tr("How many files are copied at once, each by a process of its own."),
         (), ("1", "4"), numbers.format(example="1, 4, 16")),
        (FILE_SIZE, tr("The size of the file; it replaces the size of the workloads."),
         (), ("1M", "16M"), sizes),
        (BLOCK_SIZE, tr("How much a program reads or writes with one call."), (), ("4k", "1M"), sizes),
        (RECORD_SIZE, tr("How much is read or written at a place of the file at a time."),
         (), ("4k", "64k"), sizes),
        (PATTERN, tr("Whether the records of a file are read and written in order or at random."),
         ("sequential", "random"), ("sequential", "random"), ""),
    ]  # fmt: skip
    return tuple(
        FactorChoice(name=name, label=label(name), help=text, offered=offered, start=start, hint=hint)
        for name, text, offered, start, hint in entries
    )

"""Emulated links of the lab: the profiles of ``resources/links.toml``, and links given by their values."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from advisor.facts import LinkFacts
from advisor.identify import identify_card
from app.errors import AppError
from app.text.errors import ErrorCode
from resources import read_toml

if TYPE_CHECKING:
    from collections.abc import Callable

#: Default mount point of the lab's export.
LAB_MOUNT_POINT = "/mnt/lab"

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([a-z%]*)")
_RATES = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_EXAMPLE = "rate=37mbit,delay=7ms,loss=0.2%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An emulated link; except for the rate, both directions have the same values (tc-netem(8)).

    Attributes:
        name: name of a profile, or the values of the link; ``parse_link(name)`` returns the same link.
        title: one line for lists.
        rate_bps: rate towards the client, bits per second on the wire.
        up_bps: rate towards the server, bits per second on the wire.
        delay_s: one-way delay, seconds.
        jitter_s: variation of the one-way delay, seconds.
        loss: fraction of packets lost in each direction.
        queue: length of the queue at each end, packets; further packets are dropped.
        mtu: maximum transmission unit, bytes.
        stands_for: LinkFacts fields of the network card and link that the profile represents.
    """

    name: str
    title: str
    rate_bps: float
    up_bps: float
    delay_s: float = 0.0
    jitter_s: float = 0.0
    loss: float = 0.0
    queue: int = 1000
    mtu: int = 1500
    stands_for: dict[str, str] = field(default_factory=dict[str, str], hash=False)

    def facts(self) -> LinkFacts:
        """Return the facts of this link for the advisor: the emulated values and the represented card."""
        emulated = "emulated by netem"
        sources = dict.fromkeys(("rate_bps", "up_bps", "rtt_s", "jitter_s", "loss"), emulated)
        sources |= dict.fromkeys(self.stands_for, f"what the lab's link “{self.name}” stands for")
        sources["mtu"] = "set on the lab's interface"
        sources["rtt_s"] = "emulated by netem: twice the delay, without the time to send"
        if self.stands_for.get("duplex") == "half":
            sources["duplex"] += "; the emulation carries both directions at once"
        return LinkFacts(
            name=self.name,
            interface="eth0",
            kind=self.stands_for.get("kind", "emulated"),
            adapter=self.stands_for.get("adapter", "Emulated link"),
            driver=self.stands_for.get("driver", "veth"),
            bus=self.stands_for.get("bus", "virtual"),
            bus_id=self.stands_for.get("bus_id"),
            card=identify_card(
                product=self.stands_for.get("adapter", ""), driver=self.stands_for.get("driver", "")
            ),
            duplex=self.stands_for.get("duplex", "full"),
            rate_bps=self.rate_bps,
            up_bps=self.up_bps,
            mtu=self.mtu,
            rtt_s=2 * self.delay_s,
            jitter_s=self.jitter_s,
            loss=self.loss,
            emulated=True,
            sources=sources,
        )


@cache
def load_links() -> dict[str, Link]:
    """Return the profiles by name, in the order of the file."""
    links: dict[str, Link] = {}
    for name, table in read_toml("links.toml").items():
        values = _read_fields({key: str(table[key]) for key in _FIELDS if key in table})
        links[name] = Link(
            **{"up_bps": values["rate_bps"]} | values,
            name=name,
            title=table["title"],
            stands_for={str(key): str(value) for key, value in table["facts"].items()},
        )
    return links


def parse_link(text: str) -> Link:
    """Return a link: a profile (``wan``), a profile with changes (``wan,loss=1%``) or values (``rate=…``).

    Raises:
        AppError: LINK_INVALID with the names of the profiles, or with the wrong field.
    """
    try:
        return _parse(text)
    except ValueError as error:
        names = ", ".join(load_links())
        raise AppError(
            ErrorCode.LINK_SYNTAX, text=text, problem=str(error), names=names, example=_EXAMPLE
        ) from None


def _parse(text: str) -> Link:
    words = [word.strip().lower() for word in text.split(",")]
    base = load_links().get(words[0])
    if base is not None:
        del words[0]
    elif "=" not in words[0]:
        raise ValueError(f"there is no link profile “{words[0]}”.")
    given = _split(words)
    values = _read_fields(given)
    link = _link_from_values(given, values) if base is None else _changed_profile(base, given, values)
    if link.jitter_s > link.delay_s:
        raise ValueError("its jitter is larger than its delay.")
    return link


def _split(words: list[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for word in words:
        key, _equals, value = word.partition("=")
        if key not in _FIELDS or not value:
            fields = ", ".join(f"{name}=" for name in _FIELDS)
            raise ValueError(f"“{word}” is none of {fields}.")
        if key in given:
            raise ValueError(f"it gives “{key}” twice.")
        given[key] = value
    return given


def _link_from_values(given: dict[str, str], values: dict[str, Any]) -> Link:
    if "rate" not in given:
        raise ValueError("it has no rate.")
    name = _link_text(given)
    return Link(**{"up_bps": values["rate_bps"]} | values, name=name, title=f"A link of your own: {name}")


def _changed_profile(base: Link, given: dict[str, str], values: dict[str, Any]) -> Link:
    if not given:
        return base
    if "rate" in given and "up" not in given:
        values["up_bps"] = values["rate_bps"] * base.up_bps / base.rate_bps
    changes = _link_text(given)
    return dataclasses.replace(
        base, **values, name=f"{base.name},{changes}", title=f"{base.title}; {changes}"
    )


def _link_text(given: dict[str, str]) -> str:
    return ",".join(f"{key}={given[key]}" for key in _FIELDS if key in given)


def _read_fields(given: dict[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in given.items():
        name, parse = _FIELDS[key]
        try:
            values[name] = parse(value)
        except ValueError as error:
            raise ValueError(f"{key}={value} {error}") from None
    return values


def _number(text: str, units: dict[str, float], low: float, high: float, example: str) -> float:
    match = _NUMBER.fullmatch(text)
    if match is None or match[2] not in units:
        raise ValueError(f"is not understood; write for example {example}.")
    value = float(match[1]) * units[match[2]]
    if not low <= value <= high:
        raise ValueError(f"is out of range; write for example {example}.")
    return value


def _rate(text: str) -> float:
    return _number(text, _RATES, 1e3, 1e11, "37mbit, from 1kbit to 100gbit")


def _time(text: str) -> float:
    return _number(text, _TIMES, 0, 10, "7ms, up to 10s")


def _loss(text: str) -> float:
    return _number(text, {"%": 0.01}, 0, 1, "0.2%, up to 100%")


def _queue(text: str) -> int:
    return int(_whole(text, 1, 1_000_000, "500, a number of packets from 1 to 1000000"))


def _mtu(text: str) -> int:
    return int(_whole(text, 576, 9216, "1500, a number of bytes from 576 to 9216"))


def _whole(text: str, low: float, high: float, example: str) -> float:
    if not text.isdecimal():
        raise ValueError(f"is not understood; write for example {example}.")
    return _number(text, {"": 1.0}, low, high, example)


#: Keys of a typed link, each with its field of Link and the parser of its value.
_FIELDS: dict[str, tuple[str, Callable[[str], float]]] = {
    "rate": ("rate_bps", _rate),
    "up": ("up_bps", _rate),
    "delay": ("delay_s", _time),
    "jitter": ("jitter_s", _time),
    "loss": ("loss", _loss),
    "queue": ("queue", _queue),
    "mtu": ("mtu", _mtu),
}

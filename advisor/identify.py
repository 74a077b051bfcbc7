"""Identification of known kinds of servers and network cards.

Servers are recognized by their name, path, RPC services or NFS 4.1 implementation id
(resources/servers.toml); network cards by driver, bus id or product name (resources/cards.toml).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from resources import read_toml
from resources.decoding import converted

if TYPE_CHECKING:
    from collections.abc import Mapping


class ServerKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of server; resources/servers.toml describes each field."""

    title: str
    host: str = ""
    export: str = ""
    implementation: str = ""
    ports: dict[str, int] = {}


@cache
def server_kinds() -> dict[str, ServerKind]:
    """Return all kinds of servers by their ids (resources/servers.toml)."""
    return converted(read_toml("servers.toml"), dict[str, ServerKind])


def identify_server(
    *, host: str = "", export: str = "", implementation: str = "", ports: Mapping[str, int] | None = None
) -> tuple[str, str] | None:
    """Return the id of the kind of server and the evidence as a phrase, or None.

    The order of evidence is: implementation id, host name, ports of RPC services, path of the export.

    Args:
        host: name or address as in the share.
        export: the path on the server.
        implementation: name and domain of NFS 4.1's implementation id.
        ports: name of each RPC service to its port.
    """
    for pattern, text, how in (
        ("implementation", implementation, "what it calls itself"),
        ("host", host.rstrip("."), "its name"),
    ):
        for name, kind in server_kinds().items():
            if _matches(getattr(kind, pattern), text):
                return name, how
    for name, kind in server_kinds().items():
        if kind.ports and ports is not None and kind.ports.items() <= ports.items():
            return name, "the ports of its RPC services"
    for name, kind in server_kinds().items():
        if _matches(kind.export, export):
            return name, "the path of its export, which is only a hint"
    return None


def _matches(pattern: str, text: str) -> bool:
    return bool(pattern and text and re.search(pattern, text, re.IGNORECASE))


class NetworkCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model of network adapter; resources/cards.toml describes each field."""

    title: str
    receive_buffer: int
    rate_bps: float
    drivers: tuple[str, ...]
    ids: tuple[str, ...]
    product: str
    product_not: str
    names: tuple[str, ...]
    note: str

    def matches_product(self, product: str) -> bool:
        """Whether a product string names this adapter."""
        text = product.casefold()
        return bool(re.search(self.product, text)) and not re.search(self.product_not, text)


@cache
def network_cards() -> dict[str, NetworkCard]:
    """Return all network adapters by their ids (resources/cards.toml)."""
    return converted(read_toml("cards.toml"), dict[str, NetworkCard])


def identify_card(*, driver: str = "", bus_id: str = "", product: str = "") -> str | None:
    """Return the id of the adapter with this description by the system, or None.

    The product string is checked first, since a driver such as 3c509 serves several revisions.

    Args:
        driver: kernel driver.
        bus_id: vendor:device of PCI or USB, or PNP id of ISA.
        product: product name.
    """
    for name, card in network_cards().items():
        if product and card.matches_product(product):
            return name
    for name, card in network_cards().items():
        if bus_id.upper() in card.ids or (driver and driver in card.drivers):
            return name
    return None


def find_card(text: str) -> str | None:
    """Return the id of the adapter that a text names by id, driver, model or product, or None."""
    word = text.strip().casefold()
    for name, card in network_cards().items():
        if word == name or word in card.names or word in card.drivers:
            return name
    return identify_card(product=word, bus_id=word)

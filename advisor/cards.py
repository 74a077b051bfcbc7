"""Network adapters that NFS had to be tuned for (resources/cards.toml), and how to know them."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from resources import read_toml
from resources.decoding import converted


class Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One adapter; resources/cards.toml describes each field."""

    title: str
    receive_buffer: int
    rate_bps: float
    drivers: tuple[str, ...]
    ids: tuple[str, ...]
    product: str
    product_not: str
    names: tuple[str, ...]
    note: str

    def is_called(self, product: str) -> bool:
        """Whether a product string is of this adapter."""
        text = product.casefold()
        return bool(re.search(self.product, text)) and not re.search(self.product_not, text)


@cache
def cards() -> dict[str, Card]:
    """Return all adapters by their ids."""
    return converted(read_toml("cards.toml"), dict[str, Card])


def identify_card(*, driver: str = "", bus_id: str = "", product: str = "") -> str | None:
    """Return the id of the adapter that a system describes so, or None.

    What the system calls it says most: a driver such as 3c509 serves more than one revision.
    """
    for name, card in cards().items():
        if product and card.is_called(product):
            return name
    for name, card in cards().items():
        if bus_id.upper() in card.ids or (driver and driver in card.drivers):
            return name
    return None


def card_named(text: str) -> str | None:
    """Return the id of the adapter that a person means: an id, a driver, a model or a product; or None."""
    word = text.strip().casefold()
    for name, card in cards().items():
        if word == name or word in card.names or word in card.drivers:
            return name
    return identify_card(product=word, bus_id=word)

"""Servers that the advisor knows by name, path, services or by what they call themselves."""

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
    """Return all kinds by their ids."""
    return converted(read_toml("servers.toml"), dict[str, ServerKind])


def identify_server(
    *, host: str = "", export: str = "", implementation: str = "", ports: Mapping[str, int] | None = None
) -> tuple[str, str] | None:
    """Return the id of the server and how it was known, or None.

    What it calls itself outranks its name, its services come next, and the path is a hint at the most.

    Args:
        host: as the share spells it.
        export: the path on the server.
        implementation: name and domain of NFS 4.1's implementation id.
        ports: RPC services to the port where each listens.
    """
    for pattern, text, how in (
        ("implementation", implementation, "what it calls itself"),
        ("host", host.rstrip("."), "its name"),
    ):
        for name, kind in server_kinds().items():
            if _fits(getattr(kind, pattern), text):
                return name, how
    for name, kind in server_kinds().items():
        if kind.ports and ports is not None and kind.ports.items() <= ports.items():
            return name, "the ports of its RPC services"
    for name, kind in server_kinds().items():
        if _fits(kind.export, export):
            return name, "the path of its export, which is only a hint"
    return None


def _fits(pattern: str, text: str) -> bool:
    return bool(pattern and text and re.search(pattern, text, re.IGNORECASE))

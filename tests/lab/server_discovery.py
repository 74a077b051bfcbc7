"""Guest job: the server's host announces itself by mDNS, and the client discovers it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from lab_faults import stop_threads
from mdns_responder import MALFORMED, Responder, announcement

from app.discovery.client import browse_network, scan_networks
from app.discovery.scan import subnets
from app.errors import AppError
from app.lab.network import SERVER_ADDRESS
from app.tasks import CancelToken

if TYPE_CHECKING:
    from app.discovery.model import ServersEvent
    from app.lab.server_host import ServerHost

ATTEMPTS = 5


def carry_out(host: ServerHost) -> dict[str, Any]:
    """Return the servers found by announcements and by a scan."""
    with Path("/etc/hosts").open("a", encoding="ascii") as hosts:
        hosts.write(f"{SERVER_ADDRESS} attic.local\n")
    packets = [
        *MALFORMED.values(),
        announcement(b"Music \xe2\x99\xab", b"attic.local", SERVER_ADDRESS, b"/mnt/export"),
        announcement(b"Far", b"far.local", "10.9.0.77", b"/far"),
        announcement(b"Evil", b"ev\x1b[31mil.local", "10.9.0.78", b"/\x1b]0;evil\x07"),
        announcement(b"Worse", b"a,b", "10.9.0.79", b"relative"),
    ]
    answer: dict[str, Any] = {"nobody": _browse()}
    responder = host.run(lambda: Responder(SERVER_ADDRESS, packets))
    with responder:
        for _ in range(ATTEMPTS):  # on a busy machine a packet may be lost
            answer["announced"] = _browse()
            if len(answer["announced"]["result"]) >= 4:
                break
    answer["subnets"] = msgspec.to_builtins(subnets())
    answer["scan"] = _scan()
    answer["cancelled"] = _cancelled_scan()
    host.run(stop_threads)
    answer["stopped"] = _scan()
    return answer


def _browse() -> dict[str, Any]:
    told: list[ServersEvent] = []
    result = browse_network(CancelToken(), told.append)
    servers = [server for event in told for server in event.servers]
    return {"result": msgspec.to_builtins(result), "told": msgspec.to_builtins(servers)}


def _scan() -> dict[str, Any]:
    told: list[ServersEvent] = []
    began = time.monotonic()
    result = scan_networks([], CancelToken(), told.append)
    return {
        "result": msgspec.to_builtins(result),
        "told": msgspec.to_builtins(told),
        "seconds": time.monotonic() - began,
    }


def _cancelled_scan() -> str:
    token = CancelToken()
    try:
        scan_networks([], token, lambda _event: token.cancel())
    except AppError as error:
        return str(error.kind)
    return "it went on to its end"

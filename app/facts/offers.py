"""The NFS versions that a server offers, asked beside everything else: late is unknown."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from app.discovery.client import ask_versions
from app.errors import AppError
from app.tasks import CancelToken, run_in_thread

if TYPE_CHECKING:
    from concurrent.futures import Future

    from advisor.facts import ServerFacts
    from app.discovery.model import ProbeResult

_CLOCK = "the server's rpcbind, if it tells its time"
_REVERSE = "the name service, for the server's address"


class VersionQuestion:
    """A question that is under way; :meth:`answer` ends it, in time or not.

    Args:
        host: the server.
        end: moment (monotonic) by which the answer must be there.
    """

    def __init__(self, host: str, end: float) -> None:
        self._end = end
        self._token = CancelToken()
        seconds = max(0.1, end - time.monotonic())
        #: RPC services of the server and the port of each, once it has answered.
        self.ports: dict[str, int] = {}
        self._future: Future[ProbeResult] = run_in_thread(
            "versions", lambda: ask_versions(host, self._token, seconds=seconds)
        )

    def answer(self, server: ServerFacts) -> ServerFacts:
        """Return the server with its versions, or why they are not known."""
        try:
            result = self._future.result(max(0.0, self._end - time.monotonic()))
        except TimeoutError:
            self._token.cancel()
            return _unknown(server, "the server did not answer in time")
        except AppError as error:
            return _unknown(server, error.message)
        self.ports = {service.name: service.port for service in result.services or () if service.name}
        found = {
            transport: [
                offer.version for offer in result.versions if offer.transport == transport and offer.offered
            ]
            for transport in ("tcp", "udp")
        }
        asked = {
            transport: any(
                offer.offered is not None for offer in result.versions if offer.transport == transport
            )
            for transport in ("tcp", "udp")
        }
        how = "NULL calls and empty COMPOUNDs"
        silent = "the server did not answer in time"
        return replace(
            server,
            tcp_versions=tuple(found["tcp"]) if asked["tcp"] else None,
            udp_versions=tuple(found["udp"]) if asked["udp"] else None,
            clock_ahead_s=result.clock_ahead_s,
            reverse_name=result.reverse_name,
            sources=server.sources
            | {f"{name}_versions": how if asked[name] else silent for name in ("tcp", "udp")}
            | {"clock_ahead_s": _CLOCK, "reverse_name": _REVERSE},
        )


def _unknown(server: ServerFacts, why: str) -> ServerFacts:
    return replace(server, sources=server.sources | dict.fromkeys(("tcp_versions", "udp_versions"), why))

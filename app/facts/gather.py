"""All facts of one share, within three seconds whatever the server does."""

from __future__ import annotations

import os
import time
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
from advisor.share import Share, ShareError
from app.errors import AppError, ErrorKind
from app.facts.client import client_facts
from app.facts.interface import interface_facts
from app.facts.prerequisites import prerequisite_facts
from app.facts.route import NFS_PORT, RoundTrip, Route, find_route, measure_round_trip
from app.facts.server import ServerMounts, VersionQuery, server_mounts, with_identity
from app.mounts.reachability import resolve_host
from app.tasks import run_in_thread
from app.units import format_duration

if TYPE_CHECKING:
    from concurrent.futures import Future

    from advisor.facts import PrerequisiteFacts

_BUDGET_S = 2.7
#: The name service gets this much of it, so that something is left for the server.
_RESOLVE_S = 1.4
#: What this computer tells of itself gets this much of it at least.
_LOCAL_S = 0.3
#: What the round trips to a server that is known to answer may take.
_LINK_S = 1.0


def gather_facts(
    share: str = "", *, link_override: LinkFacts | None = None, client: ClientFacts | None = None
) -> Facts:
    """Return what can be observed for a share; nothing on NFS is touched.

    A server that does not resolve or answer is a fact, not an error.

    Args:
        share: server:/export, or "" for the client alone.
        link_override: the lab's emulated link: its figures are kept, and the measured round trip is added.
        client: the client's facts, if they are known already.

    Raises:
        AppError: SHARE_INVALID.
    """
    end = time.monotonic() + _BUDGET_S
    host, export = _host(share)
    client = client or client_facts()
    # The kernel is asked by a child, the first time; a busy machine must not lose the server's time by it.
    needed = run_in_thread("prerequisites", prerequisite_facts)
    if not host:
        return Facts(client=client, link=link_override, prerequisites=_in_time(needed, end))
    try:
        addresses = resolve_host(host, min(_RESOLVE_S, end - time.monotonic()))
    except AppError as error:
        server = ServerFacts(
            name=host,
            reachable=False,
            sources={
                "address": error.message,
                "reachable": "its address is not known",
                "same_subnet": "its address is not known",
            },
        )
        # A vendor's name tells what it is, also where it does not resolve, as outside of a cloud's network.
        server = with_identity(server, export, ServerMounts((), ""))
        unknown = "the server's address is not known"
        link = link_override or LinkFacts(sources=_with_reasons({}, unknown))
        return Facts(client=client, link=link, server=server, prerequisites=_in_time(needed, end))
    question = VersionQuery(host, end)
    address, route, trip = _first_reachable(addresses, end)
    mounts = server_mounts(host, address)
    answered = question.answer(_server(host, address, route, trip))
    return Facts(
        client=replace(
            client,
            sharing=mounts.points,
            sources=client.sources
            | {"sharing": "mounts of the same server by its name or address (mountinfo)"},
        ),
        link=_link(route, trip, link_override),
        server=with_identity(answered, export, mounts, question.ports),
        prerequisites=_in_time(needed, end),
    )


def _in_time(needed: Future[PrerequisiteFacts], end: float) -> PrerequisiteFacts | None:
    try:
        return needed.result(max(_LOCAL_S, end - time.monotonic()))
    except TimeoutError:
        return None


def link_facts_of(
    address: str, port: int = NFS_PORT, *, override: LinkFacts | None = None, seconds: float = _LINK_S
) -> LinkFacts:
    """Return what is known of the way to an address; nobody is asked but the kernel and that port.

    Args:
        address: of the server, as the kernel prints it.
        port: TCP port that the round trips are measured with.
        override: as for :func:`gather_facts`.
        seconds: for all of them; a server that is silent costs no more.
    """
    route = find_route(address)
    trip = measure_round_trip(address, seconds if route else 0.0, port=port)
    return _link(route, trip, override, port)


def _host(share: str) -> tuple[str, str]:
    """Return the host and the path of a share, both empty for none."""
    if not share:
        return "", ""
    try:
        parsed = Share.parse(share)
        return parsed.host, parsed.export
    except ShareError as error:
        raise AppError(
            ErrorKind.SHARE_INVALID,
            f"“{share}” is not an NFS share: {error}",
            hint="Write it as server:/export, for example nas01:/export/home or [2001:db8::7]:/data.",
        ) from error


def _first_reachable(addresses: list[str], end: float) -> tuple[str, Route | None, RoundTrip]:
    """Return the first address that answers, or the first one that was tried."""
    tried: list[tuple[str, Route | None, RoundTrip]] = []
    for place, address in enumerate(addresses[:4]):
        left = end - time.monotonic()
        route = find_route(address)
        # Every address that is still to come gets its part of the time.
        share_s = left / (min(len(addresses), 4) - place)
        trip = measure_round_trip(address, share_s if route else 0.0)
        tried.append((address, route, trip))
        if trip.reachable:
            return tried[-1]
    answered = [attempt for attempt in tried if attempt[2].times]
    return (answered or tried)[0]


def _server(host: str, address: str, route: Route | None, trip: RoundTrip) -> ServerFacts:
    if trip.reachable:
        reached = "TCP port 2049 accepts connections"
    elif route is None:
        reached = "there is no route to it"
    else:
        reached = f"TCP port 2049: {os.strerror(trip.error)}"
    subnet = "the kernel's route, and the interface's address and netmask"
    if route is None:
        subnet = "there is no route to it"
    elif route.same_subnet is None:
        subnet = "the interface's netmask is not known"
    return ServerFacts(
        name=host,
        address=address,
        reachable=trip.reachable,
        same_subnet=route.same_subnet if route else None,
        sources={
            "name": "the share",
            "address": "the share" if address == host else "name service",
            "reachable": reached,
            "same_subnet": subnet,
            "card": "a server does not tell it",
        },
    )


def _link(
    route: Route | None, trip: RoundTrip, override: LinkFacts | None, port: int = NFS_PORT
) -> LinkFacts:
    if trip.times:
        rtt_source = f"median of {len(trip.times)} TCP connections to port {port}"
        p95_source = f"19th of {len(trip.times)} TCP connections to port {port}, the slowest last"
        if trip.p95_s is None:
            slowest = format_duration(max(trip.times))
            p95_source = f"{len(trip.times)} TCP connections are too few for it; the slowest took {slowest}"
    else:
        rtt_source = p95_source = "the server does not answer"
    if override is not None:
        if route is not None and route.interface is not None:
            sources = override.sources | {"interface": "the route to the server"}
            override = replace(override, interface=route.interface, sources=sources)
        return _measured(override, trip, rtt_source, p95_source)
    if route is None:
        return LinkFacts(sources=_with_reasons({}, "there is no route to the server"))
    sources = {
        "interface": "the kernel's route to the server",
        "rtt_s": rtt_source,
        "rtt_p95_s": p95_source,
        "loss": "not measured",
        "jitter_s": "not measured",
        "up_bps": "the system tells one speed for both directions",
        "path_mtu": "what the kernel knows of the route" if route.path_mtu else "the kernel does not know it",
    }
    if route.interface is None:
        sources["interface"] = f"no interface has the address {route.source}"
        sources = _with_reasons(sources, "the interface is not known")
        return LinkFacts(rtt_s=trip.median_s, rtt_p95_s=trip.p95_s, sources=sources)
    facts = interface_facts(route.interface)
    return LinkFacts(
        name=route.interface,
        interface=route.interface,
        kind=facts.kind,
        port=facts.port,
        adapter=facts.adapter,
        driver=facts.driver,
        bus=facts.bus,
        bus_id=facts.bus_id,
        rate_bps=facts.rate_bps,
        duplex=facts.duplex,
        mtu=facts.mtu,
        card=facts.card,
        via=facts.via,
        members=facts.members,
        path_mtu=route.path_mtu,
        receive_ring=facts.receive_ring,
        errors=facts.errors,
        drops=facts.drops,
        rtt_s=trip.median_s,
        rtt_p95_s=trip.p95_s,
        sources=_with_reasons(facts.sources | sources, "not known"),
    )


def _measured(link: LinkFacts, trip: RoundTrip, rtt_source: str, p95_source: str) -> LinkFacts:
    """Return an emulated link with the round trip that was measured over it, if one was."""
    sources = _with_reasons(link.sources, "nothing is said of it for this link")
    if not trip.times:
        return replace(link, sources=sources | {"rtt_p95_s": p95_source})
    sources |= {"rtt_s": rtt_source, "rtt_p95_s": p95_source}
    return replace(link, rtt_s=trip.median_s, rtt_p95_s=trip.p95_s, sources=sources)


def _with_reasons(sources: dict[str, str], reason: str) -> dict[str, str]:
    """Return the sources with a reason for every field of a link that has none."""
    names = (field.name for field in fields(LinkFacts) if field.name not in {"name", "emulated", "sources"})
    return dict.fromkeys(names, reason) | sources

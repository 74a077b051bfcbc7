"""Fact gathering: all facts about one share, within three seconds even if the server does not answer."""

from __future__ import annotations

import os
import time
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
from advisor.share import Share, ShareError
from app.errors import AppError
from app.facts.client import client_facts
from app.facts.interface import interface_facts
from app.facts.prerequisites import prerequisite_facts
from app.facts.route import NFS_PORT, RoundTrip, Route, find_route, measure_round_trip
from app.facts.server import ServerMounts, VersionQuery, server_mounts, with_identity
from app.mounts.reachability import resolve_host
from app.tasks import run_in_thread
from app.text.errors import ErrorCode
from app.text.units import format_duration

if TYPE_CHECKING:
    from concurrent.futures import Future

    from advisor.facts import PrerequisiteFacts

#: Time limit of all queries, s.
_BUDGET_S = 2.7
#: Longest time of name resolution, s; the rest of the time limit is for the server.
_RESOLVE_S = 1.4
#: Shortest time granted to the prerequisites of this computer, s.
_LOCAL_S = 0.3
#: Time limit of the round-trip measurement to a mounted server, s.
_LINK_S = 1.0


def gather_facts(
    share: str = "", *, link_override: LinkFacts | None = None, client: ClientFacts | None = None
) -> Facts:
    """Gather the facts about a share without accessing a mount.

    A server whose name does not resolve or that does not answer is a fact, not an error.

    Args:
        share: server:/export, or "" for the client alone.
        link_override: the lab's emulated link, whose figures replace the detected ones, except the measured
            round-trip time.
        client: facts about the client; None to gather them.

    Raises:
        AppError: SHARE_INVALID if the share is malformed.
    """
    end = time.monotonic() + _BUDGET_S
    host, export = _host(share)
    client = client or client_facts()
    # Started first and in parallel, because the first call starts a child process, which takes time.
    prerequisites = run_in_thread("prerequisites", prerequisite_facts)
    if not host:
        return Facts(client=client, link=link_override, prerequisites=_in_time(prerequisites, end))
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
        # A vendor's domain identifies the server even if the name resolves only inside a cloud network.
        server = with_identity(server, export, ServerMounts((), ""))
        reason = "the server's address is not known"
        link = link_override or LinkFacts(sources=_with_reasons({}, reason))
        return Facts(client=client, link=link, server=server, prerequisites=_in_time(prerequisites, end))
    query = VersionQuery(host, end)
    address, route, round_trip = _first_reachable(addresses, end)
    mounts = server_mounts(host, address)
    answered = query.answer(_server(host, address, route, round_trip))
    return Facts(
        client=replace(
            client,
            sharing=mounts.points,
            sources=client.sources
            | {"sharing": "mounts of the same server by its name or address (mountinfo)"},
        ),
        link=_link(route, round_trip, link_override),
        server=with_identity(answered, export, mounts, query.ports),
        prerequisites=_in_time(prerequisites, end),
    )


def _in_time(prerequisites: Future[PrerequisiteFacts], end: float) -> PrerequisiteFacts | None:
    try:
        return prerequisites.result(max(_LOCAL_S, end - time.monotonic()))
    except TimeoutError:
        return None


def link_facts_of(
    address: str, port: int = NFS_PORT, *, override: LinkFacts | None = None, seconds: float = _LINK_S
) -> LinkFacts:
    """Gather the facts about the link to an address, from the kernel and by connections to one port.

    Args:
        address: numeric address of the server, as printed by the kernel.
        port: TCP port for the round-trip measurement.
        override: the lab's emulated link, whose figures replace the detected ones, except the measured
            round-trip time.
        seconds: time limit of the measurement, s.
    """
    route = find_route(address)
    round_trip = measure_round_trip(address, seconds if route else 0.0, port=port)
    return _link(route, round_trip, override, port)


def _host(share: str) -> tuple[str, str]:
    """Return host and path of a share, both "" for an empty share."""
    if not share:
        return "", ""
    try:
        parsed = Share.parse(share)
        return parsed.host, parsed.export
    except ShareError as error:
        raise AppError(ErrorCode.SHARE_SYNTAX, share=share, problem=str(error)) from error


def _first_reachable(addresses: list[str], end: float) -> tuple[str, Route | None, RoundTrip]:
    """Return the first address that accepts connections, with its route and round trip.

    Without such an address, return the first that refused a connection, else the first address.
    """
    tried: list[tuple[str, Route | None, RoundTrip]] = []
    for index, address in enumerate(addresses[:4]):
        left = end - time.monotonic()
        route = find_route(address)
        # The remaining time is divided equally among the remaining addresses.
        share_s = left / (min(len(addresses), 4) - index)
        round_trip = measure_round_trip(address, share_s if route else 0.0)
        tried.append((address, route, round_trip))
        if round_trip.reachable:
            return tried[-1]
    answered = [attempt for attempt in tried if attempt[2].times]
    return (answered or tried)[0]


def _server(host: str, address: str, route: Route | None, round_trip: RoundTrip) -> ServerFacts:
    if round_trip.reachable:
        reached = "TCP port 2049 accepts connections"
    elif route is None:
        reached = "there is no route to it"
    else:
        reached = f"TCP port 2049: {os.strerror(round_trip.error)}"
    subnet = "the kernel's route, and the interface's address and netmask"
    if route is None:
        subnet = "there is no route to it"
    elif route.same_subnet is None:
        subnet = "the interface's netmask is not known"
    return ServerFacts(
        name=host,
        address=address,
        reachable=round_trip.reachable,
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
    route: Route | None, round_trip: RoundTrip, override: LinkFacts | None, port: int = NFS_PORT
) -> LinkFacts:
    if round_trip.times:
        rtt_source = f"median of {len(round_trip.times)} TCP connections to port {port}"
        p95_source = f"19th of {len(round_trip.times)} TCP connections to port {port}, the slowest last"
        if round_trip.p95_s is None:
            slowest = format_duration(max(round_trip.times))
            p95_source = (
                f"{len(round_trip.times)} TCP connections are too few for it; the slowest took {slowest}"
            )
    else:
        rtt_source = p95_source = "the server does not answer"
    if override is not None:
        if route is not None and route.interface is not None:
            sources = override.sources | {"interface": "the route to the server"}
            override = replace(override, interface=route.interface, sources=sources)
        return _with_round_trip(override, round_trip, rtt_source, p95_source)
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
        return LinkFacts(rtt_s=round_trip.median_s, rtt_p95_s=round_trip.p95_s, sources=sources)
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
        rtt_s=round_trip.median_s,
        rtt_p95_s=round_trip.p95_s,
        sources=_with_reasons(facts.sources | sources, "not known"),
    )


def _with_round_trip(link: LinkFacts, round_trip: RoundTrip, rtt_source: str, p95_source: str) -> LinkFacts:
    """Return an emulated link with its measured round-trip time, unchanged without a measurement."""
    sources = _with_reasons(link.sources, "nothing is said of it for this link")
    if not round_trip.times:
        return replace(link, sources=sources | {"rtt_p95_s": p95_source})
    sources |= {"rtt_s": rtt_source, "rtt_p95_s": p95_source}
    return replace(link, rtt_s=round_trip.median_s, rtt_p95_s=round_trip.p95_s, sources=sources)


def _with_reasons(sources: dict[str, str], reason: str) -> dict[str, str]:
    """Add ``reason`` as the source of every LinkFacts field that has no source."""
    names = (field.name for field in fields(LinkFacts) if field.name not in {"name", "emulated", "sources"})
    return dict.fromkeys(names, reason) | sources

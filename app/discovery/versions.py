"""NFS versions offered over each transport, and RPC services that answer.

A version is offered if its NULL procedure (RFC 1813, RFC 7530) succeeds; a server that refuses it reports the
range it offers. Minor versions are tested with an empty COMPOUND (RFC 7530 §15.2).
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import msgspec

from app.discovery import nfs4, rpcbind
from app.discovery.host_names import reverse_name
from app.discovery.model import ProbeResult, Problem, Query, Service, VersionOffer
from app.discovery.nfs4 import NFS_PROGRAM
from app.discovery.rpc import (
    NULL_PROCEDURE,
    Deadline,
    ProgramMissingError,
    RpcConnection,
    Transport,
    VersionMismatchError,
    run_all,
    run_parts,
)
from app.errors import AppError, ErrorKind
from app.tasks import run_in_thread

if TYPE_CHECKING:
    from concurrent.futures import Future

A = TypeVar("A")

VERSIONS = ("3", "4.0", "4.1", "4.2")
_MINORS = {"4.0": 0, "4.1": 1, "4.2": 2}
_TRANSPORTS: tuple[Transport, ...] = ("tcp", "udp")
#: RFC 7530 §3.1, RFC 8881 and RFC 7862 require a transport "that is specified to avoid network congestion".
_NOT_OVER_UDP = "version 4 needs a transport that avoids congestion, as TCP does (RFC 7530 §3.1)"
#: Timeout of the UDP queries, s, so that a firewall that drops datagrams does not delay the other results.
_UDP_S = 1.2
#: Timeout of the NULL calls to the services, s.
_SERVICE_S = 1.0
#: Most ports that get NULL calls; real servers have fewer.
_MAX_PORTS = 48
_NAMES = {
    rpcbind.PROGRAM: "rpcbind",
    100003: "nfs",
    100005: "mountd",
    100021: "nlockmgr",
    100024: "status",
    100227: "nfs_acl",
    100011: "rquotad",
}


def probe_versions(query: Query, address: str, deadline: Deadline) -> ProbeResult:
    """Query NFS and rpcbind in parallel; parts without an answer in time are unknown, with a reason."""
    service_deadline = deadline.within(_SERVICE_S)
    clock = run_in_thread(
        "clock", partial(rpcbind.clock_ahead_s, address, query.rpcbind_port, service_deadline)
    )
    name = run_in_thread("reverse-name", partial(reverse_name, address))
    tables, services = run_parts(
        deadline,
        lambda: run_all(
            deadline, [partial(_offers, address, query.port, kind, deadline) for kind in _TRANSPORTS]
        ),
        lambda: _services(address, query.rpcbind_port, deadline),
    )
    versions: list[VersionOffer] = []
    for transport, table in zip(
        _TRANSPORTS, [tables] * len(_TRANSPORTS) if isinstance(tables, AppError) else tables, strict=True
    ):
        versions += _unknown(transport, table) if isinstance(table, AppError) else table
    versions = [_over_udp(offer) for offer in versions]
    return ProbeResult(
        server=query.server,
        address=address,
        port=query.port,
        versions=versions,
        services=None if isinstance(services, AppError) else services,
        services_problem=Problem.of(services) if isinstance(services, AppError) else None,
        clock_ahead_s=_in_time(clock, service_deadline),
        reverse_name=_in_time(name, service_deadline),
    )


def _in_time(future: Future[A], deadline: Deadline) -> A | None:
    """Return the result available by the deadline, else None; exiting the process ends the thread."""
    try:
        return future.result(deadline.left())
    except (AppError, TimeoutError):
        return None


def _unknown(transport: Transport, error: AppError) -> list[VersionOffer]:
    """Return the offers of a transport that failed: not offered if refused, else unknown."""
    offered = False if error.kind is ErrorKind.SERVER_REFUSED else None
    return [
        VersionOffer(transport=transport, version=version, offered=offered, note=error.message)
        for version in VERSIONS
    ]


def _over_udp(offer: VersionOffer) -> VersionOffer:
    """Explain a missing version 4 over UDP: the standard excludes it, so the server is not at fault."""
    if offer.transport != "udp" or offer.version == "3" or offer.offered:
        return offer
    return msgspec.structs.replace(offer, note=_NOT_OVER_UDP)


def _offers(address: str, port: int, transport: Transport, deadline: Deadline) -> list[VersionOffer]:
    if transport == "udp":
        deadline = deadline.within(_UDP_S)
    with RpcConnection(address, port, transport, deadline) as connection:
        return [_offer(connection, transport, version) for version in VERSIONS]


def _offer(connection: RpcConnection, transport: Transport, version: str) -> VersionOffer:
    """Test whether one version is offered.

    Raises:
        AppError: if the server does not answer; then the other versions will not answer either.
    """
    try:
        if version == "3":
            connection.call(NFS_PROGRAM, 3, NULL_PROCEDURE)
            offered, note = True, "its NULL procedure answers"
        else:
            status = nfs4.minor_status(connection, _MINORS[version])
            offered = status == nfs4.OK
            note = "an empty COMPOUND succeeds" if offered else f"COMPOUND answers with status {status}"
    except VersionMismatchError as error:
        offered, note = False, f"the server says that it has versions {error.lowest} to {error.highest}"
    except ProgramMissingError:
        offered, note = False, "no NFS service listens there"
    return VersionOffer(transport=transport, version=version, offered=offered, note=note)


def _services(address: str, rpcbind_port: int, deadline: Deadline) -> list[Service]:
    """Return the services registered with rpcbind, with the result of a NULL call to each."""
    rows = rpcbind.registered(address, rpcbind_port, deadline)
    by_port: dict[tuple[Transport, int], list[rpcbind.Registration]] = defaultdict(list)
    for row in rows:
        by_port[row.transport, row.port].append(row)
    service_deadline = deadline.within(_SERVICE_S)
    groups = list(by_port.items())[:_MAX_PORTS]
    parts = [partial(_call_services, address, *key, group, service_deadline) for key, group in groups]
    answers = dict(zip((key for key, _ in groups), run_all(service_deadline, parts), strict=True))
    return [_service(row, answers.get((row.transport, row.port))) for row in rows]


def _call_services(
    address: str, transport: Transport, port: int, rows: list[rpcbind.Registration], deadline: Deadline
) -> dict[rpcbind.Registration, str]:
    """Call the NULL procedure of each service on one port; return each one's error, "" for success."""
    found: dict[rpcbind.Registration, str] = {}
    with RpcConnection(address, port, transport, deadline) as connection:
        for row in rows:
            try:
                connection.call(row.program, row.version, NULL_PROCEDURE)
                found[row] = ""
            except (VersionMismatchError, ProgramMissingError) as error:
                found[row] = error.message
    return found


def _service(row: rpcbind.Registration, answer: dict[rpcbind.Registration, str] | AppError | None) -> Service:
    note, answers = "there was no time to ask it", None
    if isinstance(answer, AppError):
        note, answers = answer.message, False
    elif answer is not None:
        note = answer[row]
        answers = not note
    return Service(
        program=row.program,
        name=_NAMES.get(row.program, ""),
        version=row.version,
        transport=row.transport,
        port=row.port,
        answers=answers,
        note=note,
    )

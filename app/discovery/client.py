"""Discovery client: queries exports, versions and servers in a child process with a deadline.

Name resolution and queries run in child processes that can be killed
(:mod:`app.discovery.query_process`). A test mount lists the NFSv4 root of servers that answer only
privileged ports or lack version 4.0.
"""

from __future__ import annotations

import os
import platform
import selectors
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.share import Share, ShareError
from app import process
from app.discovery.model import (
    DEADLINE_S,
    NFS_PORT,
    RPCBIND_PORT,
    ExportsResult,
    KnownServer,
    ProbeResult,
    Problem,
    Query,
    QueryKind,
    QueryReply,
    RootEntry,
)
from app.discovery.scan import SCAN_S, chosen_subnets
from app.errors import AppError, ErrorKind
from app.kernel.build_config import udp_support
from app.mounts.reachability import resolve_host
from app.text.errors import ErrorCode
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.discovery.model import ServersEvent
    from app.process import Child
    from app.tasks import CancelToken

#: Longest time of name resolution, s; the rest of the deadline is for the server.
_RESOLVE_S = 1.4
#: Longest deadline accepted, s.
_MAX_S = 60.0
#: Time to listen for mDNS announcements, s: most arrive within 1 s, and the query is repeated after 1 s.
BROWSE_S = 2.5


def ask_exports(
    server: str,
    token: CancelToken,
    *,
    port: int = 0,
    mount_port: int = 0,
    rpcbind_port: int = RPCBIND_PORT,
    seconds: float = DEADLINE_S,
) -> ExportsResult:
    """Query the exports of a server.

    Args:
        server: name, address or share.
        token: cancels the query.
        port: NFS port, 0 for 2049.
        mount_port: TCP port of the MOUNT service, 0 to query rpcbind for it.
        rpcbind_port: port of rpcbind.
        seconds: deadline for name resolution and server together, s.

    Raises:
        AppError: SHARE_INVALID, SERVER_UNKNOWN, SERVER_SILENT, SERVER_REFUSED or CANCELLED.
    """
    ports = {"port": port, "mount_port": mount_port, "rpcbind_port": rpcbind_port}
    reply = _query_server("exports", server, token, **ports, seconds=seconds)
    if reply.exports is None:
        raise no_answer(server)
    return reply.exports


def ask_versions(
    server: str,
    token: CancelToken,
    *,
    port: int = 0,
    rpcbind_port: int = RPCBIND_PORT,
    seconds: float = DEADLINE_S,
) -> ProbeResult:
    """Query the NFS versions and RPC services of a server.

    Args:
        server: name, address or share.
        token: cancels the query.
        port: NFS port, 0 for 2049.
        rpcbind_port: port of rpcbind.
        seconds: deadline for name resolution and server together, s.

    Raises:
        AppError: SHARE_INVALID, SERVER_UNKNOWN, SERVER_SILENT, SERVER_REFUSED or CANCELLED.
    """
    reply = _query_server(
        "probe", server, token, port=port, mount_port=0, rpcbind_port=rpcbind_port, seconds=seconds
    )
    if reply.probe is None:
        raise no_answer(server)
    return _with_client_limits(reply.probe)


def _with_client_limits(result: ProbeResult) -> ProbeResult:
    """Add a note if this computer's kernel cannot mount NFS over UDP."""
    usable, source = udp_support(platform.release())
    if usable is not False:
        return result
    note = f"This computer's kernel cannot mount NFS over UDP ({source})."
    return msgspec.structs.replace(result, notes=[*result.notes, note])


def browse_network(
    token: CancelToken,
    report: Callable[[ServersEvent], None] = lambda _event: None,
    *,
    seconds: float = BROWSE_S,
) -> list[KnownServer]:
    """Return the servers that announce themselves by mDNS on the local network.

    Args:
        token: cancels the query.
        report: receives an event with each server as soon as it is found.
        seconds: time to listen, s.

    Raises:
        AppError: UNAVAILABLE without a network, CANCELLED.
    """
    return _query_servers(Query(kind="announced", server="", addresses=[], seconds=seconds), token, report)


def scan_networks(
    networks: list[str], token: CancelToken, report: Callable[[ServersEvent], None], *, port: int = NFS_PORT
) -> list[KnownServer]:
    """Scan networks and return the NFS servers that answer.

    Args:
        networks: networks that the user agreed to scan, for example 10.9.0.0/24; [] for all attached ones.
        token: cancels the scan.
        report: receives events with each server and the progress.
        port: NFS port.

    Raises:
        AppError: UNAVAILABLE if this computer is not attached to them, CANCELLED.
    """
    chosen = [subnet.network for subnet in chosen_subnets(networks)]
    query = Query(kind="scan", server="", addresses=[], port=port, seconds=SCAN_S, networks=chosen)
    return _query_servers(query, token, report)


def _query_servers(
    query: Query, token: CancelToken, report: Callable[[ServersEvent], None]
) -> list[KnownServer]:
    reply = run_child(query, token, report)
    if reply.announced is None:
        raise reply.problem.error() if reply.problem is not None else no_answer("")
    return reply.announced


def parse_server_name(text: str) -> str:
    """Return the host of a user's entry: a name, an address with or without brackets, or a share.

    Raises:
        AppError: SHARE_INVALID if the entry is none of these.
    """
    text = text.strip()
    try:
        if ":/" in text:
            return Share.parse(text).host
        bare = text.removeprefix("[").removesuffix("]")
        return Share.parse(f"[{bare}]:/" if ":" in bare else f"{bare}:/").host
    except ShareError as error:
        raise AppError(ErrorCode.HOST_INVALID, host=text, problem=str(error)) from error


def idna_name(host: str) -> str:
    """Return a host name in ASCII form; non-ASCII labels become xn-- labels (IDNA).

    Raises:
        AppError: SHARE_INVALID if the name has no ASCII form.
    """
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise AppError(ErrorCode.HOST_NAME_INVALID, detail=str(error), host=host) from error


def _query_server(
    kind: QueryKind,
    server: str,
    token: CancelToken,
    *,
    port: int,
    mount_port: int,
    rpcbind_port: int,
    seconds: float,
) -> QueryReply:
    host = parse_server_name(server)
    if not 0 < seconds <= _MAX_S:
        raise AppError(ErrorCode.DEADLINE_OUT_OF_RANGE, seconds=seconds, limit=_MAX_S)
    for number in (port, mount_port):
        if not 0 <= number <= 0xFFFF:
            raise AppError(ErrorCode.PORT_OUT_OF_RANGE, number=number)
    began = time.monotonic()
    addresses = resolve_host(idna_name(host), min(_RESOLVE_S, seconds))
    token.check()
    query = Query(
        kind=kind,
        server=host,
        addresses=addresses,
        port=port or NFS_PORT,
        mount_port=mount_port,
        rpcbind_port=rpcbind_port,
        seconds=max(0.1, seconds - (time.monotonic() - began)),
    )
    reply = run_child(query, token)
    if reply.problem is not None:
        raise _with_host_name(host, reply.problem.error())
    return reply


def _with_host_name(host: str, error: AppError) -> AppError:
    """Return the error with the server's name in front of its message."""
    return AppError(
        ErrorCode.SERVER_PROBLEM, kind=error.kind, detail=error.detail, server=host, problem=error
    )


#: Time that Python may take to start and to end on a slow computer, s.
_START_S = 6.0
#: Longest output of the child, bytes; a list of ten thousand exports is shorter.
_MAX_BYTES = 64 * 2**20
_READ_BYTES = 65536


def run_child(
    query: Query, token: CancelToken, report: Callable[[ServersEvent], None] = lambda _event: None
) -> QueryReply:
    """Run a query in a child process and return its final reply.

    Args:
        query: the query.
        token: cancels the query.
        report: receives the events sent before the final reply.

    Raises:
        AppError: SERVER_SILENT if the child does not end in time, CANCELLED, INTERNAL if it sends no reply.
    """
    child = process.start([sys.executable, "-P", "-m", "app.discovery.query_process"], stderr=process.PIPE)
    try:
        with token.on_cancel(lambda: process.kill_group(child)):
            reply, errors = _read_replies(child, query, report)
    finally:
        process.kill_group(child)  # no effect if it has ended
        process.wait(child, 1)
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()
    token.check()
    if reply is None:
        raise AppError(ErrorCode.QUERY_PROCESS_ENDED, detail=errors.decode(errors="replace"))
    return reply


def _read_replies(
    child: Child, query: Query, report: Callable[[ServersEvent], None]
) -> tuple[QueryReply | None, bytes]:
    """Return the final reply of the child (None if there is none) and its standard error."""
    end = time.monotonic() + query.seconds + _START_S
    with suppress(BrokenPipeError):  # a cancellation has killed the child
        child.stdin.write(msgspec.json.encode(query))
        child.stdin.close()
    output = {"out": bytearray(), "err": bytearray()}
    reply: QueryReply | None = None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ, "out")
        selector.register(child.stderr, selectors.EVENT_READ, "err")
        while selector.get_map() and len(output["out"]) <= _MAX_BYTES:
            ready = selector.select(max(0.0, end - time.monotonic()))
            if not ready:
                raise no_answer(query.server)
            for key, _ in ready:
                data = os.read(key.fd, _READ_BYTES)
                output[key.data] += data
                if not data:
                    selector.unregister(key.fileobj)
            *lines, incomplete_line = output["out"].split(b"\n")
            output["out"] = incomplete_line
            for line in lines:
                reply = _decode_reply(line)
                if reply is not None and reply.event is not None:
                    report(reply.event)
    return (reply if reply is not None and reply.event is None else None), bytes(output["err"])


def _decode_reply(line: bytes | bytearray) -> QueryReply | None:
    try:
        return from_json(bytes(line), QueryReply)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def no_answer(host: str) -> AppError:
    """Return the error for a query process that exceeded its deadline.

    Args:
        host: server of the query, "" for a query of the network.
    """
    about = f"{host}: It" if host else "The network"
    return AppError(ErrorCode.ASK_TOO_SLOW, about=about)


#: Timeout of the test mount, s.
TRY_S = 10.0
#: Options of the test mount; soft, so that a server that stops responding causes an error (nfs(5)).
_OPTIONS = "vers=4,ro,soft,timeo=20,retrans=1"


def with_test_mount(
    result: ExportsResult, port: int, attempt: Callable[[dict[str, Any]], dict[str, Any]]
) -> ExportsResult:
    """Add the NFSv4 root to a result that lacks it, by means of a test mount.

    Args:
        result: result of the query without mounting.
        port: NFS port, 0 for 2049.
        attempt: calls the helper's verb "try" with the given arguments.

    Raises:
        AppError: CANCELLED; other errors of the mount become ``root_problem`` of the result.
    """
    if result.root is not None:
        return result
    host = f"[{result.address}]" if ":" in result.address else result.address
    options = f"{_OPTIONS},port={port}" if port else _OPTIONS
    helper_args = {"share": f"{host}:/", "options": options, "names": True, "timeout_s": TRY_S}
    try:
        found = attempt(helper_args)
    except AppError as error:
        if error.kind is ErrorKind.CANCELLED:
            raise
        return msgspec.structs.replace(result, root_problem=Problem.of(error))
    if found["names_error"]:
        problem = Problem(
            kind=ErrorKind.ACCESS_DENIED,
            message="A test mount of version 4's root was made, but you may not list it.",
            detail=str(found["names_error"]),
        )
        return msgspec.structs.replace(result, root_problem=problem)
    return msgspec.structs.replace(
        result,
        root=[RootEntry(path=f"/{name}", export=False) for name in found["names"]],
        root_complete=bool(found["names_whole"]),
        root_problem=None,
        root_by_mount=True,
    )

"""Discovery client: exports, versions and servers, asked for by a child process that is ended in time.

The name is looked up and the server is asked in children that can be killed
(:mod:`app.discovery.query_process`). A test mount shows the NFSv4 root of servers that answer only
privileged ports or have no version 4.0.
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
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.discovery.model import ServersEvent
    from app.process import Child
    from app.tasks import CancelToken

#: The name service gets this much of the deadline, so that something is left for the server.
_RESOLVE_S = 1.4
_MAX_S = 60.0
#: Listening for announcements: most answer within a second, and the question is repeated after one.
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
    """Return what a server exports.

    Args:
        server: name, address or share.
        token: ends it early.
        port: of NFS, 0 for 2049.
        mount_port: TCP port of the MOUNT service, 0 to ask rpcbind.
        rpcbind_port: of rpcbind.
        seconds: deadline for the name service and the server together.

    Raises:
        AppError: SHARE_INVALID, SERVER_UNKNOWN, SERVER_SILENT, SERVER_REFUSED or CANCELLED.
    """
    ports = {"port": port, "mount_port": mount_port, "rpcbind_port": rpcbind_port}
    reply = _ask("exports", server, token, **ports, seconds=seconds)
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
    """Return which NFS versions and RPC services a server offers; arguments and errors as above."""
    reply = _ask("probe", server, token, port=port, mount_port=0, rpcbind_port=rpcbind_port, seconds=seconds)
    if reply.probe is None:
        raise no_answer(server)
    return _with_client_limits(reply.probe)


def _with_client_limits(result: ProbeResult) -> ProbeResult:
    """Say beside what a server offers over UDP that this computer's kernel cannot use it."""
    usable, source = udp_support(platform.release())
    if usable is not False:
        return result
    note = f"This computer's kernel cannot mount NFS over UDP ({source})."
    return msgspec.structs.replace(result, notes=[*result.notes, note])


def browse_network(
    token: CancelToken,
    tell: Callable[[ServersEvent], None] = lambda _event: None,
    *,
    seconds: float = BROWSE_S,
) -> list[KnownServer]:
    """Return the servers that announce themselves on the network.

    Args:
        token: ends it early.
        tell: is told of each server as soon as it is known.
        seconds: to listen.

    Raises:
        AppError: UNAVAILABLE without a network, CANCELLED.
    """
    return _ask_for_servers(Query(kind="announced", server="", addresses=[], seconds=seconds), token, tell)


def scan_networks(
    networks: list[str], token: CancelToken, tell: Callable[[ServersEvent], None], *, port: int = NFS_PORT
) -> list[KnownServer]:
    """Return the servers that answer on the networks that the person has agreed to; arguments as above.

    Raises:
        AppError: UNAVAILABLE if this computer is not attached to them, CANCELLED.
    """
    chosen = [subnet.network for subnet in chosen_subnets(networks)]
    question = Query(kind="scan", server="", addresses=[], port=port, seconds=SCAN_S, networks=chosen)
    return _ask_for_servers(question, token, tell)


def _ask_for_servers(
    question: Query, token: CancelToken, tell: Callable[[ServersEvent], None]
) -> list[KnownServer]:
    reply = run_child(question, token, tell)
    if reply.announced is None:
        raise reply.problem.error() if reply.problem is not None else no_answer("")
    return reply.announced


def parse_server_name(text: str) -> str:
    """Return the host that a person wrote: a name, an address with or without brackets, or a share.

    Raises:
        AppError: SHARE_INVALID.
    """
    text = text.strip()
    try:
        if ":/" in text:
            return Share.parse(text).host
        bare = text.removeprefix("[").removesuffix("]")
        return Share.parse(f"[{bare}]:/" if ":" in bare else f"{bare}:/").host
    except ShareError as error:
        raise AppError(
            ErrorKind.SHARE_INVALID,
            f"“{text}” is not a server's name or address: {error}",
            hint="Write a name such as nas01, an address such as 10.0.0.7 or 2001:db8::7, or a whole share.",
        ) from error


def idna_name(host: str) -> str:
    """Return the name as the name service knows it: letters beyond ASCII in their xn-- form (IDNA).

    Raises:
        AppError: SHARE_INVALID if there is no such form.
    """
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise AppError(
            ErrorKind.SHARE_INVALID,
            f"“{host}” is not a valid international host name.",
            hint="Check its spelling, or use the server's address.",
            detail=str(error),
        ) from error


def _ask(
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
        raise AppError(
            ErrorKind.USAGE, f"{seconds:g} seconds is no deadline.", hint=f"Up to {_MAX_S:g} are allowed."
        )
    for number in (port, mount_port):
        if not 0 <= number <= 0xFFFF:
            raise AppError(ErrorKind.USAGE, f"{number} is not a port.", hint="Ports go from 1 to 65535.")
    began = time.monotonic()
    addresses = resolve_host(idna_name(host), min(_RESOLVE_S, seconds))
    token.check()
    question = Query(
        kind=kind,
        server=host,
        addresses=addresses,
        port=port or NFS_PORT,
        mount_port=mount_port,
        rpcbind_port=rpcbind_port,
        seconds=max(0.1, seconds - (time.monotonic() - began)),
    )
    reply = run_child(question, token)
    if reply.problem is not None:
        raise _with_host_name(host, reply.problem.error())
    return reply


def _with_host_name(host: str, error: AppError) -> AppError:
    """Return the error with the server's name before it."""
    return AppError(error.kind, f"{host}: {error.message}", hint=error.hint, detail=error.detail)


#: How long Python may take to start and to end, on a slow machine; the server has no part in it.
_START_S = 6.0
#: More than any answer has: a list of ten thousand exports.
_MAX_BYTES = 64 * 2**20
_PIECE = 65536


def run_child(
    question: Query, token: CancelToken, tell: Callable[[ServersEvent], None] = lambda _event: None
) -> QueryReply:
    """Return the last line of the child's answer.

    Args:
        question: what is asked.
        token: ends it early.
        tell: is told the events before the last line.

    Raises:
        AppError: SERVER_SILENT if the child does not end in time, CANCELLED, INTERNAL if it says nothing.
    """
    child = process.start([sys.executable, "-P", "-m", "app.discovery.query_process"], stderr=process.PIPE)
    try:
        with token.on_cancel(lambda: process.kill_group(child)):
            reply, errors = _follow(child, question, tell)
    finally:
        process.kill_group(child)  # it has ended, or its time has
        process.wait(child, 1)
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()
    token.check()
    if reply is None:
        raise AppError(
            ErrorKind.INTERNAL,
            "The process that asks servers ended without an answer.",
            hint="This is a bug. Please report it with the details.",
            detail=errors.decode(errors="replace"),
        )
    return reply


def _follow(
    child: Child, question: Query, tell: Callable[[ServersEvent], None]
) -> tuple[QueryReply | None, bytes]:
    """Return the answer, None if there is none, and what the child said on its standard error."""
    end = time.monotonic() + question.seconds + _START_S
    with suppress(BrokenPipeError):  # it was ended at once
        child.stdin.write(msgspec.json.encode(question))
        child.stdin.close()
    said = {"out": bytearray(), "err": bytearray()}
    reply: QueryReply | None = None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ, "out")
        selector.register(child.stderr, selectors.EVENT_READ, "err")
        while selector.get_map() and len(said["out"]) <= _MAX_BYTES:
            ready = selector.select(max(0.0, end - time.monotonic()))
            if not ready:
                raise no_answer(question.server)
            for key, _ in ready:
                piece = os.read(key.fd, _PIECE)
                said[key.data] += piece
                if not piece:
                    selector.unregister(key.fileobj)
            *lines, rest = said["out"].split(b"\n")
            said["out"] = rest
            for line in lines:
                reply = _read(line)
                if reply is not None and reply.event is not None:
                    tell(reply.event)
    return (reply if reply is not None and reply.event is None else None), bytes(said["err"])


def _read(line: bytes | bytearray) -> QueryReply | None:
    try:
        return from_json(bytes(line), QueryReply)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def no_answer(host: str) -> AppError:
    """Return the error of a child that took too long."""
    about = f"{host}: It" if host else "The network"
    return AppError(
        ErrorKind.SERVER_SILENT,
        f"{about} could not be asked in time.",
        hint="This computer is very busy. Try again.",
    )


#: For the mount; soft, so that a server that dies meanwhile ends in an error (nfs(5)).
TRY_S = 10.0
_OPTIONS = "vers=4,ro,soft,timeo=20,retrans=1"


def with_test_mount(
    result: ExportsResult, port: int, attempt: Callable[[dict[str, Any]], dict[str, Any]]
) -> ExportsResult:
    """Return the answer with version 4's root, if it was unknown and a test mount shows it.

    Args:
        result: what is known without mounting.
        port: of NFS, 0 for 2049.
        attempt: carries out the helper's verb "try" with these arguments.
    """
    if result.root is not None:
        return result
    host = f"[{result.address}]" if ":" in result.address else result.address
    options = f"{_OPTIONS},port={port}" if port else _OPTIONS
    wire = {"share": f"{host}:/", "options": options, "names": True, "timeout_s": TRY_S}
    try:
        found = attempt(wire)
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

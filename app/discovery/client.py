"""Discovery as the agent offers it: the name is looked up and the server is asked in killable children."""

from __future__ import annotations

import platform
import time
from typing import TYPE_CHECKING

import msgspec

from advisor.share import Share, ShareError
from app.discovery.child_process import no_answer, run_child
from app.discovery.model import (
    DEADLINE_S,
    NFS_PORT,
    RPCBIND_PORT,
    ExportsResult,
    Kind,
    KnownServer,
    ProbeResult,
    Question,
    Reply,
)
from app.discovery.scan import SCAN_S, chosen_subnets
from app.errors import AppError, ErrorKind
from app.kernel.build_config import udp_support
from app.mounts.reachability import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.discovery.model import ServersEvent
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
    return _with_own_limits(reply.probe)


def _with_own_limits(result: ProbeResult) -> ProbeResult:
    """Say beside what a server offers over UDP that this computer's kernel cannot use it."""
    usable, source = udp_support(platform.release())
    if usable is not False:
        return result
    note = f"This computer's kernel cannot mount NFS over UDP ({source})."
    return msgspec.structs.replace(result, notes=[*result.notes, note])


def ask_network(
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
    return _ask_for_servers(Question(kind="announced", server="", addresses=[], seconds=seconds), token, tell)


def scan_networks(
    networks: list[str], token: CancelToken, tell: Callable[[ServersEvent], None], *, port: int = NFS_PORT
) -> list[KnownServer]:
    """Return the servers that answer on the networks that the person has agreed to; arguments as above.

    Raises:
        AppError: UNAVAILABLE if this computer is not attached to them, CANCELLED.
    """
    chosen = [subnet.network for subnet in chosen_subnets(networks)]
    question = Question(kind="scan", server="", addresses=[], port=port, seconds=SCAN_S, networks=chosen)
    return _ask_for_servers(question, token, tell)


def _ask_for_servers(
    question: Question, token: CancelToken, tell: Callable[[ServersEvent], None]
) -> list[KnownServer]:
    reply = run_child(question, token, tell)
    if reply.announced is None:
        raise reply.problem.error() if reply.problem is not None else no_answer("")
    return reply.announced


def server_name(text: str) -> str:
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


def lookup_name(host: str) -> str:
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
    kind: Kind,
    server: str,
    token: CancelToken,
    *,
    port: int,
    mount_port: int,
    rpcbind_port: int,
    seconds: float,
) -> Reply:
    host = server_name(server)
    if not 0 < seconds <= _MAX_S:
        raise AppError(
            ErrorKind.USAGE, f"{seconds:g} seconds is no deadline.", hint=f"Up to {_MAX_S:g} are allowed."
        )
    for number in (port, mount_port):
        if not 0 <= number <= 0xFFFF:
            raise AppError(ErrorKind.USAGE, f"{number} is not a port.", hint="Ports go from 1 to 65535.")
    began = time.monotonic()
    addresses = resolve(lookup_name(host), min(_RESOLVE_S, seconds))
    token.check()
    question = Question(
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
        raise _named(host, reply.problem.error())
    return reply


def _named(host: str, error: AppError) -> AppError:
    """Return the error with the server's name before it."""
    return AppError(error.kind, f"{host}: {error.message}", hint=error.hint, detail=error.detail)

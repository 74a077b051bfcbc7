"""Exports of a server: the MOUNT service's list (RFC 1813, appendix I), and the NFSv4 root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.discovery import rpcbind
from app.discovery.model import ExportedPath, ExportsResult, Problem, Query
from app.discovery.nfs4 import list_root
from app.discovery.rpc import Deadline, RpcConnection, VersionMismatchError, decode, readable, run_parts
from app.errors import AppError, ErrorKind
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from app.discovery.rpc import Unpacker

MOUNT_PROGRAM = 100005
_VERSION, _OLD_VERSION = 3, 1
_EXPORT = 5
_MAX_EXPORTS = 10_000
_MAX_CLIENTS = 10_000
_MAX_PATH = 1024
_MAX_NAME = 255


def find_exports(query: Query, address: str, deadline: Deadline) -> ExportsResult:
    """Query MOUNT service and NFSv4 root in parallel; errors become problems in the result."""
    exports, root = run_parts(
        deadline,
        lambda: mount_exports(address, query, deadline),
        lambda: list_root(address, query.port, deadline),
    )
    listing = None if isinstance(root, AppError) else root
    return ExportsResult(
        server=query.server,
        address=address,
        exports=None if isinstance(exports, AppError) else exports,
        exports_problem=Problem.of(exports) if isinstance(exports, AppError) else None,
        root=listing.entries if listing else None,
        root_complete=listing.complete if listing else True,
        root_problem=Problem.of(root) if isinstance(root, AppError) else None,
    )


def mount_exports(address: str, query: Query, deadline: Deadline) -> list[ExportedPath]:
    """Return the exports listed by the MOUNT service, in its order.

    Raises:
        AppError: if the MOUNT service cannot be found or does not answer.
    """
    port = query.mount_port or _mount_port(address, query.rpcbind_port, deadline)
    with RpcConnection(address, port, "tcp", deadline) as mountd:
        try:
            body = mountd.call(MOUNT_PROGRAM, _VERSION, _EXPORT)
        except VersionMismatchError:
            # MOUNT version 1, which belongs to NFSv2, has the same list format (RFC 1094, appendix A).
            body = mountd.call(MOUNT_PROGRAM, _OLD_VERSION, _EXPORT)
    return decode(body, lambda reply: reply.chain(_export, _MAX_EXPORTS))


def _mount_port(address: str, rpcbind_port: int, deadline: Deadline) -> int:
    try:
        port = rpcbind.find_port(
            address, rpcbind_port, MOUNT_PROGRAM, _VERSION, deadline
        ) or rpcbind.find_port(address, rpcbind_port, MOUNT_PROGRAM, _OLD_VERSION, deadline)
    except AppError as error:
        if error.kind is not ErrorKind.SERVER_REFUSED:
            raise
        raise AppError(
            ErrorCode.NO_RPCBIND, detail=f"rpcbind, TCP port {rpcbind_port}: {error.message}"
        ) from error
    if port == 0:
        raise AppError(
            ErrorCode.NO_MOUNT_SERVICE,
            detail=f"rpcbind knows no program {MOUNT_PROGRAM}, version {_VERSION} or {_OLD_VERSION}, on TCP",
        )
    return port


def _export(reply: Unpacker) -> ExportedPath:
    path = readable(reply.opaque(_MAX_PATH))
    clients = reply.chain(lambda item: readable(item.opaque(_MAX_NAME)), _MAX_CLIENTS)
    # For an export without restriction, rpc.mountd sends "*", other servers send an empty list.
    return ExportedPath(path=path, clients=[] if clients == ["*"] else clients)

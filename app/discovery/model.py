"""Discovery data types: the verbs' arguments and results, and the queries to the child process."""

from __future__ import annotations

from typing import Literal

import msgspec

from app.errors import AppError, ErrorKind

#: Default deadline of a query, s, name resolution included.
DEADLINE_S = 3.0
NFS_PORT = 2049
RPCBIND_PORT = 111

QueryKind = Literal["exports", "probe", "announced", "scan"]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Reason why part of a result is unknown: an AppError in a form that can be sent as JSON.

    Attributes:
        kind: name of the ErrorKind.
        message: sentence for the user.
        hint: advice for the user, or "".
        detail: technical details, or "".
    """

    kind: str
    message: str
    hint: str = ""
    detail: str = ""

    @classmethod
    def of(cls, error: AppError) -> Problem:
        """Return an AppError converted to a Problem."""
        return cls(kind=error.kind, message=error.message, hint=error.hint, detail=error.detail)

    def error(self) -> AppError:
        """Return the AppError that this problem describes."""
        return AppError(ErrorKind(self.kind), self.message, hint=self.hint, detail=self.detail)


class ExportsArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``discover.exports``: query the exports of a server.

    Attributes:
        server: name, address, or share.
        port: NFS port, 0 for 2049.
        mount_port: TCP port of the MOUNT service, 0 to query rpcbind for it.
        seconds: deadline for name resolution and server together, s.
        test_mount: whether to list an NFSv4 root that cannot be read without mounting by a private mount,
            which needs administrator rights.
    """

    server: str
    port: int = 0
    mount_port: int = 0
    seconds: float = DEADLINE_S
    test_mount: bool = False


class ProbeArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``discover.probe``: query the NFS versions and RPC services of a server.

    Attributes:
        server: name, address, or share.
        port: NFS port, 0 for 2049.
        seconds: deadline for name resolution and server together, s.
    """

    server: str
    port: int = 0
    seconds: float = DEADLINE_S


class ServersArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``discover.servers``: list known servers; ``browse`` also listens for mDNS announcements."""

    browse: bool = True


class ScanArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``discover.scan``: scan networks for NFS servers.

    Attributes:
        networks: networks that the user agreed to scan, as in ``Subnet.network``; [] for all.
    """

    networks: list[str] = []


class Subnet(msgspec.Struct, frozen=True, kw_only=True):
    """A network attached to this computer that can be scanned.

    Attributes:
        interface: network interface attached to it.
        network: addresses to scan in CIDR notation, for example 10.9.0.0/24.
        first: first address scanned.
        last: last address scanned.
        count: number of addresses scanned.
        cut_from: whole network in CIDR notation, if only a part of it is scanned; else "".
    """

    interface: str
    network: str
    first: str
    last: str
    count: int
    cut_from: str = ""


class Subnets(msgspec.Struct, frozen=True, kw_only=True):
    """Result of ``discover.subnets``.

    Attributes:
        subnets: networks that a scan covers.
        left_out: networks that would exceed the limit of addresses, in CIDR notation.
    """

    subnets: list[Subnet]
    left_out: list[str] = []


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Query to the child process, one JSON object on its standard input.

    Attributes:
        kind: type of query; "announced" and "scan" query the network, the others one server.
        server: name of the server, for messages.
        addresses: numeric addresses of the server, in the resolver's order.
        port: NFS port.
        mount_port: TCP port of the MOUNT service, 0 to query rpcbind for it.
        rpcbind_port: port of rpcbind.
        seconds: time limit, s.
        networks: networks of a scan in CIDR notation, for example 10.9.0.0/24.
    """

    kind: QueryKind
    server: str
    addresses: list[str]
    port: int = NFS_PORT
    mount_port: int = 0
    rpcbind_port: int = RPCBIND_PORT
    seconds: float = DEADLINE_S
    networks: list[str] = []


class ExportedPath(msgspec.Struct, frozen=True, kw_only=True):
    """One export in the list of the MOUNT service.

    Attributes:
        path: path on the server.
        clients: clients that may mount it, as names, networks or patterns; empty for all.
    """

    path: str
    clients: list[str] = []


class RootEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One directory below the NFSv4 root.

    Attributes:
        path: path from the NFSv4 root.
        export: whether the directory is an export, because another file system begins there.
        note: reason why it could not be listed, "" if it could.
    """

    path: str
    export: bool
    note: str = ""


class ExportsResult(msgspec.Struct, frozen=True, kw_only=True):
    """Exports of a server, from the MOUNT service and from the NFSv4 root.

    Attributes:
        server: name of the server.
        address: address that answered.
        exports: list of the MOUNT service, [] if the server exports nothing, None if unknown.
        exports_problem: reason why ``exports`` is unknown.
        root: directories of the NFSv4 root and below, visible to an ordinary user; None if unknown.
        root_complete: whether all directories were read.
        root_problem: reason why ``root`` is unknown.
        root_by_mount: whether a test mount listed ``root``, which then has only the top level.
    """

    server: str
    address: str
    exports: list[ExportedPath] | None = None
    exports_problem: Problem | None = None
    root: list[RootEntry] | None = None
    root_complete: bool = True
    root_problem: Problem | None = None
    root_by_mount: bool = False


class VersionOffer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether one NFS version is offered over one transport.

    Attributes:
        transport: tcp or udp.
        version: 3, 4.0, 4.1 or 4.2.
        offered: whether the server offers the version, None if unknown.
        note: evidence, or the reason why it is unknown.
    """

    transport: str
    version: str
    offered: bool | None
    note: str = ""


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """One RPC service registered with rpcbind.

    Attributes:
        program: RPC program number.
        name: usual name of the program, "" if unknown.
        version: version of the program.
        transport: tcp or udp.
        port: port number.
        answers: whether its NULL procedure answered, None if there was no time to call it.
        note: reason why it did not answer.
    """

    program: int
    name: str
    version: int
    transport: str
    port: int
    answers: bool | None = None
    note: str = ""


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True):
    """Which NFS versions a server offers, and which RPC services answer.

    Attributes:
        server: name of the server.
        address: address that answered.
        port: NFS port.
        versions: offer of every version over every transport.
        services: services registered with rpcbind, None if unknown.
        services_problem: reason why ``services`` is unknown.
        notes: additional remarks, one sentence each.
        clock_ahead_s: server's clock minus this computer's, in whole seconds; None if unknown.
        reverse_name: name of the address by reverse lookup, "" if it has none, None after a timeout.
    """

    server: str
    address: str
    port: int
    versions: list[VersionOffer]
    services: list[Service] | None = None
    services_problem: Problem | None = None
    notes: list[str] = []
    clock_ahead_s: float | None = None
    reverse_name: str | None = None


class KnownServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server offered for selection.

    Attributes:
        name: name or address as in a share, without brackets.
        sources: origins of the name: fstab, mounted, recent (mounted recently), mdns (announced by mDNS),
            scan (answered a scan).
        exports: exports known from these origins.
        address: address announced or scanned, else "".
        calls_itself: announced host name that does not resolve, so that ``name`` is an address; else "".
    """

    name: str
    sources: list[str]
    exports: list[str]
    address: str = ""
    calls_itself: str = ""


class ServersEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a search for servers.

    Attributes:
        servers: servers found, or found to have more exports, since the last event.
        asked: number of addresses scanned so far, 0 outside a scan.
        total: number of addresses to scan, 0 outside a scan.
    """

    servers: list[KnownServer] = []
    asked: int = 0
    total: int = 0


class ServersResult(msgspec.Struct, frozen=True, kw_only=True):
    """Servers known to this computer.

    Attributes:
        servers: servers in alphabetical order.
        warnings: sources that could not be read, one sentence each.
    """

    servers: list[KnownServer]
    warnings: list[str] = []


class QueryReply(msgspec.Struct, frozen=True, kw_only=True):
    """Output of the child process, one JSON object per line.

    Exactly one field is set. ``event`` is progress; any other field is the final reply.

    Attributes:
        event: servers found so far.
        exports: result of an "exports" query.
        probe: result of a "probe" query.
        announced: servers found by an "announced" or "scan" query.
        problem: reason why the query failed.
    """

    event: ServersEvent | None = None

    exports: ExportsResult | None = None
    probe: ProbeResult | None = None
    announced: list[KnownServer] | None = None
    problem: Problem | None = None


def merge_servers(servers: list[KnownServer]) -> list[KnownServer]:
    """Merge servers of the same name, ignoring case, and return them in alphabetical order."""
    found: dict[str, KnownServer] = {}
    for server in servers:
        key = server.name.casefold()
        same = found.get(key)
        if same is not None:
            found[key] = KnownServer(
                name=same.name,
                sources=sorted({*same.sources, *server.sources}),
                exports=sorted({*same.exports, *server.exports}),
                address=same.address or server.address,
                calls_itself=same.calls_itself or server.calls_itself,
            )
        else:
            found[key] = server
    return [found[key] for key in sorted(found)]

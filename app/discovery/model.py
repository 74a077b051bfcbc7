"""Discovery: the structs of its answers, and of the queries to its child process."""

from __future__ import annotations

from typing import Literal

import msgspec

from app.errors import AppError, ErrorKind

#: From the moment that the server's address is asked for, in seconds.
DEADLINE_S = 3.0
NFS_PORT = 2049
RPCBIND_PORT = 111

QueryKind = Literal["exports", "probe", "announced", "scan"]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a part of an answer is unknown: an AppError as data."""

    kind: str
    message: str
    hint: str = ""
    detail: str = ""

    @classmethod
    def of(cls, error: AppError) -> Problem:
        """Return the error as data."""
        return cls(kind=error.kind, message=error.message, hint=error.hint, detail=error.detail)

    def error(self) -> AppError:
        """Return it as the error that it was."""
        return AppError(ErrorKind(self.kind), self.message, hint=self.hint, detail=self.detail)


class ExportsArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``discover.exports``: what a server exports.

    Attributes:
        server: name, address, or a whole share.
        port: of NFS, 0 for 2049.
        mount_port: TCP port of the MOUNT service, 0 to ask rpcbind.
        seconds: deadline for the name service and the server together.
        test_mount: where version 4's root is not told without mounting, mount it where nobody sees it, with
            administrator rights, and list what lies there.
    """

    server: str
    port: int = 0
    mount_port: int = 0
    seconds: float = DEADLINE_S
    test_mount: bool = False


class ProbeArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``discover.probe``: which versions and services a server offers; see ExportsArgs."""

    server: str
    port: int = 0
    seconds: float = DEADLINE_S


class ServersArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``discover.servers``: which servers are known; ``browse`` listens on the network for a moment too."""

    browse: bool = True


class ScanArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``discover.scan``: ask the addresses of networks for NFS.

    Attributes:
        networks: those that the person has agreed to, as ``discover.subnets`` names them; [] for all of them.
    """

    networks: list[str] = []


class Subnet(msgspec.Struct, frozen=True, kw_only=True):
    """A network that this computer is attached to, and that may be scanned.

    Attributes:
        interface: that is attached to it.
        network: as 10.9.0.0/24.
        first: address that is asked.
        last: likewise.
        count: how many are asked.
        cut_from: the whole network, where it is larger than what is asked; else "".
    """

    interface: str
    network: str
    first: str
    last: str
    count: int
    cut_from: str = ""


class Subnets(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to ``discover.subnets``; ``left_out`` are networks that would be too many addresses."""

    subnets: list[Subnet]
    left_out: list[str] = []


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What the child is asked, one JSON object on its standard input.

    Attributes:
        kind: what is wanted; "announced" and "scan" are asked of the network, not of a server.
        server: the name, for messages.
        addresses: the server's, numeric, in the resolver's order.
        port: of NFS.
        mount_port: TCP port of the MOUNT service, 0 to ask rpcbind.
        rpcbind_port: of rpcbind.
        seconds: the deadline.
        networks: of a scan, for example 10.9.0.0/24.
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
    """One export, as the MOUNT service lists it.

    Attributes:
        path: on the server.
        clients: who may mount it: names, networks, patterns; empty for everyone.
    """

    path: str
    clients: list[str] = []


class RootEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One directory below version 4's root.

    Attributes:
        path: from that root.
        export: whether another file system begins there: what is exported.
        note: why it could not be looked at, or "".
    """

    path: str
    export: bool
    note: str = ""


class ExportsResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a server exports, from two sources; each is None where it is unknown, and a problem says why.

    Attributes:
        server: the name.
        address: the one that answered.
        exports: what the MOUNT service lists, [] if it exports nothing.
        exports_problem: why that is unknown.
        root: directories of version 4's root and below, as an ordinary user sees them without mounting.
        root_complete: False if there are more than were read.
        root_problem: why that is unknown.
        root_by_mount: whether a test mount told it: what lies right in the root, and nothing deeper.
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
        offered: None if it could not be found out.
        note: how that is known, or why it is not.
    """

    transport: str
    version: str
    offered: bool | None
    note: str = ""


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """One row of rpcbind's list.

    Attributes:
        program: RPC program number.
        name: its usual name, or "".
        version: of the program.
        transport: tcp or udp.
        port: where it listens.
        answers: whether it answered just now; None if it could not be asked in time.
        note: why it did not.
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
        server: the name.
        address: the one that answered.
        port: where NFS was asked.
        versions: every version over every transport.
        services: rpcbind's list, None if it is unknown.
        services_problem: why.
        notes: what is to be said beside it, one sentence each.
        clock_ahead_s: how far the server's clock is ahead of this computer's, whole seconds; None if it does
            not tell.
        reverse_name: the name that the name service gives for the address, "" if it knows none, None if it
            did not answer in time.
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
    """A name for the server field.

    Attributes:
        name: as a share spells it, without brackets.
        sources: where it is known from: fstab, mounted, recent (mounted
            lately), mdns (it announces itself on the network), scan (it answered a scan).
        exports: its exports that are known from there.
        address: where it announced itself or answered, else "".
        calls_itself: the host name that it announces, where the name service here does not know it and the
            name is an address; else "".
    """

    name: str
    sources: list[str]
    exports: list[str]
    address: str = ""
    calls_itself: str = ""


class ServersEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Servers as they are found.

    Attributes:
        servers: found since the last event; one that is known already has more to it now.
        asked: of a scan: how many addresses are decided.
        total: of a scan: how many there are.
    """

    servers: list[KnownServer] = []
    asked: int = 0
    total: int = 0


class ServersResult(msgspec.Struct, frozen=True, kw_only=True):
    """Servers known to this computer.

    Attributes:
        servers: in alphabetical order.
        warnings: what could not be read, one sentence each.
    """

    servers: list[KnownServer]
    warnings: list[str] = []


class QueryReply(msgspec.Struct, frozen=True, kw_only=True):
    """What the child prints, one JSON object a line; the last one has another field than ``event`` set."""

    event: ServersEvent | None = None

    exports: ExportsResult | None = None
    probe: ProbeResult | None = None
    announced: list[KnownServer] | None = None
    problem: Problem | None = None

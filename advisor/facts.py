"""Facts: what was observed of the link, the server and the client, and what each fact is called.

A field that is not known is None, and ``sources`` says why. The entry of a known field says how it was
learned. Rates are in bits per second, times in seconds, sizes in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFacts:
    """The way from this client to a server.

    Attributes:
        name: a short name: the interface, or the lab's link profile.
        interface: network interface that routes to the server.
        kind: ethernet, wifi, loopback, vpn, virtual or emulated.
        adapter: vendor and model as a person would say them.
        driver: kernel driver of the interface.
        bus: pci, usb, isa, pcmcia or virtual.
        bus_id: vendor:device in hex for PCI and USB, the PNP id for ISA.
        rate_bps: line rate towards this client, bits per second.
        up_bps: line rate towards the server, as far as it is known; rate_bps is taken for it if not.
        duplex: full or half.
        mtu: bytes.
        rtt_s: median round-trip time to the server.
        rtt_p95_s: its 95th percentile, of at least twenty.
        jitter_s: emulated links: how much the delay varies.
        loss: fraction of packets lost, 0 to 1; only an emulated link knows it.
        emulated: whether this is the lab's link.
        card: the adapter's id in resources/cards.toml, if it is one of those.
        port: the physical port that the packets leave by; the adapter, its driver and bus are this one's.
        via: what lies between the interface and its physical port, outermost first: bond, team, vlan, bridge,
            vpn, container, ….
        members: physical ports in use together, 1 without a bond.
        path_mtu: the largest packet that reached the server whole, bytes.
        receive_ring: packets that the adapter can hold for the kernel.
        errors: receive errors of the port since it came up, collisions and late ones among them.
        drops: packets that the port or the kernel had no room for.
        sources: field name to how it was learned, or why it is unknown.
    """

    name: str = ""
    interface: str | None = None
    kind: str | None = None
    adapter: str | None = None
    driver: str | None = None
    bus: str | None = None
    bus_id: str | None = None
    rate_bps: float | None = None
    up_bps: float | None = None
    duplex: str | None = None
    mtu: int | None = None
    rtt_s: float | None = None
    rtt_p95_s: float | None = None
    jitter_s: float | None = None
    loss: float | None = None
    emulated: bool = False
    card: str | None = None
    port: str | None = None
    via: tuple[str, ...] | None = None
    members: int | None = None
    path_mtu: int | None = None
    receive_ring: int | None = None
    errors: int | None = None
    drops: int | None = None
    sources: dict[str, str] = field(default_factory=dict[str, str])

    def rate_of(self, direction: Literal["read", "write"]) -> float | None:
        """Return the line rate in this direction, bits per second: to read is towards this client."""
        return self.rate_bps if direction == "read" or self.up_bps is None else self.up_bps

    def slowest_of(self, direction: Literal["read", "write", "both"]) -> float | None:
        """Return the line rate that holds a copy back: of both ways the lower, bits per second."""
        if direction != "both":
            return self.rate_of(direction)
        known = [rate for rate in (self.rate_of("read"), self.rate_of("write")) if rate is not None]
        return min(known, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """The server of a share.

    Attributes:
        name: as the share spells it.
        address: the address in use.
        reachable: whether TCP port 2049 answered.
        same_subnet: whether no router is between.
        kind: what it is, an id of resources/servers.toml: efs, ontap, linux, ….
        implementation: what it calls itself (NFS 4.1 and later tell it), or "".
        tcp_versions: NFS versions offered over TCP.
        udp_versions: likewise over UDP.
        card: the id in resources/cards.toml of the adapter that it receives with; only a person knows it.
        clock_ahead_s: how far its clock is ahead of this computer's, whole seconds.
        reverse_name: the name that the name service gives for its address, "" if it knows none.
        sources: field name to how it was learned, or why it is unknown.
    """

    name: str = ""
    address: str | None = None
    reachable: bool | None = None
    same_subnet: bool | None = None
    kind: str | None = None
    implementation: str | None = None
    tcp_versions: tuple[str, ...] | None = None
    udp_versions: tuple[str, ...] | None = None
    card: str | None = None
    clock_ahead_s: float | None = None
    reverse_name: str | None = None
    sources: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFacts:
    """The machine that mounts.

    Attributes:
        hostname: its name.
        kernel: release, as uname says it.
        nfs_utils: version of mount.nfs.
        udp: whether the kernel's client still speaks NFS over UDP.
        memory_bytes: installed memory.
        mount_nfs: whether mount.nfs is installed.
        tcp_slots: sunrpc's greatest number of requests at once on one connection.
        session_slots: the NFS module's greatest number of requests at once in one session.
        tcp_window_bytes: greatest receive buffer of a TCP connection (the third value of tcp_rmem).
        sharing: mount points that use the server's connections already.
        nfsmount_conf: what nfsmount.conf adds to mounts: each item with its file and line.
        sources: field name to how it was learned, or why it is unknown.
    """

    hostname: str = ""
    kernel: str = ""
    nfs_utils: str | None = None
    udp: bool | None = None
    memory_bytes: int | None = None
    mount_nfs: bool = False
    tcp_slots: int | None = None
    session_slots: int | None = None
    tcp_window_bytes: int | None = None
    sharing: tuple[str, ...] | None = None
    nfsmount_conf: tuple[str, ...] | None = None
    sources: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class PrerequisiteFacts:
    """What Kerberos, TLS, RDMA, fsc and new options need on this computer; None is not known.

    Attributes:
        kernel_options: options that are newer than the kernel's release, and whether it takes them all the
            same, because a distributor has brought them to it; the running kernel was asked.
        gss_module: whether the kernel has rpcsec_gss_krb5.
        gssd_installed: whether rpc.gssd is installed.
        gssd_running: whether it runs.
        pipefs: whether rpc_pipefs is mounted.
        keytab: whether there is a keytab.
        keytab_usable: whether it has a key that rpc.gssd would take; only root can read it.
        ticket: whether the person has a valid ticket; not known of root, who uses the keytab.
        tls_kernel: whether the kernel has TLS and the handshake that is left to tlshd.
        tlshd_installed: whether tlshd is installed.
        tlshd_running: whether it runs.
        rdma_module: whether the kernel has rpcrdma.
        rdma_device: whether there is an RDMA device.
        cachefilesd_installed: whether cachefilesd is installed.
        cachefilesd_running: whether it runs.
        sources: field name to how it was learned, or why it is unknown.
    """

    kernel_options: dict[str, bool] = field(default_factory=dict[str, bool])
    gss_module: bool | None = None
    gssd_installed: bool | None = None
    gssd_running: bool | None = None
    pipefs: bool | None = None
    keytab: bool | None = None
    keytab_usable: bool | None = None
    ticket: bool | None = None
    tls_kernel: bool | None = None
    tlshd_installed: bool | None = None
    tlshd_running: bool | None = None
    rdma_module: bool | None = None
    rdma_device: bool | None = None
    cachefilesd_installed: bool | None = None
    cachefilesd_running: bool | None = None
    sources: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything observed for one share.

    ``link`` and ``server`` are None where no share was named, ``prerequisites`` where nobody looked.
    """

    client: ClientFacts
    link: LinkFacts | None = None
    server: ServerFacts | None = None
    prerequisites: PrerequisiteFacts | None = None


#: Ethernet: 14 header, 4 FCS, 8 preamble, 12 gap (IEEE 802.3); IPv4 20, TCP 20, time stamps 12 (RFC 7323).
_FRAME_OVERHEAD_BYTES = 38
_TCP_OVERHEAD_BYTES = 52


def payload_rate_bps(rate_bps: float, mtu: int = 1500) -> float:
    """Return the part of an Ethernet line rate that TCP payload can use, bits per second.

    94.1 % for an MTU of 1500: (1500 - 52) / (1500 + 38). NFS and RPC headers take under 0.1 % more at
    transfer sizes of 256 KiB, so this is the ceiling that a copy is compared with.
    """
    return rate_bps * (mtu - _TCP_OVERHEAD_BYTES) / (mtu + _FRAME_OVERHEAD_BYTES)


FactGroup = Literal["link", "server", "client"]
#: Part of the facts, and field, to what a person calls it. A field that is not here is not told of.
FACT_LABELS: dict[FactGroup, dict[str, str]] = {
    "link": {
        "interface": "Interface",
        "kind": "Kind of link",
        "adapter": "Adapter",
        "driver": "Driver",
        "bus": "Bus",
        "bus_id": "Adapter's id",
        "rate_bps": "Speed",
        "up_bps": "Speed towards the server",
        "duplex": "Duplex",
        "mtu": "MTU",
        "rtt_s": "Round trip",
        "rtt_p95_s": "95th percentile of the round trip",
        "jitter_s": "Variation of the round trip",
        "loss": "Lost packets",
        "port": "Physical port",
        "via": "Goes through",
        "members": "Ports in use together",
        "path_mtu": "MTU of the whole way",
        "receive_ring": "Receive ring",
        "errors": "Receive errors",
        "drops": "Dropped packets",
    },
    "server": {
        "address": "Server's address",
        "reachable": "Whether the server answers",
        "same_subnet": "Whether a router is between",
        "kind": "Kind of server",
        "implementation": "What the server calls itself",
        "tcp_versions": "NFS versions",
        "udp_versions": "NFS versions over UDP",
        "card": "Server's adapter",
    },
    "client": {
        "kernel": "Kernel",
        "nfs_utils": "Version of nfs-utils",
        "udp": "NFS over UDP",
        "memory_bytes": "Memory",
        "tcp_slots": "Requests at once on a connection",
        "session_slots": "Requests at once in a session",
        "tcp_window_bytes": "TCP window",
        "nfsmount_conf": "Options of nfsmount.conf",
        "sharing": "Mounts that share the connections",
    },
}


def unknown_facts(facts: Facts) -> Iterator[tuple[FactGroup, str, str]]:
    """Yield part, field and reason of each fact that is not known and that somebody might ask for."""
    for part, names in FACT_LABELS.items():
        found = getattr(facts, part)
        if found is None:
            continue
        for name in names:
            if getattr(found, name) in {None, ""} and name in found.sources:
                yield part, name, found.sources[name]

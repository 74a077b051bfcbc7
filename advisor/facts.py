"""Facts: observed properties of the link, the server and the client, and their labels.

An unknown field is None, and its entry in ``sources`` has the reason. For a known field the entry has the
method of observation. Rates are in bits per second, times in seconds, sizes in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFacts:
    """Facts about the network link from this client to a server.

    Attributes:
        name: short name: the interface, or the lab's link profile.
        interface: network interface that routes to the server.
        kind: ethernet, wifi, loopback, vpn, virtual or emulated.
        adapter: vendor and model of the network adapter, for display.
        driver: kernel driver of the adapter.
        bus: bus of the adapter: pci, usb, isa, pcmcia or virtual.
        bus_id: vendor:device in hex for PCI and USB, the PNP id for ISA.
        rate_bps: line rate from the server to this client, bits per second.
        up_bps: line rate from this client to the server, bits per second; if None, rate_bps applies.
        duplex: full or half.
        mtu: MTU of the interface, bytes.
        rtt_s: median round-trip time to the server, seconds.
        rtt_p95_s: 95th percentile of at least twenty round-trip times, seconds.
        jitter_s: variation of the delay of an emulated link, seconds.
        loss: fraction of packets lost, 0 to 1; known only for emulated links.
        emulated: whether this is the lab's link.
        card: id of the adapter in resources/cards.toml, if it is listed there.
        port: physical port behind the interface; adapter, driver and bus belong to it.
        via: layers between the interface and its physical port, outermost first: bond, team, vlan, bridge,
            vpn, container, ….
        members: number of bonded physical ports, 1 without a bond.
        path_mtu: size of the largest packet that reached the server unfragmented, bytes.
        receive_ring: size of the adapter's receive ring, packets.
        errors: receive errors of the port since it came up, including collisions.
        drops: packets dropped by the port or the kernel for lack of buffers.
        sources: field name to the method of observation, or to the reason why it is unknown.
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
        """Return the line rate for reading (to this client) or writing (to the server), bits per second."""
        return self.rate_bps if direction == "read" or self.up_bps is None else self.up_bps

    def slowest_of(self, direction: Literal["read", "write", "both"]) -> float | None:
        """Return the line rate for a direction, or the lower of both for "both", bits per second."""
        if direction != "both":
            return self.rate_of(direction)
        known = [rate for rate in (self.rate_of("read"), self.rate_of("write")) if rate is not None]
        return min(known, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """Facts about the server of a share.

    Attributes:
        name: name or address as in the share.
        address: IP address in use.
        reachable: whether TCP port 2049 answered.
        same_subnet: whether the server is in this computer's subnet, without a router in between.
        kind: kind of server, an id of resources/servers.toml: efs, ontap, linux, ….
        implementation: implementation id of NFS 4.1 and later, or "".
        tcp_versions: NFS versions offered over TCP.
        udp_versions: NFS versions offered over UDP.
        card: id of the server's network adapter in resources/cards.toml, chosen by the user.
        clock_ahead_s: difference of the server's clock from this computer's, whole seconds; above 0 if ahead.
        reverse_name: reverse DNS name of the address, "" if it has none.
        sources: field name to the method of observation, or to the reason why it is unknown.
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
    """Facts about the computer that mounts the share.

    Attributes:
        hostname: host name.
        kernel: kernel release, as uname prints it.
        nfs_utils: version of mount.nfs.
        udp: whether the kernel's NFS client supports UDP.
        memory_bytes: installed memory, bytes.
        mount_nfs: whether mount.nfs is installed.
        tcp_slots: maximum concurrent requests on one connection (sunrpc.tcp_max_slot_table_entries).
        session_slots: maximum concurrent requests in one NFS 4.1 session (nfs.max_session_slots).
        tcp_window_bytes: maximum receive buffer of a TCP connection, bytes (third value of tcp_rmem).
        sharing: mount points that already use the server's connections.
        nfsmount_conf: options that nfsmount.conf adds to mounts, each with its file and line.
        sources: field name to the method of observation, or to the reason why it is unknown.
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
    """Local prerequisites of Kerberos, TLS, RDMA, fsc and recent options; None is unknown.

    Attributes:
        kernel_options: options newer than the kernel release, and whether the running kernel accepts them
            anyway, because the distribution backported them.
        gss_module: whether the kernel has rpcsec_gss_krb5.
        gssd_installed: whether rpc.gssd is installed.
        gssd_running: whether rpc.gssd is running.
        pipefs: whether rpc_pipefs is mounted.
        keytab: whether a keytab exists.
        keytab_usable: whether the keytab has a key that rpc.gssd accepts; only root can read it.
        ticket: whether the user has a valid ticket; unknown for root, which uses the keytab.
        tls_kernel: whether the kernel supports TLS and the handshake by tlshd.
        tlshd_installed: whether tlshd is installed.
        tlshd_running: whether tlshd is running.
        rdma_module: whether the kernel has rpcrdma.
        rdma_device: whether an RDMA device exists.
        cachefilesd_installed: whether cachefilesd is installed.
        cachefilesd_running: whether cachefilesd is running.
        sources: field name to the method of observation, or to the reason why it is unknown.
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
    """All facts for one share.

    ``link`` and ``server`` are None without a share, ``prerequisites`` if they were not checked.
    """

    client: ClientFacts
    link: LinkFacts | None = None
    server: ServerFacts | None = None
    prerequisites: PrerequisiteFacts | None = None


#: Bytes per frame: Ethernet header 14, FCS 4, preamble 8, gap 12 (IEEE 802.3); IPv4 20, TCP 20, timestamps 12
#: (RFC 7323).
_FRAME_OVERHEAD_BYTES = 38
_TCP_OVERHEAD_BYTES = 52


def payload_rate_bps(rate_bps: float, mtu: int = 1500) -> float:
    """Return the TCP payload rate of an Ethernet line rate, bits per second.

    It is 94.1 % for an MTU of 1500: (1500 - 52) / (1500 + 38). NFS and RPC headers take less than another
    0.1 % at transfer sizes of 256 KiB.

    Args:
        rate_bps: line rate, bits per second.
        mtu: MTU of the link, bytes.
    """
    return rate_bps * (mtu - _TCP_OVERHEAD_BYTES) / (mtu + _FRAME_OVERHEAD_BYTES)


FactGroup = Literal["link", "server", "client"]
#: Group of facts, and field, to its label. Fields without a label are not displayed.
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
    """Yield group, field and reason of each unknown fact that has a label and a known reason."""
    for part, names in FACT_LABELS.items():
        found = getattr(facts, part)
        if found is None:
            continue
        for name in names:
            if getattr(found, name) in {None, ""} and name in found.sources:
                yield part, name, found.sources[name]

"""What facts are called, and which of them are not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.facts import Facts

Part = Literal["link", "server", "client"]
#: Part of the facts, and field, to what a person calls it. A field that is not here is not told of.
FACT_NAMES: dict[Part, dict[str, str]] = {
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


def unknown_facts(facts: Facts) -> Iterator[tuple[Part, str, str]]:
    """Yield part, field and reason of each fact that is not known and that somebody might ask for."""
    for part, names in FACT_NAMES.items():
        found = getattr(facts, part)
        if found is None:
            continue
        for name in names:
            if getattr(found, name) in {None, ""} and name in found.sources:
                yield part, name, found.sources[name]

"""Network interface: its kind, adapter, bit rate, receive ring and losses.

Most facts come from sysfs (/sys/class/net, Documentation/ABI/testing/sysfs-class-net). The receive ring and
the present Wi-Fi bit rate come from the driver by ioctl (linux/ethtool.h, linux/wireless.h).
"""

from __future__ import annotations

import ctypes
import fcntl
import re
import socket
import struct
from dataclasses import dataclass, field
from pathlib import Path

from advisor.identify import identify_card, network_cards
from app.kernel.netlink import station_rate_bps

_NAME = re.compile(r"[^/\s]{1,15}")
#: Interface types other than Ethernet (ARPHRD_ numbers of linux/if_arp.h).
_LOOPBACK, _NONE, _INFINIBAND = 772, 65534, 32
_BUSES = {
    "pci": "pci",
    "usb": "usb",
    "pnp": "isa",
    "isa": "isa",
    "eisa": "eisa",
    "pcmcia": "pcmcia",
    "virtio": "virtual",
}
_FIELDS = (
    "kind", "adapter", "driver", "bus", "bus_id", "rate_bps", "duplex", "mtu", "card", "via", "members",
    "port", "receive_ring", "errors", "drops",
)  # fmt: skip
#: Files of /sys/class/net/…/statistics that count damaged packets, and packets dropped for lack of space.
_ERRORS = ("rx_errors", "collisions")
_DROPS = ("rx_dropped", "rx_missed_errors")
_IDS_DIRECTORIES = ("usr/share/misc", "usr/share/hwdata", "var/lib/usbutils")


#: Most layers (such as VLAN on bridge on bond) above an adapter.
_MAX_LAYERS = 6
#: Index of the netmask column in /proc/net/route.
_MASK = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceFacts:
    """Facts about one interface; each field means the same as in advisor.facts.LinkFacts."""

    kind: str | None = None
    adapter: str | None = None
    driver: str | None = None
    bus: str | None = None
    bus_id: str | None = None
    rate_bps: float | None = None
    duplex: str | None = None
    mtu: int | None = None
    card: str | None = None
    port: str | None = None
    via: tuple[str, ...] | None = None
    members: int | None = None
    receive_ring: int | None = None
    errors: int | None = None
    drops: int | None = None
    sources: dict[str, str] = field(default_factory=dict[str, str])


def interface_facts(name: str, root: str = "/") -> InterfaceFacts:
    """Gather the facts about an interface.

    A virtual interface is described by the adapter below it. For a bridge that is the first port that leads
    to an adapter. For a bond it is the active port, else the first, with the bit rate of the bond. The kernel
    does not know the adapter below a tunnel, so that of the default route is assumed.

    Args:
        name: interface name.
        root: directory that contains proc, sys and usr.
    """
    if not _NAME.fullmatch(name) or not Path(root, "sys/class/net", name).is_dir():
        return InterfaceFacts(sources=dict.fromkeys(_FIELDS, f"{name} is not in /sys/class/net"))
    top = Path(root, "sys/class/net", name)
    chain = _chain(top)
    card = chain[-1]
    via, members = _layers(chain)
    kind, kind_source = _kind(card)
    suffix = _source_suffix(name, card.name, members)
    bonds = [directory for directory in chain if _layer(directory) in {"bond", "team"}]
    rate, rate_source = _rate(bonds[0] if bonds else card, kind)
    if kind == "vpn":
        carrier = _default_port(name, root)
        if carrier is not None:
            card = _chain(carrier)[-1]
            suffix = f" of {card.name}, which has the default route and so most likely carries the tunnel"
    duplex = _read(card / "duplex")
    mtu = _number(top / "mtu")
    sources = {
        "kind": kind_source,
        "rate_bps": rate_source if bonds or kind == "vpn" else rate_source + suffix,
        "mtu": "sysfs",
        "duplex": f"sysfs{suffix}" if duplex in {"full", "half"} else "the driver does not say",
    }
    hardware = _hardware(card, root)
    known = identify_card(
        product=hardware.adapter or "", driver=hardware.driver or "", bus_id=hardware.bus_id or ""
    )
    adapter = hardware.adapter
    sources |= {field: f"{source}{suffix}" for field, source in hardware.sources.items()}
    if adapter is None and known is not None:
        adapter, sources["adapter"] = network_cards()[known].title, f"its driver or number{suffix}"
    port = card.name if (card / "device").exists() else None
    ring = receive_ring(card.name) if root == "/" else None
    errors, drops = _sum(card, _ERRORS), _sum(card, _DROPS)
    counted = f"counters of {card.name} since it came up"
    sources |= {
        "port": ("sysfs" + suffix) if port else "there is no card behind it",
        "card": "its driver, number and name" if known else "it is none of those of resources/cards.toml",
        "via": "sysfs",
        "members": "sysfs",
        "receive_ring": "its driver" if ring else "the driver does not say",
        "errors": counted if errors is not None else "there are no counters",
        "drops": counted if drops is not None else "there are no counters",
    }
    return InterfaceFacts(
        card=known,
        port=port,
        via=via,
        members=members,
        receive_ring=ring,
        errors=errors,
        drops=drops,
        kind=kind,
        adapter=adapter,
        driver=hardware.driver,
        bus=hardware.bus,
        bus_id=hardware.bus_id,
        rate_bps=rate,
        duplex=duplex if duplex in {"full", "half"} else None,
        mtu=mtu,
        sources=sources,
    )


def _source_suffix(name: str, port: str, members: int) -> str:
    if port == name:
        return ""
    return f" of {port}, below {name}" if members == 1 else f" of {port}, one of {members} below {name}"


def _layers(chain: list[Path]) -> tuple[tuple[str, ...], int]:
    """Return the layers above the adapter, outermost first, and the number of bond or team ports."""
    found = [(layer, directory) for directory in chain if (layer := _layer(directory))]
    counts = [len(_lower(directory)) for layer, directory in found if layer in {"bond", "team"}]
    return tuple(layer for layer, _folder in found), max([1, *counts])


def _lower(directory: Path) -> list[str]:
    return sorted(path.name.removeprefix("lower_") for path in directory.glob("lower_*"))


def _chain(top: Path) -> list[Path]:
    """Return the directories of an interface and of those below it, down to the adapter if there is one.

    A bond continues with its active port. Other interfaces with several ports continue with the first that
    leads to an adapter. A bridge with only virtual machines ends the chain.
    """
    chain, directory = [top], top
    while not (directory / "device").exists():
        below = [directory.parent / name for name in _lower(directory)]
        active = _read(directory / "bonding/active_slave")
        best = [path for path in below if path.name == active] or [
            path for path in below if _leads_to_card(path)
        ]
        best = best or (below if len(below) == 1 else [])
        if not best or best[0] in chain:
            break
        directory = best[0]
        chain.append(directory)
    return chain


def _leads_to_card(directory: Path, depth: int = 0) -> bool:
    if (directory / "device").exists():
        return True
    return depth < _MAX_LAYERS and any(
        _leads_to_card(directory.parent / name, depth + 1) for name in _lower(directory)
    )


def _default_port(tunnel: str, root: str) -> Path | None:
    """Return the directory of the interface with the default route, None if it is a tunnel (proc(5))."""
    found: list[tuple[int, str]] = []
    for line in _read(Path(root, "proc/net/route")).splitlines()[1:]:
        columns = line.split()
        # Interface, destination, gateway, flags, references, use, metric, mask.
        if len(columns) > _MASK and (columns[1], columns[_MASK]) == ("00000000", "00000000"):
            found.append((int(columns[6]), columns[0]))
    for _metric, name in sorted(found):
        directory = Path(root, "sys/class/net", name)
        if (
            name != tunnel
            and _NAME.fullmatch(name)
            and directory.is_dir()
            and _kind(_chain(directory)[-1])[0] != "vpn"
        ):
            return directory
    return None


def _layer(directory: Path) -> str:
    """Return the kind of a virtual interface, "" for an adapter (DEVTYPE in uevent)."""
    match = re.search(r"^DEVTYPE=(\S+)$", _read(directory / "uevent"), re.MULTILINE)
    kind = match[1] if match else ""
    if (directory / "bonding").is_dir():
        return "bond"
    if (directory / "bridge").is_dir():
        return "bridge"
    if kind in {"vlan", "team", "macvlan", "vxlan"}:
        return kind
    if (
        (directory / "tun_flags").exists()
        or kind in {"wireguard", "ppp"}
        or _number(directory / "type") == _NONE
    ):
        return "vpn"
    return ""


def _sum(card: Path, names: tuple[str, ...]) -> int | None:
    numbers = [_number(card / "statistics" / name) for name in names]
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _kind(directory: Path) -> tuple[str, str]:
    number = _number(directory / "type")
    if number == _LOOPBACK:
        return "loopback", "interface type"
    if (directory / "wireless").exists() or (directory / "phy80211").exists():
        return "wifi", "it has a radio"
    if (
        (directory / "tun_flags").exists()
        or number == _NONE
        or "DEVTYPE=wireguard" in _read(directory / "uevent")
    ):
        return "vpn", "it is a tunnel"
    if number == _INFINIBAND:
        return "infiniband", "interface type"
    if not (directory / "device").exists():
        return "virtual", "there is no card behind it"
    return "ethernet", "interface type"


def _rate(directory: Path, kind: str) -> tuple[float | None, str]:
    megabits = _number(directory / "speed")
    if kind == "vpn":
        # The driver reports an arbitrary 10 Mbit/s (drivers/net/tun.c).
        return None, "a tunnel has no rate of its own"
    if kind == "virtual" and _layer(directory) not in {"bond", "team"}:
        # The driver of veth pairs reports an arbitrary 10 Gbit/s (drivers/net/veth.c).
        return None, "there is no card behind it"
    if megabits is not None and 0 < megabits < 2**31 - 1:
        return megabits * 1e6, "sysfs"
    if kind == "wifi":
        rate = station_rate_bps(directory.name) or radio_rate_bps(directory.name)
        return rate, "the radio's bit rate just now" if rate else "a radio link has no fixed rate"
    return None, "the driver does not say"


def _hardware(card: Path, root: str) -> InterfaceFacts:
    device = card / "device"
    if not device.exists():
        reason = "there is no card behind it"
        return InterfaceFacts(
            bus="virtual", sources=dict.fromkeys(("adapter", "driver", "bus", "bus_id"), reason)
        )
    driver = _link_name(device / "driver")
    subsystem = _link_name(device / "subsystem")
    bus = _BUSES.get(subsystem or "", subsystem)
    bus_id = _bus_id(device, subsystem)
    if subsystem == "pcmcia":
        # Strings stored on the card: prod_id1 is the manufacturer, prod_id2 the product.
        names = [_read(device / name) for name in ("prod_id1", "prod_id2")]
        adapter, adapter_source = " ".join(filter(None, names)) or None, "what the card says of itself"
    else:
        adapter, adapter_source = _adapter(bus_id, subsystem, root)
    return InterfaceFacts(
        adapter=adapter,
        driver=driver,
        bus=bus,
        bus_id=bus_id,
        sources={
            "adapter": adapter_source,
            "driver": "sysfs" if driver else "sysfs names none",
            "bus": "sysfs" if bus else "sysfs names none",
            "bus_id": "sysfs" if bus_id else "this bus has no numbers for vendor and device",
        },
    )


def _bus_id(device: Path, subsystem: str | None) -> str | None:
    if subsystem in {"pnp", "eisa"}:
        name = "id" if subsystem == "pnp" else "signature"
        return _read(device / name).split("\n")[0] or None
    names = {"pci": ("vendor", "device"), "usb": ("../idVendor", "../idProduct")}.get(subsystem or "")
    if names is None:
        return None
    # The path is a symbolic link; the parent of its target is the USB device of the interface.
    numbers = [_read(device.resolve() / name).removeprefix("0x") for name in names]
    return ":".join(numbers) if all(re.fullmatch(r"[0-9a-f]{4}", number) for number in numbers) else None


def _adapter(bus_id: str | None, subsystem: str | None, root: str) -> tuple[str | None, str]:
    if subsystem == "virtio":
        return "virtio network card", "it is a virtual machine's"
    if bus_id is None or subsystem not in {"pci", "usb"}:
        return None, "this bus does not say what the card is"
    for directory in _IDS_DIRECTORIES:
        path = Path(root, directory, f"{subsystem}.ids")
        name = _device_name(path, bus_id)
        if name:
            return name, f"{subsystem}.ids"
    return None, f"{bus_id} is not in a list of {subsystem.upper()} cards here (packages pci.ids, usb.ids)"


def _device_name(path: Path, bus_id: str) -> str | None:
    r"""Return vendor and device name from a file with lines ``vvvv  name`` and ``\tdddd  name``."""
    vendor, _, device = bus_id.partition(":")
    found: str | None = None
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if found is None:
                    if line.startswith(vendor + "  "):
                        found = line[4:].strip()
                elif line.startswith("\t" + device + "  "):
                    return f"{found} {line[5:].strip()}"
                elif line[:1] not in {"\t", "#", "\n"}:
                    break
    except OSError:
        return None
    return found


def _link_name(path: Path) -> str | None:
    try:
        return path.readlink().name
    except OSError:
        return None


def _read(path: Path) -> str:
    # Some files cannot be read at times; the speed of an interface that is down fails with EINVAL.
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    text = _read(path)
    return int(text) if re.fullmatch(r"-?[0-9]{1,12}", text) else None


# linux/sockios.h, linux/ethtool.h, linux/wireless.h
_SIOCETHTOOL = 0x8946
_ETHTOOL_GRINGPARAM = 0x10
_SIOCGIWRATE = 0x8B21
#: struct ethtool_ringparam: cmd, four maximums, then the present rx, rx_mini, rx_jumbo and tx.
_RING = struct.Struct("9I")
#: struct ifreq: interface name, then a union of 24 bytes.
_REQUEST = struct.Struct("16s24s")


def receive_ring(interface: str) -> int | None:
    """Return the size of an interface's receive ring in packets, None if the driver does not report it."""
    ring = bytearray(_RING.pack(_ETHTOOL_GRINGPARAM, *[0] * 8))
    if not _call_driver(interface, _SIOCETHTOOL, ring):
        return None
    return _RING.unpack(ring)[5] or None


def radio_rate_bps(interface: str) -> float | None:
    """Return the present bit rate of a Wi-Fi interface, bit/s, None if unknown (struct iw_param)."""
    request = bytearray(_REQUEST.pack(interface.encode(), b""))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        try:
            fcntl.ioctl(probe, _SIOCGIWRATE, request)
        except OSError:
            return None
    rate = struct.unpack_from("i", request, 16)[0]
    return float(rate) if rate > 0 else None


def _call_driver(interface: str, number: int, data: bytearray) -> bool:
    """Call an ioctl whose ifreq holds the address of ``data``; return whether it succeeded."""
    # from_buffer gives the address and keeps the bytearray from moving while the kernel writes to it.
    buffer = (ctypes.c_char * len(data)).from_buffer(data)
    request = _REQUEST.pack(interface.encode(), struct.pack("P", ctypes.addressof(buffer)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        try:
            fcntl.ioctl(probe, number, request)
        except OSError:
            return False
    return True

"""Network interface: its kind, adapter, bit rate, receive ring and losses.

They come from sysfs (/sys/class/net, sysfs-class-net), the receive ring and a radio's present bit rate from
the driver (ioctl; linux/ethtool.h, linux/wireless.h).
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
#: ARPHRD_ numbers of if_arp.h for what is not Ethernet.
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
#: Files of /sys/class/net/…/statistics that count what did not arrive whole, and what there was no room for.
_ERRORS = ("rx_errors", "collisions")
_DROPS = ("rx_dropped", "rx_missed_errors")
_IDS_FOLDERS = ("usr/share/misc", "usr/share/hwdata", "var/lib/usbutils")


#: More layers than this lie above no card.
_DEEPEST = 6
#: Column of the mask in /proc/net/route.
_MASK = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceFacts:
    """One interface; the fields are those of LinkFacts, with their sources."""

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
    """Return what is known of an interface.

    What is no card itself is described by the card below it: a VLAN, a bridge by its one port that is a
    card, a bond by its active or first one, with the bond's own rate. What is below a tunnel only its own
    program knows: it is taken to be the port of the default route.

    Args:
        name: the interface.
        root: where proc, sys and usr are.
    """
    if not _NAME.fullmatch(name) or not Path(root, "sys/class/net", name).is_dir():
        return InterfaceFacts(sources=dict.fromkeys(_FIELDS, f"{name} is not in /sys/class/net"))
    top = Path(root, "sys/class/net", name)
    chain = _chain(top)
    card = chain[-1]
    via, members = _layers(chain)
    kind, kind_source = _kind(card)
    through = _through(name, card.name, members)
    bonds = [folder for folder in chain if _layer(folder) in {"bond", "team"}]
    rate, rate_source = _rate(bonds[0] if bonds else card, kind)
    if kind == "vpn":
        carrier = _default_port(name, root)
        if carrier is not None:
            card = _chain(carrier)[-1]
            through = f" of {card.name}, which has the default route and so most likely carries the tunnel"
    duplex = _read(card / "duplex")
    mtu = _number(top / "mtu")
    sources = {
        "kind": kind_source,
        "rate_bps": rate_source if bonds or kind == "vpn" else rate_source + through,
        "mtu": "sysfs",
        "duplex": f"sysfs{through}" if duplex in {"full", "half"} else "the driver does not say",
    }
    hardware = _hardware(card, root)
    known = identify_card(
        product=hardware.adapter or "", driver=hardware.driver or "", bus_id=hardware.bus_id or ""
    )
    adapter = hardware.adapter
    sources |= {field: f"{source}{through}" for field, source in hardware.sources.items()}
    if adapter is None and known is not None:
        adapter, sources["adapter"] = network_cards()[known].title, f"its driver or number{through}"
    port = card.name if (card / "device").exists() else None
    ring = receive_ring(card.name) if root == "/" else None
    errors, drops = _sum(card, _ERRORS), _sum(card, _DROPS)
    counted = f"counters of {card.name} since it came up"
    sources |= {
        "port": ("sysfs" + through) if port else "there is no card behind it",
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


def _through(name: str, port: str, members: int) -> str:
    if port == name:
        return ""
    return f" of {port}, below {name}" if members == 1 else f" of {port}, one of {members} below {name}"


def _layers(chain: list[Path]) -> tuple[tuple[str, ...], int]:
    """Return what lies between an interface and its port, outermost first, and how many ports there are."""
    found = [(layer, folder) for folder in chain if (layer := _layer(folder))]
    counts = [len(_lower(folder)) for layer, folder in found if layer in {"bond", "team"}]
    return tuple(layer for layer, _folder in found), max([1, *counts])


def _lower(folder: Path) -> list[str]:
    return sorted(path.name.removeprefix("lower_") for path in folder.glob("lower_*"))


def _chain(top: Path) -> list[Path]:
    """Return an interface and what lies below it, down to the card if there is one.

    A bond goes on with its active port, and whatever has several with the first that leads to a card; a
    bridge of nothing but virtual machines is the end.
    """
    chain, folder = [top], top
    while not (folder / "device").exists():
        below = [folder.parent / name for name in _lower(folder)]
        active = _read(folder / "bonding/active_slave")
        best = [path for path in below if path.name == active] or [
            path for path in below if _leads_to_card(path)
        ]
        best = best or (below if len(below) == 1 else [])
        if not best or best[0] in chain:
            break
        folder = best[0]
        chain.append(folder)
    return chain


def _leads_to_card(folder: Path, depth: int = 0) -> bool:
    if (folder / "device").exists():
        return True
    return depth < _DEEPEST and any(
        _leads_to_card(folder.parent / name, depth + 1) for name in _lower(folder)
    )


def _default_port(tunnel: str, root: str) -> Path | None:
    """Return the interface of the default route, if it is no tunnel itself (proc(5), net/route)."""
    found: list[tuple[int, str]] = []
    for line in _read(Path(root, "proc/net/route")).splitlines()[1:]:
        words = line.split()
        # Interface, destination, gateway, flags, references, use, metric, mask.
        if len(words) > _MASK and (words[1], words[_MASK]) == ("00000000", "00000000"):
            found.append((int(words[6]), words[0]))
    for _metric, name in sorted(found):
        folder = Path(root, "sys/class/net", name)
        if (
            name != tunnel
            and _NAME.fullmatch(name)
            and folder.is_dir()
            and _kind(_chain(folder)[-1])[0] != "vpn"
        ):
            return folder
    return None


def _layer(folder: Path) -> str:
    """Return the kind of a layer, or "" for a port (sysfs-class-net, uevent: DEVTYPE)."""
    match = re.search(r"^DEVTYPE=(\S+)$", _read(folder / "uevent"), re.MULTILINE)
    kind = match[1] if match else ""
    if (folder / "bonding").is_dir():
        return "bond"
    if (folder / "bridge").is_dir():
        return "bridge"
    if kind in {"vlan", "team", "macvlan", "vxlan"}:
        return kind
    if (folder / "tun_flags").exists() or kind in {"wireguard", "ppp"} or _number(folder / "type") == _NONE:
        return "vpn"
    return ""


def _sum(card: Path, names: tuple[str, ...]) -> int | None:
    numbers = [_number(card / "statistics" / name) for name in names]
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _kind(folder: Path) -> tuple[str, str]:
    number = _number(folder / "type")
    if number == _LOOPBACK:
        return "loopback", "interface type"
    if (folder / "wireless").exists() or (folder / "phy80211").exists():
        return "wifi", "it has a radio"
    if (folder / "tun_flags").exists() or number == _NONE or "DEVTYPE=wireguard" in _read(folder / "uevent"):
        return "vpn", "it is a tunnel"
    if number == _INFINIBAND:
        return "infiniband", "interface type"
    if not (folder / "device").exists():
        return "virtual", "there is no card behind it"
    return "ethernet", "interface type"


def _rate(folder: Path, kind: str) -> tuple[float | None, str]:
    megabits = _number(folder / "speed")
    if kind == "vpn":
        # Its driver makes one up: 10 Mbit/s (drivers/net/tun.c).
        return None, "a tunnel has no rate of its own"
    if kind == "virtual" and _layer(folder) not in {"bond", "team"}:
        # So does that of a pair of virtual ports: 10 Gbit/s (drivers/net/veth.c).
        return None, "there is no card behind it"
    if megabits is not None and 0 < megabits < 2**31 - 1:
        return megabits * 1e6, "sysfs"
    if kind == "wifi":
        rate = station_rate_bps(folder.name) or radio_rate_bps(folder.name)
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
        # The card's own tuples (pcmcia: prod_id1 is the maker, prod_id2 the product).
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
    # The device is a link: ".." of its target is the USB device that the interface belongs to.
    numbers = [_read(device.resolve() / name).removeprefix("0x") for name in names]
    return ":".join(numbers) if all(re.fullmatch(r"[0-9a-f]{4}", number) for number in numbers) else None


def _adapter(bus_id: str | None, subsystem: str | None, root: str) -> tuple[str | None, str]:
    if subsystem == "virtio":
        return "virtio network card", "it is a virtual machine's"
    if bus_id is None or subsystem not in {"pci", "usb"}:
        return None, "this bus does not say what the card is"
    for folder in _IDS_FOLDERS:
        path = Path(root, folder, f"{subsystem}.ids")
        name = _look_up(path, bus_id)
        if name:
            return name, f"{subsystem}.ids"
    return None, f"{bus_id} is not in a list of {subsystem.upper()} cards here (packages pci.ids, usb.ids)"


def _look_up(path: Path, bus_id: str) -> str | None:
    r"""Return vendor and device from a list of lines ``vvvv  name`` and ``\tdddd  name``."""
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
    # Reading the speed of an interface that is down fails with EINVAL.
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
#: struct ethtool_ringparam: cmd, four greatest values, then rx, rx_mini, rx_jumbo and tx as they are.
_RING = struct.Struct("9I")
#: struct ifreq: the name, then a union of 24 bytes.
_REQUEST = struct.Struct("16s24s")


def receive_ring(interface: str) -> int | None:
    """Return how many packets a port can hold for the kernel, or None if its driver does not say."""
    ring = bytearray(_RING.pack(_ETHTOOL_GRINGPARAM, *[0] * 8))
    if not _ask_driver(interface, _SIOCETHTOOL, ring):
        return None
    return _RING.unpack(ring)[5] or None


def radio_rate_bps(interface: str) -> float | None:
    """Return the bit rate that a radio uses now, bits per second, or None (wireless.h: struct iw_param)."""
    request = bytearray(_REQUEST.pack(interface.encode(), b""))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        try:
            fcntl.ioctl(probe, _SIOCGIWRATE, request)
        except OSError:
            return None
    rate = struct.unpack_from("i", request, 16)[0]
    return float(rate) if rate > 0 else None


def _ask_driver(interface: str, number: int, data: bytearray) -> bool:
    """Pass a buffer to a driver; its address stands in the ifreq."""
    # ctypes knows where a bytearray is; the buffer must not move while the kernel writes to it.
    buffer = (ctypes.c_char * len(data)).from_buffer(data)
    request = _REQUEST.pack(interface.encode(), struct.pack("P", ctypes.addressof(buffer)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        try:
            fcntl.ioctl(probe, number, request)
        except OSError:
            return False
    return True

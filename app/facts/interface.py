"""What sysfs says of a network interface: its kind, its card, its rate (/sys/class/net, sysfs-class-net)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from advisor.cards import identify_card
from app.facts.port import radio_rate_bps, receive_ring

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
    "receive_ring", "errors", "drops",
)  # fmt: skip
#: Files of /sys/class/net/…/statistics that count what did not arrive whole, and what there was no room for.
_ERRORS = ("rx_errors", "collisions")
_DROPS = ("rx_dropped", "rx_missed_errors")
_IDS_FOLDERS = ("usr/share/misc", "usr/share/hwdata", "var/lib/usbutils")


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
    via: tuple[str, ...] | None = None
    members: int | None = None
    receive_ring: int | None = None
    errors: int | None = None
    drops: int | None = None
    sources: dict[str, str] = field(default_factory=dict[str, str])


def interface_facts(name: str, root: str = "/") -> InterfaceFacts:
    """Return what is known of an interface.

    A VLAN, or a bond or bridge with one port, is described by the card below it.

    Args:
        name: the interface.
        root: where sys and usr are.
    """
    if not _NAME.fullmatch(name) or not Path(root, "sys/class/net", name).is_dir():
        return InterfaceFacts(sources=dict.fromkeys(_FIELDS, f"{name} is not in /sys/class/net"))
    top = Path(root, "sys/class/net", name)
    card = _card_below(top)
    through = "" if card.name == name else f" of {card.name}, below {name}"
    kind, kind_source = _kind(card)
    rate, rate_source = _rate(card, kind)
    duplex = _read(card / "duplex")
    mtu = _number(top / "mtu")
    sources = {
        "kind": kind_source + through,
        "rate_bps": rate_source + through,
        "mtu": "sysfs",
        "duplex": f"sysfs{through}" if duplex in {"full", "half"} else "the driver does not say",
    }
    hardware = _hardware(card, root)
    sources.update(hardware.sources)
    via, members = _layers(top)
    known = identify_card(
        product=hardware.adapter or "", driver=hardware.driver or "", bus_id=hardware.bus_id or ""
    )
    ring = receive_ring(card.name) if root == "/" else None
    errors, drops = _sum(card, _ERRORS), _sum(card, _DROPS)
    counted = f"counters of {card.name} since it came up"
    sources |= {
        "card": "its driver, number and name" if known else "it is none of those of resources/cards.toml",
        "via": "sysfs",
        "members": "sysfs",
        "receive_ring": "its driver" if ring else "the driver does not say",
        "errors": counted if errors is not None else "there are no counters",
        "drops": counted if drops is not None else "there are no counters",
    }
    return InterfaceFacts(
        card=known,
        via=via,
        members=members,
        receive_ring=ring,
        errors=errors,
        drops=drops,
        kind=kind,
        adapter=hardware.adapter,
        driver=hardware.driver,
        bus=hardware.bus,
        bus_id=hardware.bus_id,
        rate_bps=rate,
        duplex=duplex if duplex in {"full", "half"} else None,
        mtu=mtu,
        sources=sources,
    )


def _layers(top: Path) -> tuple[tuple[str, ...], int]:
    """Return what lies between an interface and its port, outermost first, and how many ports there are."""
    found: list[str] = []
    folder, members, seen = top, 1, {top.name}
    while True:
        layer = _layer(folder)
        if layer:
            found.append(layer)
        lower = sorted(path.name.removeprefix("lower_") for path in folder.glob("lower_*"))
        if layer in {"bond", "team"}:
            members = max(1, len(lower))
        if not lower or lower[0] in seen:
            return tuple(found), members
        seen.add(lower[0])
        folder = folder.parent / lower[0]


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


def _card_below(folder: Path) -> Path:
    seen = {folder.name}
    while not (folder / "device").exists():
        lower = [path.name.removeprefix("lower_") for path in folder.glob("lower_*")]
        if len(lower) != 1 or lower[0] in seen:
            break
        seen.add(lower[0])
        folder = folder.parent / lower[0]
    return folder


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
    if megabits is not None and 0 < megabits < 2**31 - 1:
        return megabits * 1e6, "sysfs"
    if kind == "wifi":
        rate = radio_rate_bps(folder.name)
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

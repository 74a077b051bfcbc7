"""Interface facts, read from a directory that imitates sysfs."""

from pathlib import Path

import pytest

from app.facts.interface import interface_facts

PCI_IDS = """# list
8085  Someone Else
\t1533  Wrong one
8086  Intel Corporation
\t1533  I210 Gigabit Network Connection
\t\t103c 0003  A subsystem
8087  Another
\t1534  Not this
"""


class Sys:
    """Root directory with an imitation of sysfs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def interface(self, name: str, **files: str) -> Path:
        folder = self.root / "sys/class/net" / name
        folder.mkdir(parents=True)
        for key, value in ({"type": "1", "mtu": "1500"} | files).items():
            (folder / key).write_text(value + "\n", encoding="ascii")
        return folder

    def card(self, interface: Path, bus: str, driver: str, **files: str) -> Path:
        device = self.root / "sys/devices" / f"{bus}-{interface.name}" / "function"
        device.mkdir(parents=True)
        for target, link in ((f"sys/bus/{bus}", "subsystem"), (f"sys/drivers/{driver}", "driver")):
            (self.root / target).mkdir(parents=True, exist_ok=True)
            (device / link).symlink_to(self.root / target)
        for key, value in files.items():
            directory = device.parent if key.startswith("id") and bus == "usb" else device
            (directory / key).write_text(value + "\n", encoding="ascii")
        (interface / "device").symlink_to(device)
        return device

    def ids(self, name: str, text: str) -> None:
        folder = self.root / "usr/share/misc"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def sysfs(tmp_path: Path) -> Sys:
    return Sys(tmp_path)


def test_an_ethernet_card(sysfs: Sys) -> None:
    eth = sysfs.interface("eth0", speed="1000", duplex="full", mtu="9000")
    sysfs.card(eth, "pci", "igb", vendor="0x8086", device="0x1533")
    sysfs.ids("pci.ids", PCI_IDS)
    facts = interface_facts("eth0", str(sysfs.root))
    assert (facts.kind, facts.driver, facts.bus, facts.bus_id) == ("ethernet", "igb", "pci", "8086:1533")
    assert (facts.rate_bps, facts.duplex, facts.mtu) == (1e9, "full", 9000)
    assert facts.adapter == "Intel Corporation I210 Gigabit Network Connection"
    assert facts.sources["adapter"] == "pci.ids"


@pytest.mark.parametrize(
    ("ids", "adapter"),
    [("8086  Intel Corporation\n", "Intel Corporation"), ("1234  Other\n", None), ("", None)],
)
def test_a_card_that_is_not_in_the_list(sysfs: Sys, ids: str, adapter: str | None) -> None:
    sysfs.card(sysfs.interface("eth0"), "pci", "igb", vendor="0x8086", device="0x1533")
    sysfs.ids("pci.ids", ids)
    facts = interface_facts("eth0", str(sysfs.root))
    assert facts.adapter == adapter
    assert facts.sources["adapter"]


def test_a_usb_radio_has_no_fixed_rate(sysfs: Sys) -> None:
    wlan = sysfs.interface("wlan0")
    (wlan / "phy80211").mkdir()
    sysfs.card(wlan, "usb", "mt76x2u", idVendor="0e8d", idProduct="7612")
    facts = interface_facts("wlan0", str(sysfs.root))
    assert (facts.kind, facts.bus, facts.bus_id, facts.rate_bps) == ("wifi", "usb", "0e8d:7612", None)
    assert "radio" in facts.sources["rate_bps"]
    assert "0e8d:7612" in facts.sources["adapter"]


def test_a_plug_and_play_card_of_the_nineties(sysfs: Sys) -> None:
    eth = sysfs.interface("eth0", speed="10", duplex="half")
    sysfs.card(eth, "pnp", "3c509", id="TCM5094")
    facts = interface_facts("eth0", str(sysfs.root))
    assert (facts.bus, facts.bus_id, facts.driver, facts.duplex) == ("isa", "TCM5094", "3c509", "half")
    assert facts.card == "3com-etherlink-iii"


def test_a_virtual_machines_card(sysfs: Sys) -> None:
    sysfs.card(sysfs.interface("eth0", speed="-1", duplex="unknown"), "virtio", "virtio_net")
    facts = interface_facts("eth0", str(sysfs.root))
    assert (facts.bus, facts.bus_id, facts.rate_bps, facts.duplex) == ("virtual", None, None, None)
    assert facts.adapter == "virtio network card"


def test_the_adapter_below_a_vlan_or_a_bridge_with_one_port(sysfs: Sys) -> None:
    sysfs.card(sysfs.interface("eth0", speed="10000", duplex="full"), "pci", "ixgbe")
    (sysfs.interface("br0", mtu="1400") / "lower_eth0").mkdir()
    facts = interface_facts("br0", str(sysfs.root))
    assert (facts.kind, facts.driver, facts.rate_bps, facts.mtu) == ("ethernet", "ixgbe", 1e10, 1400)
    assert "eth0" in facts.sources["rate_bps"]


def test_a_bond_is_described_by_its_active_port_and_its_own_rate(sysfs: Sys) -> None:
    bond = sysfs.interface("bond0", speed="2000")
    (bond / "bonding").mkdir()
    for name, driver in (("eth0", "igb"), ("eth1", "e1000e")):
        (bond / f"lower_{name}").mkdir()
        sysfs.card(sysfs.interface(name, speed="1000"), "pci", driver)
    facts = interface_facts("bond0", str(sysfs.root))
    assert (facts.kind, facts.rate_bps, facts.driver, facts.port) == ("ethernet", 2e9, "igb", "eth0")
    assert (facts.via, facts.members) == (("bond",), 2)
    assert facts.sources["driver"] == "sysfs of eth0, one of 2 below bond0"
    (bond / "bonding/active_slave").write_text("eth1\n", encoding="ascii")
    assert interface_facts("bond0", str(sysfs.root)).driver == "e1000e"


def test_a_bridge_with_virtual_machines_leads_to_its_card(sysfs: Sys) -> None:
    bridge = sysfs.interface("br0")
    (bridge / "bridge").mkdir()
    sysfs.card(sysfs.interface("enp3s0", speed="2500", duplex="full"), "pci", "igc")
    sysfs.interface("a-tap", tun_flags="0x1002")
    for name in ("a-tap", "enp3s0"):
        (bridge / f"lower_{name}").mkdir()
    facts = interface_facts("br0", str(sysfs.root))
    assert (facts.kind, facts.driver, facts.rate_bps, facts.port) == ("ethernet", "igc", 2.5e9, "enp3s0")


def test_a_tunnel_is_carried_by_the_port_of_the_default_route(sysfs: Sys) -> None:
    sysfs.interface("tun0", type="65534", tun_flags="0x1001", speed="10", mtu="1400")
    wlan = sysfs.interface("wlan0")
    (wlan / "phy80211").mkdir()
    sysfs.card(wlan, "pci", "iwlwifi")
    (sysfs.root / "proc/net").mkdir(parents=True)
    (sysfs.root / "proc/net/route").write_text(
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
        "tun0\t00000000\t0100080A\t0003\t0\t0\t0\t00000080\t0\t0\t0\n"
        "wlan0\t00000000\t0107A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n",
        encoding="ascii",
    )
    facts = interface_facts("tun0", str(sysfs.root))
    assert (facts.kind, facts.port, facts.driver, facts.mtu) == ("vpn", "wlan0", "iwlwifi", 1400)
    assert facts.rate_bps is None, "10 Mbit/s is made up by the tunnel's driver"
    assert "a tunnel has no rate" in facts.sources["rate_bps"]
    assert "default route" in facts.sources["driver"]


def test_the_rate_of_a_containers_interface_is_made_up(sysfs: Sys) -> None:
    sysfs.interface("eth0", speed="10000", duplex="full")
    facts = interface_facts("eth0", str(sysfs.root))
    assert (facts.kind, facts.rate_bps, facts.port) == ("virtual", None, None)
    assert facts.sources["port"] == "there is no card behind it"


def test_a_card_of_1993_has_a_name_though_its_bus_has_none(sysfs: Sys) -> None:
    sysfs.card(sysfs.interface("eth0", speed="10"), "pnp", "3c509", id="TCM5094")
    facts = interface_facts("eth0", str(sysfs.root))
    assert facts.adapter == "3Com EtherLink III (3c509)"
    assert facts.sources["adapter"] == "its driver or number"


def test_interfaces_that_name_each_other_end(sysfs: Sys) -> None:
    (sysfs.interface("a") / "lower_b").mkdir()
    (sysfs.interface("b") / "lower_a").mkdir()
    assert interface_facts("a", str(sysfs.root)).kind == "virtual"


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"type": "772"}, "loopback"),
        ({"type": "65534"}, "vpn"),
        ({"tun_flags": "0x1002"}, "vpn"),
        ({"uevent": "DEVTYPE=wireguard"}, "vpn"),
        ({"type": "32"}, "infiniband"),
        ({}, "virtual"),
    ],
)
def test_kinds(sysfs: Sys, files: dict[str, str], kind: str) -> None:
    sysfs.interface("if0", **files)
    assert interface_facts("if0", str(sysfs.root)).kind == kind


@pytest.mark.parametrize("name", ["eth7", "..", ".", "a/b", "", "x" * 30])
def test_a_missing_interface(sysfs: Sys, name: str) -> None:
    facts = interface_facts(name, str(sysfs.root))
    assert facts.kind in {None, "virtual"}
    assert facts.rate_bps is None


def test_this_computers_loopback() -> None:
    facts = interface_facts("lo")
    assert facts.kind == "loopback"
    assert facts.mtu


def test_the_layers_above_a_port(sysfs: Sys) -> None:
    sysfs.card(sysfs.interface("eth0", speed="10000"), "pci", "ixgbe")
    bond = sysfs.interface("bond0")
    (bond / "bonding").mkdir()
    (bond / "lower_eth0").mkdir()
    (sysfs.interface("bond0.7", uevent="DEVTYPE=vlan") / "lower_bond0").mkdir()
    bridge = sysfs.interface("br0")
    (bridge / "bridge").mkdir()
    (bridge / "lower_bond0.7").mkdir()
    facts = interface_facts("br0", str(sysfs.root))
    assert (facts.via, facts.members) == (("bridge", "vlan", "bond"), 1)


def test_a_tunnel(sysfs: Sys) -> None:
    sysfs.interface("wg0", type="65534", uevent="DEVTYPE=wireguard")
    facts = interface_facts("wg0", str(sysfs.root))
    assert (facts.kind, facts.via) == ("vpn", ("vpn",))


def test_the_error_and_drop_counters(sysfs: Sys) -> None:
    statistics = sysfs.interface("eth0") / "statistics"
    statistics.mkdir()
    for name, number in (("rx_errors", 3), ("collisions", 4), ("rx_dropped", 5)):
        (statistics / name).write_text(f"{number}\n", encoding="ascii")
    facts = interface_facts("eth0", str(sysfs.root))
    assert (facts.errors, facts.drops) == (7, 5)
    sysfs.interface("eth1")
    facts = interface_facts("eth1", str(sysfs.root))
    assert (facts.errors, facts.drops) == (None, None)
    assert facts.sources["errors"] == "there are no counters"


@pytest.mark.parametrize(
    ("bus", "driver", "files", "card"),
    [
        ("pnp", "3c509", {"id": "TCM5094"}, "3com-etherlink-iii"),
        ("isa", "3c509", {}, "3com-etherlink-iii"),
        ("eisa", "3c509", {"signature": "TCM5092"}, "3com-etherlink-iii"),
        ("pcmcia", "3c589_cs", {"prod_id1": "3Com Corporation", "prod_id2": "3C589"}, "3com-etherlink-iii"),
        ("isa", "wd", {}, "smc-elite16"),
        ("isa", "eexpress", {}, "intel-etherexpress"),
        ("pci", "3c59x", {"vendor": "0x10b7", "device": "0x9050"}, None),
        ("pci", "e100", {"vendor": "0x8086", "device": "0x1229"}, None),
        ("isa", "ne", {}, None),
    ],
)
def test_the_cards_of_1993(
    sysfs: Sys, bus: str, driver: str, files: dict[str, str], card: str | None
) -> None:
    """Linux 2.6 to 6.x identify ISA cards without PnP by their driver alone."""
    sysfs.card(sysfs.interface("eth0"), bus, driver, **files)
    assert interface_facts("eth0", str(sysfs.root)).card == card


def test_the_product_name_of_a_pcmcia_card(sysfs: Sys) -> None:
    sysfs.card(
        sysfs.interface("eth0"), "pcmcia", "pcnet_cs", prod_id1="3Com", prod_id2="EtherLink III 3C589D"
    )
    facts = interface_facts("eth0", str(sysfs.root))
    assert facts.adapter == "3Com EtherLink III 3C589D"
    assert facts.card == "3com-etherlink-iii"

"""Subnet scan: addresses scanned, rate limit, and recognition of NFS servers."""

import ipaddress
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from test_rpc import accepted, garbage, receive_record, server, silent

from app.discovery import scan
from app.discovery.client import scan_networks
from app.discovery.model import KnownServer, ServersEvent, Subnet
from app.discovery.rpc import u32
from app.errors import AppError, ErrorKind
from app.tasks import CancelToken


def nfs(connection: socket.socket, stop: threading.Event) -> None:
    connection.sendall(accepted(receive_record(connection, stop), 0))


def other_version(connection: socket.socket, stop: threading.Event) -> None:
    connection.sendall(accepted(receive_record(connection, stop), 2, u32(2, 3)))


def other_program(connection: socket.socket, stop: threading.Event) -> None:
    connection.sendall(accepted(receive_record(connection, stop), 1))


@pytest.mark.parametrize(
    ("behave", "answer"),
    [(nfs, True), (other_version, True), (other_program, False), (garbage, False), (silent, False)],
)
def test_only_an_nfs_service_counts_as_a_server(
    monkeypatch: pytest.MonkeyPatch, behave: Any, answer: bool
) -> None:
    monkeypatch.setattr(scan, "_CALL_S", 0.3)
    with server(behave) as port:
        assert scan.is_nfs("127.0.0.1", port) is answer


def test_nothing_listens() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert scan.is_nfs("127.0.0.1", unused.getsockname()[1]) is False


def test_servers_are_reported_as_they_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_name_of", lambda _address: "nas.example")
    events: list[ServersEvent] = []
    with server(nfs) as port:
        found = scan.scan(["127.0.0.0/30"], events.append, port=port, seconds=60)
    one = KnownServer(name="nas.example", sources=["scan"], exports=[], address="127.0.0.1")
    assert found == [one]
    assert [event.servers for event in events if event.servers] == [[one]]
    assert (events[-1].asked, events[-1].total) == (2, 2)


def test_a_scan_keeps_its_rate_and_its_time_limit() -> None:
    began = time.monotonic()
    events: list[ServersEvent] = []
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        found = scan.scan(["127.0.0.0/25"], events.append, port=unused.getsockname()[1], seconds=60)
    assert found == []
    assert time.monotonic() - began >= 125 / 200
    assert events[-1].asked == events[-1].total == 126
    scan.scan(["127.0.0.0/22"], events.append, port=1, seconds=0.2)
    assert events[-1].asked < events[-1].total == 1022


@pytest.mark.parametrize(
    ("address", "mask", "network", "count", "cut"),
    [
        ("10.9.0.2", "255.255.255.0", "10.9.0.0/24", 254, ""),
        ("10.9.7.2", "255.255.252.0", "10.9.4.0/22", 1022, ""),
        ("172.17.9.1", "255.255.0.0", "172.17.8.0/22", 1022, "172.17.0.0/16"),
        ("10.1.2.3", "255.0.0.0", "10.1.0.0/22", 1022, "10.0.0.0/8"),
        ("192.0.2.1", "255.255.255.252", "192.0.2.0/30", 2, ""),
    ],
)
def test_the_addresses_of_a_network(address: str, mask: str, network: str, count: int, cut: str) -> None:
    found = scan.subnet_of("eth0", address, mask)
    assert found is not None
    assert (found.network, found.count, found.cut_from) == (network, count, cut)
    hosts = [str(host) for host in ipaddress.IPv4Network(network).hosts()]
    assert (found.first, found.last, found.count) == (hosts[0], hosts[-1], len(hosts))
    assert address in hosts


@pytest.mark.parametrize(
    ("address", "mask"),
    [("127.0.0.1", "255.0.0.0"), ("169.254.3.4", "255.255.0.0"), ("10.8.0.2", "255.255.255.255"),
     ("10.8.0.2", "255.255.255.254"), ("10.8.0.2", ""), ("fe80::1", "ffff::")],
)  # fmt: skip
def test_networks_without_other_hosts_are_not_scanned(address: str, mask: str) -> None:
    assert scan.subnet_of("x", address, mask) is None


@contextmanager
def interfaces(monkeypatch: pytest.MonkeyPatch, rows: dict[str, tuple[str, str, bool]]) -> Generator[None]:
    def row(address: str, mask: str) -> Any:
        return SimpleNamespace(family=socket.AF_INET, address=address, netmask=mask)

    with monkeypatch.context() as patch:
        patch.setattr(psutil, "net_if_addrs", lambda: {n: [row(a, m)] for n, (a, m, _) in rows.items()})
        patch.setattr(
            psutil, "net_if_stats", lambda: {n: SimpleNamespace(isup=up) for n, (*_, up) in rows.items()}
        )
        yield


def test_at_most_the_hosts_of_a_22_are_scanned_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {
        "docker0": ("172.17.0.1", "255.255.0.0", True),
        "eth0": ("10.9.0.2", "255.255.255.0", True),
        "wlan0": ("10.8.0.2", "255.255.255.0", True),
        "eth1": ("10.7.0.2", "255.255.255.0", False),
    }
    with interfaces(monkeypatch, rows):
        found = scan.subnets()
    assert sorted(subnet.network for subnet in found.subnets) == ["10.8.0.0/24", "10.9.0.0/24"]
    assert sum(subnet.count for subnet in found.subnets) <= scan.MAX_ADDRESSES
    assert found.left_out == ["172.17.0.0/22"]


def test_only_networks_of_this_computer_are_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    with interfaces(monkeypatch, {"eth0": ("10.9.0.2", "255.255.255.0", True)}):
        assert [type(subnet) for subnet in scan.chosen_subnets([])] == [Subnet]
        with pytest.raises(AppError) as caught:
            scan_networks(["8.8.8.0/24"], CancelToken(), lambda _event: None)
        assert caught.value.kind is ErrorKind.UNAVAILABLE
    with interfaces(monkeypatch, {}), pytest.raises(AppError):
        scan.chosen_subnets([])

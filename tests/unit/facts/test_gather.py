"""Fact gathering: route, round-trip time, and servers that do not answer."""

import errno
import socket
import threading
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import NamedTuple

import psutil
import pytest

from advisor.facts import ClientFacts, LinkFacts, ServerFacts
from app.discovery.model import ProbeResult, VersionOffer
from app.discovery.versions import VERSIONS
from app.errors import AppError, ErrorKind
from app.facts import gather, route, server
from app.facts.gather import gather_facts, link_facts_of
from app.facts.route import RoundTrip, Route, find_route, measure_round_trip
from app.kernel.netlink import KernelRoute, kernel_route, parse_route, route_request
from app.tasks import CancelToken

CLIENT = ClientFacts(hostname="here")


@pytest.fixture
def port() -> Iterator[int]:
    """Port on the loopback interface that accepts connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        ended = threading.Event()

        def accept() -> None:
            while not ended.is_set():
                try:
                    server.accept()[0].close()
                except TimeoutError:
                    continue

        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1]
        ended.set()
        thread.join()


def test_round_trips_are_timed(port: int) -> None:
    trip = measure_round_trip("127.0.0.1", 30, port=port)
    assert len(trip.times) == 20
    assert trip.reachable
    assert trip.median_s is not None
    assert trip.p95_s is not None
    assert 0 < trip.median_s <= trip.p95_s


def test_a_refusal_is_a_round_trip_too() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        trip = measure_round_trip("127.0.0.1", 30, port=unused.getsockname()[1])
    assert len(trip.times) == 20
    assert not trip.reachable


class Clock:
    """Fake clock that advances only during simulated connections."""

    def __init__(self, answers: list[tuple[float, int]]) -> None:
        self.now = 100.0
        self.answers = answers

    def __call__(self) -> float:
        return self.now

    def connect(self, _address: str, _port: int, timeout_s: float) -> int:
        seconds, number = self.answers.pop(0) if self.answers else (1e9, errno.ETIMEDOUT)
        if seconds > timeout_s:
            self.now += timeout_s
            return errno.ETIMEDOUT
        self.now += seconds
        return number


@pytest.mark.parametrize(
    ("answers", "count", "reachable"),
    [
        ([(0.6, 0)] * 9, 3, True),  # satellite link: as many connections as the deadline allows
        ([], 0, False),
        ([(0.1, 0), (5.0, 0)], 1, True),
        ([(0.1, errno.EHOSTUNREACH)], 0, False),
        ([(0.05, errno.ECONNREFUSED)] * 30, 20, False),
        ([(0.15, 0)] * 30, 7, True),  # seven connections took 1 s, enough for a median
    ],
)
def test_the_deadline_holds(answers: list[tuple[float, int]], count: int, reachable: bool) -> None:
    clock = Clock(answers)
    trip = measure_round_trip("192.0.2.1", 2.0, clock=clock, try_connect=clock.connect)
    assert clock.now <= 102.0 + 1e-9
    assert (len(trip.times), trip.reachable) == (count, reachable)


def test_the_95th_percentile_needs_20_round_trips() -> None:
    trip = RoundTrip((5.0, 1.0, 2.0, 9.0, 3.0, 4.0, 2.5), 0)
    assert (trip.median_s, trip.p95_s) == (3.0, None)
    assert RoundTrip(tuple(map(float, range(20, 0, -1))), 0).p95_s == 19.0
    assert RoundTrip((), errno.ETIMEDOUT).median_s is None


def test_the_loopback_leads_to_this_computer() -> None:
    way = find_route("127.0.0.1")
    assert way is not None
    assert replace(way, path_mtu=None) == Route("127.0.0.1", "lo", same_subnet=True)
    assert way.path_mtu


@pytest.mark.parametrize("address", ["not an address", "fe80::1%nothing0"])
def test_no_route(address: str) -> None:
    assert find_route(address) is None


class Address(NamedTuple):
    family: int
    address: str
    netmask: str | None


def addresses(**interfaces: list[tuple[int, str, str | None]]) -> dict[str, list[Address]]:
    return {name: [Address(*entry) for entry in entries] for name, entries in interfaces.items()}


@pytest.mark.parametrize(
    ("source", "host", "interface", "same"),
    [
        ("10.0.0.2", "10.0.0.9", "eth0", True),
        ("10.0.0.2", "10.0.1.9", "eth0", False),
        ("fd00::2", "fd00::77", "eth0", True),
        ("fe80::2", "fe80::1", "eth1", True),
        ("10.8.0.1", "10.9.0.1", "tun0", None),
        ("10.0.0.2", "10.0.0.2", "lo", True),
        ("192.0.2.1", "192.0.2.2", None, None),
    ],
)
def test_the_interface_of_a_source_address(
    monkeypatch: pytest.MonkeyPatch, source: str, host: str, interface: str | None, same: bool | None
) -> None:
    v4, v6 = socket.AF_INET, socket.AF_INET6
    half = "ffff:ffff:ffff:ffff::"
    table = addresses(
        eth0=[(v4, "10.0.0.2", "255.255.255.0"), (v6, "fd00::2", half), (v6, "fe80::2%eth0", half)],
        eth1=[(v6, "fe80::2%eth1", half)],
        tun0=[(v4, "10.8.0.1", None)],
    )
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: table)
    zone = "eth1" if host.startswith("fe80") else ""
    assert route._route_by_source(source, host, zone) == Route(source, interface, same)


def test_the_kernel_reports_a_route() -> None:
    assert kernel_route("127.0.0.1") == KernelRoute("lo", gateway=False)
    assert kernel_route("::1") in {KernelRoute("lo", gateway=False), None}
    assert kernel_route("no address") is None
    assert kernel_route("fe80::1", "nothing0") is None


def test_an_answer_of_the_kernel() -> None:
    """Parse an rtnetlink(7) message: route to 10.1.2.3 by gateway 192.168.7.1 on interface 2."""
    answer = bytes.fromhex(
        "5c00000018000000010000000100000002200000fe0000010002000008000f00fe000000080001000a010203"
        "0800040002000000080007 00c0a8070908000500c0a80701".replace(" ", "")
        + "00" * 24
    )
    assert parse_route(answer) == (2, True)
    assert parse_route(answer[: len(answer) - 32]) == (2, False)
    assert parse_route(b"") is None
    error = route_request("10.0.0.1")
    assert parse_route(error) is None


def test_the_interface_from_netlink_takes_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "kernel_route", lambda _host, _zone: KernelRoute("eth9", gateway=True))
    way = find_route("127.0.0.1")
    assert way is not None
    assert (way.interface, way.same_subnet) == ("eth9", False)
    monkeypatch.setattr(route, "kernel_route", lambda _host, _zone: None)
    way = find_route("127.0.0.1")
    assert way is not None
    assert (way.interface, way.same_subnet) == ("lo", True)


def test_the_client_alone() -> None:
    facts = gather_facts(client=CLIENT)
    assert (facts.client, facts.link, facts.server) == (CLIENT, None, None)


def test_a_share_that_does_not_parse() -> None:
    with pytest.raises(AppError) as refused:
        gather_facts("/no/server", client=CLIENT)
    assert refused.value.kind is ErrorKind.SHARE_INVALID


def pretend(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]], trips: dict[str, RoundTrip]
) -> None:
    def resolve(host: str, _timeout_s: float) -> list[str]:
        if host not in names:
            raise AppError(ErrorKind.SERVER_UNKNOWN, f"“{host}” is not known.")
        return names[host]

    monkeypatch.setattr(gather, "resolve_host", resolve)
    monkeypatch.setattr(
        gather, "find_route", lambda address: Route("127.0.0.1", "lo", same_subnet="." in address)
    )
    monkeypatch.setattr(gather, "measure_round_trip", lambda address, _s: trips[address])
    monkeypatch.setattr(server, "ask_versions", _offers)


def _offers(host: str, _token: CancelToken, *, seconds: float) -> ProbeResult:
    assert seconds > 0
    versions = [
        VersionOffer(transport="tcp", version=version, offered=version != "4.2") for version in VERSIONS
    ]
    versions += [VersionOffer(transport="udp", version=version, offered=None) for version in VERSIONS]
    return ProbeResult(server=host, address="192.0.2.7", port=2049, versions=versions)


ANSWER = RoundTrip((0.001, 0.002, 0.009), 0)
SILENCE = RoundTrip((), errno.ETIMEDOUT)


def explained(link: LinkFacts) -> bool:
    return {f.name for f in fields(LinkFacts)} - {"name", "emulated", "sources"} <= set(link.sources)


def test_a_server_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, {"nas": ["fd00::1", "192.0.2.7"]}, {"fd00::1": SILENCE, "192.0.2.7": ANSWER})
    facts = gather_facts("nas:/a", client=CLIENT)
    assert facts.server is not None
    assert facts.link is not None
    assert (facts.server.name, facts.server.address, facts.server.reachable) == ("nas", "192.0.2.7", True)
    assert facts.server.same_subnet
    assert facts.server.tcp_versions == ("3", "4.0", "4.1")
    assert facts.server.udp_versions is None
    assert facts.server.sources["udp_versions"] == "the server did not answer in time"
    assert (facts.link.interface, facts.link.kind) == ("lo", "loopback")
    assert (facts.link.rtt_s, facts.link.rtt_p95_s) == (0.002, None)
    assert "3 TCP connections" in facts.link.sources["rtt_s"]
    assert facts.link.sources["rtt_p95_s"].endswith("too few for it; the slowest took 9 ms")
    assert explained(facts.link)
    assert set(facts.server.sources) == {f.name for f in fields(ServerFacts)} - {"sources"}


def test_link_facts_of_an_address_need_no_name_resolution() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = int(server.getsockname()[1])
        link = link_facts_of("127.0.0.1", port)
        assert (link.interface, link.kind) == ("lo", "loopback")
        assert link.rtt_s is not None
        assert f"TCP connections to port {port}" in link.sources["rtt_s"]
        assert explained(link)
        emulated = link_facts_of(
            "127.0.0.1", port, override=LinkFacts(name="wan", rate_bps=1e7, emulated=True)
        )
    assert (emulated.name, emulated.rate_bps) == ("wan", 1e7)
    assert emulated.rtt_s is not None
    assert link_facts_of("127.0.0.1", port, seconds=0.2).rtt_s is not None  # a refusal is an answer too


def test_a_server_that_is_silent_is_a_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, {"nas": ["192.0.2.7"]}, {"192.0.2.7": SILENCE})
    facts = gather_facts("nas:/a", client=CLIENT)
    assert facts.server is not None
    assert facts.link is not None
    assert facts.server.reachable is False
    assert "timed out" in facts.server.sources["reachable"]
    assert facts.link.rtt_s is None
    assert facts.link.mtu is not None


def test_a_name_that_does_not_resolve_is_a_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, {}, {})
    facts = gather_facts("nas:/a", client=CLIENT)
    assert facts.server is not None
    assert facts.link is not None
    assert (facts.server.address, facts.server.reachable) == (None, False)
    assert "not known" in facts.server.sources["address"]
    assert explained(facts.link)


def test_a_vendor_is_known_by_a_name_that_does_not_resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, {}, {})
    facts = gather_facts("fs-12345678.efs.us-east-1.amazonaws.com:/", client=CLIENT)
    assert facts.server is not None
    assert facts.server.kind == "efs"
    assert facts.server.sources["kind"] == "its name"


def test_an_emulated_link_keeps_its_figures_and_gets_the_measured_round_trip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = LinkFacts(
        name="wan",
        interface="eth0",
        rate_bps=1e7,
        rtt_s=0.04,
        loss=0.01,
        emulated=True,
        sources={"loss": "netem"},
    )
    pretend(monkeypatch, {"nas": ["192.0.2.7"]}, {"192.0.2.7": ANSWER})
    found = gather_facts("nas:/a", link_override=link, client=CLIENT).link
    assert found is not None
    assert (found.name, found.rate_bps, found.loss, found.emulated) == ("wan", 1e7, 0.01, True)
    assert (found.rtt_s, found.rtt_p95_s) == (0.002, None)
    assert found.sources["loss"] == "netem"
    assert (found.interface, found.sources["interface"]) == ("lo", "the route to the server")
    assert explained(found)


def test_an_emulated_link_without_an_answer_keeps_its_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    link = LinkFacts(name="wan", rtt_s=0.04, emulated=True)
    pretend(monkeypatch, {"nas": ["192.0.2.7"]}, {"192.0.2.7": SILENCE})
    found = gather_facts("nas:/a", link_override=link, client=CLIENT).link
    assert found is not None
    assert found.rtt_s == 0.04

"""Known servers and mDNS: merging by name, recent shares, and announcements on the network."""

import stat
import threading
from pathlib import Path

import pytest
from mdns_responder import MALFORMED, Responder, announcement
from waiting import DEADLINE_S
from zeroconf import DNSIncoming, ServiceInfo, Zeroconf

from app.discovery import known_servers, mdns
from app.discovery.client import browse_network
from app.discovery.mdns import Announcement
from app.discovery.model import KnownServer
from app.errors import AppError, ErrorKind
from app.tasks import CancelToken, run_in_thread


def test_servers_of_one_name_are_merged() -> None:
    found = known_servers.merge_servers([
        KnownServer(name="nas", sources=["fstab"], exports=["/b"]),
        KnownServer(name="Alpha", sources=["mdns"], exports=[]),
        KnownServer(name="NAS", sources=["mdns"], exports=["/a", "/b"]),
    ])  # fmt: skip
    assert found == [
        KnownServer(name="Alpha", sources=["mdns"], exports=[]),
        KnownServer(name="nas", sources=["fstab", "mdns"], exports=["/a", "/b"]),
    ]


def test_a_network_that_cannot_be_listened_to_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_token: CancelToken, _tell: object) -> list[KnownServer]:
        raise AppError(ErrorKind.UNAVAILABLE, "There is no network.")

    monkeypatch.setattr(known_servers, "browse_network", fail)
    assert known_servers.find_servers(CancelToken()).warnings[-1] == "There is no network."


def test_recent_shares_are_newest_first_limited_and_can_be_cleared() -> None:
    for share in ("nas:/a", "[fd00::2]:/b c", "nas:/a"):
        known_servers.record_recent_share(share)
    assert known_servers.recent_shares() == ["nas:/a", "[fd00::2]:/b c"]
    assert stat.S_IMODE(known_servers.state_file().stat().st_mode) == 0o600
    assert [path.name for path in known_servers.state_file().parent.iterdir()] == [
        known_servers.state_file().name
    ]
    known = known_servers.find_servers(CancelToken(), browse=False).servers
    assert KnownServer(name="fd00::2", sources=["recent"], exports=["/b c"]) in known
    for number in range(40):
        known_servers.record_recent_share(f"nas:/{number}")
    assert known_servers.recent_shares()[:2] == ["nas:/39", "nas:/38"]
    assert len(known_servers.recent_shares()) == 30
    known_servers.clear_recent_shares()
    assert known_servers.recent_servers() == []


@pytest.mark.parametrize("text", ["", "[1]", "{", '["nas:/a"', "\udcff"])
def test_a_damaged_list_counts_as_empty(text: str) -> None:
    known_servers.state_file().parent.mkdir(parents=True)
    known_servers.state_file().write_bytes(text.encode(errors="surrogateescape"))
    assert known_servers.recent_shares() == []
    known_servers.record_recent_share("nas:/a")
    assert known_servers.recent_shares() == ["nas:/a"]


def test_an_unreadable_list_of_shares_is_a_warning_with_its_path() -> None:
    known_servers.state_file().mkdir(parents=True)
    found = known_servers.find_servers(CancelToken(), browse=False)
    assert found.warnings[-1] == "The list of servers used recently could not be read."
    with pytest.raises(AppError) as caught:
        known_servers.record_recent_share("nas:/a")
    assert str(known_servers.state_file()) in caught.value.hint


def test_a_relative_state_folder_is_ignored(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "here")
    assert known_servers.state_file() == own_home / ".local/state/mountwright/recent-shares.json"


def test_an_announced_service_is_found_by_the_query_process() -> None:
    service = ServiceInfo(
        "_nfs._tcp.local.", "Music of the attic._nfs._tcp.local.", port=2049, server="attic-test.local.",
        parsed_addresses=["192.0.2.77"], properties={"path": "/music"},
    )  # fmt: skip
    reported: list[KnownServer] = []
    # The name does not resolve, so the server is listed by its address.
    expected_server = KnownServer(
        name="192.0.2.77", sources=["mdns"], exports=["/music"], address="192.0.2.77",
        calls_itself="attic-test.local",
    )  # fmt: skip
    with Zeroconf() as network:
        network.register_service(service)
        try:
            for _ in range(3):  # repeat in case of a lost packet
                found = browse_network(CancelToken(), lambda event: reported.extend(event.servers))
                if expected_server in found:
                    break
        finally:
            network.unregister_service(service)
    assert expected_server in found
    assert expected_server in reported


def test_cancellation_ends_the_search() -> None:
    token = CancelToken()
    asking = run_in_thread("ask", lambda: browse_network(token, seconds=50))
    token.cancel()
    with pytest.raises(AppError) as caught:
        asking.result(DEADLINE_S)
    assert caught.value.kind is ErrorKind.CANCELLED


def test_damaged_packets_do_not_hide_a_valid_announcement() -> None:
    good = announcement(b"Good", b"good-test.local", "192.0.2.78", b"/good")
    packets = [*MALFORMED.values(), good, *MALFORMED.values()]
    reported: list[KnownServer] = []
    with Responder("127.0.0.1", packets):
        for _ in range(3):
            mdns.browse(1.5, reported.append)
            if reported:
                break
    # Incomplete announcements give no server; the complete ones are found.
    assert {server.name for server in reported} <= {"192.0.2.78", "192.0.2.9"}
    assert ("192.0.2.78", ["/good"]) in [(server.name, server.exports) for server in reported]


@pytest.mark.parametrize("packet", MALFORMED.values(), ids=MALFORMED)
def test_a_damaged_packet_raises_no_error(packet: bytes) -> None:
    for record in DNSIncoming(packet).answers():
        assert record.name is not None


def announced(server: str | None, path: bytes | None, address: str = "") -> ServiceInfo:
    properties = {} if path is None else {b"path": path}
    return ServiceInfo(
        "_nfs._tcp.local.", "a._nfs._tcp.local.", server=server, properties=properties,
        parsed_addresses=[address] if address else None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        (None, None),
        (announced("nas.local.", b"/b", "192.0.2.1"), Announcement("nas.local", "192.0.2.1", "/b")),
        (announced("nas.local.", b"/a\x1b[31m"), Announcement("nas.local", "", "/a\\x1b[31m")),
        (announced("nas.local.", b"not absolute"), Announcement("nas.local", "", "")),
        (announced("nas.local.", None), Announcement("nas.local", "", "")),
        (announced("ev\x1b[31mil.local.", b"/a"), None),
        (announced("a b.local.", None, "192.0.2.2"), Announcement("", "192.0.2.2", "")),
        (announced("nas:/etc.local.", None), None),
        (announced("-o.local.", None), None),
        (announced(".", None), None),
        (announced("x" * 64 + ".local.", None), None),
        (announced(".".join(["x" * 60] * 5) + ".", None), None),
        (announced("192.0.2.9.", None), None),
    ],
)
def test_invalid_host_names_and_paths_of_an_announcement_are_dropped(
    service: ServiceInfo | None, expected: Announcement | None
) -> None:
    assert mdns.read(service) == expected


def test_several_announcements_of_a_host_become_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mdns, "leads_to", lambda name, _address: name != "far.local")
    reported: list[KnownServer] = []
    servers = mdns._Servers(reported.append)
    for one in (
        Announcement("nas.local", "192.0.2.1", "/b"),
        Announcement("NAS.local", "192.0.2.1", "/a"),
        Announcement("nas.local", "192.0.2.1", "/a"),
        Announcement("far.local", "192.0.2.3", ""),
    ):
        named = mdns._named(one)
        assert named is not None
        servers.add(named)
    assert [(server.name, server.exports, server.calls_itself) for server in servers.all()] == [
        ("192.0.2.3", [], "far.local"), ("nas.local", ["/a", "/b"], ""),
    ]  # fmt: skip
    assert len(reported) == 3  # an announcement without news is not reported


def test_the_address_is_used_when_name_resolution_times_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = threading.Event()
    monkeypatch.setattr(mdns, "leads_to", lambda _name, _address: ended.wait(DEADLINE_S))
    monkeypatch.setattr(mdns, "_NAME_S", 0.05)
    try:
        named = mdns._named(Announcement("nas.local", "192.0.2.1", ""))
        assert named is not None
        assert named.name == "192.0.2.1"
    finally:
        ended.set()

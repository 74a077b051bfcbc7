"""Names for the server field: one entry a name, whoever tells of it."""

import stat
from pathlib import Path

import pytest
from zeroconf import ServiceInfo, Zeroconf

from app.discovery import recent, servers
from app.discovery.ask import ask_network
from app.discovery.mdns import merge
from app.discovery.model import KnownServer
from app.errors import AppError, ErrorKind
from app.tasks import CancelToken


def test_one_entry_a_name_with_what_every_source_knows() -> None:
    found = servers.join([
        KnownServer(name="nas", sources=["fstab"], exports=["/b"]),
        KnownServer(name="Alpha", sources=["mdns"], exports=[]),
        KnownServer(name="NAS", sources=["mdns"], exports=["/a", "/b"]),
    ])  # fmt: skip
    assert found == [
        KnownServer(name="Alpha", sources=["mdns"], exports=[]),
        KnownServer(name="nas", sources=["fstab", "mdns"], exports=["/a", "/b"]),
    ]


def test_a_network_that_cannot_be_listened_to_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_token: CancelToken) -> list[KnownServer]:
        raise AppError(ErrorKind.UNAVAILABLE, "There is no network.")

    monkeypatch.setattr(servers, "ask_network", fail)
    assert servers.find_servers(CancelToken()).warnings[-1] == "There is no network."


def test_shares_used_recently_are_kept_newest_first_and_forgotten() -> None:
    for share in ("nas:/a", "[fd00::2]:/b c", "nas:/a"):
        recent.remember(share)
    assert recent.recent_shares() == ["nas:/a", "[fd00::2]:/b c"]
    assert stat.S_IMODE(recent.state_file().stat().st_mode) == 0o600
    assert [path.name for path in recent.state_file().parent.iterdir()] == [recent.state_file().name]
    known = servers.find_servers(CancelToken(), browse=False).servers
    assert KnownServer(name="fd00::2", sources=["recent"], exports=["/b c"]) in known
    for number in range(40):
        recent.remember(f"nas:/{number}")
    assert recent.recent_shares()[:2] == ["nas:/39", "nas:/38"]
    assert len(recent.recent_shares()) == 30
    recent.forget_all()
    assert recent.recent_servers() == []


@pytest.mark.parametrize("text", ["", "[1]", "{", '["nas:/a"', "\udcff"])
def test_a_damaged_list_counts_as_empty(text: str) -> None:
    recent.state_file().parent.mkdir(parents=True)
    recent.state_file().write_bytes(text.encode(errors="surrogateescape"))
    assert recent.recent_shares() == []
    recent.remember("nas:/a")
    assert recent.recent_shares() == ["nas:/a"]


def test_a_list_that_cannot_be_read_is_a_warning_and_tells_where_it_is() -> None:
    recent.state_file().mkdir(parents=True)
    found = servers.find_servers(CancelToken(), browse=False)
    assert found.warnings[-1] == "The list of servers used recently could not be read."
    with pytest.raises(AppError) as caught:
        recent.remember("nas:/a")
    assert str(recent.state_file()) in caught.value.hint


def test_a_relative_state_folder_is_ignored(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "here")
    assert recent.state_file() == own_home / ".local/state/mountwright/recent-shares.json"


def test_what_a_service_announces_is_found_by_the_child() -> None:
    service = ServiceInfo(
        "_nfs._tcp.local.", "Music of the attic._nfs._tcp.local.", port=2049, server="attic-test.local.",
        parsed_addresses=["127.0.0.1"], properties={"path": "/music"},
    )  # fmt: skip
    with Zeroconf() as network:
        network.register_service(service)
        found: list[KnownServer] = []
        try:
            for _ in range(3):  # a lost packet is asked for again
                found = [one for one in ask_network(CancelToken()) if one.name == "attic-test.local"]
                if found:
                    break
        finally:
            network.unregister_service(service)
    assert found == [KnownServer(name="attic-test.local", sources=["mdns"], exports=["/music"])]


def announced(name: str, server: str | None, path: bytes | None) -> ServiceInfo:
    properties = {} if path is None else {b"path": path}
    return ServiceInfo("_nfs._tcp.local.", f"{name}._nfs._tcp.local.", server=server, properties=properties)


def test_announcements_become_one_entry_a_host_and_are_safe_to_show() -> None:
    found = merge([
        announced("b", "nas.local.", b"/b"),
        None,
        announced("a", "nas.local.", b"/a\x1b[31m"),
        announced("c", "Attic.local.", b"not absolute"),
        announced("d", "zoo.local.", None),
    ])  # fmt: skip
    assert found == [
        KnownServer(name="Attic.local", sources=["mdns"], exports=[]),
        KnownServer(name="nas.local", sources=["mdns"], exports=["/a\\x1b[31m", "/b"]),
        KnownServer(name="zoo.local", sources=["mdns"], exports=[]),
    ]

"""Names for the server field: one entry a name, whoever tells of it."""

import pytest

from app.discovery import servers
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

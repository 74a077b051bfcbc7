"""Servers of the local network are discovered by mDNS announcements, and by a scan of the subnet."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="module")
def found(guest_job: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """What the client found."""
    return guest_job({"finding-servers": True})


def test_nobody_announces_anything(found: dict[str, Any]) -> None:
    assert found["nobody"] == {"result": [], "told": []}


def test_a_server_that_announces_itself_is_found_among_damaged_packets(found: dict[str, Any]) -> None:
    servers = {server["name"]: server for server in found["announced"]["result"]}
    attic = servers["attic.local"]
    assert (attic["sources"], attic["exports"]) == (["mdns"], ["/mnt/export"])
    assert (attic["address"], attic["calls_itself"]) == ("10.9.0.1", "")
    assert attic in found["announced"]["told"]


def test_a_name_that_is_not_known_here_gives_way_to_its_address(found: dict[str, Any]) -> None:
    servers = {server["name"]: server for server in found["announced"]["result"]}
    assert servers["10.9.0.77"]["calls_itself"] == "far.local"
    assert "far.local" not in servers


def test_nothing_of_an_announcement_is_trusted(found: dict[str, Any]) -> None:
    servers = {server["name"]: server for server in found["announced"]["result"]}
    # Names that no host can have are dropped, the addresses stay.
    assert set(servers) <= {"attic.local", "10.9.0.77", "10.9.0.78", "10.9.0.79", "192.0.2.9"}
    assert {"10.9.0.78", "10.9.0.79"} <= set(servers)
    assert servers["10.9.0.78"]["exports"] == ["/\\x1b]0;evil\\x07"]
    assert servers["10.9.0.79"]["exports"] == []
    assert all(text.isprintable() for text in _texts(found["announced"]))


def test_a_scan_asks_the_subnet_and_finds_its_server(found: dict[str, Any]) -> None:
    (subnet,) = found["subnets"]["subnets"]
    assert (subnet["network"], subnet["first"], subnet["last"]) == ("10.9.0.0/24", "10.9.0.1", "10.9.0.254")
    scan = found["scan"]
    (server,) = scan["result"]
    assert (server["address"], server["sources"]) == ("10.9.0.1", ["scan"])
    assert server["name"] == "server"  # of /etc/hosts: the name leads back to the address
    assert [one for event in scan["told"] for one in event["servers"]] == [server]
    assert scan["told"][-1]["asked"] == scan["told"][-1]["total"] == subnet["count"] == 254
    assert scan["seconds"] >= 254 / 200


def test_a_scan_is_cancelled_and_finds_no_server_that_has_stopped(found: dict[str, Any]) -> None:
    assert found["cancelled"] == "cancelled"
    assert found["stopped"]["result"] == []


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for part in value.values() for text in _texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    return [str(value)]

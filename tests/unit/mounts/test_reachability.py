"""Probing real sockets on this machine: one that accepts, one that refuses, names that do not exist."""

import errno
import socket

import pytest

from app.errors import AppError, ErrorKind
from app.mounts import reachability


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_an_accepting_server_is_fine(listener):
    assert reachability.probe_server("127.0.0.1", listener) is None


def test_a_name_is_resolved_by_a_child(listener):
    assert "127.0.0.1" in reachability.resolve_host("localhost")
    assert reachability.probe_server("localhost", listener) is None


def test_a_refusal_has_its_own_kind():
    error = reachability.probe_server("127.0.0.1", closed_port())
    assert error is not None
    assert error.kind is ErrorKind.SERVER_REFUSED
    assert error.hint


def test_a_name_that_does_not_exist():
    error = reachability.probe_server("no-such-host.invalid")
    assert error is not None
    assert error.kind is ErrorKind.SERVER_UNKNOWN


def test_a_resolver_that_hangs_is_killed():
    with pytest.raises(AppError, match="name service"):
        reachability.resolve_host("some-name.invalid", timeout_s=0.0)


def test_a_timeout_is_distinguished_from_a_refusal(monkeypatch):
    monkeypatch.setattr(reachability, "connect_tcp", lambda *_args: errno.ETIMEDOUT)
    error = reachability.probe_server("127.0.0.1", timeout_s=3)
    assert error is not None
    assert error.kind is ErrorKind.SERVER_SILENT
    assert "3 seconds" in error.message


def test_any_address_that_accepts_will_do(monkeypatch):
    monkeypatch.setattr(reachability, "resolve_host", lambda _host: ["10.0.0.1", "10.0.0.2"])
    monkeypatch.setattr(
        reachability,
        "connect_tcp",
        lambda address, *_rest: 0 if address.endswith("2") else errno.EHOSTUNREACH,
    )
    assert reachability.probe_server("two") is None


def test_a_refusal_outweighs_silence(monkeypatch):
    codes = {"10.0.0.1": errno.ECONNREFUSED, "10.0.0.2": errno.ETIMEDOUT}
    monkeypatch.setattr(reachability, "resolve_host", lambda _host: list(codes))
    monkeypatch.setattr(reachability, "connect_tcp", lambda address, *_rest: codes[address])
    error = reachability.probe_server("two")
    assert error is not None
    assert error.kind is ErrorKind.SERVER_REFUSED


def test_an_address_with_brackets(monkeypatch):
    seen = []
    monkeypatch.setattr(reachability, "connect_tcp", lambda address, *_rest: seen.append(address) or 0)
    assert reachability.probe_server("[::1]") is None
    assert seen == ["::1"]

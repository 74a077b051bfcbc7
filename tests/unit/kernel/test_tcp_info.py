"""TCP_INFO of real connections, and sums over connections that start and end."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kernel.netlink import messages
from app.kernel.tcp_info import RetransCounter, SockDiag, TcpConnection, parse_connection

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=["127.0.0.1", "::1"])
def address(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(address: str) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listening = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip(f"this machine has no {address}")
    with listening:
        yield listening


def test_finds_the_connections_to_a_server(address: str, server: socket.socket) -> None:
    port = server.getsockname()[1]
    with (
        socket.create_connection((address, port)) as client,
        server.accept()[0] as accepted,
        SockDiag() as diag,
    ):
        client.sendall(b"x" * 5000)
        received = 0
        while received < 5000:
            received += len(accepted.recv(5000))
        accepted.sendall(b"done")
        assert client.recv(10) == b"done"
        (connection,) = diag.connections(address, port)
        assert connection.source_port == client.getsockname()[1]
        assert connection.destination == address
        assert connection.bytes_acked >= 5000
        assert connection.bytes_received == 4
        assert connection.rtt_us > 0
        assert connection.cwnd > 0
        assert connection.segs_out > 1
        assert diag.connections(address, port)[0].cookie == connection.cookie
    with SockDiag() as diag:
        assert diag.connections(address, port) == []


def test_another_server_on_the_same_port_is_not_ours() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)), listening.accept()[0], SockDiag() as diag:
            assert len(diag.connections("127.0.0.1", port)) == 1
            assert diag.connections("127.0.0.2", port) == []


def test_not_an_address() -> None:
    with SockDiag() as diag, pytest.raises(ValueError, match="nas01"):
        diag.connections("nas01")


def connection(cookie: int, total_retrans: int) -> TcpConnection:
    return TcpConnection(cookie, 700 + cookie, "10.9.0.2", total_retrans=total_retrans)


def test_what_was_sent_again_before_does_not_count() -> None:
    counter = RetransCounter()
    assert counter.update([connection(1, 100)]) == 0
    assert counter.update([connection(1, 103)]) == 3


def test_segments_out_of_order_are_counted() -> None:
    counter = RetransCounter()
    counter.update([connection(1, 0)._replace(disordered=50)])
    counter.update([connection(1, 0)._replace(disordered=53), connection(2, 1)._replace(disordered=4)])
    assert (counter.segments, counter.disordered) == (1, 7)


def test_connections_come_and_go() -> None:
    counter = RetransCounter()
    counter.update([connection(1, 5)])
    assert counter.update([connection(1, 6), connection(2, 4)]) == 5
    assert counter.update([connection(2, 4)]) == 5
    assert counter.update([connection(1, 6), connection(2, 5)]) == 6


def test_counting_may_begin_without_a_connection() -> None:
    counter = RetransCounter()
    assert counter.update([]) == 0
    assert counter.update([connection(1, 2)]) == 2


def test_a_short_tcp_info_of_an_old_kernel() -> None:
    head = struct.pack("=BBBB", socket.AF_INET, 1, 0, 0) + struct.pack(
        ">HH16s16s", 700, 2049, bytes([10, 9, 0, 1]), bytes([10, 9, 0, 2])
    )
    head += struct.pack("=III", 0, 7, 1) + bytes(20)
    info = bytes(100) + struct.pack("=I", 12)
    found = parse_connection(head + struct.pack("=HH", 4 + len(info), 2) + info)
    assert found.cookie == 1 << 32 | 7
    assert found.destination == "10.9.0.2"
    assert found.total_retrans == 12
    assert found.bytes_retrans == 0


def test_when_the_server_was_last_heard_and_what_waits_for_it() -> None:
    head = bytes([socket.AF_INET, 1, 0, 0]) + struct.pack(
        ">HH16s16s", 700, 2049, bytes([10, 9, 0, 1]), bytes([10, 9, 0, 2])
    )
    head += struct.pack("=III", 0, 7, 1) + bytes(20)

    def found(probes: int, unacked: int) -> TcpConnection:
        info = bytes([1, 0, 0, probes]) + bytes(20) + struct.pack("=I", unacked) + bytes(16)
        info += struct.pack("=IIII", 8, 0, 40_000, 9_000)  # ms since data and ACK were sent, received
        return parse_connection(head + struct.pack("=HH", 4 + len(info), 2) + info)

    assert found(0, 0).heard_ms == 9_000
    assert found(0, 0).last_data_ms == 40_000
    waiting = [found(probes, unacked).is_waiting for probes, unacked in ((0, 0), (3, 0), (0, 1))]
    assert waiting == [False, True, True]


@given(st.binary())
def test_any_answer_is_survived(data: bytes) -> None:
    for _, _, payload in messages(data):
        if len(payload) >= 72:
            parse_connection(payload)

"""Network without NFS: the throughput of a TCP stream (iperf3) and the round-trip time of a NULL RPC.

NFS has no request that moves data without the server's file system, so an NFS client alone cannot separate
the network from the server behind it. The stream therefore needs an iperf3 server (iperf3(1)). The NULL
procedure (number 0, RFC 5531) uses neither disk nor file system: its reply takes a round trip and the
server's dispatch.
"""

from __future__ import annotations

import contextlib
import time
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.message import Message, message
from app.discovery.rpc import NULL_PROCEDURE, Deadline, RpcConnection
from app.errors import AppError
from app.process import find_program, kill_group, start
from app.speedtest.model import NetworkThroughput
from resources.decoding import from_json

if TYPE_CHECKING:
    from app.kernel.mount_of_path import MountOfPath
    from app.speedtest.model import Transfer
    from app.tasks import CancelToken

#: Default port of an iperf3 server.
PORT = 5201
#: Duration of the stream in each direction, without connecting and closing, s; TCP has reached its rate then.
STREAM_S = 3
_STREAM_TIMEOUT_S = STREAM_S + 10.0
_POLL_INTERVAL_S = 0.1
_SETUP_HINT = (
    f"Run “iperf3 -s” on the server and let TCP port {PORT} through its firewall, then test again. Without a "
    "program on the server that takes the bytes, the network cannot be told from the server."
)


class _IperfError(Exception):
    """Error reported by iperf3."""


def measure_tcp_throughput(address: str, token: CancelToken) -> NetworkThroughput:
    """Measure one TCP stream in each direction; takes twice STREAM_S if a server answers.

    Args:
        address: address of the server, "" if unknown.
        token: cancels the measurement.

    Raises:
        CancelledError: if the token is set.
    """
    program = find_program("iperf3")
    if program is None:
        return NetworkThroughput(
            problem="The network alone is not known: iperf3 is not installed on this computer. Install the "
            f"package iperf3 here and on the server. {_SETUP_HINT}"
        )
    if not address:
        return NetworkThroughput(
            problem="The network alone is not known: the kernel names no address of the server."
        )
    command = [
        program,
        "-c",
        address,
        "-p",
        str(PORT),
        "-t",
        str(STREAM_S),
        "-J",
        "--connect-timeout",
        "3000",
    ]
    try:
        return NetworkThroughput(write=_run_stream(command, token), read=_run_stream([*command, "-R"], token))
    except _IperfError as error:
        return NetworkThroughput(
            problem=f"The network alone is not known: no iperf3 server at {address} took the stream "
            f"({error}). {_SETUP_HINT}"
        )


class NetworkNote(StrEnum):
    """Throughput of the network alone, and the fraction of it that a copy reached."""

    BOTH = "network.both"
    ONE = "network.one"
    WRITE = "network.write"
    WRITE_SHARE = "network.write-share"
    READ = "network.read"
    READ_SHARE = "network.read-share"


def network_notes(
    network: NetworkThroughput, write: Transfer | None, read: Transfer | None
) -> list[Message | str]:
    """Return a message on the network's throughput, and on the fraction of it that the copies reached."""
    if network.problem:
        return [network.problem]
    ways = [
        message(shared, speed=alone, share=copy.bytes_per_s / alone)
        if copy is not None and not copy.cached
        else message(plain, speed=alone)
        for plain, shared, alone, copy in (
            (NetworkNote.WRITE, NetworkNote.WRITE_SHARE, network.write, write),
            (NetworkNote.READ, NetworkNote.READ_SHARE, network.read, read),
        )
        if alone
    ]
    if len(ways) > 1:
        return [message(NetworkNote.BOTH, write=ways[0], read=ways[1])]
    return [message(NetworkNote.ONE, way=way) for way in ways]


def _run_stream(command: list[str], token: CancelToken) -> float:
    """Return the throughput counted by the receiver, bytes per second."""
    try:
        child = start(command)
    except OSError as error:
        raise _IperfError(error.strerror or "it could not be started") from error
    try:
        deadline = time.monotonic() + _STREAM_TIMEOUT_S
        while child.poll() is None:
            token.wait(_POLL_INTERVAL_S)
            if time.monotonic() > deadline:
                raise _IperfError("no answer in time")
        output = child.stdout.read() if child.stdout is not None else b""
    finally:
        kill_group(child)
        with contextlib.suppress(OSError):
            child.communicate(timeout=1)
    return _received_bytes_per_s(output)


def _received_bytes_per_s(output: bytes) -> float:
    try:
        reply: dict[str, Any] = from_json(output, dict[str, Any])
    except msgspec.DecodeError as error:
        raise _IperfError("its answer cannot be read") from error
    if "error" in reply:
        raise _IperfError(str(reply["error"]).removeprefix("error - "))
    try:
        return float(reply["end"]["sum_received"]["bits_per_second"]) / 8
    except (KeyError, TypeError, ValueError) as error:
        raise _IperfError("its answer has no figure") from error


_NFS_PROGRAM = 100003
_NULL_CALLS = 7
#: Time limit for starting another call, and timeout of the connection, s.
_CALLING_S, _CONNECTION_TIMEOUT_S = 0.5, 2.0


def null_rpc_round_trip(where: MountOfPath) -> float | None:
    """Return the median round-trip time of NULL calls to the server of a mount, s; None without a reply.

    Args:
        where: the mount. The calls use a separate connection from an unprivileged port.
    """
    address, port = where.server
    if not address:
        return None
    times: list[float] = []
    began = time.monotonic()
    try:
        with RpcConnection(address, port, "tcp", Deadline(_CONNECTION_TIMEOUT_S)) as connection:
            while len(times) < _NULL_CALLS and time.monotonic() - began < _CALLING_S:
                sent_at = time.monotonic()
                connection.call(_NFS_PROGRAM, 4 if where.v4 else 3, NULL_PROCEDURE)
                times.append(time.monotonic() - sent_at)
    except AppError:
        pass  # a server may accept only privileged ports or RDMA; calls that succeeded before still count
    return median(times) if times else None

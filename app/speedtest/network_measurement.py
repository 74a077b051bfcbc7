"""Network without NFS: the throughput of a TCP stream (iperf3) and the round-trip time of a NULL RPC.

NFS has no request that carries bytes past the server's file system, so a client by itself cannot tell the
network from the server behind it. Something on the server has to take the bytes: an iperf3 server
(iperf3(1)). NULL (procedure 0, RFC 5531) touches neither disk nor file system: its answer takes a round trip,
and what the server's threads need to look at it.
"""

from __future__ import annotations

import contextlib
import time
from statistics import median
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.speeds import format_speed
from app.discovery.rpc import NULL_PROCEDURE, Deadline, RpcConnection
from app.errors import AppError
from app.process import find_program, kill_group, start
from app.speedtest.model import NetworkThroughput
from resources.decoding import from_json

if TYPE_CHECKING:
    from app.kernel.mount_of_path import MountOfPath
    from app.speedtest.model import Transfer
    from app.tasks import CancelToken

#: Where an iperf3 server listens unless it is told otherwise.
PORT = 5201
#: Of each direction; TCP has long found the link's rate by then. Connecting and ending take their time, too.
STREAM_S = 3
_STREAM_TIMEOUT_S = STREAM_S + 10.0
_POLL_INTERVAL_S = 0.1
_SETUP_HINT = (
    f"Run “iperf3 -s” on the server and let TCP port {PORT} through its firewall, then test again. Without a "
    "program on the server that takes the bytes, the network cannot be told from the server."
)


class _IperfError(Exception):
    """What iperf3 said."""


def measure_tcp_throughput(address: str, token: CancelToken) -> NetworkThroughput:
    """Return what a stream to this address carries; it takes twice STREAM_S where something answers.

    Args:
        address: of the server, "" if it is not known.
        token: ends it.

    Raises:
        CancelledError: when the token is set.
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


def network_notes(network: NetworkThroughput, write: Transfer | None, read: Transfer | None) -> list[str]:
    """Return what the network alone carried, and which part of it the copies reached."""
    if network.problem:
        return [network.problem]
    parts: list[str] = []
    for way, alone, copy in (("to", network.write, write), ("from", network.read, read)):
        if alone:
            text = f"{format_speed(alone)} {way} the server"
            if copy is not None and not copy.cached:
                text += f" (the copy reached {100 * copy.bytes_per_s / alone:.0f} %)"
            parts.append(text)
    return [f"The network alone, one TCP stream through iperf3, carried {' and '.join(parts)}."]


def _run_stream(command: list[str], token: CancelToken) -> float:
    """Return the bytes a second that the receiving side counted."""
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
        said = child.stdout.read() if child.stdout is not None else b""
    finally:
        kill_group(child)
        with contextlib.suppress(OSError):
            child.communicate(timeout=1)
    return _received_bytes_per_s(said)


def _received_bytes_per_s(said: bytes) -> float:
    try:
        answer: dict[str, Any] = from_json(said, dict[str, Any])
    except msgspec.DecodeError as error:
        raise _IperfError("its answer cannot be read") from error
    if "error" in answer:
        raise _IperfError(str(answer["error"]).removeprefix("error - "))
    try:
        return float(answer["end"]["sum_received"]["bits_per_second"]) / 8
    except (KeyError, TypeError, ValueError) as error:
        raise _IperfError("its answer has no figure") from error


_NFS_PROGRAM = 100003
_NULL_CALLS = 7
#: No further call after this, and no waiting for one beyond that.
_CALLING_S, _CONNECTION_TIMEOUT_S = 0.5, 2.0


def null_rpc_round_trip(where: MountOfPath) -> float | None:
    """Return the median round trip of NULL calls to the server of a mount, seconds, None without an answer.

    Args:
        where: the mount; the connection is one of its own, from an ordinary port.
    """
    address, port = where.server
    if not address:
        return None
    times: list[float] = []
    began = time.monotonic()
    try:
        with RpcConnection(address, port, "tcp", Deadline(_CONNECTION_TIMEOUT_S)) as connection:
            while len(times) < _NULL_CALLS and time.monotonic() - began < _CALLING_S:
                called = time.monotonic()
                connection.call(_NFS_PROGRAM, 4 if where.v4 else 3, NULL_PROCEDURE)
                times.append(time.monotonic() - called)
    except AppError:
        pass  # it may answer privileged ports only, or RDMA only: what was measured counts
    return median(times) if times else None

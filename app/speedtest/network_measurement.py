"""The network alone: one TCP stream to the server and one from it, through iperf3 (iperf3(1)).

NFS has no request that carries bytes past the server's file system, so a client by itself cannot tell the
network from the server behind it. Something on the server has to take the bytes: an iperf3 server.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.speeds import format_speed
from app.process import find_program, kill_group, start
from app.speedtest.model import NetworkAlone
from resources.decoding import from_json

if TYPE_CHECKING:
    from app.speedtest.model import Transfer
    from app.tasks import CancelToken

#: Where an iperf3 server listens unless it is told otherwise.
PORT = 5201
#: Of each direction; TCP has long found the link's rate by then. Connecting and ending take their time, too.
STREAM_S = 3
_MOST_S = STREAM_S + 10.0
_LOOK_S = 0.1
_HOW = (
    f"Run “iperf3 -s” on the server and let TCP port {PORT} through its firewall, then test again. Without a "
    "program on the server that takes the bytes, the network cannot be told from the server."
)


class _StreamError(Exception):
    """What iperf3 said."""


def measure_network(address: str, token: CancelToken) -> NetworkAlone:
    """Return what a stream to this address carries; it takes twice STREAM_S where something answers.

    Args:
        address: of the server, "" if it is not known.
        token: ends it.

    Raises:
        CancelledError: when the token is set.
    """
    program = find_program("iperf3")
    if program is None:
        return NetworkAlone(
            problem="The network alone is not known: iperf3 is not installed on this computer. Install the "
            f"package iperf3 here and on the server. {_HOW}"
        )
    if not address:
        return NetworkAlone(
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
        return NetworkAlone(write=_stream(command, token), read=_stream([*command, "-R"], token))
    except _StreamError as error:
        return NetworkAlone(
            problem=f"The network alone is not known: no iperf3 server at {address} took the stream "
            f"({error}). {_HOW}"
        )


def network_notes(network: NetworkAlone, write: Transfer | None, read: Transfer | None) -> list[str]:
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


def _stream(command: list[str], token: CancelToken) -> float:
    """Return the bytes a second that the receiving side counted."""
    try:
        child = start(command)
    except OSError as error:
        raise _StreamError(error.strerror or "it could not be started") from error
    try:
        deadline = time.monotonic() + _MOST_S
        while child.poll() is None:
            token.wait(_LOOK_S)
            if time.monotonic() > deadline:
                raise _StreamError("no answer in time")
        said = child.stdout.read() if child.stdout is not None else b""
    finally:
        kill_group(child)
        with contextlib.suppress(OSError):
            child.communicate(timeout=1)
    return _received(said)


def _received(said: bytes) -> float:
    try:
        answer: dict[str, Any] = from_json(said, dict[str, Any])
    except msgspec.DecodeError as error:
        raise _StreamError("its answer cannot be read") from error
    if "error" in answer:
        raise _StreamError(str(answer["error"]).removeprefix("error - "))
    try:
        return float(answer["end"]["sum_received"]["bits_per_second"]) / 8
    except (KeyError, TypeError, ValueError) as error:
        raise _StreamError("its answer has no figure") from error

"""The emulated link: a veth pair between the two hosts, with netem at both ends."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import AppError, ErrorKind
from app.lab.programs import run_program
from app.links import Link

if TYPE_CHECKING:
    from app.lab.server_host import ServerHost
    from app.tasks import CancelToken

INTERFACE = "eth0"
CLIENT_ADDRESS = "10.9.0.2"
SERVER_ADDRESS = "10.9.0.1"

#: Preamble 8, check sequence 4, gap 12 (IEEE 802.3): on the wire, but not in the kernel's packet length.
_WIRE_OVERHEAD = 24
#: TCP hands down up to 64 KiB at once, which netem loses, delays and counts as one packet. What takes so long
#: on the wire is allowed, to spare the guest's one processor; on a link that loses packets each is lost for
#: itself. Switching the interface's offloads off would not help: TCP does the same for the software below.
_BURST_S = 0.25e-3
_BURST_BYTES = 65536
_MIN_LOSS = 1e-3

_NFS_PORT = 2049
_ATTEMPTS = 9
_TRIAL_DELAY_S = 1e-3
#: Enough for a lost SYN to be sent again, after one second and after three.
_CONNECT_S = 5.0

#: linux/rtnetlink.h, linux/netlink.h and linux/if_link.h.
_RTM_SETLINK, _REQUEST_ACK, _IFLA_MTU, _IFLA_GSO_MAX_SEGS = 19, 0x1 | 0x4, 4, 40

_BUFFERS = {"net/ipv4/tcp_rmem": "4096 131072 16777216", "net/ipv4/tcp_wmem": "4096 65536 16777216"}


def build(server: ServerHost, link: Link) -> float:
    """Join the two hosts with this link, and return the guest's own part of its delay, one way in seconds.

    Raises:
        AppError: LAB_FAILED if ip or tc fails.
    """
    _ip(
        f"link add {INTERFACE} type veth peer name {INTERFACE} netns {server.name}",
        *_addressed(CLIENT_ADDRESS),
    )
    server.run(lambda: _ip(*_addressed(SERVER_ADDRESS)))
    own_delay_s = _measure_guest_delay(server)
    emulate(server, link, own_delay_s)
    return own_delay_s


def emulate(server: ServerHost, link: Link, own_delay_s: float) -> None:
    """Give the link these properties; connections over it stay.

    Args:
        server: the other end.
        link: what to emulate.
        own_delay_s: as :func:`build` returned it; netem delays that much less.

    Raises:
        AppError: LAB_FAILED if tc fails.
    """
    delay_s = max(0.0, link.delay_s - own_delay_s)
    _set_end(link, link.up_bps, delay_s)
    server.run(lambda: _set_end(link, link.rate_bps, delay_s))


def set_carrier(*, up: bool) -> None:
    """Plug or unplug the cable: with the client's end down neither end has a carrier."""
    run_program("ip", "link", "set", INTERFACE, "up" if up else "down")


def _measure_guest_delay(server: ServerHost) -> float:
    """Measure what the guest adds to an emulated delay at least: its own work, and timers that come late."""
    trial = Link(name="", title="", rate_bps=1e10, up_bps=1e10, delay_s=_TRIAL_DELAY_S)
    emulate(server, trial, 0.0)
    times: list[float] = []
    for _attempt in range(_ATTEMPTS):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            started = time.monotonic()
            with contextlib.suppress(ConnectionRefusedError):  # nothing listens yet: that is an answer, too
                probe.connect((SERVER_ADDRESS, _NFS_PORT))
            times.append(time.monotonic() - started)
    # The shortest: what a computer that is busy at this moment adds is not to be taken off every packet; a
    # link would have less delay than it says as soon as the computer is quiet again.
    return max(0.0, min(times) / 2 - _TRIAL_DELAY_S)


def connect_times(token: CancelToken) -> list[float]:
    """Return how long some TCP connections to the server took, seconds; one that got no answer is left out.

    Raises:
        AppError: SERVER_SILENT if none was answered, SERVER_REFUSED if the server is stopped.
    """
    times: list[float] = []
    for _attempt in range(_ATTEMPTS):
        token.check()
        started = time.monotonic()
        try:
            with socket.create_connection((SERVER_ADDRESS, _NFS_PORT), timeout=_CONNECT_S):
                times.append(time.monotonic() - started)
        except ConnectionRefusedError:
            raise AppError(ErrorKind.SERVER_REFUSED, "The lab's server is stopped.") from None
        except OSError:
            continue
    if not times:
        raise AppError(ErrorKind.SERVER_SILENT, "The lab's server did not answer: the link is down.")
    return times


def _addressed(address: str) -> list[str]:
    return ["link set lo up", f"address add {address}/24 dev {INTERFACE}", f"link set {INTERFACE} up"]


def _ip(*commands: str) -> None:
    """Run ip(8) once for all of these: starting a program is the slowest thing in the guest."""
    run_program("ip", "-batch", "-", text="\n".join(commands))


def _set_end(link: Link, rate_bps: float, delay_s: float) -> None:
    for name, value in _BUFFERS.items():
        Path("/proc/sys", name).write_text(value)
    segments = _segments(link, rate_bps)
    _set_interface(link.mtu, segments)
    # Connections keep what they knew of the interface for as long as they keep their route.
    Path("/proc/sys/net/ipv4/route/flush").write_text("1")
    words = _netem(link, rate_bps, delay_s)
    # Charged once for what is handed down at once.
    words += ["rate", f"{rate_bps:.0f}bit", str(_WIRE_OVERHEAD * segments)]
    run_program("tc", "qdisc", "replace", "dev", INTERFACE, "root", "netem", *words)


def _segments(link: Link, rate_bps: float) -> int:
    """Return how many segments TCP may hand down at once."""
    if link.loss >= _MIN_LOSS:
        return 1
    return max(1, int(min(rate_bps / 8 * _BURST_S, _BURST_BYTES) / link.mtu))


def _netem(link: Link, rate_bps: float, delay_s: float) -> list[str]:
    """Return tc-netem(8)'s arguments for what one end sends."""
    # netem holds the packets that are on their way in the same queue as those that wait for the wire.
    in_flight = math.ceil(rate_bps * (link.delay_s + link.jitter_s) / 8 / link.mtu)
    words = ["limit", str(link.queue + in_flight), "delay", f"{delay_s * 1e6:.0f}us"]
    if link.jitter_s:
        words += [f"{link.jitter_s * 1e6:.0f}us"]
    if link.loss:
        words += ["loss", f"{link.loss * 100:.6f}%"]
    return words


def _set_interface(mtu: int, segments: int) -> None:
    """RTM_SETLINK of rtnetlink(7): what ip(8) would do, without starting a program.

    Raises:
        OSError: if the kernel refuses.
    """
    attributes = struct.pack("=HHIHHI", 8, _IFLA_MTU, mtu, 8, _IFLA_GSO_MAX_SEGS, segments)
    link = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, socket.if_nametoindex(INTERFACE), 0, 0)
    header = struct.pack("=IHHII", 16 + len(link) + len(attributes), _RTM_SETLINK, _REQUEST_ACK, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.send(header + link + attributes)
        answer = kernel.recv(4096)
    (code,) = struct.unpack_from("=i", answer, 16)  # struct nlmsgerr: 0, or an errno below it
    if code:
        raise OSError(-code, f"set {INTERFACE}: {os.strerror(-code)}")

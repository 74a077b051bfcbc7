"""Emulated link: a veth pair between the guest's two hosts, with tc-netem(8) at both ends."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING

from app.lab.programs import run_program
from app.links import Link

if TYPE_CHECKING:
    from app.lab.server_host import ServerHost

INTERFACE = "eth0"
CLIENT_ADDRESS = "10.9.0.2"
SERVER_ADDRESS = "10.9.0.1"

#: Bytes per frame that the kernel's packet length omits: preamble 8, check sequence 4, gap 12 (IEEE 802.3).
_WIRE_OVERHEAD = 24
#: Longest burst, s and bytes. TCP passes up to 64 KiB at once (GSO), which netem delays, counts and loses as
#: one packet. Bursts this short are allowed, because they save processor time. A lossy link gets none, so
#: that each packet is lost separately. Disabling offloads would not help, because TCP uses software GSO.
_BURST_S = 0.25e-3
_BURST_BYTES = 65536
#: Loss rate from which on bursts are not allowed.
_MIN_LOSS = 1e-3

NFS_PORT = 2049
_ATTEMPTS = 9
#: Emulated one-way delay while the guest's own delay is measured, s.
_TRIAL_DELAY_S = 1e-3

#: linux/rtnetlink.h, linux/netlink.h and linux/if_link.h.
_RTM_SETLINK, _REQUEST_ACK, _IFLA_MTU, _IFLA_GSO_MAX_SEGS = 19, 0x1 | 0x4, 4, 40

_BUFFERS = {"net/ipv4/tcp_rmem": "4096 131072 16777216", "net/ipv4/tcp_wmem": "4096 65536 16777216"}


def build(server: ServerHost, link: Link) -> float:
    """Connect the two hosts by this link; return the one-way delay that the guest itself adds, s.

    Raises:
        AppError: LAB_FAILED if ip or tc fails.
    """
    _ip(
        f"link add {INTERFACE} type veth peer name {INTERFACE} netns {server.name}",
        *_address_commands(CLIENT_ADDRESS),
    )
    server.run(lambda: _ip(*_address_commands(SERVER_ADDRESS)))
    own_delay_s = _measure_guest_delay(server)
    emulate(server, link, own_delay_s)
    return own_delay_s


def emulate(server: ServerHost, link: Link, own_delay_s: float) -> None:
    """Change the properties of the link; open connections survive.

    Args:
        server: host at the other end.
        link: link to emulate.
        own_delay_s: one-way delay from :func:`build`, s, which is subtracted from netem's delay.

    Raises:
        AppError: LAB_FAILED if tc fails.
    """
    delay_s = max(0.0, link.delay_s - own_delay_s)
    _set_end(link, link.up_bps, delay_s)
    server.run(lambda: _set_end(link, link.rate_bps, delay_s))


def _measure_guest_delay(server: ServerHost) -> float:
    """Return the least one-way delay that the guest adds by processing and late timers, s."""
    trial = Link(name="", title="", rate_bps=1e10, up_bps=1e10, delay_s=_TRIAL_DELAY_S)
    emulate(server, trial, 0.0)
    times: list[float] = []
    for _attempt in range(_ATTEMPTS):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            started = time.monotonic()
            with contextlib.suppress(ConnectionRefusedError):  # a refusal takes one round trip too
                probe.connect((SERVER_ADDRESS, NFS_PORT))
            times.append(time.monotonic() - started)
    # The minimum excludes delays of a busy computer: subtracting them from every packet would make the link
    # too fast when the computer is idle again.
    return max(0.0, min(times) / 2 - _TRIAL_DELAY_S)


def _address_commands(address: str) -> list[str]:
    return ["link set lo up", f"address add {address}/24 dev {INTERFACE}", f"link set {INTERFACE} up"]


def _ip(*commands: str) -> None:
    """Run several ip(8) commands in one process, because starting a program is slow in the guest."""
    run_program("ip", "-batch", "-", text="\n".join(commands))


def _set_end(link: Link, rate_bps: float, delay_s: float) -> None:
    for name, value in _BUFFERS.items():
        Path("/proc/sys", name).write_text(value)
    segments = _segments(link, rate_bps)
    _set_interface(link.mtu, segments)
    # Connections cache the interface's properties with their route.
    Path("/proc/sys/net/ipv4/route/flush").write_text("1")
    arguments = _netem(link, rate_bps, delay_s)
    # netem adds the overhead once per burst.
    arguments += ["rate", f"{rate_bps:.0f}bit", str(_WIRE_OVERHEAD * segments)]
    run_program("tc", "qdisc", "replace", "dev", INTERFACE, "root", "netem", *arguments)


def _segments(link: Link, rate_bps: float) -> int:
    """Return the largest number of segments in one burst."""
    if link.loss >= _MIN_LOSS:
        return 1
    return max(1, int(min(rate_bps / 8 * _BURST_S, _BURST_BYTES) / link.mtu))


def _netem(link: Link, rate_bps: float, delay_s: float) -> list[str]:
    """Return the tc-netem(8) arguments for the sending direction of one end."""
    # netem keeps delayed packets and packets waiting for the wire in the same queue.
    in_flight = math.ceil(rate_bps * (link.delay_s + link.jitter_s) / 8 / link.mtu)
    arguments = ["limit", str(link.queue + in_flight), "delay", f"{delay_s * 1e6:.0f}us"]
    if link.jitter_s:
        arguments += [f"{link.jitter_s * 1e6:.0f}us"]
    if link.loss:
        arguments += ["loss", f"{link.loss * 100:.6f}%"]
    return arguments


def _set_interface(mtu: int, segments: int) -> None:
    """Set MTU and largest burst of the interface by RTM_SETLINK (rtnetlink(7)), without starting ip(8).

    Raises:
        OSError: if the kernel refuses.
    """
    attributes = struct.pack("=HHIHHI", 8, _IFLA_MTU, mtu, 8, _IFLA_GSO_MAX_SEGS, segments)
    link = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, socket.if_nametoindex(INTERFACE), 0, 0)
    header = struct.pack("=IHHII", 16 + len(link) + len(attributes), _RTM_SETLINK, _REQUEST_ACK, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.send(header + link + attributes)
        answer = kernel.recv(4096)
    (code,) = struct.unpack_from("=i", answer, 16)  # struct nlmsgerr: 0, or the negative errno
    if code:
        raise OSError(-code, f"set {INTERFACE}: {os.strerror(-code)}")

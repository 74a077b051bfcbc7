"""Throughput of NFS over UDP with a small receive buffer and a doubling retransmission timer: seed 000.

The 1993 article times a copy of 1 MB with three Ethernet cards, one transfer size and timer at a time
(“NFS Performance Tuning”, W. Schroeder). Its two printed times fix what the figures leave open:

- A request of ``size`` bytes is cut into Ethernet frames that arrive back to back. What is more than the
  card's buffer, and one frame that is read out meanwhile, may be lost, and one lost frame loses the request.
- The client retransmits after ``timeo``, then after twice that, and so on. A run of j timeouts costs
  ``timeo · (2^j - 1)``. With a chance r that the retransmission is lost too, the mean run costs
  ``timeo / (1 - 2r)`` and holds ``1 / (1 - r)`` timeouts.

13.2 timeouts, 24.8 s at timeo 7 and 12.7 s at timeo 3 give 3.6 s without losses and 30.25 timers waited for
in all; that is r = 0.36, and 8.4 of the 128 requests of 8192 bytes lost at first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Sizes that the article varies, bytes. NeXTSTEP takes no larger ones.
UDP_TRANSFER_SIZES = (512, 1024, 2048, 4096, 8192)
#: Ethernet: what a frame adds to its payload (RFC 894), and that payload.
_FRAME_HEADER_BYTES = 18
_FRAME_PAYLOAD_BYTES = 1480
#: UDP, RPC and NFS headers of a WRITE call or a READ reply.
_RPC_HEADER_BYTES = 148
#: Requests that are under way at once: the article's NeXTSTEP keeps a second one going.
_REQUESTS_IN_FLIGHT = 2
#: Chance that a repetition is lost as well, and that a frame beyond the buffer is: both from seed 000.
_REPEATED_LOSS = 0.36
_FRAME_LOSS = 0.0072
#: Seconds a byte takes (wire, disk, copying), and a request on top of that. Their sum is seed 000's 3.6 s for
#: 128 requests; how it is divided is assumed, and only the order of sizes depends on it.
_BYTE_S = 3.2e-6
_REQUEST_S = 2e-3


@dataclass(frozen=True, slots=True)
class UdpCopy:
    """A predicted copy over UDP.

    Attributes:
        seconds: in all.
        timeouts: expected number of them.
        waiting_s: of the seconds, those spent waiting for the timer.
    """

    seconds: float
    timeouts: float
    waiting_s: float


def ethernet_frames(size: int) -> int:
    """Return the number of Ethernet frames that a transfer of ``size`` bytes is cut into (IPv4, MTU 1500)."""
    return math.ceil((size + _RPC_HEADER_BYTES) / _FRAME_PAYLOAD_BYTES)


def udp_copy(size: int, timeo_s: float, receive_buffer: int, length: int = 2**20) -> UdpCopy:
    """Return what a copy takes.

    Args:
        size: of a transfer, bytes: rsize with the card in the client, wsize with it in the server.
        timeo_s: first retransmit time-out, seconds.
        receive_buffer: of the card that receives, bytes.
        length: of the file, bytes.
    """
    requests = math.ceil(length / size)
    lost = requests * _request_loss(size, receive_buffer)
    waiting = lost * timeo_s / (1 - 2 * _REPEATED_LOSS)
    working = length * _BYTE_S + requests * _REQUEST_S
    return UdpCopy(seconds=working + waiting, timeouts=lost / (1 - _REPEATED_LOSS), waiting_s=waiting)


def best_udp_size(timeo_s: float, receive_buffer: int) -> int:
    """Return the transfer size of the quickest copy, bytes."""
    return min(UDP_TRANSFER_SIZES, key=lambda size: udp_copy(size, timeo_s, receive_buffer).seconds)


def _request_loss(size: int, receive_buffer: int) -> float:
    """Return the chance that a request is lost at first."""
    count = ethernet_frames(size)
    frame = (size + _RPC_HEADER_BYTES) / count + _FRAME_HEADER_BYTES
    beyond = _REQUESTS_IN_FLIGHT * count - receive_buffer / frame - 1
    return 1 - math.pow(1 - _FRAME_LOSS, max(0.0, beyond))

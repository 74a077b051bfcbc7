"""Throughput of NFS over UDP with a small receive buffer and a doubling retransmission timer: seed 000.

The 1993 article times a copy of 1 MB with three Ethernet cards and several transfer sizes and timers
(“NFS Performance Tuning”, W. Schroeder). Its two printed times determine the parameters of this model:

- A request of ``size`` bytes is cut into Ethernet frames that arrive back to back. Frames beyond the card's
  buffer and one frame read out meanwhile may be lost; one lost frame loses the whole request.
- The client retransmits after ``timeo``, then after twice that, and so on. A run of j timeouts costs
  ``timeo · (2^j - 1)``. With probability r that the retransmission is lost too, the mean run costs
  ``timeo / (1 - 2r)`` and contains ``1 / (1 - r)`` timeouts.

13.2 timeouts, 24.8 s at timeo 7 and 12.7 s at timeo 3 give 3.6 s without losses and a total wait of 30.25
times timeo. Hence r = 0.36, and 8.4 of the 128 requests of 8192 bytes are lost at first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Transfer sizes in the article, bytes. NeXTSTEP supports no larger ones.
UDP_TRANSFER_SIZES = (512, 1024, 2048, 4096, 8192)
#: Ethernet: header and checksum of a frame (RFC 894), and its largest IP payload, bytes.
_FRAME_HEADER_BYTES = 18
_FRAME_PAYLOAD_BYTES = 1480
#: UDP, RPC and NFS headers of a WRITE call or a READ reply, bytes.
_RPC_HEADER_BYTES = 148
#: Requests in flight at once: the article's NeXTSTEP sends two.
_REQUESTS_IN_FLIGHT = 2
#: Probability that a retransmission is lost too, and that a frame beyond the buffer is lost: from seed 000.
_REPEATED_LOSS = 0.36
_FRAME_LOSS = 0.0072
#: Seconds per byte (wire, disk, copying) and additional seconds per request. Together they give seed 000's
#: 3.6 s for 128 requests. The division between them is assumed; only the order of sizes depends on it.
_BYTE_S = 3.2e-6
_REQUEST_S = 2e-3


@dataclass(frozen=True, slots=True)
class UdpCopy:
    """A predicted copy over UDP.

    Attributes:
        seconds: total time.
        timeouts: expected number of retransmission timeouts.
        waiting_s: part of the total time that is spent waiting for the timer.
    """

    seconds: float
    timeouts: float
    waiting_s: float


def ethernet_frames(size: int) -> int:
    """Return the number of Ethernet frames that a transfer of ``size`` bytes is cut into (IPv4, MTU 1500)."""
    return math.ceil((size + _RPC_HEADER_BYTES) / _FRAME_PAYLOAD_BYTES)


def udp_copy(size: int, timeo_s: float, receive_buffer: int, length: int = 2**20) -> UdpCopy:
    """Return the predicted time of a copy over UDP.

    Args:
        size: transfer size, bytes: rsize if the card is in the client, wsize if it is in the server.
        timeo_s: first retransmission timeout, seconds.
        receive_buffer: buffer of the receiving card, bytes.
        length: length of the file, bytes.
    """
    requests = math.ceil(length / size)
    lost = requests * _request_loss(size, receive_buffer)
    waiting = lost * timeo_s / (1 - 2 * _REPEATED_LOSS)
    working = length * _BYTE_S + requests * _REQUEST_S
    return UdpCopy(seconds=working + waiting, timeouts=lost / (1 - _REPEATED_LOSS), waiting_s=waiting)


def _request_loss(size: int, receive_buffer: int) -> float:
    """Return the probability that the first transmission of a request is lost."""
    count = ethernet_frames(size)
    frame = (size + _RPC_HEADER_BYTES) / count + _FRAME_HEADER_BYTES
    beyond = _REQUESTS_IN_FLIGHT * count - receive_buffer / frame - 1
    return 1 - math.pow(1 - _FRAME_LOSS, max(0.0, beyond))

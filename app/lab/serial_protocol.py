"""Flow control for the lab's serial line: numbered frames, checksums, credits and retransmission.

User-Mode Linux gives the guest's terminal 4,096 bytes; what arrives faster than it is read can stop the line
for good. So the receiver grants credits, and the sender never has more bytes on the line than were granted.
Both ends run this same code. It does no input or output and reads no clock (RFC 1055 frames, CRC-32):

* A *data* frame carries a number and a piece of the stream. The receiver takes the numbers in order and drops
  what is torn, repeated or out of order.
* A *status* frame tells the number expected next and the bytes granted from there on. It is sent for new
  data, as the answer to a probe, and as the heartbeat.
* A *probe* asks for a status when data stay unacknowledged. The line keeps the order, so once the answer to a
  probe is here, nothing that was sent before the probe is on its way any more: what the status lacks was lost
  and is sent again. Sending it again after a mere timeout could overfill the terminal of a slow guest.
"""

from __future__ import annotations

import struct
import zlib
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Bytes that a sender may have on the line before the first status; the guest's terminal holds twice that.
FIRST_CREDIT_BYTES = 2048
_MAX_PAYLOAD_BYTES = 480
_FIRST_PROBE_S = 0.5
_LAST_PROBE_S = 4.0

#: RFC 1055, with END at both ends of a frame, so that what stood on the line before is a frame of its own.
_END, _ESC = b"\xc0", b"\xdb"
_ESC_END, _ESC_ESC = b"\xdb\xdc", b"\xdb\xdd"
#: Kind, number, probe, credit; see Frame.
_HEADER = struct.Struct(">BIIH")
_CHECKSUM = struct.Struct(">I")
_DATA, _STATUS, _PROBE = 1, 2, 3
#: Longer than any frame: what has no end by then is noise.
_MAX_FRAME_BYTES = 2 * (_HEADER.size + _MAX_PAYLOAD_BYTES + _CHECKSUM.size)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame.

    Attributes:
        kind: data, status or probe.
        number: of this data frame, or the number that a status expects next.
        probe: number of this probe, or of the one that a status answers, 0 for none.
        credit: bytes that a status grants beyond what has arrived.
        payload: the piece of the stream in a data frame.
    """

    kind: int
    number: int = 0
    probe: int = 0
    credit: int = 0
    payload: bytes = b""

    def encode(self) -> bytes:
        """Return the bytes of the frame on the line."""
        body = _HEADER.pack(self.kind, self.number, self.probe, self.credit) + self.payload
        body += _CHECKSUM.pack(zlib.crc32(body))
        return _END + body.replace(_ESC, _ESC_ESC).replace(_END, _ESC_END) + _END


def _decode(encoded: bytes) -> Frame | None:
    """Return the frame between two ENDs, None if it is torn or noise."""
    body = encoded.replace(_ESC_END, _END).replace(_ESC_ESC, _ESC)
    end = len(body) - _CHECKSUM.size
    if end < _HEADER.size or _CHECKSUM.unpack_from(body, end)[0] != zlib.crc32(body[:end]):
        return None
    kind, number, probe, credit = _HEADER.unpack_from(body)
    return Frame(kind, number, probe, credit, body[_HEADER.size : end])


@dataclass(slots=True)
class _Sent:
    """A data frame that is not acknowledged: its bytes, and the last probe that went out before it."""

    number: int
    encoded: bytes
    after_probe: int


class Endpoint:
    """One end of the line.

    Args:
        grant_bytes: credit for the other end, at least FIRST_CREDIT_BYTES; this end's buffer holds more.
        heartbeat_s: send a status when nothing was sent for this long; None for never.

    Attributes:
        frames_heard: how many whole frames have arrived.
    """

    def __init__(self, grant_bytes: int = FIRST_CREDIT_BYTES, heartbeat_s: float | None = None) -> None:
        self.frames_heard = 0
        self._grant_bytes = grant_bytes
        self._heartbeat_s = heartbeat_s
        self._last_output_s: float | None = None
        # Sending.
        self._pending = bytearray()
        self._next_number = 0
        self._sent: deque[_Sent] = deque()
        self._sent_bytes = 0
        self._credit = FIRST_CREDIT_BYTES
        self._again: list[_Sent] = []
        self._probe = 0
        self._probe_wait_s = _FIRST_PROBE_S
        self._probe_at_s: float | None = None
        # Receiving.
        self._partial = bytearray()
        self._expected = 0
        self._status_due = False
        self._answers = 0

    @property
    def pending_bytes(self) -> int:
        """How much of what was written has not been on the line yet."""
        return len(self._pending)

    @property
    def acknowledged(self) -> bool:
        """Whether everything that was written has arrived."""
        return not self._pending and not self._sent

    def write(self, data: bytes) -> None:
        """Append bytes to the stream; :meth:`output` puts them on the line."""
        self._pending += data

    def receive(self, data: bytes, now_s: float) -> bytes:
        """Take what came from the line.

        Args:
            data: any piece of it.
            now_s: any clock that only moves forward.

        Returns:
            What of the other end's stream is now here.
        """
        stream: list[bytes] = []
        for frame in self._frames(data):
            self.frames_heard += 1
            if frame.kind == _STATUS:
                self._take_status(frame, now_s)
            elif frame.kind == _PROBE:
                self._status_due, self._answers = True, frame.probe
            elif frame.kind == _DATA and frame.number == self._expected:
                self._expected += 1
                self._status_due = True
                stream.append(frame.payload)
        return b"".join(stream)

    def output(self, now_s: float) -> bytes:
        """Return what is to be put on the line now."""
        data = [sent.encoded for sent in self._again]
        self._again.clear()
        data += self._new_frames()
        if self._sent and self._probe_at_s is None:
            self._probe_at_s = now_s + self._probe_wait_s
        if self._sent and self._probe_at_s is not None and now_s >= self._probe_at_s:
            self._probe += 1
            data.append(Frame(_PROBE, probe=self._probe).encode())
            self._probe_wait_s = min(2 * self._probe_wait_s, _LAST_PROBE_S)
            self._probe_at_s = now_s + self._probe_wait_s
        if self._status_due or (not data and self._heartbeat_due(now_s)):
            data.append(Frame(_STATUS, self._expected, self._answers, self._grant_bytes).encode())
            self._status_due, self._answers = False, 0
        if data or self._last_output_s is None:
            self._last_output_s = now_s
        return b"".join(data)

    def next_output_s(self) -> float | None:
        """Return when :meth:`output` has something though nothing is received or written, None: never."""
        times = [self._probe_at_s] if self._probe_at_s is not None else []
        if self._heartbeat_s is not None:
            times.append((self._last_output_s or 0.0) + self._heartbeat_s)
        return min(times, default=None)

    def _heartbeat_due(self, now_s: float) -> bool:
        if self._heartbeat_s is None:
            return False
        return self._last_output_s is None or now_s >= self._last_output_s + self._heartbeat_s

    def _new_frames(self) -> Iterator[bytes]:
        while self._pending:
            payload = bytes(self._pending[:_MAX_PAYLOAD_BYTES])
            encoded = Frame(_DATA, self._next_number, payload=payload).encode()
            if self._sent_bytes + len(encoded) > self._credit:
                return
            del self._pending[: len(payload)]
            self._sent.append(_Sent(self._next_number, encoded, self._probe))
            self._sent_bytes += len(encoded)
            self._next_number += 1
            yield encoded

    def _take_status(self, status: Frame, now_s: float) -> None:
        if status.number > self._next_number:
            return  # not of this connection
        self._credit = status.credit
        progress = False
        while self._sent and self._sent[0].number < status.number:
            self._sent_bytes -= len(self._sent.popleft().encoded)
            progress = True
        if status.probe and status.probe == self._probe:
            self._again = [sent for sent in self._sent if sent.after_probe < status.probe]
            for sent in self._again:
                sent.after_probe = status.probe
        if progress or self._again or not self._sent:
            self._probe_wait_s = _FIRST_PROBE_S
            self._probe_at_s = now_s + self._probe_wait_s if self._sent else None

    def _frames(self, data: bytes) -> Iterator[Frame]:
        self._partial += data
        *whole, rest = self._partial.split(_END)
        self._partial = rest if len(rest) <= _MAX_FRAME_BYTES else bytearray()
        for encoded in whole:
            frame = _decode(bytes(encoded))
            if frame is not None:
                yield frame

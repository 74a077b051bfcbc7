"""Flow control for the lab's serial line: numbered frames, checksums, credits and retransmission.

User-Mode Linux gives the guest's terminal a buffer of 4,096 bytes; an overflow can stop the line for good.
So the receiver grants credits, and the sender never has more unacknowledged bytes on the line than granted.
Both ends run this code, which does no I/O and reads no clock. Frames are those of RFC 1055 with a CRC-32:

* A *data* frame carries a sequence number and a piece of the stream. The receiver accepts the numbers in
  order and drops damaged, repeated and out-of-order frames.
* A *status* frame carries the next expected number and the bytes granted from there on. It is sent after new
  data, as the answer to a probe, and as the heartbeat.
* A *probe* frame requests a status when data stay unacknowledged. The line preserves order, so the answer to
  a probe proves that every earlier frame has arrived or was lost; the lost ones are sent again.
  Retransmission after a mere timeout could overflow the terminal of a slow guest.
"""

from __future__ import annotations

import struct
import zlib
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Credit before the first status, bytes; the buffer of the guest's terminal is twice as large.
FIRST_CREDIT_BYTES = 2048
_MAX_PAYLOAD_BYTES = 480
#: Time without progress until the first probe, s; it doubles for each probe up to the second value.
_FIRST_PROBE_S = 0.5
_LAST_PROBE_S = 4.0

#: Special bytes of RFC 1055; a frame also begins with END, which terminates any noise before it.
_END, _ESC = b"\xc0", b"\xdb"
_ESC_END, _ESC_ESC = b"\xdb\xdc", b"\xdb\xdd"
#: Kind, number, probe, credit; see Frame.
_HEADER = struct.Struct(">BIIH")
_CHECKSUM = struct.Struct(">I")
_DATA, _STATUS, _PROBE = 1, 2, 3
#: Upper limit of an encoded frame, bytes; longer input without END is noise.
_MAX_FRAME_BYTES = 2 * (_HEADER.size + _MAX_PAYLOAD_BYTES + _CHECKSUM.size)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame.

    Attributes:
        kind: data, status or probe.
        number: sequence number of a data frame; in a status, the next expected number.
        probe: number of a probe; in a status, the number of the answered probe, 0 for none.
        credit: bytes that a status grants beyond those received.
        payload: piece of the stream in a data frame.
    """

    kind: int
    number: int = 0
    probe: int = 0
    credit: int = 0
    payload: bytes = b""

    def encode(self) -> bytes:
        """Encode the frame for the line."""
        body = _HEADER.pack(self.kind, self.number, self.probe, self.credit) + self.payload
        body += _CHECKSUM.pack(zlib.crc32(body))
        return _END + body.replace(_ESC, _ESC_ESC).replace(_END, _ESC_END) + _END


def _decode(encoded: bytes) -> Frame | None:
    """Decode the bytes between two ENDs, return None for a damaged frame or noise."""
    body = encoded.replace(_ESC_END, _END).replace(_ESC_ESC, _ESC)
    end = len(body) - _CHECKSUM.size
    if end < _HEADER.size or _CHECKSUM.unpack_from(body, end)[0] != zlib.crc32(body[:end]):
        return None
    kind, number, probe, credit = _HEADER.unpack_from(body)
    return Frame(kind, number, probe, credit, body[_HEADER.size : end])


@dataclass(slots=True)
class _Sent:
    """An unacknowledged data frame: its number, its encoded bytes, and the last probe sent before it."""

    number: int
    encoded: bytes
    after_probe: int


class Endpoint:
    """Protocol state of one end of the line.

    Args:
        grant_bytes: credit for the other end, at least FIRST_CREDIT_BYTES and below this end's buffer size.
        heartbeat_s: time without output after which a status is sent, s; None for no heartbeat.

    Attributes:
        frames_heard: number of valid frames received.
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
        self._to_resend: list[_Sent] = []
        self._probe = 0
        self._probe_wait_s = _FIRST_PROBE_S
        self._probe_at_s: float | None = None
        # Receiving.
        self._partial = bytearray()
        self._expected = 0
        self._status_due = False
        self._answered_probe = 0

    @property
    def pending_bytes(self) -> int:
        """Number of written bytes not yet sent."""
        return len(self._pending)

    @property
    def acknowledged(self) -> bool:
        """Whether the other end has acknowledged everything written."""
        return not self._pending and not self._sent

    def write(self, data: bytes) -> None:
        """Append bytes to the stream, to be sent by :meth:`output`."""
        self._pending += data

    def receive(self, data: bytes, now_s: float) -> bytes:
        """Process bytes received from the line.

        Args:
            data: received bytes, not necessarily whole frames.
            now_s: present time on a monotonic clock, s.

        Returns:
            The newly received bytes of the other end's stream.
        """
        stream: list[bytes] = []
        for frame in self._frames(data):
            self.frames_heard += 1
            if frame.kind == _STATUS:
                self._handle_status(frame, now_s)
            elif frame.kind == _PROBE:
                self._status_due, self._answered_probe = True, frame.probe
            elif frame.kind == _DATA and frame.number == self._expected:
                self._expected += 1
                self._status_due = True
                stream.append(frame.payload)
        return b"".join(stream)

    def output(self, now_s: float) -> bytes:
        """Return the bytes to send now: retransmissions, new data, a probe and a status, as far as due."""
        data = [sent.encoded for sent in self._to_resend]
        self._to_resend.clear()
        data += self._new_frames()
        if self._sent and self._probe_at_s is None:
            self._probe_at_s = now_s + self._probe_wait_s
        if self._sent and self._probe_at_s is not None and now_s >= self._probe_at_s:
            self._probe += 1
            data.append(Frame(_PROBE, probe=self._probe).encode())
            self._probe_wait_s = min(2 * self._probe_wait_s, _LAST_PROBE_S)
            self._probe_at_s = now_s + self._probe_wait_s
        if self._status_due or (not data and self._heartbeat_due(now_s)):
            data.append(Frame(_STATUS, self._expected, self._answered_probe, self._grant_bytes).encode())
            self._status_due, self._answered_probe = False, 0
        if data or self._last_output_s is None:
            self._last_output_s = now_s
        return b"".join(data)

    def next_output_s(self) -> float | None:
        """Return the time of the next probe or heartbeat on the monotonic clock, s; None if none is due."""
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

    def _handle_status(self, status: Frame, now_s: float) -> None:
        if status.number > self._next_number:
            return  # belongs to an earlier connection
        self._credit = status.credit
        progress = False
        while self._sent and self._sent[0].number < status.number:
            self._sent_bytes -= len(self._sent.popleft().encoded)
            progress = True
        if status.probe and status.probe == self._probe:
            self._to_resend = [sent for sent in self._sent if sent.after_probe < status.probe]
            for sent in self._to_resend:
                sent.after_probe = status.probe
        if progress or self._to_resend or not self._sent:
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

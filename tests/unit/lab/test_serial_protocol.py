"""Serial protocol over a simulated line that drops, delays, damages and repeats bytes at random."""

import random
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.lab.serial_line import _GUEST_GRANT_BYTES, _HOST_GRANT_BYTES
from app.lab.serial_protocol import FIRST_CREDIT_BYTES, Endpoint

#: Bytes that the guest's terminal holds before it stops the line: N_TTY_BUF_SIZE - TTY_THRESHOLD_THROTTLE.
TERMINAL_BYTES = 4096 - 128
STEP_S = 0.05
HEARTBEAT_S = 1.0


class Direction:
    """One direction of a simulated line, which buffers bytes until the other end reads them.

    Attributes:
        most: largest number of bytes in the buffer.
    """

    def __init__(self, rng: random.Random, faults: int) -> None:
        self._rng = rng
        self._faults = faults
        #: Pieces to deliver, possibly damaged, each with its number of bytes sent.
        self._pieces: deque[tuple[bytes, int]] = deque()
        self.most = 0

    def put(self, data: bytes) -> None:
        while data:
            size = self._rng.randint(1, len(data))
            piece, data = data[:size], data[size:]
            if self._faults and self._rng.random() < 0.3:
                self._faults -= 1
                piece = self._damage(piece)
            self._pieces.append((piece, size))
        self.most = max(self.most, sum(size for _piece, size in self._pieces))

    def take(self) -> bytes:
        """Return the bytes of a random number of pieces, possibly none."""
        if self._rng.random() < 0.3:
            return b""
        count = self._rng.randint(0, len(self._pieces))
        return b"".join(self._pieces.popleft()[0] for _ in range(count))

    def _damage(self, piece: bytes) -> bytes:
        start, end = sorted(self._rng.randint(0, len(piece)) for _ in range(2))
        kind = self._rng.choice(["drop", "repeat", "noise"])
        if kind == "drop":
            return piece[:start] + piece[end:]
        if kind == "repeat":
            return piece[:end] + piece[start:]
        return piece[:start] + self._rng.randbytes(end - start) + piece[end:]


def exchange(seed: int, faults: int, sizes: tuple[int, int]) -> None:
    """Check that both ends receive all data of the other and that the terminal never overflows.

    Args:
        seed: seed of the random number generator.
        faults: number of pieces to damage.
        sizes: bytes to send to the guest and to the host.
    """
    rng = random.Random(seed)
    host, guest = Endpoint(_HOST_GRANT_BYTES), Endpoint(_GUEST_GRANT_BYTES, HEARTBEAT_S)
    to_guest, to_host = Direction(rng, faults), Direction(rng, faults)
    streams = [rng.randbytes(size) for size in sizes]
    left = [bytearray(data) for data in streams]
    arrived = [bytearray(), bytearray()]
    now_s = 0.0
    while not (host.acknowledged and guest.acknowledged and not any(left)):
        now_s += STEP_S
        assert now_s < 3600, f"arrived {[len(data) for data in arrived]} of {sizes} bytes"
        for end, data in ((host, left[0]), (guest, left[1])):
            size = rng.randint(0, len(data))
            end.write(bytes(data[:size]))
            del data[:size]
        to_guest.put(host.output(now_s))
        to_host.put(guest.output(now_s))
        arrived[0] += guest.receive(to_guest.take(), now_s)
        arrived[1] += host.receive(to_host.take(), now_s)
        assert streams[0].startswith(arrived[0])
        assert streams[1].startswith(arrived[1])
    assert arrived == streams
    assert to_guest.most <= TERMINAL_BYTES


@given(st.integers(0, 2**32), st.integers(0, 40), st.tuples(st.integers(0, 20_000), st.integers(0, 60_000)))
@settings(max_examples=150, deadline=None)
def test_every_byte_arrives_once_and_in_order(seed: int, faults: int, sizes: tuple[int, int]) -> None:
    exchange(seed, faults, sizes)


@pytest.mark.long
@pytest.mark.timeout(3600)
@given(st.integers(0, 2**32), st.integers(0, 40), st.tuples(st.integers(0, 8_000), st.integers(0, 20_000)))
@settings(max_examples=10_000, deadline=None)
def test_every_byte_arrives_in_ten_thousand_schedules(seed: int, faults: int, sizes: tuple[int, int]) -> None:
    exchange(seed, faults, sizes)


def test_output_stays_within_the_credit() -> None:
    host = Endpoint()
    host.write(bytes(100_000))
    sent = host.output(0.0)
    assert 0 < len(sent) <= FIRST_CREDIT_BYTES
    assert host.output(0.1) == b""


def test_a_guest_that_does_not_read_gets_few_probes_and_no_retransmission() -> None:
    host = Endpoint()
    host.write(bytes(100_000))
    sent = sum(len(host.output(tenth / 10)) for tenth in range(600))
    assert sent < TERMINAL_BYTES


def test_a_heartbeat_is_sent_when_the_line_is_idle() -> None:
    guest, host = Endpoint(heartbeat_s=HEARTBEAT_S), Endpoint()
    host.receive(guest.output(10.0), 10.0)
    assert host.frames_heard == 1
    assert guest.output(10.5) == b""
    assert guest.next_output_s() == pytest.approx(11.0)
    host.receive(guest.output(11.0), 11.0)
    assert host.frames_heard == 2


def test_a_lost_frame_is_retransmitted_after_a_probe() -> None:
    host, guest = Endpoint(), Endpoint()
    host.write(b"hello")
    assert host.output(0.0)  # lost
    probe_s = host.next_output_s()
    assert probe_s is not None
    assert guest.receive(host.output(probe_s), probe_s) == b""
    host.receive(guest.output(probe_s), probe_s)
    assert guest.receive(host.output(probe_s), probe_s) == b"hello"


def test_bytes_before_the_first_frame_are_ignored() -> None:
    host, guest = Endpoint(), Endpoint()
    guest.write(b"\xc0\xdb\xdc\xdd ready\n")
    assert host.receive(b"[    0.1] kernel says\n" + guest.output(0.0), 0.0) == b"\xc0\xdb\xdc\xdd ready\n"

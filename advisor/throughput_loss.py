"""TCP throughput over a link with packet loss: a simulation of CUBIC's window and the retransmission timer.

The mean window of RFC 9438, section 5.1, is that of a connection that runs for ever. A copy begins with a
window that fills the link and its queue, and comes down by three tenths at each loss (section 4.6): with
few losses it is quicker than the mean. And the mean takes each loss as repaired within a round trip. That
is so as long as the retransmitted packet arrives: RFC 8985 (RACK-TLP) finds a lost packet by those that were
sent after it, and sends a probe after two round trips where nothing follows. Where the retransmission or the
probe is lost too, the retransmission timer may be all that is left (RFC 6298, section 5). Its timeout is a
smoothed round trip and at least 200 ms in Linux (include/net/tcp.h: TCP_RTO_MIN; net/ipv4/tcp_input.c:
tcp_rtt_estimator), and doubles if the next one is lost as well (RFC 6298, 5.5). Against a round trip of 0.2
ms that is a thousand of them, and decides the speed; against 50 ms it is four.

So a copy is simulated several times, with the same random numbers each time it is asked for: its spread is
what luck with losses makes of a copy of this length.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

#: Linux: the least retransmission time-out, added to the smoothed round trip, seconds.
RTO_MIN_S = 0.2
#: RFC 9438, section 4.1 and 4.6: C, segments/s³, and beta. Section 4.3: what Reno adds in a round trip.
_C, _BETA = 0.4, 0.7
_RENO_INCREASE = 3 * (1 - _BETA) / (1 + _BETA)
#: RFC 6928, segments.
_INITIAL_WINDOW_SEGMENTS = 10.0
#: Slow start ends when the round trips grow (HyStart, RFC 9406): a little beyond what fills the link.
_SLOW_START_OVERSHOOT = 1.5
#: Copies that are played, losses that are played of each (what is longer goes on at the same speed), and how
#: many copies lie beyond what is called quick and slow.
_SIMULATIONS, _SIMULATED_LOSSES, _TAIL = 32, 120, 4
#: A step of the play meets so many losses at most, on average.
_MAX_LOSSES_PER_STEP = 0.12
#: With more than this part lost a connection hardly gets through, and nothing is gained by playing on.
_MAX_LOSS = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class LossyLink:
    """What one connection meets.

    Attributes:
        loss: part of the packets that are lost, more than 0.
        rtt_s: round trip without queues.
        rate: segments per second that are carried if nothing is lost.
        waited: part of the lost repetitions that wait for the timer; RACK finds the others.
    """

    loss: float
    rtt_s: float
    rate: float
    waited: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LossyCopyTime:
    """Seconds of a copy over one connection.

    Attributes:
        likely: the mean of the middle half; the median would leap from one time-out to the next.
        quick: one copy of eight is as quick or quicker.
        slow: one of eight is as slow or slower.
        timer_s: of the likely ones, those spent waiting for the retransmission timer.
    """

    likely: float
    quick: float
    slow: float
    timer_s: float


@lru_cache(maxsize=256)
def simulate_lossy_copy(segments: int, way: LossyLink) -> LossyCopyTime:
    """Return what a copy of so many segments takes."""
    loss = min(way.loss, _MAX_LOSS)
    part = max(1, min(segments, int(_SIMULATED_LOSSES / loss)))
    plays = [_CopySimulation(way, loss, number) for number in range(_SIMULATIONS)]
    for play in plays:
        play.send(part)
    found = sorted(play.seconds for play in plays)
    middle, parts = fmean(found[_SIMULATIONS // 4 : -_SIMULATIONS // 4]), segments / part
    # The luck of parts evens out: the spread of their mean falls with the root of their number.
    spread = parts**0.5
    return LossyCopyTime(
        likely=middle * parts,
        quick=middle * parts - (middle - found[_TAIL - 1]) * spread,
        slow=middle * parts + (found[-_TAIL] - middle) * spread,
        timer_s=parts * fmean(play.timer_s for play in plays),
    )


class _RandomNumbers:
    """Numbers from 0 to 1, the same for a seed each time (Knuth's MMIX generator)."""

    def __init__(self, seed: int) -> None:
        self._state = seed
        for _warm in range(8):
            self.next()

    def next(self) -> float:
        self._state = (6364136223846793005 * self._state + 1442695040888963407) % 2**64
        return (self._state >> 11) / 2**53


class _CopySimulation:
    """One copy that is played."""

    def __init__(self, way: LossyLink, loss: float, number: int) -> None:
        self.seconds = 0.0
        self.timer_s = 0.0
        self._way = way
        self._loss = loss
        self._chance = _RandomNumbers(number)
        self._window = _INITIAL_WINDOW_SEGMENTS
        self._slow_start = True
        self._threshold = _SLOW_START_OVERSHOOT * max(2.0, way.rate * way.rtt_s)
        self._peak = self._window
        self._since_s = 0.0

    def send(self, segments: int) -> None:
        """Send them, and count the seconds."""
        sent = 0.0
        while sent < segments:
            window = self._window
            rounds = 1.0 if self._slow_start else max(1.0, _MAX_LOSSES_PER_STEP / (self._loss * window))
            rounds = min(rounds, max(1.0, (segments - sent) / window))
            seconds = rounds * max(self._way.rtt_s, window / self._way.rate)
            sent += rounds * window
            self.seconds += seconds
            self._since_s += seconds
            lost = 1 - (1 - self._loss) ** (rounds * window)
            if self._chance.next() < lost:
                # A large window loses more than one packet, and any of the repetitions may be lost.
                self._lose(max(1.0, self._loss * window / lost))
            else:
                self._grow(rounds)

    def _lose(self, together: float) -> None:
        self._peak, self._since_s = self._window, 0.0
        self._window = self._threshold = max(2.0, _BETA * self._window)
        self._slow_start = False
        if self._chance.next() >= self._way.waited * min(1.0, self._loss * together):
            return
        wait_s = self._way.rtt_s + RTO_MIN_S
        self.timer_s += wait_s
        self.seconds += wait_s
        while self._chance.next() < self._loss:
            wait_s *= 2
            self.timer_s += wait_s
            self.seconds += wait_s
        self._window, self._slow_start = 1.0, True

    def _grow(self, rounds: float) -> None:
        if self._slow_start:
            self._window = min(2 * self._window, self._threshold)
            if self._window >= self._threshold:
                self._slow_start, self._peak, self._since_s = False, self._window, 0.0
            return
        plateau_s = (self._peak * (1 - _BETA) / _C) ** (1 / 3)
        cubic = _C * (self._since_s - plateau_s) ** 3 + self._peak
        self._window = max(self._window + _RENO_INCREASE * rounds, min(cubic, 1.5 * self._window))

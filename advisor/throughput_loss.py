"""TCP throughput over a link with packet loss: a simulation of CUBIC's window and the retransmission timer.

The mean window of RFC 9438, section 5.1, is that of an endless connection. A copy differs in two respects:

- It begins with a window that fills the link and its queue. Each loss multiplies the window by 0.7
  (section 4.6), so that a copy with few losses is faster than the mean.
- The mean assumes that each loss is repaired within a round trip. That holds only if the retransmission
  arrives. RFC 8985 (RACK-TLP) detects a lost packet by later ones, and probes after two round trips without
  any. If the retransmission or the probe is lost too, only the retransmission timer may remain (RFC 6298, 5).

The timeout is the smoothed round trip plus at least 200 ms in Linux (include/net/tcp.h: TCP_RTO_MIN;
net/ipv4/tcp_input.c: tcp_rtt_estimator). It doubles if the next retransmission is lost (RFC 6298, 5.5).
Compared with a round trip of 0.2 ms it is a thousand times as long and determines the speed.

A copy is simulated several times with fixed random seeds. The spread of these simulations is the effect of
random losses on a copy of this length.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

#: Least retransmission timeout in Linux, added to the smoothed round trip, seconds.
RTO_MIN_S = 0.2
#: RFC 9438, sections 4.1 and 4.6: C, segments/s³, and beta. Section 4.3: Reno's increase per round trip,
#: segments.
_C, _BETA = 0.4, 0.7
_RENO_INCREASE = 3 * (1 - _BETA) / (1 + _BETA)
#: Initial window, segments (RFC 6928).
_INITIAL_WINDOW_SEGMENTS = 10.0
#: Window at the end of slow start, as a multiple of rate times RTT: HyStart ends it when the RTT grows
#: (HyStart++, RFC 9406).
_SLOW_START_OVERSHOOT = 1.5
#: Number of simulated copies, simulated losses of each (longer copies are extrapolated), and number of copies
#: in each tail, beyond “quick” and “slow”.
_SIMULATIONS, _SIMULATED_LOSSES, _TAIL = 32, 120, 4
#: Greatest expected number of losses in one simulation step.
_MAX_LOSSES_PER_STEP = 0.12
#: Greatest simulated loss, as a fraction; a connection with more hardly transfers anything.
_MAX_LOSS = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class LossyLink:
    """A link with packet loss, as one TCP connection sees it.

    Attributes:
        loss: fraction of lost packets, above 0.
        rtt_s: round-trip time without queuing, seconds.
        rate: rate without loss, segments per second.
        timer_share: fraction of the lost retransmissions that wait for the timer; RACK detects the others.
    """

    loss: float
    rtt_s: float
    rate: float
    timer_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LossyCopyTime:
    """Simulated times of a copy over one connection, seconds.

    Attributes:
        likely: mean of the middle half; the median would jump by a whole timeout.
        quick: one copy in eight takes at most this long.
        slow: one copy in eight takes at least this long.
        timer_s: mean time spent waiting for the retransmission timer.
    """

    likely: float
    quick: float
    slow: float
    timer_s: float


@lru_cache(maxsize=256)
def simulate_lossy_copy(segments: int, link: LossyLink) -> LossyCopyTime:
    """Return the simulated times of a copy of this many segments over a link."""
    loss = min(link.loss, _MAX_LOSS)
    part = max(1, min(segments, int(_SIMULATED_LOSSES / loss)))
    simulations = [_CopySimulation(link, loss, number) for number in range(_SIMULATIONS)]
    for simulation in simulations:
        simulation.send(part)
    seconds = sorted(simulation.seconds for simulation in simulations)
    mean, parts = fmean(seconds[_SIMULATIONS // 4 : -_SIMULATIONS // 4]), segments / part
    # The spread of the mean of independent parts falls with the square root of their number.
    spread = parts**0.5
    return LossyCopyTime(
        likely=mean * parts,
        quick=mean * parts - (mean - seconds[_TAIL - 1]) * spread,
        slow=mean * parts + (seconds[-_TAIL] - mean) * spread,
        timer_s=parts * fmean(simulation.timer_s for simulation in simulations),
    )


class _RandomNumbers:
    """Reproducible uniform random numbers from 0 to 1 (linear congruential generator, Knuth's MMIX)."""

    def __init__(self, seed: int) -> None:
        self._state = seed
        for _warm in range(8):
            self.next()

    def next(self) -> float:
        self._state = (6364136223846793005 * self._state + 1442695040888963407) % 2**64
        return (self._state >> 11) / 2**53


class _CopySimulation:
    """Simulation of one copy: congestion window, elapsed time, and time waiting for the timer."""

    def __init__(self, link: LossyLink, loss: float, number: int) -> None:
        self.seconds = 0.0
        self.timer_s = 0.0
        self._link = link
        self._loss = loss
        self._random = _RandomNumbers(number)
        self._window = _INITIAL_WINDOW_SEGMENTS
        self._slow_start = True
        self._threshold = _SLOW_START_OVERSHOOT * max(2.0, link.rate * link.rtt_s)
        self._peak = self._window
        self._since_s = 0.0

    def send(self, segments: int) -> None:
        """Send segments in steps of one or more round trips, and add up the seconds."""
        sent = 0.0
        while sent < segments:
            window = self._window
            rounds = 1.0 if self._slow_start else max(1.0, _MAX_LOSSES_PER_STEP / (self._loss * window))
            rounds = min(rounds, max(1.0, (segments - sent) / window))
            seconds = rounds * max(self._link.rtt_s, window / self._link.rate)
            sent += rounds * window
            self.seconds += seconds
            self._since_s += seconds
            lost = 1 - (1 - self._loss) ** (rounds * window)
            if self._random.next() < lost:
                # A large window loses more than one packet, and each retransmission may be lost too.
                self._reduce_window(max(1.0, self._loss * window / lost))
            else:
                self._grow(rounds)

    def _reduce_window(self, lost_packets: float) -> None:
        self._peak, self._since_s = self._window, 0.0
        self._window = self._threshold = max(2.0, _BETA * self._window)
        self._slow_start = False
        if self._random.next() >= self._link.timer_share * min(1.0, self._loss * lost_packets):
            return
        wait_s = self._link.rtt_s + RTO_MIN_S
        self.timer_s += wait_s
        self.seconds += wait_s
        while self._random.next() < self._loss:
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

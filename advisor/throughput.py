"""Throughput model: the predicted time of a copy over TCP, from the link, the options and what is copied.

Four things bound a transfer, and the smallest counts most: the rate of the link in that direction, the bytes
in flight over the round-trip time, what TCP sends on a link with packet loss, and what the processors at both
ends can do. Work that waits for the server adds a round trip and the server's own time for each wait.

What cannot be known before a test is assumed, with the worst and the best that it may be: the server's
times, the processors, TCP's luck with losses (throughput_loss). A prediction is made with what is likely,
and its error is how far those with the worst and with the best are away from it. Where the processors alone
decide, nothing can be predicted, and the answer says so. tests/data/advice/measured.toml has what the lab
measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from advisor.facts import payload_rate_bps
from advisor.identify import network_cards
from advisor.options import implied_values
from advisor.throughput_loss import RTO_MIN_S, LossyLink, simulate_lossy_copy
from advisor.transfer_sizes import rounded_io_size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from advisor.facts import Facts, LinkFacts
    from advisor.options import MountOptions

Direction = Literal["read", "write"]
#: Why a speed cannot be predicted, "" if it can: the link carries more than the slowest processors of today.
Unpredictable = Literal["", "processors-unknown"]
Luck = Literal["likely", "slow", "quick"]

#: What the kernel gives every new mount since 5.4 (mm/backing-dev.c: VM_READAHEAD_PAGES).
DEFAULT_READAHEAD_BYTES = 128 * 1024
#: What client and server agree on when nothing is asked for, on a server with 4 GiB or more (fs/nfsd).
_DEFAULT_IO_SIZE = 2**20
#: NFS 4.1 and later: requests of one session at once (fs/nfs/nfs4session.h: NFS4_DEF_SLOT_TABLE_SIZE).
#: Version 3 and 4.0 have more per connection than any link needs.
_SESSION_SLOTS = 64
#: tcp_rmem's greatest value in an ordinary kernel, bytes. Half of it is overhead (ip-sysctl.rst).
_TCP_BUFFER_BYTES = 6 * 2**20
#: RFC 9438 section 5.1: mean window of CUBIC (C = 0.4, beta = 0.7), and section 4.3 with RFC 5681 of Reno.
_CUBIC_FACTOR, _RENO_FACTOR = 1.054, 1.22
#: RFC 6928: what a new connection sends before the first answer, bytes. It doubles with each round trip.
_INITIAL_WINDOW_BYTES = 10 * 1460
#: Bounds are joined with this power: 1 adds the times that each would take alone, and with infinity the
#: smallest counts alone. Seen in the lab: two equal bounds take a sixth off each other.
_BOUND_EXPONENT = 4.0
#: Round trips of a small file: OPEN, WRITE and CLOSE, or OPEN, READ and CLOSE; with version 3 LOOKUP, CREATE
#: and WRITE, or LOOKUP, ACCESS and READ. What one weighs with its answer, bytes. Both from mountstats.
_FILE_ROUND_TRIPS, _ROUND_TRIP_BYTES = 3, 600
#: Round trips to find or make their directory and to be let in, once: LOOKUP or CREATE, and ACCESS.
_DIRECTORY_ROUND_TRIPS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCosts:
    """What the server itself takes, seconds. The defaults are of seed 003's server and of an idle one.

    Attributes:
        service_s: for an ordinary request.
        commit_s: to put one write on stable storage. Seed 003: 6.8 ms in its large file, (241 s - 18.8 s)
            / 32768 writes (calls of 32 KiB, as cp makes them), and 5.9 ms in its hundred small ones.
        attributes_s: to be asked for attributes before each uncached call that reads: (22.8 s - 13.2 s)
            / 32768 there.
        open_s: more for each file that is opened to be read without cached attributes: what seed 003's
            hundred files take beyond that.
        create_s: likewise for each file that is written.
    """

    service_s: float = 0.1e-3
    commit_s: float = 6.4e-3
    attributes_s: float = 0.3e-3
    open_s: float = 11e-3
    create_s: float = 6e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assumptions:
    """What is not known before a test.

    Attributes:
        processor: bytes per second that the processors carry for one connection.
        most: likewise for all connections together.
        alone: part of the processors' time in which nothing else goes on.
        service: factor of the server's times.
        ahead: factor of what readahead carries in a time.
        lossy: likewise of TCP after losses, beside the luck that throughput_loss plays.
        begun: factor of the time that connections take to begin.
        waited: part of the lost repetitions that RACK does not find and the timer does.
        luck: with losses: as in the middle half of the copies that throughput_loss plays, or one of eight.
        measured: factor of the server's times once they have been measured.
    """

    processor: float
    most: float
    alone: float
    service: float
    ahead: float
    lossy: float
    begun: float
    waited: float
    luck: Luck = "likely"
    measured: float = 1.0


#: VAST's guide counts eight connections for 100 Gbit/s: 1.5 GB/s each.
#: Over 0.2 ms with 2 and 5 % loss the lab wrote and read at 2.6 to 8.8 MB/s: most lost repetitions waited.
_LIKELY = _Assumptions(processor=1.5e9, most=12e9, alone=0.0, service=1.0, ahead=1.0, lossy=1.0, begun=1.0,
                   waited=0.7)  # fmt: skip
#: TCP after losses, to both sides: the lab's copies over nine such links were 22 % slower to 39 % faster than
#: what is likely, 13 % by root mean square of 27 medians, luck among it.
#: One processor that is client, server and link at once, without hardware to help: the lab's guest.
_WORST = _Assumptions(processor=0.4e9, most=0.4e9, alone=1.0, service=4.0, ahead=0.85, lossy=0.8, begun=1.5,
                  waited=0.9, luck="slow", measured=1.3)  # fmt: skip
_BEST = _Assumptions(processor=6e9, most=48e9, alone=0.0, service=0.3, ahead=1.2, lossy=1.25, begun=0.5,
                 waited=0.4, luck="quick", measured=0.8)  # fmt: skip
#: What is wrong together: a slow machine is slow in all that it does, and the lab's guest is both ends and
#: the link at once, and its copies are as uneven. How well TCP after losses is modelled, what the timer has
#: to find, and luck with losses tell nothing of it, nor of each other.
_MACHINES = ("processor", "most", "alone", "service", "measured", "ahead", "begun")
_GROUPS = (_MACHINES, ("lossy",), ("waited",), ("luck",))
_PROCESSORS = "the processors"
#: Copies over a quiet link differ by so much from what it carries, and no prediction is surer.
_MIN_ERROR = 0.12
_MAX_ERROR = 0.95
#: Loss is what bounds a copy that takes so many times as long as without.
_LOSS_BOUND_FACTOR = 1.15
#: A copy that loses less than this many packets on average loses none.
_MIN_LOST_PACKETS = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class CopySpec:
    """What is copied.

    Attributes:
        direction: read (from the server) or write.
        length: bytes in all.
        files: number of files of equal length.
        block: bytes of each call of the program.
        at_once: programs, or threads, that make such calls at the same time.
        base_s: what it took with attribute caching and without ``sync``, if that is known.
    """

    direction: Direction
    length: int
    files: int = 1
    block: int = 2**20
    at_once: int = 1
    base_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A predicted copy.

    Attributes:
        seconds: in all, until the data is on the server (write) or with the program (read).
        bytes_per_s: length over seconds.
        limit: what bounds it, as a short phrase.
        error: fraction by which it may be wrong either way: 0.3 means 30 %.
        unpredictable: why the speed is only a guess, which is not to be told as an expectation.
    """

    seconds: float
    bytes_per_s: float
    limit: str
    error: float
    unpredictable: Unpredictable = ""

    def holds(self, bytes_per_s: float) -> bool:
        """Return whether a measured speed is as near as the error says."""
        return abs(bytes_per_s - self.bytes_per_s) <= self.error * self.bytes_per_s


def predict(
    options: MountOptions,
    facts: Facts,
    work: CopySpec,
    *,
    read_ahead: int = DEFAULT_READAHEAD_BYTES,
    costs: ServerCosts | None = None,
) -> Prediction | None:
    """Return what a copy over TCP should take, or None if the link's rate or round trip is not known.

    Args:
        options: as asked for.
        facts: with the link's.
        work: what is copied.
        read_ahead: of the mount, bytes.
        costs: the server's, where they have been measured.
    """
    link = facts.link
    if link is None or link.rate_bps is None or link.rtt_s is None:
        return None
    server = facts.server
    copy = _CopyModel(
        work=work,
        link=link,
        values=implied_values(options),
        read_ahead=read_ahead,
        costs=costs or ServerCosts(),
        window=(facts.client.tcp_window_bytes or _TCP_BUFFER_BYTES) / 2,
        server_card=server.card if server is not None else None,
    )
    measured = costs is not None
    waits = copy.wait_times(_LIKELY, measured=measured)
    seconds = sum(waits.values())

    def shares(other: _Assumptions) -> list[float]:
        """Return by how much of its speed the copy differs with each group of the other assumptions."""
        moved = [replace(_LIKELY, **{name: getattr(other, name) for name in group}) for group in _GROUPS]
        return [abs(seconds / sum(copy.wait_times(one, measured=measured).values()) - 1) for one in moved]

    errors = [max(pair) for pair in zip(shares(_WORST), shares(_BEST), strict=True)]
    error = math.hypot(_MIN_ERROR + errors[0], *errors[1:])
    return Prediction(
        seconds=seconds,
        bytes_per_s=work.length / seconds,
        limit=max(waits, key=waits.__getitem__),
        error=round(min(_MAX_ERROR, error), 2),
        unpredictable="processors-unknown" if work.base_s is None and copy.processors_limit() else "",
    )


def cubic_throughput(link: LinkFacts, connections: int = 1) -> float:
    """Return what CUBIC carries at the link's loss, bytes per second (RFC 9438); infinite without loss.

    Args:
        link: its round trip must be known.
        connections: each has a window of its own.
    """
    if not link.loss or not link.rtt_s:
        return math.inf
    segment = _segment_bytes(link)
    cubic = _CUBIC_FACTOR * math.pow(link.rtt_s / link.loss, 0.75)
    reno = _RENO_FACTOR / math.sqrt(link.loss)
    return connections * segment * max(cubic, reno) / link.rtt_s


@dataclass(frozen=True, slots=True, kw_only=True)
class _CopyModel:
    """One copy whose time is asked for, with the options' values and half the TCP buffer as its window."""

    work: CopySpec
    link: LinkFacts
    values: dict[str, str]
    read_ahead: int
    costs: ServerCosts
    window: float
    server_card: str | None = None

    def wait_times(self, assumed: _Assumptions, *, measured: bool) -> dict[str, float]:
        """Return what is waited for, phrase to seconds."""
        work, rtt_s = self.work, self.link.rtt_s or 0.0
        service = assumed.measured if measured else assumed.service
        trip_s = rtt_s + service * self.costs.service_s
        waits = {
            "waiting for stable storage": self._commit_s(service),
            "asking for attributes": self._attributes_s(service),
        }
        if work.base_s is not None:
            return {"what it takes with attribute caching": work.base_s} | waits
        resend_s = 2 * (self.link.loss or 0.0) * (RTO_MIN_S + rtt_s) / assumed.lossy
        bounds = self._bounds(assumed, trip_s)
        free = _combined_bound(bounds.values())
        limit = min(bounds, key=bounds.__getitem__)
        moving, lossy = self._transfer_time(assumed, free)
        return waits | {
            lossy or limit: moving,
            "the round trips of each file": (work.files * _FILE_ROUND_TRIPS + _DIRECTORY_ROUND_TRIPS)
            * (trip_s + resend_s + _ROUND_TRIP_BYTES * 8 / self._rate_bps()),
            "TCP's slow start": self._slow_start_s(work.length / moving, assumed.begun),
            "the processors' own time": assumed.alone * work.length / bounds[_PROCESSORS],
        }

    def processors_limit(self) -> bool:
        """Whether all else would let through more than the slowest processors carry."""
        if self.link.loss:
            lossy = self._connections() * cubic_throughput(self.link)
            if lossy < _WORST.processor:
                return False
        bounds = self._bounds(_LIKELY, (self.link.rtt_s or 0.0) + self.costs.service_s)
        others = _combined_bound(bound for name, bound in bounds.items() if name != _PROCESSORS)
        return others > min(self._connections() * _WORST.processor, _WORST.most)

    def _transfer_time(self, assumed: _Assumptions, free: float) -> tuple[float, str]:
        """Return the seconds that the bytes take, and what bounds them if it is loss.

        Each of several connections sends its part beside the others, and may use what these leave.
        """
        length, loss, connections = self.work.length, self.link.loss or 0.0, self._connections()
        segment = _segment_bytes(self.link)
        if loss * length / segment < _MIN_LOST_PACKETS:
            return length / free, ""
        each = max(1, round(length / segment / connections))
        way = LossyLink(
            loss=loss, rtt_s=self.link.rtt_s or 0.0, rate=free / segment, waited=assumed.waited
        )  # fmt: skip
        played = simulate_lossy_copy(each, way)
        lucky = {"likely": played.likely, "slow": played.slow, "quick": played.quick}
        seconds = lucky[assumed.luck] / assumed.lossy
        seconds = max(seconds, length / connections / free)
        moving = seconds
        if connections > 1:
            moving = length / _combined_bound([free, length / seconds])
        if moving < _LOSS_BOUND_FACTOR * length / free:
            return moving, ""
        timed = played.timer_s > played.likely / 2
        return moving, "the wait before lost packets are sent again" if timed else "TCP on a lossy way"

    def _bounds(self, assumed: _Assumptions, trip_s: float) -> dict[str, float]:
        """Return phrase to bytes per second, without loss; what does not bound is infinite."""
        connections, rtt_s = self._connections(), self.link.rtt_s or 0.0
        rate = payload_rate_bps(self._rate_bps(), self.link.mtu or 1500) / 8
        bounds = {
            self._wire_name(): rate,
            "the TCP window over the round trip": connections * self.window / rtt_s if rtt_s else math.inf,
            _PROCESSORS: min(connections * assumed.processor, assumed.most),
        }
        size, slots = self._size(), self._slots()
        if self.work.direction == "write":
            # The program writes into the cache, and the kernel sends as much at once as the slots allow.
            return bounds | {"the requests at once over the round trip": slots * size / trip_s}
        ahead = self._readahead_bytes()
        under_way = min(2 * ahead, slots * size)
        wait_s = trip_s / assumed.ahead
        if connections == 1:
            # One window comes after the other while the next one is asked for.
            name, each_s = "the readahead over the round trip", wait_s + ahead * 8 / self._rate_bps()
        else:
            # Several connections carry all windows side by side, and then the link waits for the next ones.
            each_s = wait_s + under_way / rate
            name = "the readahead over the round trip" if wait_s > under_way / rate else self._wire_name()
        return bounds | {name: under_way / each_s}

    def _rate_bps(self) -> float:
        """Return the line rate: of the link, or of the server's adapter if that is known to be slower."""
        return min(self.link.rate_of(self.work.direction) or math.inf, self._adapter_bps())

    def _adapter_bps(self) -> float:
        card = network_cards().get(self.server_card or "")
        return card.rate_bps if card is not None else math.inf

    def _wire_name(self) -> str:
        slower = self._adapter_bps() < (self.link.rate_of(self.work.direction) or math.inf)
        return "the server's adapter" if slower else "the link's rate"

    def _size(self) -> int:
        return _transfer_size(self.values, "rsize" if self.work.direction == "read" else "wsize")

    def _slots(self) -> float:
        return math.inf if self.values.get("vers") in {"3", "4.0"} else _SESSION_SLOTS

    def _readahead_bytes(self) -> int:
        """Return the bytes of one window of readahead.

        While one is used up the next one is under way (mm/readahead.c); a call that is larger than the
        readahead asks for as much as one request holds. Seen over 40 ms: 2 x 128 KiB a trip.
        """
        return max(self.read_ahead, min(self.work.block, self._size()))

    def _connections(self) -> int:
        """Return how many connections carry something at once: requests go to each in turn."""
        requests = math.ceil(self.work.length / self.work.files / self._size())
        if self.work.direction == "read":
            requests = min(requests, 2 * math.ceil(self._readahead_bytes() / self._size()))
        return max(1, min(self._requested_connections(), requests))

    def _requested_connections(self) -> int:
        return _number(self.values.get("nconnect"), 1)

    def _slow_start_s(self, rate: float, factor: float) -> float:
        """Return what is lost until new connections send at this rate (RFC 5681, 3.1), seconds.

        Those that are used side by side begin side by side, and the next ones when it is their turn. The
        first window of readahead is asked for alone, on one connection.

        Args:
            rate: bytes per second.
            factor: of this time. With losses the first turn is in what throughput_loss plays, and only what
                the factor adds to it or takes from it is left.
        """
        rtt_s, connections = self.link.rtt_s or 0.0, self._connections()
        begun = min(self._requested_connections(), math.ceil(self.work.length / self._size()))
        turns = begun / connections if self.work.direction == "write" else 1 + (begun - 1) / connections
        window = min(rate * rtt_s, self.work.length / max(1.0, turns)) / connections
        if window <= _INITIAL_WINDOW_BYTES or turns <= 0:
            return 0.0
        doublings = math.log2(window / _INITIAL_WINDOW_BYTES)
        turn_s = max(0.0, doublings * rtt_s - (window - _INITIAL_WINDOW_BYTES) * connections / rate)
        return (factor * turns - (1.0 if self.link.loss else 0.0)) * turn_s

    def _commit_s(self, service: float) -> float:
        """Return the seconds that ``sync`` (and ``noac``, which implies it, nfs(5)) makes a writer wait.

        Each call waits for what it wrote, in however many requests that goes (fs/nfs/file.c: nfs_file_write).
        """
        work = self.work
        if work.direction != "write" or self.values.get("sync") != "sync":
            return 0.0
        per_write = service * self.costs.commit_s + (self.link.rtt_s or 0.0 if work.base_s is None else 0.0)
        return self._calls() * per_write

    def _attributes_s(self, service: float) -> float:
        """Return the seconds that are spent asking for attributes when none are cached (actimeo=0, noac)."""
        work, costs = self.work, self.costs
        if self.values.get("acregmax") != "0":
            return 0.0
        if work.direction == "write":
            return service * work.files * costs.create_s
        # A single large file is opened once: that is not seen in its time.
        return service * (self._calls() * costs.attributes_s + (work.files - 1) * costs.open_s)

    def _calls(self) -> float:
        """Return how often the program reads or writes; those that wait at the same time count once."""
        work = self.work
        return work.files * math.ceil(work.length / work.files / work.block) / work.at_once


def _combined_bound(bounds: Iterable[float]) -> float:
    """Return what several bounds leave together; the smallest if the others are far away."""
    return math.pow(sum(math.pow(bound, -_BOUND_EXPONENT) for bound in bounds), -1 / _BOUND_EXPONENT)


def _segment_bytes(link: LinkFacts) -> int:
    return (link.mtu or 1500) - 52


def _transfer_size(values: dict[str, str], name: str) -> int:
    asked = values.get(name)
    if asked is None or not asked.isdigit():
        return _DEFAULT_IO_SIZE
    return min(rounded_io_size(int(asked)), _DEFAULT_IO_SIZE)


def _number(value: str | None, default: int) -> int:
    return int(value) if value is not None and value.isdigit() else default

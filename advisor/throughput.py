"""Throughput model: the predicted time of a copy over TCP, from the link, the options and the copied files.

Four bounds limit a transfer, and the smallest counts most: the rate of the link in that direction, the bytes
in flight divided by the round-trip time, the throughput of TCP on a link with packet loss, and the speed of
the processors at both ends. Each synchronous operation adds a round trip and the server's service time.

Values that are unknown before a test have a likely, a worst and a best assumption: the server's times, the
processors, the random losses (throughput_loss). A prediction uses the likely values; its error comes from
predictions with the worst and the best ones. Where only the processors limit the speed, no prediction is
possible, and ``Prediction.unpredictable`` is set. tests/data/advice/measured.toml has the lab's measurements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from advisor.facts import payload_rate_bps
from advisor.identify import network_cards
from advisor.options import implied_values
from advisor.prediction import Direction, Prediction
from advisor.throughput_loss import RTO_MIN_S, LossyLink, simulate_lossy_copy
from advisor.transfer_sizes import rounded_io_size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from advisor.facts import Facts, LinkFacts
    from advisor.options import MountOptions

Luck = Literal["likely", "slow", "quick"]

#: Default readahead of every new mount since Linux 5.4, bytes (mm/backing-dev.c: VM_READAHEAD_PAGES).
DEFAULT_READAHEAD_BYTES = 128 * 1024
#: Negotiated rsize and wsize without options, on a server with 4 GiB of memory or more, bytes (fs/nfsd).
_DEFAULT_IO_SIZE = 2**20
#: Concurrent requests of one NFS 4.1 or 4.2 session (fs/nfs/nfs4session.h: NFS4_DEF_SLOT_TABLE_SIZE).
#: Versions 3 and 4.0 allow more per connection than any link needs.
_SESSION_SLOTS = 64
#: Default maximum of tcp_rmem, bytes. Half of it is overhead (ip-sysctl.rst).
_TCP_BUFFER_BYTES = 6 * 2**20
#: Factors of the mean window: of CUBIC with C = 0.4, beta = 0.7 (RFC 9438, 5.1), and of Reno (RFC 5681).
_CUBIC_FACTOR, _RENO_FACTOR = 1.054, 1.22
#: Initial window of a new connection, bytes (RFC 6928). It doubles with each round trip.
_INITIAL_WINDOW_BYTES = 10 * 1460
#: Exponent that combines bounds: 1 adds the times that each bound alone would cause; with infinity only the
#: smallest bound counts. In the lab, two equal bounds reduced the speed by one sixth.
_BOUND_EXPONENT = 4.0
#: Round trips of a small file, and bytes of one request with its reply, both from mountstats. The requests
#: are OPEN, WRITE and CLOSE, or OPEN, READ and CLOSE; in version 3 LOOKUP, CREATE and WRITE, or LOOKUP,
#: ACCESS and READ.
_FILE_ROUND_TRIPS, _ROUND_TRIP_BYTES = 3, 600
#: Round trips to find or create the directory and to check access, once: LOOKUP or CREATE, and ACCESS.
_DIRECTORY_ROUND_TRIPS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCosts:
    """Times that the server needs, seconds. The defaults are those of seed 003's server and of an idle one.

    Attributes:
        service_s: service time of an ordinary request.
        commit_s: time to commit one write to stable storage. Seed 003: 6.8 ms for its large file,
            (241 s - 18.8 s) / 32768 writes (cp's calls of 32 KiB), and 5.9 ms for its small files.
        attributes_s: time of the GETATTR before each read call without attribute caching. Seed 003:
            (22.8 s - 13.2 s) / 32768.
        open_s: additional time to open a file for reading without attribute caching, from seed 003's hundred
            small files.
        create_s: additional time to create a file without attribute caching, from the same files.
    """

    service_s: float = 0.1e-3
    commit_s: float = 6.4e-3
    attributes_s: float = 0.3e-3
    open_s: float = 11e-3
    create_s: float = 6e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assumptions:
    """Assumed values of quantities that are unknown before a test.

    Attributes:
        connection_processing: throughput of the processors for one connection, bytes per second.
        total_processing: throughput of the processors for all connections together, bytes per second.
        serial_share: fraction of the processing time that does not overlap with the transfer.
        service_factor: factor on the default server times.
        readahead_factor: factor on the speed that readahead allows.
        loss_factor: factor on the simulated TCP speed with losses, in addition to ``loss_quantile``.
        slow_start_factor: factor on the time of slow start.
        timer_share: fraction of the lost retransmissions that only the timer detects, not RACK.
        loss_quantile: quantile of the copies that throughput_loss simulates: the middle half, or the
            slowest or quickest eighth.
        measured_factor: factor on server times that were measured.
    """

    connection_processing: float
    total_processing: float
    serial_share: float
    service_factor: float
    readahead_factor: float
    loss_factor: float
    slow_start_factor: float
    timer_share: float
    loss_quantile: Luck = "likely"
    measured_factor: float = 1.0


#: ``connection_processing``: VAST's guide counts eight connections for 100 Gbit/s: 1.5 GB/s each.
#: ``timer_share``: with an RTT of 0.2 ms and 2 or 5 % loss the lab's copies ran at 2.6 to 8.8 MB/s: most lost
#: retransmissions waited for the timer.
_LIKELY = _Assumptions(
    connection_processing=1.5e9,
    total_processing=12e9,
    serial_share=0.0,
    service_factor=1.0,
    readahead_factor=1.0,
    loss_factor=1.0,
    slow_start_factor=1.0,
    timer_share=0.7,
)
#: ``loss_factor``: the lab's copies over nine lossy links were 22 % slower to 39 % faster than the likely
#: prediction; the root mean square of 27 medians was 13 %, random variation included.
#: The worst processor is the lab's guest: one processor is client, server and link, without offloading.
_WORST = _Assumptions(
    connection_processing=0.4e9,
    total_processing=0.4e9,
    serial_share=1.0,
    service_factor=4.0,
    readahead_factor=0.85,
    loss_factor=0.8,
    slow_start_factor=1.5,
    timer_share=0.9,
    loss_quantile="slow",
    measured_factor=1.3,
)
_BEST = _Assumptions(
    connection_processing=6e9,
    total_processing=48e9,
    serial_share=0.0,
    service_factor=0.3,
    readahead_factor=1.2,
    loss_factor=1.25,
    slow_start_factor=0.5,
    timer_share=0.4,
    loss_quantile="quick",
    measured_factor=0.8,
)
#: Assumptions of one group err together: a slow computer is slow in every respect. The groups are
#: independent: the model's error for TCP with losses, the timer and random losses say nothing of the others.
_HOST_ASSUMPTIONS = (
    "connection_processing",
    "total_processing",
    "serial_share",
    "service_factor",
    "measured_factor",
    "readahead_factor",
    "slow_start_factor",
)
_GROUPS = (_HOST_ASSUMPTIONS, ("loss_factor",), ("timer_share",), ("loss_quantile",))
_PROCESSORS = "the processors"
#: Least error of a prediction, as a fraction: copies over an idle link vary by this much.
_MIN_ERROR = 0.12
_MAX_ERROR = 0.95
#: A copy counts as limited by loss if loss makes it take this many times as long.
_LOSS_BOUND_FACTOR = 1.15
#: Below this expected number of lost packets a copy is computed without loss.
_MIN_LOST_PACKETS = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class CopySpec:
    """Description of a copy: direction, bytes, files and call size.

    Attributes:
        direction: read (from the server) or write.
        length: total bytes.
        files: number of files of equal length.
        block: bytes of each read or write call of the program.
        at_once: number of programs or threads that make such calls concurrently.
        base_s: measured time with attribute caching and without ``sync``, seconds; None if unknown.
    """

    direction: Direction
    length: int
    files: int = 1
    block: int = 2**20
    at_once: int = 1
    base_s: float | None = None


def predict(
    options: MountOptions,
    facts: Facts,
    work: CopySpec,
    *,
    read_ahead: int = DEFAULT_READAHEAD_BYTES,
    costs: ServerCosts | None = None,
) -> Prediction | None:
    """Return the predicted time of a copy over TCP, or None if the link's rate or round trip is unknown.

    Args:
        options: requested mount options.
        facts: facts about link, server and client.
        work: the copy.
        read_ahead: readahead of the mount, bytes.
        costs: measured times of the server; None for the defaults.
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

    def relative_errors(other: _Assumptions) -> list[float]:
        """Return how much the time changes with the values of ``other``, for each group of assumptions."""
        changed = [replace(_LIKELY, **{name: getattr(other, name) for name in group}) for group in _GROUPS]
        return [abs(seconds / sum(copy.wait_times(one, measured=measured).values()) - 1) for one in changed]

    errors = [max(pair) for pair in zip(relative_errors(_WORST), relative_errors(_BEST), strict=True)]
    error = math.hypot(_MIN_ERROR + errors[0], *errors[1:])
    return Prediction(
        seconds=seconds,
        bytes_per_s=work.length / seconds,
        limit=max(waits, key=waits.__getitem__),
        error=round(min(_MAX_ERROR, error), 2),
        unpredictable="processors-unknown" if work.base_s is None and copy.processors_limit() else "",
    )


def cubic_throughput(link: LinkFacts, connections: int = 1) -> float:
    """Return the mean throughput of CUBIC at the link's loss, bytes per second; infinite without loss.

    The formulas are those of RFC 9438, section 5.1, for CUBIC and of RFC 5681 for Reno; the greater counts.

    Args:
        link: the link; without a known round trip the result is infinite.
        connections: number of TCP connections, each with its own window.
    """
    if not link.loss or not link.rtt_s:
        return math.inf
    segment = _segment_bytes(link)
    cubic = _CUBIC_FACTOR * math.pow(link.rtt_s / link.loss, 0.75)
    reno = _RENO_FACTOR / math.sqrt(link.loss)
    return connections * segment * max(cubic, reno) / link.rtt_s


@dataclass(frozen=True, slots=True, kw_only=True)
class _CopyModel:
    """The inputs of one prediction; ``window`` is half of the TCP buffer, bytes."""

    work: CopySpec
    link: LinkFacts
    values: dict[str, str]
    read_ahead: int
    costs: ServerCosts
    window: float
    server_card: str | None = None

    def wait_times(self, assumed: _Assumptions, *, measured: bool) -> dict[str, float]:
        """Return the parts of the copy's time: phrase to seconds.

        Args:
            assumed: values of the unknown quantities.
            measured: whether the server's times were measured.
        """
        work, rtt_s = self.work, self.link.rtt_s or 0.0
        service = assumed.measured_factor if measured else assumed.service_factor
        trip_s = rtt_s + service * self.costs.service_s
        waits = {
            "waiting for stable storage": self._commit_s(service),
            "asking for attributes": self._attributes_s(service),
        }
        if work.base_s is not None:
            return {"what it takes with attribute caching": work.base_s} | waits
        resend_s = 2 * (self.link.loss or 0.0) * (RTO_MIN_S + rtt_s) / assumed.loss_factor
        bounds = self._bounds(assumed, trip_s)
        free = _combined_bound(bounds.values())
        limit = min(bounds, key=bounds.__getitem__)
        moving, lossy = self._transfer_time(assumed, free)
        return waits | {
            lossy or limit: moving,
            "the round trips of each file": (work.files * _FILE_ROUND_TRIPS + _DIRECTORY_ROUND_TRIPS)
            * (trip_s + resend_s + _ROUND_TRIP_BYTES * 8 / self._rate_bps()),
            "TCP's slow start": self._slow_start_s(work.length / moving, assumed.slow_start_factor),
            "the processors' own time": assumed.serial_share * work.length / bounds[_PROCESSORS],
        }

    def processors_limit(self) -> bool:
        """Whether every other bound is higher than the throughput of the slowest assumed processors."""
        if self.link.loss:
            lossy = self._connections() * cubic_throughput(self.link)
            if lossy < _WORST.connection_processing:
                return False
        bounds = self._bounds(_LIKELY, (self.link.rtt_s or 0.0) + self.costs.service_s)
        others = _combined_bound(bound for name, bound in bounds.items() if name != _PROCESSORS)
        return others > min(self._connections() * _WORST.connection_processing, _WORST.total_processing)

    def _transfer_time(self, assumed: _Assumptions, free: float) -> tuple[float, str]:
        """Return the seconds of the transfer, and the limiting phrase if loss is the limit, else "".

        The connections send their parts in parallel; each may use the rate that the others leave.

        Args:
            assumed: values of the unknown quantities.
            free: combined bound without loss, bytes per second.
        """
        length, loss, connections = self.work.length, self.link.loss or 0.0, self._connections()
        segment = _segment_bytes(self.link)
        if loss * length / segment < _MIN_LOST_PACKETS:
            return length / free, ""
        each = max(1, round(length / segment / connections))
        link = LossyLink(
            loss=loss, rtt_s=self.link.rtt_s or 0.0, rate=free / segment, timer_share=assumed.timer_share
        )  # fmt: skip
        simulated = simulate_lossy_copy(each, link)
        quantiles = {"likely": simulated.likely, "slow": simulated.slow, "quick": simulated.quick}
        seconds = quantiles[assumed.loss_quantile] / assumed.loss_factor
        seconds = max(seconds, length / connections / free)
        moving = seconds
        if connections > 1:
            moving = length / _combined_bound([free, length / seconds])
        if moving < _LOSS_BOUND_FACTOR * length / free:
            return moving, ""
        timed = simulated.timer_s > simulated.likely / 2
        return moving, "the wait before lost packets are sent again" if timed else "TCP on a lossy way"

    def _bounds(self, assumed: _Assumptions, trip_s: float) -> dict[str, float]:
        """Return the bounds without loss: phrase to bytes per second; infinite where nothing is limited."""
        connections, rtt_s = self._connections(), self.link.rtt_s or 0.0
        rate = payload_rate_bps(self._rate_bps(), self.link.mtu or 1500) / 8
        bounds = {
            self._wire_name(): rate,
            "the TCP window over the round trip": connections * self.window / rtt_s if rtt_s else math.inf,
            _PROCESSORS: min(connections * assumed.connection_processing, assumed.total_processing),
        }
        size, slots = self._size(), self._slots()
        if self.work.direction == "write":
            # The program writes into the cache; the slots limit the concurrent WRITE requests.
            return bounds | {"the requests at once over the round trip": slots * size / trip_s}
        window_bytes = self._readahead_bytes()
        in_flight = min(2 * window_bytes, slots * size)
        wait_s = trip_s / assumed.readahead_factor
        if connections == 1:
            # The windows arrive one after the other, and the next one is requested meanwhile.
            name, each_s = "the readahead over the round trip", wait_s + window_bytes * 8 / self._rate_bps()
        else:
            # Several connections carry all windows in parallel; then the link is idle until the next ones.
            each_s = wait_s + in_flight / rate
            name = "the readahead over the round trip" if wait_s > in_flight / rate else self._wire_name()
        return bounds | {name: in_flight / each_s}

    def _rate_bps(self) -> float:
        """Return the line rate, bit/s: of the link, or of the server's adapter if that is slower."""
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
        """Return the bytes of one readahead window.

        The kernel requests the next window while the program reads the current one (mm/readahead.c). A call
        larger than the readahead reads up to one request. Measured at 40 ms RTT: 2 x 128 KiB per round trip.
        """
        return max(self.read_ahead, min(self.work.block, self._size()))

    def _connections(self) -> int:
        """Return the number of connections in use at once: requests go to each in turn."""
        requests = math.ceil(self.work.length / self.work.files / self._size())
        if self.work.direction == "read":
            requests = min(requests, 2 * math.ceil(self._readahead_bytes() / self._size()))
        return max(1, min(self._requested_connections(), requests))

    def _requested_connections(self) -> int:
        return _number(self.values.get("nconnect"), 1)

    def _slow_start_s(self, rate: float, factor: float) -> float:
        """Return the time lost in slow start until new connections reach a rate (RFC 5681, 3.1), seconds.

        Connections in use at once start in parallel, the others later in turn. The first readahead window
        is requested alone, on one connection.

        Args:
            rate: rate that all connections together reach, bytes per second.
            factor: factor on the time. With losses, the simulation of throughput_loss contains the first
                turn, so that only the factor's difference from 1 counts for it.
        """
        rtt_s, connections = self.link.rtt_s or 0.0, self._connections()
        opened = min(self._requested_connections(), math.ceil(self.work.length / self._size()))
        turns = opened / connections if self.work.direction == "write" else 1 + (opened - 1) / connections
        window = min(rate * rtt_s, self.work.length / max(1.0, turns)) / connections
        if window <= _INITIAL_WINDOW_BYTES or turns <= 0:
            return 0.0
        doublings = math.log2(window / _INITIAL_WINDOW_BYTES)
        turn_s = max(0.0, doublings * rtt_s - (window - _INITIAL_WINDOW_BYTES) * connections / rate)
        return (factor * turns - (1.0 if self.link.loss else 0.0)) * turn_s

    def _commit_s(self, service: float) -> float:
        """Return the time that a writer waits with ``sync``, or ``noac``, which implies it (nfs(5)), seconds.

        Each write call waits once, however many requests carry its data (fs/nfs/file.c: nfs_file_write).
        """
        work = self.work
        if work.direction != "write" or self.values.get("sync") != "sync":
            return 0.0
        per_write = service * self.costs.commit_s + (self.link.rtt_s or 0.0 if work.base_s is None else 0.0)
        return self._calls() * per_write

    def _attributes_s(self, service: float) -> float:
        """Return the time of attribute requests without attribute caching (actimeo=0, noac), seconds."""
        work, costs = self.work, self.costs
        if self.values.get("acregmax") != "0":
            return 0.0
        if work.direction == "write":
            return service * work.files * costs.create_s
        # The single OPEN of a large file is negligible.
        return service * (self._calls() * costs.attributes_s + (work.files - 1) * costs.open_s)

    def _calls(self) -> float:
        """Return the number of read or write calls; concurrent calls count once."""
        work = self.work
        return work.files * math.ceil(work.length / work.files / work.block) / work.at_once


def _combined_bound(bounds: Iterable[float]) -> float:
    """Return the speed that several bounds together allow; nearly the smallest if the others are far away."""
    return math.pow(sum(math.pow(bound, -_BOUND_EXPONENT) for bound in bounds), -1 / _BOUND_EXPONENT)


def _segment_bytes(link: LinkFacts) -> int:
    return (link.mtu or 1500) - 52


def _transfer_size(values: dict[str, str], name: str) -> int:
    requested = values.get(name)
    if requested is None or not requested.isdigit():
        return _DEFAULT_IO_SIZE
    return min(rounded_io_size(int(requested)), _DEFAULT_IO_SIZE)


def _number(value: str | None, default: int) -> int:
    return int(value) if value is not None and value.isdigit() else default

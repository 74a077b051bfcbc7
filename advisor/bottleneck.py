"""Bottleneck of a transfer: the network, the server, the round trips, or this computer.

The verdict is based on measurements of one transfer: its speed relative to the link's rate, the server's
service time relative to the round-trip time, and the load of the processors. The verdict is "unclear" if no
check applies. The model is from queueing theory: by Little's law, the sum of all requests' round-trip times
divided by the elapsed time is the mean number of requests in flight. A request's round trip consists of the
time on the wire, the time in queues, and the service time of the server.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from advisor.facts import payload_rate_bps
from advisor.message import Message, message

if TYPE_CHECKING:
    from advisor.facts import LinkFacts

BottleneckKind = Literal["network", "server", "round-trips", "client", "unclear"]
TransferDirection = Literal["write", "read"]


class Evidence(StrEnum):
    """Observation behind a bottleneck; app.text.sentences has the sentences."""

    UNEXPLAINED = "evidence.unexplained"
    LINK_EXCEEDED = "evidence.link-exceeded"
    LINK_FULL = "evidence.link-full"
    LINK_FULL_WITH_OTHERS = "evidence.link-full-with-others"
    LINK_USED = "evidence.link-used"
    LAB_PROCESSOR = "evidence.lab-processor"
    PROCESSORS = "evidence.processors"
    PROCESSORS_ALL = "evidence.processors-all"
    PROCESSORS_KERNEL = "evidence.processors-kernel"
    PROCESSORS_TEST = "evidence.processors-test"
    OUT_OF_ORDER = "evidence.out-of-order"
    SEGMENTS_LOST = "evidence.segments-lost"
    SEGMENTS_LOST_BOUND = "evidence.segments-lost-bound"
    RETRANSMISSION_TIMER = "evidence.retransmission-timer"
    COMMIT = "evidence.commit"
    ROUND_TRIPS = "evidence.round-trips"
    ROUND_TRIPS_ONLY = "evidence.round-trips-only"
    SERVER_TIME = "evidence.server-time"
    WIRE_TIME = "evidence.wire-time"
    QUEUE = "evidence.queue"
    NULL_CALL = "evidence.null-call"
    SEND_QUEUE = "evidence.send-queue"
    RETRANSMITTED = "evidence.retransmitted"
    DROPS = "evidence.drops"


#: Fraction of the link's payload rate from which the link counts as full; the rest is lost at the beginning
#: and the end of a copy. The lab's copies over links from 10 Mbit/s to 1 Gbit/s reach 80 to 99 %.
_FULL_LINK_SHARE = 0.8
#: Fraction of the payload rate above which a transfer exceeded what the rate alone carries.
_EXCEEDED_SHARE = 1.005
#: Fraction of busy time from which a processor counts as saturated.
_BUSY_SHARE = 0.9
#: Fraction of a time from which a part of it counts as the main part.
_MAJOR_PART = 0.5
#: Shortest transfer whose processor load is known, seconds; processor time has a resolution of 10 ms
#: (proc(5), USER_HZ).
MIN_LOAD_TIME_S = 0.2
#: Greatest round-trip time of a local network, seconds.
_LAN_RTT_S = 2e-3
#: A queue on the link multiplies the round-trip time by at least this factor and adds at least this time,
#: seconds.
_QUEUE_RTT_FACTOR, _QUEUE_RTT_S = 2.0, 1e-3
#: A transfer counts as limited by loss if its speed is within this factor of CUBIC's mean (RFC 9438). The
#: lab's copies at 1 % loss reach 60 to 130 % of that mean at 2 ms RTT, and 70 to 100 % at 10 ms.
_LOSS_RATE_TOLERANCE = 2.0
#: Fewest retransmitted segments for an estimate of the loss rate; a stalled computer also causes single ones.
_MIN_RETRANSMISSIONS = 5
#: Least fraction of packets retransmitted, or received out of order, that counts as packet loss.
_MIN_LOSS = 0.005

#: Throughput that the lab's single processor always reaches, bytes per second; above, it may be the limit.
_LAB_BYTES_PER_S = 100e6


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceTraffic:
    """Counters of a network interface during a transfer, for all programs together.

    Attributes:
        received: bytes received.
        sent: bytes sent.
        drops: packets dropped, in both directions.
    """

    received: int
    sent: int
    drops: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferLoad:
    """Measurements of one transfer: times, requests, TCP counters and processor load.

    Attributes:
        seconds: elapsed time, including flush and close.
        bytes: file bytes transferred.
        calls: number of answered requests of all kinds (mountstats).
        rtt_s: sum of the requests' round-trip times, from the first byte passed to TCP to the reply, seconds.
        queue_s: sum of the requests' waiting times before that, seconds.
        commit_s: sum of the round-trip times of COMMIT, which flushes data to the server's disk, seconds.
        network_s: round-trip time of an RPC NULL call on the idle link, seconds, None without a reply.
        tcp_s: mean of TCP's smoothed round-trip time during the transfer, seconds, None if unknown.
        unsent: mean number of bytes in the client's TCP send queue.
        window_s: time during which the server's full receive window kept TCP from sending, seconds.
        segments: TCP segments sent.
        again: TCP segments retransmitted.
        received: TCP segments received.
        disordered: TCP segments received out of order.
        cpu: busy fraction of all processors together, None if the transfer was too short.
        core: greatest fraction of one processor's time in the kernel, None if the transfer was too short.
            One processor handles the packets of one connection. Time of programs does not count.
        worker: processor time of the copying process, as a fraction of one processor.
        interfaces: name of the network interface to its counters.
    """

    seconds: float
    bytes: int
    calls: int
    rtt_s: float
    queue_s: float
    commit_s: float
    network_s: float | None = None
    tcp_s: float | None = None
    unsent: float = 0.0
    window_s: float = 0.0
    segments: int = 0
    again: int = 0
    received: int = 0
    disordered: int = 0
    cpu: float | None = None
    core: float | None = None
    worker: float | None = None
    interfaces: dict[str, InterfaceTraffic] = field(default_factory=dict[str, InterfaceTraffic])

    @property
    def speed(self) -> float:
        """Speed of the transfer, bytes per second."""
        return self.bytes / max(self.seconds, 1e-9)

    @property
    def trip_s(self) -> float:
        """Mean round-trip time of a request, seconds; 0 without requests."""
        return self.rtt_s / self.calls if self.calls else 0.0

    @property
    def requests_in_flight(self) -> float:
        """Mean number of requests in flight (Little's law)."""
        return self.rtt_s / max(self.seconds, 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """The bottleneck of a transfer.

    Attributes:
        kind: network (rate or losses of the link), server (its disk or its service time), round-trips
            (latency of the link), client (this computer), or unclear.
        evidence: observations with figures, the decisive one first; a test of an older version has sentences.
        confidence: high, medium or low.
        way: direction of the transfer.
    """

    kind: BottleneckKind
    evidence: list[Message | str]
    confidence: Literal["high", "medium", "low"]
    way: TransferDirection = "write"


def find_bottleneck(way: TransferDirection, load: TransferLoad, link: LinkFacts | None) -> Bottleneck:
    """Return the bottleneck of one transfer.

    The first applicable check of _CHECKS decides. Evidence of other checks is added to the result.

    Args:
        way: direction of the transfer: write (to the server) or read.
        load: measurements of the transfer.
        link: facts about the link, None if unknown.
    """
    transfer = _TransferFigures(way, load, link)
    for check in _CHECKS:
        found = check(transfer)
        if found is not None:
            confidence = found.confidence if load.seconds >= MIN_LOAD_TIME_S else "low"
            evidence = [*found.evidence, *_other_evidence(transfer, found.kind)]
            return replace(found, evidence=evidence, confidence=confidence, way=way)
    return Bottleneck(
        kind="unclear",
        evidence=[message(Evidence.UNEXPLAINED), *_other_evidence(transfer, "unclear")],
        confidence="low",
        way=way,
    )


class _TransferFigures:
    """Measurements of a transfer and figures derived from them."""

    def __init__(self, way: TransferDirection, load: TransferLoad, link: LinkFacts | None) -> None:
        self.way = way
        self.load = load
        self.link = link
        rate = link.rate_of(way) if link is not None else None
        mtu = link.mtu if link is not None and link.mtu else 1500
        #: Payload rate of the link, bytes per second, None if unknown.
        self.line = payload_rate_bps(rate, mtu) / 8 if rate else None
        #: Mean transmission time of a request's data, seconds.
        self.wire_s = load.bytes / load.calls / self.line if self.line and load.calls else 0.0
        #: Round-trip time of the link when idle and during the transfer, seconds.
        self.idle_rtt_s = load.network_s or 0.0
        self.loaded_rtt_s = max(load.tcp_s or 0.0, self.idle_rtt_s)

    @property
    def idle_link(self) -> bool:
        """Whether TCP's round-trip time shows no queue on the link."""
        queued = (
            self.loaded_rtt_s > _QUEUE_RTT_FACTOR * self.idle_rtt_s
            and self.loaded_rtt_s - self.idle_rtt_s > _QUEUE_RTT_S
        )
        return self.load.tcp_s is not None and self.load.network_s is not None and not queued

    @property
    def busy(self) -> float:
        """Greatest busy fraction: of all processors, the kernel on one processor, or the copying process."""
        load = self.load
        if load.seconds < MIN_LOAD_TIME_S:
            return 0.0
        return max(load.cpu or 0.0, load.worker or 0.0, load.core or 0.0)

    @property
    def lost(self) -> float:
        """Fraction of packets lost: retransmitted when writing, received out of order when reading."""
        load = self.load
        if self.way == "read":
            return load.disordered / load.received if load.received else 0.0
        return load.again / load.segments if load.segments else 0.0

    @property
    def service_s(self) -> float:
        """Estimated service time of the server: mean round trip without link, queues and client, seconds."""
        unsent_s = (
            0.0
            if self.load.window_s > _MAJOR_PART * self.load.seconds
            else self.load.unsent / self.load.speed
        )
        # Replies to concurrent reads arrive one after the other; each waits for the previous ones.
        before_s = (
            self.wire_s * max(0.0, self.load.requests_in_flight - 1) if self.way == "read" else unsent_s
        )
        return max(0.0, self.load.trip_s - self.loaded_rtt_s - self.wire_s - before_s)


def _full_link(transfer: _TransferFigures) -> Bottleneck | None:
    """The link is full, by this transfer alone or together with other traffic."""
    load, link = transfer.load, transfer.link
    if transfer.line is None or link is None:
        return None
    part = load.speed / transfer.line
    if part >= _FULL_LINK_SHARE:
        # More than the rate is possible through data already in queues, or smaller headers.
        evidence = (
            message(Evidence.LINK_EXCEEDED, speed=load.speed, limit=transfer.line)
            if part > _EXCEEDED_SHARE
            else message(Evidence.LINK_FULL, share=min(part, 1), limit=transfer.line)
        )
        return _bottleneck("network", evidence, "high")
    traffic = load.interfaces.get(link.interface or "")
    if traffic is None:
        return None
    moved = traffic.sent if transfer.way == "write" else traffic.received
    whole = moved / max(load.seconds, 1e-9) / transfer.line
    if whole < _FULL_LINK_SHARE:
        return None
    return _bottleneck(
        "network",
        message(Evidence.LINK_FULL_WITH_OTHERS, interface=link.interface, share=whole, own=part),
        "high",
    )


def _busy_client(transfer: _TransferFigures) -> Bottleneck | None:
    """The processors are saturated, and the latency of the link does not explain the elapsed time.

    With packet loss, load by other programs does not count, since TCP may wait for its timers.
    """
    load = transfer.load
    if transfer.lost >= _MIN_LOSS and max(load.core or 0.0, load.worker or 0.0) < _BUSY_SHARE:
        return None
    if transfer.busy < _BUSY_SHARE or (
        transfer.idle_rtt_s > _LAN_RTT_S and load.calls * transfer.idle_rtt_s > _MAJOR_PART * load.seconds
    ):
        return None
    return _bottleneck("client", _processor_evidence(load), "high" if transfer.line else "medium")


def _tcp_loss(transfer: _TransferFigures) -> Bottleneck | None:
    """Packet loss limits TCP: the speed is near CUBIC's mean at that loss, or reads arrive out of order."""
    # Imported here because test workers load this module at startup and do not need the model.
    from advisor.throughput import cubic_throughput

    load = transfer.load
    if transfer.way == "read":
        if transfer.lost < _MIN_LOSS:
            return None
        return _bottleneck("network", message(Evidence.OUT_OF_ORDER, share=transfer.lost), "medium")
    if (
        load.again < _MIN_RETRANSMISSIONS
        or not load.segments
        or not transfer.idle_rtt_s
        or transfer.link is None
    ):
        return None
    bound = cubic_throughput(replace(transfer.link, loss=transfer.lost, rtt_s=transfer.idle_rtt_s))
    if load.speed < bound / _LOSS_RATE_TOLERANCE:
        return None
    evidence = message(Evidence.SEGMENTS_LOST, share=transfer.lost)
    if load.speed < bound:
        evidence = message(
            Evidence.SEGMENTS_LOST_BOUND, share=transfer.lost, rtt=transfer.idle_rtt_s, bound=bound
        )
    return _bottleneck("network", evidence, "medium")


def _retransmissions(transfer: _TransferFigures) -> Bottleneck | None:
    """Packet loss with a speed below CUBIC's mean at that loss: TCP waits for its retransmission timer.

    With a short round-trip time CUBIC's mean (RFC 9438) is far above the link's rate, and the timer
    determines the speed. With few segments in flight, no duplicate acknowledgments report a loss, and the
    timer runs for at least 200 ms (RFC 6298; include/net/tcp.h: TCP_RTO_MIN). At 100 Mbit/s, 0.2 ms RTT and
    2 % loss, where the mean exceeds the link's rate, the lab reached 7.6 MB/s.
    """
    load = transfer.load
    if transfer.way == "read" or load.again < _MIN_RETRANSMISSIONS or transfer.lost < _MIN_LOSS:
        return None
    return _bottleneck(
        "network",
        message(Evidence.RETRANSMISSION_TIMER, share=transfer.lost, count=load.again, total=load.segments),
        "medium",
    )


def _slow_disk(transfer: _TransferFigures) -> Bottleneck | None:
    """Most of the elapsed time went by in COMMIT, which flushes data to the server's disk."""
    load = transfer.load
    waited = load.commit_s / max(load.seconds, 1e-9)
    if waited < _MAJOR_PART:
        return None
    return _bottleneck(
        "server",
        message(Evidence.COMMIT, waited=load.commit_s, total=load.seconds),
        "high",
    )


def _round_trips(transfer: _TransferFigures) -> Bottleneck | None:
    """The link's latency is most of a request's round trip, and requests are in flight most of the time."""
    load = transfer.load
    if (
        not load.calls
        or transfer.idle_rtt_s < _MAJOR_PART * load.trip_s
        or load.requests_in_flight < _MAJOR_PART
    ):
        return None
    only = transfer.idle_rtt_s >= load.trip_s
    return _bottleneck(
        "round-trips",
        message(
            Evidence.ROUND_TRIPS_ONLY if only else Evidence.ROUND_TRIPS,
            trip=load.trip_s,
            rtt=transfer.idle_rtt_s,
            calls=load.calls,
            in_flight=load.requests_in_flight,
        ),
        "high" if transfer.line else "medium",
    )


def _slow_server(transfer: _TransferFigures) -> Bottleneck | None:
    """The server's service time is most of a request's round trip."""
    load = transfer.load
    if not load.calls or not load.network_s or load.requests_in_flight < _MAJOR_PART:
        return None
    if transfer.service_s < _MAJOR_PART * load.trip_s:
        return None
    sure = transfer.idle_link and transfer.line is not None
    return _bottleneck(
        "server",
        message(Evidence.SERVER_TIME, trip=load.trip_s, rtt=transfer.loaded_rtt_s, server=transfer.service_s),
        "high" if sure else "medium",
    )


def _slow_wire(transfer: _TransferFigures) -> Bottleneck | None:
    """The transmission of a request's data takes most of its round trip, with idle time in between."""
    load = transfer.load
    if not load.calls or transfer.wire_s < _MAJOR_PART * load.trip_s or load.requests_in_flight < _MAJOR_PART:
        return None
    return _bottleneck(
        "network",
        message(
            Evidence.WIRE_TIME, trip=load.trip_s, wire=transfer.wire_s, in_flight=load.requests_in_flight
        ),
        "medium",
    )


def _queueing(transfer: _TransferFigures) -> Bottleneck | None:
    """Packets queue on the link, which is therefore full although its rate is unknown."""
    load = transfer.load
    if load.tcp_s is None or load.network_s is None or transfer.idle_link:
        return None
    return _bottleneck(
        "network",
        message(Evidence.QUEUE, idle=transfer.idle_rtt_s, loaded=transfer.loaded_rtt_s),
        "medium",
    )


#: Checks in order of precedence.
_CHECKS = (
    _full_link, _busy_client, _tcp_loss, _slow_disk, _round_trips, _retransmissions, _slow_server, _slow_wire,
    _queueing,
)  # fmt: skip


def _other_evidence(transfer: _TransferFigures, kind: BottleneckKind) -> list[Message]:
    """Return further observations."""
    load, link = transfer.load, transfer.link
    found: list[Message] = []
    if transfer.line is not None and load.speed / transfer.line < _FULL_LINK_SHARE:
        found.append(message(Evidence.LINK_USED, share=load.speed / transfer.line))
        if link is not None and link.emulated and transfer.line > _LAB_BYTES_PER_S:
            found.append(message(Evidence.LAB_PROCESSOR))
    if transfer.busy >= _BUSY_SHARE and kind != "client":
        found.append(_processor_evidence(load))
    if load.network_s is not None and load.calls and kind not in {"round-trips", "server"}:
        found.append(message(Evidence.NULL_CALL, null=load.network_s, trip=load.trip_s))
    if load.queue_s > load.rtt_s and kind != "network":
        found.append(message(Evidence.SEND_QUEUE, waited=load.queue_s / load.calls))
    if load.again and kind != "network":
        found.append(message(Evidence.RETRANSMITTED, count=load.again, total=load.segments))
    traffic = load.interfaces.get(link.interface or "") if link is not None else None
    if traffic is not None and traffic.drops:
        found.append(message(Evidence.DROPS, count=traffic.drops))
    return found


def _processor_evidence(load: TransferLoad) -> Message:
    figures = (
        (Evidence.PROCESSORS_ALL, load.cpu),
        (Evidence.PROCESSORS_KERNEL, load.core),
        (Evidence.PROCESSORS_TEST, load.worker),
    )
    parts = [message(code, share=value) for code, value in figures if value is not None]
    return message(Evidence.PROCESSORS, parts=parts)


def _bottleneck(
    kind: BottleneckKind, evidence: Message, confidence: Literal["high", "medium", "low"]
) -> Bottleneck:
    return Bottleneck(kind=kind, evidence=[evidence], confidence=confidence)

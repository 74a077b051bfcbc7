"""Bottleneck of a transfer: the network, the server, the round trips, or this computer.

The verdict follows from what one transfer itself showed: its speed against the rate of the link, the server's
time against the round-trip time, and how busy the processors were. Where nothing of it is clear, the verdict
says so. The method is that of queues: by Little's law the sum of all requests' round-trip times over the time
is the number of requests in flight, and a round trip is the time on the wire, the time in queues, and the
time that the server takes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from advisor.facts import payload_rate_bps
from advisor.speeds import format_speed

if TYPE_CHECKING:
    from advisor.facts import LinkFacts

BottleneckKind = Literal["network", "server", "round-trips", "client", "unclear"]
TransferDirection = Literal["write", "read"]
#: What it is, for people.
BOTTLENECK_LABELS: dict[BottleneckKind, str] = {
    "network": "the network",
    "server": "the server",
    "round-trips": "the round trips to the server",
    "client": "this computer",
    "unclear": "it is not clear",
}

#: A copy that reaches this part of the link's payload rate is held back by the link: what is left goes into
#: its beginning and its end. The lab's copies over links from 10 Mbit/s to 1 Gbit/s reach 80 to 99 %.
_FULL_LINK_SHARE = 0.8
#: A processor that works for this part of the time has none left; the rest is waiting that cannot be used.
_BUSY_SHARE = 0.9
#: Most of the time, or of a round trip: more than everything else together.
_MAJOR_PART = 0.5
#: The processors' time is counted in hundredths of a second (proc(5), USER_HZ): below this it says nothing.
MIN_LOAD_TIME_S = 0.2
#: A way quicker than this is a local network's: there packets wait for processors, not the other way round.
_LAN_RTT_S = 2e-3
#: A queue on the way at least doubles the round trip, and by more than a busy computer's jitter.
_QUEUE_RTT_FACTOR, _QUEUE_RTT_S = 2.0, 1e-3
#: CUBIC's rate at a loss is a mean without time-outs (RFC 9438): what comes this near is held back by it. The
#: lab's copies at a loss of 1 % bring 60 to 130 % of it over 2 ms there and back, 70 to 100 % over 10 ms.
_LOSS_RATE_TOLERANCE = 2.0
#: Fewer segments sent again say nothing of a rate of loss: a computer that stalls sends one again, too.
_MIN_RETRANSMISSIONS = 5
#: Packets that came out of order, or were sent again, for each: so many are lost ones, not chance.
_MIN_LOSS = 0.005

#: Bytes a second that the lab's one processor carries in any case; from a gigabit on it may be what limits.
_LAB_BYTES_PER_S = 100e6


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceTraffic:
    """What an interface counted during a transfer, all programs together.

    Attributes:
        received: bytes.
        sent: bytes.
        drops: packets that were dropped, both ways.
    """

    received: int
    sent: int
    drops: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferLoad:
    """What one transfer did to the way, the server and this computer; counters of the transfer alone.

    Attributes:
        seconds: its time, flush and close included.
        bytes: of its files.
        calls: requests of any kind that were answered (mountstats).
        rtt_s: sum of their round trips, from the first byte handed to TCP to the answer.
        queue_s: sum of their waits before that.
        commit_s: sum of the round trips of COMMIT: the server puts on its disk what it was sent.
        network_s: round trip of an RPC that does nothing (NULL) on the idle link, None if it has no answer.
        tcp_s: mean of TCP's own smoothed round trip during the transfer, None if unknown.
        unsent: mean bytes that waited in this computer for TCP to send them.
        window_s: time that TCP could not send because the server's window was full.
        segments: TCP segments sent.
        again: TCP segments sent again.
        received: TCP segments received.
        disordered: TCP segments received out of order.
        cpu: part of the time that all processors together were busy, None if it was too short to say.
        core: the part that the kernel took of the processor that worked most for it, likewise: packets of one
            connection are handled by one processor. A program that keeps a processor busy does not count.
        worker: processor time of the copying process itself, in parts of one processor.
        interfaces: name to what it counted.
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
        """Bytes a second."""
        return self.bytes / max(self.seconds, 1e-9)

    @property
    def trip_s(self) -> float:
        """Mean round trip of a request, 0 without any."""
        return self.rtt_s / self.calls if self.calls else 0.0

    @property
    def requests_in_flight(self) -> float:
        """Mean number of requests under way (Little's law)."""
        return self.rtt_s / max(self.seconds, 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """What held a test back.

    Attributes:
        kind: network (the link or its losses), server (its disk or its own work), round-trips (each request
            waits for the way), client (this computer), or unclear.
        evidence: sentences with figures, the one that decided first.
        confidence: high, medium or low.
        way: the direction that it was found in.
    """

    kind: BottleneckKind
    evidence: list[str]
    confidence: Literal["high", "medium", "low"]
    way: TransferDirection = "write"


def find_bottleneck(way: TransferDirection, load: TransferLoad, link: LinkFacts | None) -> Bottleneck:
    """Return what held one transfer back.

    The first that is clear decides, in this order: a full link; a computer without time left; losses at
    which TCP cannot be faster; a server that is long about its disk; a way that is long; losses otherwise; a
    server that is long about everything else; requests that are long on the wire; a queue on a way of
    unknown rate.

    Args:
        way: to the server (write) or from it (read).
        load: what the transfer did.
        link: what is known of the way to the server.
    """
    seen = _TransferFigures(way, load, link)
    for look in _CHECKS:
        found = look(seen)
        if found is not None:
            confidence = found.confidence if load.seconds >= MIN_LOAD_TIME_S else "low"
            evidence = [*found.evidence, *_other_evidence(seen, found.kind)]
            return replace(found, evidence=evidence, confidence=confidence, way=way)
    return Bottleneck(
        kind="unclear",
        evidence=[
            "The link was not full, this computer not busy, and no wait explains the time.",
            *_other_evidence(seen, "unclear"),
        ],
        confidence="low",
        way=way,
    )


class _TransferFigures:
    """A transfer with what follows from it."""

    def __init__(self, way: TransferDirection, load: TransferLoad, link: LinkFacts | None) -> None:
        self.way = way
        self.load = load
        self.link = link
        rate = link.rate_of(way) if link is not None else None
        mtu = link.mtu if link is not None and link.mtu else 1500
        #: Payload bytes a second that the link carries, None if unknown.
        self.line = payload_rate_bps(rate, mtu) / 8 if rate else None
        #: Seconds of the time that a request is on the wire itself.
        self.wire_s = load.bytes / load.calls / self.line if self.line and load.calls else 0.0
        #: The way there and back without any load, and as it was under load.
        self.way_s = load.network_s or 0.0
        self.loaded_s = max(load.tcp_s or 0.0, self.way_s)

    @property
    def idle_link(self) -> bool:
        """Whether TCP saw no queue on the way."""
        queued = self.loaded_s > _QUEUE_RTT_FACTOR * self.way_s and self.loaded_s - self.way_s > _QUEUE_RTT_S
        return self.load.tcp_s is not None and self.load.network_s is not None and not queued

    @property
    def busy(self) -> float:
        """Return the part of the time that this computer, or one processor that it needed, worked."""
        load = self.load
        if load.seconds < MIN_LOAD_TIME_S:
            return 0.0
        return max(load.cpu or 0.0, load.worker or 0.0, load.core or 0.0)

    @property
    def lost(self) -> float:
        """The part of the packets that were sent again; a receiver knows it by the disorder."""
        load = self.load
        if self.way == "read":
            return load.disordered / load.received if load.received else 0.0
        return load.again / load.segments if load.segments else 0.0

    @property
    def service_s(self) -> float:
        """Return what is left of a mean round trip without the way, its queues and this computer's own."""
        unsent_s = (
            0.0
            if self.load.window_s > _MAJOR_PART * self.load.seconds
            else self.load.unsent / self.load.speed
        )
        # What was asked for together comes one after the other: answers wait on the link for those before.
        before_s = (
            self.wire_s * max(0.0, self.load.requests_in_flight - 1) if self.way == "read" else unsent_s
        )
        return max(0.0, self.load.trip_s - self.loaded_s - self.wire_s - before_s)


def _full_link(seen: _TransferFigures) -> Bottleneck | None:
    """The link carries what it can, for this copy alone or with what others send over it."""
    load, link = seen.load, seen.link
    if seen.line is None or link is None:
        return None
    part = load.speed / seen.line
    if part >= _FULL_LINK_SHARE:
        carries = format_speed(seen.line)
        if part > 1 and format_speed(load.speed) != carries:
            # What waited in queues before the test, and lengths of headers that differ from the usual ones.
            text = (
                f"At {format_speed(load.speed)} the test used all that the link can carry, which is about "
                f"{carries} by its rate."
            )
        else:
            text = f"The test used {_share(min(part, 1))} of the {carries} that the link can carry."
        return _bottleneck("network", text, "high")
    traffic = load.interfaces.get(link.interface or "")
    if traffic is None:
        return None
    moved = traffic.sent if seen.way == "write" else traffic.received
    whole = moved / max(load.seconds, 1e-9) / seen.line
    if whole < _FULL_LINK_SHARE:
        return None
    return _bottleneck(
        "network",
        f"The link was full: {link.interface} carried {_share(whole)} of what it can, the test itself "
        f"{_share(part)}. The rest was sent by others, or sent again.",
        "high",
    )


def _busy_client(seen: _TransferFigures) -> Bottleneck | None:
    """The processors work all the time, and not only because a long way leaves other work its time.

    Where packets are lost, another program's work does not count: TCP waits for its timers, too.
    """
    load = seen.load
    if seen.lost >= _MIN_LOSS and max(load.core or 0.0, load.worker or 0.0) < _BUSY_SHARE:
        return None
    if seen.busy < _BUSY_SHARE or (
        seen.way_s > _LAN_RTT_S and load.calls * seen.way_s > _MAJOR_PART * load.seconds
    ):
        return None
    return _bottleneck("client", _processor_text(load), "high" if seen.line else "medium")


def _tcp_loss(seen: _TransferFigures) -> Bottleneck | None:
    """Packets are lost: TCP sends as fast as CUBIC does at that loss; a receiver sees only the disorder."""
    # Imported here: each test's worker reads these structs at its start and has no use for the model.
    from advisor.throughput import cubic_throughput

    load = seen.load
    if seen.way == "read":
        if seen.lost < _MIN_LOSS:
            return None
        part = _share(seen.lost)
        text = f"{part} of the packets from the server came out of order: some were lost and sent again."
        return _bottleneck("network", text, "medium")
    if load.again < _MIN_RETRANSMISSIONS or not load.segments or not seen.way_s or seen.link is None:
        return None
    bound = cubic_throughput(replace(seen.link, loss=seen.lost, rtt_s=seen.way_s))
    if load.speed < bound / _LOSS_RATE_TOLERANCE:
        return None
    text = f"{_share(seen.lost)} of the segments were lost and retransmitted"
    if load.speed < bound:
        text += f". At a round-trip time of {_span(seen.way_s)} TCP brings about {format_speed(bound)}"
    return _bottleneck("network", f"{text}.", "medium")


def _retransmissions(seen: _TransferFigures) -> Bottleneck | None:
    """Packets are lost, and TCP is slower than its mean at that loss.

    On a short way the mean of CUBIC (RFC 9438) is far above the link's rate, and timers decide: with few
    segments under way no duplicate acknowledgments tell of a loss, and the retransmission timer does not run
    for less than 200 ms (RFC 6298; TCP_RTO_MIN of include/net/tcp.h). The lab over 100 Mbit/s and 0.2 ms
    there and back brought 7.6 MB/s at a loss of 2 %, where the mean allows more than the link carries.
    """
    load = seen.load
    if seen.way == "read" or load.again < _MIN_RETRANSMISSIONS or seen.lost < _MIN_LOSS:
        return None
    return _bottleneck(
        "network",
        f"{_share(seen.lost)} of the segments were lost and retransmitted ({load.again} of {load.segments}): "
        "TCP waits 200 ms or more for those that only its timer finds.",
        "medium",
    )


def _slow_disk(seen: _TransferFigures) -> Bottleneck | None:
    """The server is asked to put the data on its disk (COMMIT), and that is what takes the time."""
    load = seen.load
    waited = load.commit_s / max(load.seconds, 1e-9)
    if waited < _MAJOR_PART:
        return None
    return _bottleneck(
        "server",
        f"{_span(load.commit_s)} of {_span(load.seconds)} went by until the server had the data on its disk "
        "(COMMIT).",
        "high",
    )


def _round_trips(seen: _TransferFigures) -> Bottleneck | None:
    """A request is on its way for most of its round trip, and some request is for most of the time."""
    load = seen.load
    if not load.calls or seen.way_s < _MAJOR_PART * load.trip_s or load.requests_in_flight < _MAJOR_PART:
        return None
    trip = f"A request took {_span(load.trip_s)}, of which the way there and back takes {_span(seen.way_s)}"
    if seen.way_s >= load.trip_s:
        trip = f"A request took {_span(load.trip_s)}, no longer than one that does nothing"
    return _bottleneck(
        "round-trips",
        f"{trip}; {load.calls} requests were made, {load.requests_in_flight:.1f} at once.",
        "high" if seen.line else "medium",
    )


def _slow_server(seen: _TransferFigures) -> Bottleneck | None:
    """A request waits at the server for most of its round trip."""
    load = seen.load
    if not load.calls or not load.network_s or load.requests_in_flight < _MAJOR_PART:
        return None
    if seen.service_s < _MAJOR_PART * load.trip_s:
        return None
    sure = seen.idle_link and seen.line is not None
    return _bottleneck(
        "server",
        f"A request took {_span(load.trip_s)}, of which the way takes {_span(seen.loaded_s)}: the server "
        f"took about {_span(seen.service_s)}.",
        "high" if sure else "medium",
    )


def _slow_wire(seen: _TransferFigures) -> Bottleneck | None:
    """The bytes of a request need most of its round trip, and the link rests while the next one is made."""
    load = seen.load
    if not load.calls or seen.wire_s < _MAJOR_PART * load.trip_s or load.requests_in_flight < _MAJOR_PART:
        return None
    return _bottleneck(
        "network",
        f"A request took {_span(load.trip_s)}, of which its bytes need {_span(seen.wire_s)} on the link; "
        f"{load.requests_in_flight:.1f} were made at once.",
        "medium",
    )


def _queueing(seen: _TransferFigures) -> Bottleneck | None:
    """A link of unknown rate is full where packets queue on it."""
    load = seen.load
    if load.tcp_s is None or load.network_s is None or seen.idle_link:
        return None
    return _bottleneck(
        "network",
        f"Packets queued on the way: a round trip of {_span(seen.way_s)} became {_span(seen.loaded_s)} "
        "during the test.",
        "medium",
    )


#: What may decide, in order.
_CHECKS = (
    _full_link, _busy_client, _tcp_loss, _slow_disk, _round_trips, _retransmissions, _slow_server, _slow_wire,
    _queueing,
)  # fmt: skip


def _other_evidence(seen: _TransferFigures, kind: BottleneckKind) -> list[str]:
    """Return what else was seen than what decided."""
    load, link = seen.load, seen.link
    found: list[str] = []
    if seen.line is not None and load.speed / seen.line < _FULL_LINK_SHARE:
        found.append(f"The test used {_share(load.speed / seen.line)} of what the link can carry.")
        if link is not None and link.emulated and seen.line > _LAB_BYTES_PER_S:
            found.append(
                "The lab has one processor for client, server and link together: that, not the link, limits "
                "what it shows of such a rate."
            )
    if seen.busy >= _BUSY_SHARE and kind != "client":
        found.append(_processor_text(load))
    if load.network_s is not None and load.calls and kind not in {"round-trips", "server"}:
        found.append(
            f"A request that does nothing takes {_span(load.network_s)}, one of the test took "
            f"{_span(load.trip_s)}."
        )
    if load.queue_s > load.rtt_s and kind != "network":
        found.append(f"Requests waited {_span(load.queue_s / load.calls)} each before they were sent.")
    if load.again and kind != "network":
        found.append(f"{load.again} of {load.segments} packets were sent again.")
    traffic = load.interfaces.get(link.interface or "") if link is not None else None
    if traffic is not None and traffic.drops:
        found.append(f"The interface dropped {traffic.drops} packets meanwhile.")
    return found


def _processor_text(load: TransferLoad) -> str:
    figures = (
        ("all together", load.cpu),
        ("one of them, by the kernel", load.core),
        ("by the test", load.worker),
    )
    known = ", ".join(f"{name} {_share(value)}" for name, value in figures if value is not None)
    return f"This computer's processors were busy: {known}."


def _share(value: float) -> str:
    return f"{100 * value:.3g} %" if value < 0.095 else f"{100 * value:.0f} %"


def _bottleneck(kind: BottleneckKind, text: str, confidence: Literal["high", "medium", "low"]) -> Bottleneck:
    return Bottleneck(kind=kind, evidence=[text], confidence=confidence)


def _span(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"

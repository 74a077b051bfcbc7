"""How fast a copy should be: predicted from the link, the options and what the work is.

Three things bound a transfer, and the smallest counts: what the link carries, what is under way at once over
the round trip, and what TCP sends on a lossy way. Work that waits for the server adds a round trip and the
server's own time for each wait. The server's times are assumed (:class:`Costs`) until a measurement gives
better ones, and a prediction says by how much it may be wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from advisor.facts import payload_rate_bps
from advisor.kernel_numbers import rounded_io_size
from advisor.options import implied_values

if TYPE_CHECKING:
    from advisor.facts import Facts, LinkFacts
    from advisor.options import MountOptions

Direction = Literal["read", "write"]

#: What the kernel gives every new mount since 5.4 (mm/backing-dev.c: VM_READAHEAD_PAGES).
DEFAULT_READ_AHEAD = 128 * 1024
#: What client and server agree on when nothing is asked for, on a server with 4 GiB or more (fs/nfsd).
_NEGOTIATED_SIZE = 2**20
#: NFS 4.1 and later: requests of one session at once (fs/nfs/nfs4session.h: NFS4_DEF_SLOT_TABLE_SIZE).
#: Version 3 and 4.0 have more per connection than any link needs.
_SESSION_SLOTS = 64
#: Half of tcp_rmem's greatest value in an ordinary kernel, bytes: the rest is overhead (ip-sysctl.rst).
_TCP_WINDOW = 3 * 2**20
#: RFC 9438 section 5.1: mean window of CUBIC (C = 0.4, beta = 0.7), and section 4.3 with RFC 5681 of Reno.
_CUBIC, _RENO = 1.054, 1.22
#: RFC 6928: what a new connection sends before the first answer, bytes. It doubles with each round trip.
_FIRST_WINDOW = 10 * 1460
#: A lost packet with nothing behind it that would tell is sent again after this (include/net/tcp.h:
#: TCP_RTO_MIN), and a small request or its answer is such a packet.
_RESEND_S = 0.2
#: Bounds that lie so near to the smallest one are felt too.
_NEAR = 2.0
#: Round trips for a small file: open or create, write, commit or close, attributes; open, read, close.
_TRIPS_WRITE = 5
_TRIPS_READ = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What the server itself takes, seconds. The defaults are of seed 003's server and of an idle one.

    Attributes:
        service_s: for an ordinary request.
        commit_s: to put one write on stable storage. Seed 003: 6.8 ms in its large file, (241 s - 18.8 s)
            / 32768 writes, and 5.9 ms in its hundred small ones.
        attributes_s: to be asked for attributes before each uncached read: (22.8 s - 13.2 s) / 32768 there.
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
class Work:
    """What is copied.

    Attributes:
        direction: read (from the server) or write.
        length: bytes in all.
        files: number of files of equal length.
        block: bytes of each call of the program that reads.
        base_s: what it took with attribute caching and without ``sync``, if that is known.
    """

    direction: Direction
    length: int
    files: int = 1
    block: int = 2**20
    base_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A predicted copy.

    Attributes:
        seconds: in all, until the data is on the server (write) or with the program (read).
        bytes_per_s: length over seconds.
        limit: what bounds it, as a short phrase.
        error: fraction by which it may be wrong either way: 0.3 means 30 %.
    """

    seconds: float
    bytes_per_s: float
    limit: str
    error: float

    def holds(self, bytes_per_s: float) -> bool:
        """Return whether a measured speed is as near as the error says."""
        return abs(bytes_per_s - self.bytes_per_s) <= self.error * self.bytes_per_s


def predict(
    options: MountOptions,
    facts: Facts,
    work: Work,
    *,
    read_ahead: int = DEFAULT_READ_AHEAD,
    costs: Costs | None = None,
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
    values = implied_values(options)
    measured = costs is not None
    costs = costs or Costs()
    bounds = _bounds(link, values, work, read_ahead, costs)
    limit = min(bounds, key=bounds.__getitem__)
    transfer_s = work.length / bounds[limit] if work.base_s is None else work.base_s
    files_s = start_s = 0.0
    if work.base_s is None:
        trips = _TRIPS_WRITE if work.direction == "write" else _TRIPS_READ
        resend_s = 2 * (link.loss or 0.0) * (_RESEND_S + link.rtt_s)
        files_s = work.files * trips * (link.rtt_s + costs.service_s + resend_s)
        start_s = _slow_start_s(link.rtt_s, bounds[limit], work.length)
    waits = {
        limit: transfer_s,
        "the round trips of each file": files_s,
        "TCP's slow start": start_s,
        "waiting for stable storage": _stable_s(values, work, link, costs),
        "asking for attributes": _attributes_s(values, work, costs),
    }
    seconds = sum(waits.values())
    return Prediction(
        seconds=seconds,
        bytes_per_s=work.length / seconds,
        limit=max(waits, key=waits.__getitem__),
        error=_error(bounds, seconds, transfer_s, measured=measured),
    )


def tcp_loss_rate(link: LinkFacts, connections: int = 1) -> float:
    """Return what CUBIC carries at the link's loss, bytes per second (RFC 9438); infinite without loss.

    Args:
        link: its round trip must be known.
        connections: each has a window of its own.
    """
    if not link.loss or not link.rtt_s:
        return math.inf
    segment = (link.mtu or 1500) - 52
    cubic = _CUBIC * math.pow(link.rtt_s / link.loss, 0.75)
    reno = _RENO / math.sqrt(link.loss)
    return connections * segment * max(cubic, reno) / link.rtt_s


def _bounds(
    link: LinkFacts, values: dict[str, str], work: Work, read_ahead: int, costs: Costs
) -> dict[str, float]:
    """Return phrase to bytes per second; what is not known or does not bound is infinite."""
    rtt_s, rate_bps = link.rtt_s or 0.0, link.rate_bps or math.inf
    connections = _number(values.get("nconnect"), 1)
    bounds = {
        "the link's rate": payload_rate_bps(rate_bps, link.mtu or 1500) / 8,
        "the TCP window over the round trip": connections * _TCP_WINDOW / rtt_s if rtt_s else math.inf,
        "TCP on a lossy way": tcp_loss_rate(link, connections),
    }
    size = _transfer_size(values, "rsize" if work.direction == "read" else "wsize")
    slots = math.inf if values.get("vers") in {"3", "4.0"} else _SESSION_SLOTS
    trip_s = rtt_s + costs.service_s
    if work.direction == "write":
        # The program writes into the cache, and the kernel sends as much at once as the slots allow.
        return bounds | {"the requests at once over the round trip": slots * size / trip_s}
    # While one window of readahead is used up the next one is under way (mm/readahead.c); a call that is
    # larger than the readahead asks for as much as one request holds. Seen over 40 ms: 2 x 128 KiB a trip.
    window = max(read_ahead, min(work.block, size))
    under_way = min(2 * window, slots * size)
    bounds["the readahead over the round trip"] = under_way / (trip_s + window * 8 / rate_bps)
    return bounds


def _slow_start_s(rtt_s: float, rate: float, length: int) -> float:
    """Return what is lost until a new connection sends at this rate, bytes per second (RFC 5681, 3.1)."""
    window = min(rate * rtt_s, length)
    if window <= _FIRST_WINDOW:
        return 0.0
    return max(0.0, math.log2(window / _FIRST_WINDOW) * rtt_s - (window - _FIRST_WINDOW) / rate)


def _stable_s(values: dict[str, str], work: Work, link: LinkFacts, costs: Costs) -> float:
    """Return the seconds that ``sync`` (and ``noac``, which implies it, nfs(5)) makes a writer wait."""
    if work.direction != "write" or values.get("sync") != "sync":
        return 0.0
    per_write = costs.commit_s + (link.rtt_s or 0.0 if work.base_s is None else 0.0)
    return work.files * math.ceil(work.length / work.files / _transfer_size(values, "wsize")) * per_write


def _attributes_s(values: dict[str, str], work: Work, costs: Costs) -> float:
    """Return the seconds that are spent asking for attributes when none are cached (actimeo=0, noac)."""
    if values.get("acregmax") != "0":
        return 0.0
    if work.direction == "write":
        return work.files * costs.create_s
    reads = work.files * math.ceil(work.length / work.files / _transfer_size(values, "rsize"))
    # A single large file is opened once: that is not seen in its time.
    return reads * costs.attributes_s + (work.files - 1) * costs.open_s


def _transfer_size(values: dict[str, str], name: str) -> int:
    asked = values.get(name)
    if asked is None or not asked.isdigit():
        return _NEGOTIATED_SIZE
    return min(rounded_io_size(int(asked)), _NEGOTIATED_SIZE)


def _number(value: str | None, default: int) -> int:
    return int(value) if value is not None and value.isdigit() else default


def _error(bounds: dict[str, float], seconds: float, transfer_s: float, *, measured: bool) -> float:
    """Return how far off a prediction may be.

    A wire that is alone is sure, loss is chance, and a server's own time is a guess.
    """
    least = min(bounds.values())
    near = {name for name, bound in bounds.items() if bound < _NEAR * least}
    alone = near == {"the link's rate"}
    wire = 0.5 if "TCP on a lossy way" in near else 0.1 if alone else 0.35
    server = 0.2 if measured else 0.6
    share = transfer_s / seconds if seconds else 1.0
    return round(share * wire + (1 - share) * server, 2)

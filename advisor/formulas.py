"""Values that rules compute from facts: ``@name`` in resources/rules/advice-*.toml."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from advisor.facts import payload_rate_bps
from advisor.throughput import tcp_loss_rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.facts import Facts

#: The kernel's default readahead, and the 15 times rsize that kernels before 5.4 gave (fs/nfs/super.c), KiB.
_READ_AHEAD_KB = (128, 15360)
#: A reading program waits for this much besides the round trip: the server's own time for a request, seconds.
_SERVICE_S = 0.2e-3
#: A readahead window is one request as long as it is no larger than a request may be, and two are under way.
#: With less than this for each connection they had nothing to carry in turn: over 1 % loss the lab read
#: 6.2 MB/s with two connections and 128 KiB, 10.4 with 1 MiB, and 6.8 with one connection and either.
_CONNECTION_KB = 512
#: Less than what client and server agree on for a request, on most systems of today, cuts requests short.
_REQUEST_KB = 1024
#: Up to this shortage one connection still does as well as several, which begin slowly one by one: the mean
#: window is no surer than that.
_SHORT_OF = 1.25
#: So many times as many connections as the mean window asks for, because a reader waits for the slowest of
#: them: over 1 % loss, where 1.5 are asked for, the lab read 8.6, 9.5 and 11.3 MB/s with two, four and eight.
_SPARE = 4
#: Less loss than this does not count: a window that has begun by filling queues comes down by three tenths
#: a loss (RFC 9438, 4.6), and for as long as some hundred megabytes it is larger than its mean. Over 18 ms at
#: 200 Mbit/s and 0.005 % loss, where the mean is half of the link's rate, the lab read 110 MiB at 22.6 MB/s
#: with one connection, at 18.8 with four and at 19.5 with eight.
_COUNTS = 5e-4
#: More connections than this have not been found to help one mount.
_MOST_NEEDED = 8
#: A single request should not keep a slow wire to itself for longer, seconds.
_REQUEST_S = 0.1


def compute(value: str, facts: Facts) -> str | None:
    """Return the value of a rule for these facts, or None if a fact that it needs is unknown.

    Raises:
        KeyError: if there is no such formula.
    """
    return _FORMULAS[value[1:]](facts) if value.startswith("@") else value


def _read_ahead_kb(facts: Facts) -> str | None:
    """Twice what the link carries in a round trip, as a power of two; None if the kernel's default will do.

    Two windows of readahead are under way at once, so once would do for a server that answers at once.
    Connections that loss makes necessary want a share each.
    """
    link = facts.link
    if link is None or link.rate_bps is None or link.rtt_s is None:
        return None
    rate = payload_rate_bps(link.rate_bps, link.mtu or 1500) / 8
    wanted_kb = max(2 * rate * (link.rtt_s + _SERVICE_S) / 1024, _CONNECTION_KB * (_needed(facts) or 0))
    default, most = _READ_AHEAD_KB
    if wanted_kb <= default:
        return None
    return str(min(most, max(_REQUEST_KB, 2 ** math.ceil(math.log2(wanted_kb)))))


def _connections(facts: Facts) -> str | None:
    """Eight connections for 100 Gbit/s, as VAST's client guide counts them; at least two above 5 Gbit/s."""
    link = facts.link
    if link is None or link.rate_bps is None:
        return None
    return str(min(16, max(2, math.ceil(8 * link.rate_bps / 100e9))))


def _needed(facts: Facts) -> int | None:
    """How many connections carry the link's rate where one cannot, a power of two; None if one will do.

    What bounds one is the mean window at the link's loss (RFC 9438), and half of its greatest receive buffer
    a round trip. Each connection begins slowly and anew, so more than that cost: over 40 ms without loss the
    lab read 10.1 MB/s with one and 8.3 with four.
    """
    link = facts.link
    if link is None or link.rate_bps is None or not link.rtt_s:
        return None
    window = facts.client.tcp_window_bytes
    lossy = tcp_loss_rate(link) if (link.loss or 0.0) >= _COUNTS else math.inf
    one = min(lossy, math.inf if window is None else window / 2 / link.rtt_s)
    needed = payload_rate_bps(link.rate_bps, link.mtu or 1500) / 8 / one
    if needed <= _SHORT_OF:
        return None
    return min(_MOST_NEEDED, 1 << math.ceil(math.log2(_SPARE * needed)))


def _needed_connections(facts: Facts) -> str | None:
    needed = _needed(facts)
    return None if needed is None else str(needed)


def _members(facts: Facts) -> str | None:
    """One connection for each port of a bond (nfs(5), nconnect)."""
    link = facts.link
    return str(min(16, link.members)) if link is not None and link.members is not None else None


def _request_size(facts: Facts) -> str | None:
    """The largest power of two that the wire carries within a tenth of a second."""
    link = facts.link
    if link is None or link.rate_bps is None:
        return None
    return str(min(2**20, max(1024, 2 ** int(math.log2(link.rate_bps / 8 * _REQUEST_S)))))


_FORMULAS: dict[str, Callable[[Facts], str | None]] = {
    "read-ahead": _read_ahead_kb,
    "connections": _connections,
    "members": _members,
    "needed": _needed_connections,
    "request-size": _request_size,
}

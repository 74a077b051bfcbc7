"""Server health: whether an NFS server responds, decided from counters and calls; nothing is read here.

Signs of life are what only a server can cause: replies that the kernel counted (the xprt lines of
mountstats), bytes on a connection that the server acknowledged or sent (tcp_info), and an answered NULL call
(RFC 1813 §3.3.0, RFC 7530 §15.1). A slow link, a slow disk and a full queue are not silence while one moves.

A server is said not to respond when NULL calls in a row went unanswered with no sign of life, or when data
on a connection are not acknowledged although NULL calls are answered (a firewall that has forgotten it).
Seconds are counted by looks, each at most MAX_STEP_S: a program that was not scheduled for a while does not
take its own pause for silence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from app.mounts.model import TroubleReason

#: From the first NULL call without an answer until the server is said not to respond.
SILENT_S = 4.5
#: Sent data without an acknowledgement.
STUCK_S = 8.0
#: Requests without a reply where NULL calls cannot tell: a disk may take its time.
UNANSWERED_S = 30.0
#: A server with nothing to do is called this often.
IDLE_CALL_S = 2.5
#: One with requests that wait, after this long without a reply.
WAITING_CALL_S = 1.0
#: After a call without an answer.
RETRY_S = 0.5
#: NULL calls are answered, but a mount's requests are not yet: the client connects again by itself.
RECONNECT_S = 5.0
#: The most that one look counts for.
MAX_STEP_S = 1.0
_FAILURES = 2


class ServerCounters(NamedTuple):
    """One look at what the kernel counts of one server.

    Attributes:
        progress: counters that grow by what the server does, by what they belong to.
        outstanding: requests sent less replies, of each mount; what it was when nothing waited is the zero.
        in_flight: whether a connection has sent data that are not acknowledged.
    """

    progress: Mapping[Hashable, int]
    outstanding: Mapping[str, int]
    in_flight: bool = False


class ServerHealth:
    """What is known of one server. Times are monotonic seconds.

    Args:
        now: when it is first looked at.
        silent_s: as SILENT_S; a single look has less time.
        called_by_tcp: whether an unanswered NULL call says anything at the beginning. It does not where the
            mount uses another transport (RDMA) than the call.

    Attributes:
        down_since: when the first request without an answer was sent, None while the server responds.
        reason: why, "" while it responds.
        seen_alive: whether there has been a sign of life.
    """

    def __init__(self, now: float, *, silent_s: float = SILENT_S, called_by_tcp: bool = True) -> None:
        self.down_since: float | None = None
        self.reason: TroubleReason = ""
        self.seen_alive = False
        self._silent_s = silent_s
        self._trusted = called_by_tcp
        self._counters = ServerCounters({}, {})
        self._base: dict[str, int] = {}
        self._looked = now
        self._life = now - IDLE_CALL_S
        self._called = now - IDLE_CALL_S
        self._failures = 0
        self._first_failed: float | None = None
        self._last_reason: TroubleReason = ""
        self._silence_s = 0.0
        self._stuck_s = 0.0
        self._waiting_s = 0.0
        self._answered_s: float | None = None

    @property
    def is_suspect(self) -> bool:
        """Whether the last NULL call went unanswered, or the server does not respond."""
        return self.down_since is not None or self._first_failed is not None

    @property
    def is_decided(self) -> bool:
        """Whether there has been a sign of life, or enough silence."""
        return self.down_since is not None or (self.seen_alive and self._first_failed is None)

    def look(self, now: float, counters: ServerCounters) -> None:
        """Take in what the kernel counts now."""
        step = min(max(now - self._looked, 0.0), MAX_STEP_S)
        before, self._counters, self._looked = self._counters, counters, now
        self._base = {
            mount: min(self._base.get(mount, number), number)
            for mount, number in counters.outstanding.items()
        }
        if any(number > before.progress.get(key, number) for key, number in counters.progress.items()):
            self._is_alive(now)
            return
        if self._first_failed is not None:
            self._silence_s += step
        if self._answered_s is not None:
            self._answered_s += step
        self._stuck_s = self._stuck_s + step if counters.in_flight else 0.0
        self._waiting_s = self._waiting_s + step if self._is_waiting else 0.0
        self._judge(now)

    def answered(self, now: float) -> None:
        """Take in that the server answered a NULL call."""
        self._called = now
        self._trusted = True
        self.seen_alive = True
        self._failures, self._first_failed, self._silence_s = 0, None, 0.0
        if self.down_since is None:
            self._life = now
            self._base = dict(self._counters.outstanding)
            return
        if self._answered_s is None:
            self._answered_s = 0.0
        # Its own requests are what counts for a mount, unless they were given up and no reply will come.
        if not self._counters.in_flight and (not self._is_waiting or self._answered_s >= RECONNECT_S):
            self._is_alive(now)

    def failed(self, began: float, now: float, reason: TroubleReason) -> None:
        """Take in that a NULL call, begun at that time, had no answer."""
        self._called = now
        self._answered_s = None
        if self._life > began:
            # Requests of the mounts were answered meanwhile: something stands in the way of the call alone.
            self._trusted = False
            return
        self._failures += 1
        self._last_reason = reason
        if self._first_failed is None:
            self._first_failed = began
            self._silence_s = min(now - began, MAX_STEP_S)
        self._judge(now)

    def wants_call(self, now: float) -> bool:
        """Whether a NULL call is due; the caller makes one at a time."""
        rest = now - self._called
        if self.is_suspect:
            return rest >= RETRY_S
        if self._is_waiting or self._counters.in_flight:
            return now - self._life >= WAITING_CALL_S and rest >= WAITING_CALL_S
        return now - self._life >= IDLE_CALL_S and rest >= IDLE_CALL_S

    @property
    def _is_waiting(self) -> bool:
        return any(number > self._base.get(mount, number) for mount, number in
                   self._counters.outstanding.items())  # fmt: skip

    def _is_alive(self, now: float) -> None:
        self.seen_alive = True
        self._life = now
        self._failures, self._first_failed, self._answered_s = 0, None, None
        self._silence_s = self._stuck_s = self._waiting_s = 0.0
        self.down_since, self.reason = None, ""

    def _judge(self, now: float) -> None:
        if self.down_since is not None:
            return
        if self._first_failed is not None and self._failures >= _FAILURES:
            if self._trusted and self._silence_s >= self._silent_s:
                self.down_since, self.reason = self._first_failed, self._last_reason
            elif not self._trusted and self._waiting_s >= UNANSWERED_S:
                self.down_since, self.reason = now - self._waiting_s, self._last_reason
        if self.down_since is None and self._stuck_s >= STUCK_S:
            self.down_since, self.reason = now - self._stuck_s, "stuck"

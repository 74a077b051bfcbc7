"""Server health: decides from kernel counters and NULL calls whether an NFS server responds; does no I/O.

Signs of life are events that only a server can cause. They are replies counted by the kernel (xprt lines of
mountstats), bytes acknowledged or sent by the server (tcp_info), and answered NULL calls (RFC 1813 §3.3.0,
RFC 7530 §15.1). A slow link, a slow disk or a full queue is not silence while one of these counters grows.

A server does not respond in two cases. Several NULL calls in a row went unanswered without a sign of life.
Or data on a connection stay unacknowledged although NULL calls are answered, as when a firewall drops the
connection. Durations are sums of steps between updates, each at most MAX_STEP_S. So a pause of this program
does not count as silence of the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from app.mounts.model import TroubleReason

#: Time from the first unanswered NULL call until the server counts as not responding, s.
SILENT_S = 4.5
#: Time without an acknowledgement of sent data until the connection counts as stuck, s.
STUCK_S = 8.0
#: Time without replies until the server counts as not responding where NULL calls prove nothing, s.
UNANSWERED_S = 30.0
#: Interval of NULL calls to an idle server, s.
IDLE_CALL_S = 2.5
#: Time without a reply after which a server with outstanding requests is called, s.
WAITING_CALL_S = 1.0
#: Interval of NULL calls after an unanswered one, s.
RETRY_S = 0.5
#: Time after an answered NULL call in which the kernel's client reconnects by itself, s.
RECONNECT_S = 5.0
#: Longest time that one update adds to a duration, s.
MAX_STEP_S = 1.0
#: Unanswered NULL calls in a row until the server may count as not responding.
_FAILURES = 2


class ServerCounters(NamedTuple):
    """Kernel counters of one server at one moment.

    Attributes:
        progress: counters that grow with the server's activity, by transport or connection.
        outstanding: requests sent minus replies received, by mount; the idle value need not be zero.
        in_flight: whether a connection has unacknowledged data.
    """

    progress: Mapping[Hashable, int]
    outstanding: Mapping[str, int]
    in_flight: bool = False


class ServerHealth:
    """Health of one server. Times are monotonic seconds.

    Args:
        now: time of creation.
        silent_s: replaces SILENT_S, for a single check that must be quicker.
        called_by_tcp: whether unanswered NULL calls (over TCP) count from the beginning. They do not where
            the mount uses another transport, such as RDMA.

    Attributes:
        down_since: when the first unanswered request was sent, None while the server responds.
        reason: reason why the server does not respond, "" while it responds.
        seen_alive: whether there has been a sign of life.
    """

    def __init__(self, now: float, *, silent_s: float = SILENT_S, called_by_tcp: bool = True) -> None:
        self.down_since: float | None = None
        self.reason: TroubleReason = ""
        self.seen_alive = False
        self._silent_s = silent_s
        self._calls_conclusive = called_by_tcp
        self._counters = ServerCounters({}, {})
        self._idle_outstanding: dict[str, int] = {}
        self._updated_at = now
        self._last_alive_at = now - IDLE_CALL_S
        self._last_call_at = now - IDLE_CALL_S
        self._failures = 0
        self._first_failed_at: float | None = None
        self._last_reason: TroubleReason = ""
        self._silence_s = 0.0
        self._stuck_s = 0.0
        self._waiting_s = 0.0
        self._since_answer_s: float | None = None

    @property
    def is_suspect(self) -> bool:
        """Whether the last NULL call went unanswered, or the server does not respond."""
        return self.down_since is not None or self._first_failed_at is not None

    @property
    def is_decided(self) -> bool:
        """Whether there has been a sign of life, or enough silence."""
        return self.down_since is not None or (self.seen_alive and self._first_failed_at is None)

    def update(self, now: float, counters: ServerCounters) -> None:
        """Update the health from the kernel's counters; growth of ``progress`` is a sign of life."""
        step = min(max(now - self._updated_at, 0.0), MAX_STEP_S)
        before, self._counters, self._updated_at = self._counters, counters, now
        self._idle_outstanding = {
            mount: min(self._idle_outstanding.get(mount, number), number)
            for mount, number in counters.outstanding.items()
        }
        if any(number > before.progress.get(key, number) for key, number in counters.progress.items()):
            self._mark_alive(now)
            return
        if self._first_failed_at is not None:
            self._silence_s += step
        if self._since_answer_s is not None:
            self._since_answer_s += step
        self._stuck_s = self._stuck_s + step if counters.in_flight else 0.0
        self._waiting_s = self._waiting_s + step if self._is_waiting else 0.0
        self._judge(now)

    def answered(self, now: float) -> None:
        """Record an answered NULL call."""
        self._last_call_at = now
        self._calls_conclusive = True
        self.seen_alive = True
        self._failures, self._first_failed_at, self._silence_s = 0, None, 0.0
        if self.down_since is None:
            self._last_alive_at = now
            self._idle_outstanding = dict(self._counters.outstanding)
            return
        if self._since_answer_s is None:
            self._since_answer_s = 0.0
        # The server counts as alive when the mounts' own requests are answered too, or when RECONNECT_S has
        # passed and they were probably abandoned.
        if not self._counters.in_flight and (not self._is_waiting or self._since_answer_s >= RECONNECT_S):
            self._mark_alive(now)

    def failed(self, began: float, now: float, reason: TroubleReason) -> None:
        """Record an unanswered NULL call.

        Args:
            began: when the call was sent.
            now: present time.
            reason: how the call failed.
        """
        self._last_call_at = now
        self._since_answer_s = None
        if self._last_alive_at > began:
            # The mounts' requests were answered during the call, so only NULL calls are blocked.
            self._calls_conclusive = False
            return
        self._failures += 1
        self._last_reason = reason
        if self._first_failed_at is None:
            self._first_failed_at = began
            self._silence_s = min(now - began, MAX_STEP_S)
        self._judge(now)

    def wants_call(self, now: float) -> bool:
        """Return whether a NULL call is due; the caller makes one at a time."""
        since_last_call = now - self._last_call_at
        if self.is_suspect:
            return since_last_call >= RETRY_S
        if self._is_waiting or self._counters.in_flight:
            return now - self._last_alive_at >= WAITING_CALL_S and since_last_call >= WAITING_CALL_S
        return now - self._last_alive_at >= IDLE_CALL_S and since_last_call >= IDLE_CALL_S

    @property
    def _is_waiting(self) -> bool:
        return any(number > self._idle_outstanding.get(mount, number) for mount, number in
                   self._counters.outstanding.items())  # fmt: skip

    def _mark_alive(self, now: float) -> None:
        self.seen_alive = True
        self._last_alive_at = now
        self._failures, self._first_failed_at, self._since_answer_s = 0, None, None
        self._silence_s = self._stuck_s = self._waiting_s = 0.0
        self.down_since, self.reason = None, ""

    def _judge(self, now: float) -> None:
        if self.down_since is not None:
            return
        if self._first_failed_at is not None and self._failures >= _FAILURES:
            if self._calls_conclusive and self._silence_s >= self._silent_s:
                self.down_since, self.reason = self._first_failed_at, self._last_reason
            elif not self._calls_conclusive and self._waiting_s >= UNANSWERED_S:
                self.down_since, self.reason = now - self._waiting_s, self._last_reason
        if self.down_since is None and self._stuck_s >= STUCK_S:
            self.down_since, self.reason = now - self._stuck_s, "stuck"

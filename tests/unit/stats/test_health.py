"""Server health with simulated counters, calls and time."""

from __future__ import annotations

from itertools import count

import pytest

from app.stats.health import MAX_STEP_S, STUCK_S, UNANSWERED_S, ServerCounters, ServerHealth

TICK_S = 0.5
CALL_S = 2.0


class Server:
    """Simulated server and the monitor that updates its health at each tick.

    Attributes:
        up: whether the server answers calls.
        reads: whether its mounts send requests, which are answered while the server is up.
    """

    def __init__(self, **arguments: bool) -> None:
        self.now = 100.0
        self.health = ServerHealth(self.now, **arguments)
        self.up = True
        self.reads = False
        self.acknowledges = True
        self.refuses = False
        self.calls_pass = True
        self.sends = self.receives = self.acked = 50
        self.in_flight = False
        self.call_began: float | None = None
        self.calls = 0

    def counters(self) -> ServerCounters:
        return ServerCounters(
            {("xprt", "/mnt/a", 0): self.receives, ("tcp", 7): self.acked},
            {"/mnt/a": self.sends - self.receives},
            self.in_flight,
        )

    def tick(self, step: float = TICK_S) -> None:
        self.now += step
        if self.reads:
            if self.up:
                self.sends += 3
                self.receives = self.sends
                self.acked += 3000
            elif self.sends == self.receives:
                self.sends += 3
        answers = self.up and self.calls_pass
        if self.call_began is not None and answers:
            self.health.answered(self.now)
            self.call_began = None
        elif self.call_began is not None and (self.refuses or self.now - self.call_began >= CALL_S):
            self.health.failed(self.call_began, self.now, "refused" if self.refuses else "silent")
            self.call_began = None
        self.health.update(self.now, self.counters())
        if self.call_began is None and self.health.wants_call(self.now):
            self.call_began = self.now
            self.calls += 1

    def run(self, seconds: float) -> None:
        for _ in range(int(seconds / TICK_S)):
            self.tick()

    def until(self, *, down: bool, limit_s: float) -> float:
        """Return how long it took until it was found to be so."""
        began = self.now
        while (self.health.down_since is not None) is not down:
            assert self.now - began < limit_s
            self.tick()
        return self.now - began


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("phase_s", [0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
def test_an_outage_is_detected_within_nine_seconds(phase_s: float, *, refuses: bool, reads: bool) -> None:
    server = Server()
    server.reads = reads
    server.run(20 + phase_s)
    assert server.health.down_since is None
    died, server.up, server.refuses = server.now, False, refuses
    server.until(down=True, limit_s=9.0)
    assert server.health.down_since is not None
    assert 0 <= server.health.down_since - died <= 4
    assert server.health.reason == ("refused" if refuses else "silent")
    since = server.health.down_since
    server.run(100)
    assert server.health.down_since == since


@pytest.mark.parametrize("reads", [False, True])
def test_the_first_answer_ends_an_outage(*, reads: bool) -> None:
    server = Server()
    server.run(5)
    server.up, server.reads = False, reads
    server.until(down=True, limit_s=10)
    server.run(60)
    server.up = True
    assert server.until(down=False, limit_s=9) <= 4
    assert server.health.reason == ""


def test_a_server_down_from_the_beginning_is_detected() -> None:
    server = Server()
    server.up = False
    assert server.until(down=True, limit_s=9) >= 4


def test_a_restart_of_three_seconds_is_no_outage() -> None:
    server = Server()
    server.run(10)
    server.up, server.refuses = False, True
    server.run(3)
    server.up, server.refuses = True, False
    for _ in range(40):
        server.tick()
        assert server.health.down_since is None


def test_bytes_that_are_acknowledged_are_a_sign_of_life_while_no_call_gets_through() -> None:
    """The queue of a slow link is full: requests of 1 MiB delay replies and NULL calls."""
    server = Server()
    server.run(10)
    server.calls_pass, server.in_flight = False, True
    server.sends += 30
    for second in range(240):
        server.acked += 600_000
        if second % 40 == 39:
            server.receives += 1
        server.tick()
        assert server.health.down_since is None


def test_a_slow_disk_behind_a_server_that_answers_calls_is_no_silence() -> None:
    """COMMIT waits for the disk, without traffic or unacknowledged data on the connection."""
    server = Server()
    server.run(10)
    server.sends += 1
    for _ in range(240):
        server.tick()
        assert server.health.down_since is None


def test_a_pause_of_the_monitor_is_no_silence() -> None:
    server = Server()
    server.run(10)
    server.in_flight = True
    server.tick(60)
    server.tick(60)
    server.in_flight = False
    server.tick()
    assert server.health.down_since is None


def test_a_single_lost_call_is_no_outage() -> None:
    health = ServerHealth(0.0)
    health.answered(1.0)
    for second in count(2):
        now = float(second)
        health.update(now, ServerCounters({}, {}))
        if second == 5:
            health.failed(3.0, now, "silent")
        if second == 30:
            health.answered(now)
        if second > 40:
            break
        assert health.down_since is None


def test_a_connection_with_unacknowledged_data_is_stuck_although_calls_are_answered() -> None:
    server = Server()
    server.run(10)
    server.sends, server.in_flight = server.sends + 2, True
    assert server.until(down=True, limit_s=STUCK_S + 2 * MAX_STEP_S) >= STUCK_S - 1
    assert server.health.reason == "stuck"
    server.run(30)
    assert server.health.reason == "stuck"  # answered NULL calls do not end the outage
    server.receives, server.in_flight = server.sends, False
    server.tick()
    assert server.health.down_since is None


def test_without_null_calls_only_waiting_requests_reveal_an_outage() -> None:
    server = Server(called_by_tcp=False)
    server.calls_pass = False
    server.run(120)
    assert server.health.down_since is None
    server.reads, server.up = True, False
    assert server.until(down=True, limit_s=UNANSWERED_S + 5) >= UNANSWERED_S - 1
    server.up = True
    assert server.until(down=False, limit_s=2) <= 1


def test_null_calls_that_fail_while_requests_are_answered_no_longer_count() -> None:
    server = Server()
    server.run(5)
    server.calls_pass = False
    server.tick()
    while server.call_began is None:
        server.tick()
    server.reads = True
    server.run(CALL_S + 1)
    server.reads = False
    server.run(60)
    assert server.health.down_since is None


def test_abandoned_requests_do_not_prolong_an_outage() -> None:
    server = Server()
    server.run(5)
    server.up = False
    server.reads = True
    server.until(down=True, limit_s=10)
    server.reads = False  # the program was killed, so its requests get no reply
    server.up = True
    assert server.until(down=False, limit_s=10) >= 2


def test_an_idle_server_gets_few_null_calls_and_a_busy_one_none() -> None:
    server = Server()
    server.run(60)
    assert server.calls <= 60 / 2.5 + 1
    server.reads = True
    calls = server.calls
    server.run(60)
    assert server.calls <= calls + 1


def test_restarted_counters_are_no_sign_of_life() -> None:
    """Counters restart with a new connection, an added mount or a removed mount."""
    server = Server()
    server.run(5)
    server.up = False
    server.until(down=True, limit_s=10)
    server.receives = server.sends = server.acked = 0
    server.tick()
    server.health.update(
        server.now, ServerCounters({("tcp", 8): 99, ("xprt", "/mnt/b", 0): 7}, {"/mnt/b": 3})
    )
    assert server.health.down_since is not None

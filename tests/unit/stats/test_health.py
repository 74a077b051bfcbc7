"""Whether a server responds, decided from counters and calls alone: nothing here has a server or a clock."""

from __future__ import annotations

from itertools import count

import pytest

from app.stats.health import MAX_STEP_S, STUCK_S, UNANSWERED_S, ServerCounters, ServerHealth

TICK_S = 0.5
CALL_S = 2.0


class Server:
    """A server and the program that looks at it, second by second.

    Attributes:
        up: whether it answers calls.
        reads: whether requests of its mounts are under way, and answered while it is up.
    """

    def __init__(self, **how: bool) -> None:
        self.now = 100.0
        self.health = ServerHealth(self.now, **how)
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
        self.health.look(self.now, self.counters())
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
def test_silence_is_told_within_nine_seconds(phase_s: float, *, refuses: bool, reads: bool) -> None:
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
def test_the_first_answer_ends_it(*, reads: bool) -> None:
    server = Server()
    server.run(5)
    server.up, server.reads = False, reads
    server.until(down=True, limit_s=10)
    server.run(60)
    server.up = True
    assert server.until(down=False, limit_s=9) <= 4
    assert server.health.reason == ""


def test_a_server_that_was_dead_from_the_first_look_is_found() -> None:
    server = Server()
    server.up = False
    assert server.until(down=True, limit_s=9) >= 4


def test_a_restart_of_three_seconds_is_none() -> None:
    server = Server()
    server.run(10)
    server.up, server.refuses = False, True
    server.run(3)
    server.up, server.refuses = True, False
    for _ in range(40):
        server.tick()
        assert server.health.down_since is None


def test_bytes_that_are_acknowledged_are_a_sign_of_life_while_no_call_gets_through() -> None:
    """A full queue of a slow link: requests of 1 MiB, replies far apart, and calls that wait behind them."""
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
    """COMMIT waits for the disk; nothing moves on the connection, and nothing is in flight."""
    server = Server()
    server.run(10)
    server.sends += 1
    for _ in range(240):
        server.tick()
        assert server.health.down_since is None


def test_a_program_that_was_not_scheduled_does_not_take_its_pause_for_silence() -> None:
    server = Server()
    server.run(10)
    server.in_flight = True
    server.tick(60)
    server.tick(60)
    server.in_flight = False
    server.tick()
    assert server.health.down_since is None


def test_one_lost_call_is_no_silence() -> None:
    health = ServerHealth(0.0)
    health.answered(1.0)
    for second in count(2):
        now = float(second)
        health.look(now, ServerCounters({}, {}))
        if second == 5:
            health.failed(3.0, now, "silent")
        if second == 30:
            health.answered(now)
        if second > 40:
            break
        assert health.down_since is None


def test_a_connection_whose_data_nobody_acknowledges_is_stuck_although_calls_are_answered() -> None:
    server = Server()
    server.run(10)
    server.sends, server.in_flight = server.sends + 2, True
    assert server.until(down=True, limit_s=STUCK_S + 2 * MAX_STEP_S) >= STUCK_S - 1
    assert server.health.reason == "stuck"
    server.run(30)
    assert server.health.reason == "stuck"  # answered calls alone do not end it
    server.receives, server.in_flight = server.sends, False
    server.tick()
    assert server.health.down_since is None


def test_where_calls_never_get_through_idleness_says_nothing_and_waiting_requests_do() -> None:
    server = Server(called_by_tcp=False)
    server.calls_pass = False
    server.run(120)
    assert server.health.down_since is None
    server.reads, server.up = True, False
    assert server.until(down=True, limit_s=UNANSWERED_S + 5) >= UNANSWERED_S - 1
    server.up = True
    assert server.until(down=False, limit_s=2) <= 1


def test_calls_that_fail_while_requests_are_answered_are_not_trusted_any_more() -> None:
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


def test_requests_that_were_given_up_do_not_keep_a_server_silent_for_ever() -> None:
    server = Server()
    server.run(5)
    server.up = False
    server.reads = True
    server.until(down=True, limit_s=10)
    server.reads = False  # the program was killed: its replies never come
    server.up = True
    assert server.until(down=False, limit_s=10) >= 2


def test_an_idle_server_is_called_seldom_and_a_busy_one_not_at_all() -> None:
    server = Server()
    server.run(60)
    assert server.calls <= 60 / 2.5 + 1
    server.reads = True
    calls = server.calls
    server.run(60)
    assert server.calls <= calls + 1


def test_counters_that_begin_anew_are_no_sign_of_life() -> None:
    """A new connection, a mount more, a mount less."""
    server = Server()
    server.run(5)
    server.up = False
    server.until(down=True, limit_s=10)
    server.receives = server.sends = server.acked = 0
    server.tick()
    server.health.look(server.now, ServerCounters({("tcp", 8): 99, ("xprt", "/mnt/b", 0): 7}, {"/mnt/b": 3}))
    assert server.health.down_since is not None

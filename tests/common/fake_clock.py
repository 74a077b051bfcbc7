"""Fake clock for sessions of the helper: when nothing else is ready, time jumps to the end of a wait."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


class FakeClock:
    """Clock and poll function of a session: it advances only if no descriptor is ready.

    Attributes:
        time: current time, s.
        when_idle: function called before each advance; descriptors that it makes ready are served first.
    """

    def __init__(self) -> None:
        self.time = 1000.0
        self.when_idle: Callable[[], None] = lambda: None

    def now(self) -> float:
        return self.time

    def poll(
        self, readers: Collection[int], writers: Collection[int], timeout_s: float
    ) -> tuple[set[int], set[int]]:
        readable, writable, _ = select.select([*readers], [*writers], [], 0)
        if not readable and not writable:
            self.when_idle()
            readable, writable, _ = select.select([*readers], [*writers], [], 0)
        if not readable and not writable:
            self.time += max(0.0, timeout_s)
        return set(readable), set(writable)

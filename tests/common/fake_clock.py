"""Time and waiting for the helper's session: an hour passes in the moment in which nothing else happens."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


class FakeClock:
    """Stands still while there is something to read or to write, and jumps to the end of a wait otherwise.

    Attributes:
        time: seconds.
        when_idle: called before each jump; what it makes ready is served without the jump.
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

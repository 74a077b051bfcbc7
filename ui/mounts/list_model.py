"""How busy each mount was in the last minute, for the small curves in the list."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from app.stats.model import SpeedsSample

#: Samples that a curve shows: one minute, one a second.
KEPT = 60


class Trend(NamedTuple):
    """One mount's last minute.

    Attributes:
        values: bytes per second both ways together, the newest last; KEPT at most.
        timeouts: requests of that minute that got no answer in time.
    """

    values: tuple[float, ...]
    timeouts: int

    @property
    def now(self) -> float:
        """The newest value."""
        return self.values[-1]


class Speeds:
    """Keeps the trends of the mounts that were busy within the last minute. Plain data, no Qt."""

    def __init__(self) -> None:
        self._values: dict[str, deque[tuple[float, int]]] = {}

    def clear(self) -> None:
        """Forget everything."""
        self._values.clear()

    def take(self, sample: SpeedsSample) -> set[str]:
        """Add a sample; return the mount points whose curve looks different now."""
        changed = set(self._values) | set(sample.mounts)
        for point in changed:
            speed = sample.mounts.get(point)
            moved = (speed.read_bytes_per_s + speed.write_bytes_per_s, speed.timeouts) if speed else (0.0, 0)
            self._values.setdefault(point, deque(maxlen=KEPT)).append(moved)
        for point in [point for point, kept in self._values.items() if not any(map(any, kept))]:
            del self._values[point]
        return changed

    def trend(self, mount_point: str) -> Trend | None:
        """Return a mount's trend, None if it rested all the time."""
        kept = self._values.get(mount_point)
        if kept is None:
            return None
        return Trend(tuple(value for value, _ in kept), sum(timeouts for _, timeouts in kept))

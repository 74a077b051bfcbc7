"""How a running trial does beside the best one that ran: it is behind, or as slow as every trial begins."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.speedtest.model import TestEvent


def of_all(speeds: Sequence[float]) -> float:
    """Return bytes over the time of all directions together: their harmonic mean."""
    return len(speeds) / sum(1 / speed for speed in speeds)


class Pace(NamedTuple):
    """How one direction of a whole trial went.

    Attributes:
        speed: its figure, bytes a second.
        total: its bytes.
        points: bytes and the seconds that they took, from the beginning on.
    """

    speed: float
    total: int
    points: Sequence[tuple[int, float]]

    def seconds(self, done: int) -> float:
        """Return how long so many bytes took, between two points as on a straight line."""
        whole_s = self.total / self.speed
        points = [(0, 0.0), *self.points, (self.total, whole_s)]
        place = max(1, bisect_left(points, done, key=lambda point: point[0]))
        (before, began), (after, ended) = points[place - 1], points[min(place, len(points) - 1)]
        part = (done - before) / (after - before) if after > before else 1.0
        return min(whole_s, began + part * (ended - began))


class Running:
    """What a running trial has reached, each direction for itself."""

    def __init__(self, names: list[str], total: int) -> None:
        """Begin.

        Args:
            names: of the figures that count, in the order in which they are measured.
            total: bytes of each direction.
        """
        self._names = names
        self._total = total
        self._now: dict[str, tuple[int, float]] = {}
        self._points: dict[str, list[tuple[int, float]]] = {}

    def take(self, test: TestEvent) -> None:
        """Take what the test says."""
        sample = test.sample
        if sample is None or sample.t_s <= 0:
            return
        done = min(sample.server_bytes, self._total)
        points = self._points.setdefault(test.direction, [])
        if done > (points[-1][0] if points else 0):
            points.append((done, sample.t_s))
        self._now[test.direction] = done, sample.t_s

    def pace(self, name: str, speed: float) -> Pace:
        """Return how a direction went that has come to its end with this figure."""
        return Pace(speed, self._total, self._points.get(name, []))

    def at_most(self, best: Mapping[str, Pace]) -> tuple[float | None, float]:
        """Return the figure that it may come to, and the part of it that is measured.

        Of every trial the beginning is slow, on a long way most of it may be: what is left of this one may
        go as it did in the best one from there on.

        Args:
            best: of each figure; None is the answer where one is not known.
        """
        fraction = sum(done for done, _seconds in self._now.values()) / (self._total * len(self._names))
        if not self._now or not all(name in best for name in self._names):
            return None, fraction
        return of_all([self._best_end(name, best[name]) for name in self._names]), fraction

    def _best_end(self, name: str, best: Pace) -> float:
        done, seconds = self._now.get(name, (0, 0.0))
        return self._total / (seconds + best.seconds(self._total) - best.seconds(done))

    def reached(self, best: Mapping[str, Pace]) -> float:
        """Return what a trial that is given up would have come to, as slow beside the best as it was; or 0.0.

        What is not measured may be as good as the best.
        """
        if not all(name in best for name in self._names):
            return 0.0
        speeds: list[float] = []
        for name in self._names:
            done, seconds = self._now.get(name, (0, 0.0))
            there = best[name].seconds(done)
            speeds.append(best[name].speed * (there / seconds if there and seconds else 1.0))
        return of_all(speeds)

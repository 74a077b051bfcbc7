"""Searches that know nothing of factors, to compare with."""

from __future__ import annotations

import random
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surfaces import Surface


def random_search(surface: Surface, trials: int, seed: int) -> int:
    """Return the best of as many random sets, each tried once."""
    chance = random.Random(f"random {seed}")
    picked = chance.sample(range(len(surface.candidates)), trials)
    seen = {number: surface.measure(chance, number, place / trials) for place, number in enumerate(picked)}
    return max(seen, key=seen.__getitem__)


def successive_halving(surface: Surface, trials: int, seed: int) -> int:
    """Return the last of random sets, of which the better half goes on each time (Karnin et al., 2013)."""
    chance = random.Random(f"halving {seed}")
    rounds = 3
    left = chance.sample(range(len(surface.candidates)), max(2, trials // rounds))
    seen: dict[int, list[float]] = {number: [] for number in left}
    spent = 0
    for _ in range(rounds):
        each = max(1, (trials // rounds) // len(left))
        for _ in range(each):
            for number in left:
                seen[number].append(surface.measure(chance, number, spent / trials))
                spent += 1
        left = sorted(left, key=lambda number: median(seen[number]), reverse=True)[: max(1, len(left) // 2)]
    return left[0]

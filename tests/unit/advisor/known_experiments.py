"""Simulated outcomes of experiments with known effects, and a formatter for their figures."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

from advisor.experiment.measurements import READ, WRITE, TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Callable

#: Factors of most experiments here, with their levels.
SIZES = {"rsize": ["4096", "65536", "1048576"], "nconnect": ["1", "2", "4", "8"]}


def run(
    truth: Callable[[dict[str, str]], float],
    factors: dict[str, list[str]],
    *,
    repeats: int = 3,
    noise: float = 0.03,
    seed: int = 1,
) -> list[TrialOutcome]:
    """Return the trials of a full factorial experiment with these true speeds and a relative random error."""
    chance = random.Random(seed)
    sets = [dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())]
    plan = [(block, levels) for block in range(repeats) for levels in sets]
    return [
        TrialOutcome(
            levels=levels, workload="w", block=block, order=order,
            figures={"write": truth(levels) * chance.lognormvariate(0, noise)},
        )
        for order, (block, levels) in enumerate(plan)
    ]  # fmt: skip


def growing(levels: dict[str, str]) -> float:
    """Return a speed that doubles with each read size and depends on nothing else."""
    return 1e7 * {"4096": 1, "65536": 2, "1048576": 4}[levels["rsize"]]


def mb(figure: str, number: float) -> str:
    """Format a speed in MB/s, and other figures in seconds."""
    return f"{number / 1e6:.1f} MB/s" if figure in {WRITE, READ} else f"{number:.1f} s"

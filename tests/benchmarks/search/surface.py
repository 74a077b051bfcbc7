"""What a search is measured on: combinations, the true median of each, and figures that scatter around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

Levels = dict[str, str]


class Surface(NamedTuple):
    """A surface.

    Attributes:
        candidates: all combinations.
        truth: median of each.
        measure: what a trial of a candidate gives: chance, its number, part of the run that is over.
        default: number of the kernel's defaults.
        hoped: numbers of the candidates, what should be the best first, where somebody knows that beforehand.
    """

    candidates: list[Levels]
    truth: list[float]
    measure: Callable[[random.Random, int, float], float]
    default: int = 0
    hoped: Sequence[int] = ()

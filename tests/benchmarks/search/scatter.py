"""How much the trials of one set differ, as recorded in the lab (tests/data/search/scatter).

record_sweep.py recorded a few sets again and again on each link, in random order, on a quiet computer. What a
trial is away from the middle of its set is the noise that the drawn surfaces have.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from sweeps import DATA, away

if TYPE_CHECKING:
    from collections.abc import Sequence

_FILES = DATA / "scatter"


@cache
def scatters() -> dict[str, list[float]]:
    """Return for each link by how much its trials are away from their sets' middle; logarithms of factors."""
    return {path.name.removesuffix(".csv.gz"): away(path) for path in sorted(_FILES.glob("*.csv.gz"))}


def deviation(parts: Sequence[float]) -> float:
    """Return the standard deviation."""
    return math.sqrt(sum(each * each for each in parts) / len(parts))


def described() -> str:
    """Return the standard deviation on each link."""
    found = [f"{name} {100 * deviation(parts):.1f} %" for name, parts in scatters().items()]
    return f"{', '.join(found[:-1])} and {found[-1]}"

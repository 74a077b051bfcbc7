"""What each level of an experiment does alone, all factors taken together, and what that leaves unexplained.

Where every combination has a figure, a level does what the average of its sets says. Where one is missing,
that average lacks its partners as well, and what they do would look as if two factors acted on each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from advisor.experiment_values import Key

    #: Of each option set, the logarithm of its figure.
    Logs = dict[Key, float]

#: Where hardly any combination was tried, the parts approach what they are slowly.
_PASSES = 200
_EXACT = 1e-9


class Fit(NamedTuple):
    """Parts that add up to the logarithms.

    Attributes:
        parts: of each set, by factor, what its level does.
        left: of each set, what they all together do not explain.
    """

    parts: dict[str, dict[Key, float]]
    left: Logs

    def squares(self, factor: str) -> float:
        """Return the sum of squares over all sets of what a factor's levels do."""
        parts = self.parts.get(factor, {}).values()
        middle = sum(parts) / len(parts) if parts else 0.0
        return sum((part - middle) ** 2 for part in parts)


def fit(logs: Logs) -> Fit:
    """Return the parts of the least squares: each factor in turn takes the average of what is left."""
    members: dict[str, dict[str, list[Key]]] = {}
    for key in logs:
        for factor, level in key:
            members.setdefault(factor, {}).setdefault(level, []).append(key)
    middle = sum(logs.values()) / len(logs) if logs else 0.0
    left = {key: number - middle for key, number in logs.items()}
    parts = {factor: dict.fromkeys(logs, 0.0) for factor in members}
    for _ in range(_PASSES):
        moved = 0.0
        for factor, levels in members.items():
            for keys in levels.values():
                step = sum(left[key] for key in keys) / len(keys)
                moved = max(moved, abs(step))
                for key in keys:
                    left[key] -= step
                    parts[factor][key] += step
        if moved < _EXACT:
            break
    return Fit(parts, left)


def freedom_of(cells: Iterable[tuple[str, str]]) -> int:
    """Return in how many ways cells of a table may differ from the sums of its rows and columns."""
    cells = list(cells)
    # A table of two parts has a level for each.
    apart = parts_of(cells)
    return len(cells) - sum(len(part) for part in apart) + len(apart)


def parts_of(cells: Iterable[tuple[Hashable, Hashable]]) -> list[set[tuple[int, Hashable]]]:
    """Return the parts of a table that share no row and no column, each as (0, row) and (1, column)."""
    apart: list[set[tuple[int, Hashable]]] = []
    for cell in cells:
        ends = set(enumerate(cell))
        touched = [part for part in apart if part & ends]
        whole = touched[0] if touched else ends
        whole.update(ends, *touched[1:])
        apart = [part for part in apart if part not in touched[1:]] + ([] if touched else [whole])
    return apart

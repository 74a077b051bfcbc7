"""What held a grid back: each of its cells, and what they say together of either direction.

Of a direction the quickest cell in order says what a stream meets; the smallest requests at random say what
each request costs, and what it brings to have many under way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from advisor.bottleneck import KINDS, find_bottleneck
from advisor.experiment.intervals import spread_is_wide
from advisor.speeds import format_speed
from advisor.text.use_cases import enough_for
from app.units import format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.bottleneck import Bottleneck, Way
    from advisor.facts import LinkFacts
    from app.bench.grid_model import GridCell, GridRun

WAYS: dict[Way, str] = {"write": "To the server", "read": "From the server"}
#: What a virtual disk or a database writes at once, mostly.
SMALL_WRITE = 16 * 1024


def judged_cells(cells: Sequence[GridCell], link: LinkFacts | None) -> list[GridCell]:
    """Return the cells with what held back the run that counts, where there are counters to tell.

    Args:
        cells: as measured.
        link: what is known of the way to the server.
    """
    found: list[GridCell] = []
    for cell in cells:
        run = cell.middle
        load = run.load if run is not None else None
        verdict = find_bottleneck(cell.way, load, link) if load is not None else None
        found.append(msgspec.structs.replace(cell, bottleneck=verdict))
    return found


def held_text(found: Bottleneck) -> str:
    """Return what held a test back in one direction, without a full stop."""
    what = f"held back by {KINDS[found.kind]} ({found.confidence} confidence)"
    return f"{WAYS[found.way]}: {'what held it back is not clear' if found.kind == 'unclear' else what}"


def grid_bottleneck(cells: Sequence[GridCell]) -> Bottleneck | None:
    """Return what held the slower direction back, then the other one, then requests at random.

    Args:
        cells: judged.
    """
    known = _known(cells)
    quickest = [found for way in WAYS if (found := _quickest(known, way)) is not None]
    if not quickest:
        return None
    lead, *rest = sorted(quickest, key=lambda item: item.run.bytes_per_s)
    others = [f"{WAYS[item.cell.way]}: {KINDS[item.verdict.kind]}. {item.quickest_text}" for item in rest]
    random = [line for way in WAYS if (line := _random_line(known, way))]
    return replace(lead.verdict, evidence=[lead.quickest_text, *lead.verdict.evidence[1:], *others, *random])


def grid_uses(cells: Sequence[GridCell]) -> list[str]:
    """Return what the slowest repeats of the cells are enough for, those that are not too far apart.

    Args:
        cells: judged.
    """
    known = _known(cells)
    speeds = {
        way: min(run.bytes_per_s for run in found.cell.runs)
        for way in WAYS
        if (found := _quickest(known, way)) is not None and found.cell.in_order and not _is_wide(found.cell)
    }
    small = [
        min(run.iops for run in item.cell.runs)
        for item in known
        if item.cell.pattern == "randwrite" and item.cell.record <= SMALL_WRITE and item.cell.at_once == 1
        if not _is_wide(item.cell)
    ]
    return enough_for(
        read=speeds.get("read"), write=speeds.get("write"), small_writes=min(small, default=None)
    )


class _Known(NamedTuple):
    """A cell with the run that counts and its verdict."""

    cell: GridCell
    run: GridRun
    verdict: Bottleneck

    @property
    def quickest_text(self) -> str:
        """What was the quickest, and why it was not quicker."""
        order = "In order" if self.cell.in_order else "At random"
        return (
            f"{order}, {format_size(self.cell.record)} each, {_many(self.cell)}, was the quickest: "
            f"{format_speed(self.run.bytes_per_s)}. {self.verdict.evidence[0]}"
        )

    @property
    def rate_text(self) -> str:
        """How many requests were answered, and what held them back."""
        kind = self.verdict.kind
        why = "it is not clear why no more" if kind == "unclear" else f"held back by {KINDS[kind]}"
        return f"{_many(self.cell)} {self.run.iops:.0f} requests a second, {why}"


def _known(cells: Sequence[GridCell]) -> list[_Known]:
    return [
        _Known(cell, run, verdict)
        for cell in cells
        if (run := cell.middle) is not None and (verdict := cell.bottleneck) is not None
    ]


def _is_wide(cell: GridCell) -> bool:
    return spread_is_wide([run.bytes_per_s for run in cell.runs])


def _many(cell: GridCell) -> str:
    return f"{cell.at_once} at once" if cell.at_once > 1 else "one at a time"


def _quickest(known: Sequence[_Known], way: Way) -> _Known | None:
    """Return the quickest cell in order, of a grid without such cells the quickest."""
    mine = [item for item in known if item.cell.way == way]
    return max(
        [item for item in mine if item.cell.in_order] or mine,
        key=lambda item: item.run.bytes_per_s,
        default=None,
    )


def _random_line(known: Sequence[_Known], way: Way) -> str:
    """Return what the smallest requests at random met, few and many at once; "" without any."""
    mine = [item for item in known if item.cell.way == way and not item.cell.in_order]
    if not mine:
        return ""
    record = min(item.cell.record for item in mine)
    few, *more = sorted((item for item in mine if item.cell.record == record), key=lambda i: i.cell.at_once)
    rates = "; ".join(item.rate_text for item in [few, *more[-1:]])
    return f"{WAYS[way]}, at random, {format_size(record)} each: {rates}. {few.verdict.evidence[0]}"

"""What the repeats of a test say together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from advisor.bottleneck import KINDS, SHORTEST_S, find_bottleneck
from advisor.experiment.intervals import interval, median, single_outlier, spread_is_wide
from advisor.speeds import format_speed
from advisor.text.use_cases import enough_for
from app.bench.grid_verdict import SMALL_WRITE, WAYS
from app.bench.verdict import cache_report, flag_cached
from app.speedtest.model import SMALL_READS, SPEEDS, Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.bottleneck import Bottleneck, Way
    from advisor.facts import LinkFacts
    from app.speedtest.messages import OwnSize, Round
    from app.speedtest.model import CacheReport, TestSpec, Transfer


#: What the repeats of a figure are called in a note.
_OF = {
    "write": "to the server", "read": "from the server", "create": "of making files",
    "stat": "of looking up files", "delete": "of deleting files",
    SMALL_READS: "of small reads",
}  # fmt: skip
CACHED_SMALL_READ = "The small reads came at least partly from the client's cache: they are not compared."
#: Files at least as large as this show the speed of a stream.
_STREAM = 2**20


def figures(rounds: Sequence[Round]) -> dict[str, Figure]:
    """Return each figure over the rounds that count, by name."""
    found: dict[str, Figure] = {}
    for name, transfers in (
        ("write", [item.write for item in rounds if item.write is not None]),
        ("read", [item.read for item in rounds if item.read is not None]),
        (SMALL_READS, [item.small_read for item in rounds if item.small_read is not None]),
    ):
        if transfers:
            figure = _figure([transfer.bytes_per_s for transfer in transfers])
            found[name] = msgspec.structs.replace(
                figure,
                timeouts=sum(transfer.timeouts for transfer in transfers),
                retransmissions=sum(transfer.retransmissions for transfer in transfers),
            )
    for name in ("create", "stat", "delete"):
        values = [item.rates[name] for item in rounds if name in item.rates]
        if values:
            found[name] = _figure(values)
    return found


def middle(transfers: Sequence[Transfer]) -> Transfer | None:
    """Return the transfer with the median speed, of two in the middle the slower; None if there is none."""
    if not transfers:
        return None
    return sorted(transfers, key=lambda transfer: transfer.bytes_per_s)[(len(transfers) - 1) // 2]


def judged_reads(
    rounds: Sequence[Round], link: LinkFacts | None
) -> tuple[list[Transfer], CacheReport | None]:
    """Return the reads, flagged if they cannot be believed, and one report: of the first bad one if any.

    Args:
        rounds: those that count.
        link: what is known of the way to the server.
    """
    reads: list[Transfer] = []
    reports: list[CacheReport] = []
    for item in rounds:
        if item.read is not None and item.cache is not None:
            report = cache_report(item.read, item.cache.method, link)
            reports.append(report)
            reads.append(msgspec.structs.replace(item.read, cached=report.cached))
    bad = [report for report in reports if report.cached]
    return reads, next(iter([*bad, *reports]), None)


def judged_small_reads(rounds: Sequence[Round], link: LinkFacts | None) -> list[Transfer]:
    """Return the reads with small calls, flagged if they cannot be believed."""
    return [
        msgspec.structs.replace(item.small_read, cached=flag_cached(item.small_read, link)[0])
        for item in rounds
        if item.small_read is not None
    ]


def bottleneck(write: Transfer | None, read: Transfer | None, link: LinkFacts | None) -> Bottleneck | None:
    """Return what held the slower direction back, with a last sentence on the other; None without counters.

    Args:
        write: the transfer to the server.
        read: the one from it; one from the cache says nothing.
        link: what is known of the way to the server.
    """
    ways: tuple[tuple[Way, Transfer | None], ...] = (("write", write), ("read", read))
    known = [
        (transfer.bytes_per_s, find_bottleneck(way, transfer.load, link))
        for way, transfer in ways
        if transfer is not None and transfer.load is not None and not transfer.cached
    ]
    if not known:
        return None
    (_, slower), *rest = sorted(known, key=lambda item: item[0])
    others = [f"{WAYS[other.way]}: {KINDS[other.kind]}. {other.evidence[0]}" for _, other in rest]
    return replace(slower, evidence=[*slower.evidence, *others])


def outlier_notes(found: dict[str, Figure]) -> list[str]:
    """Return a sentence for each figure of which a single repeat does not fit the others."""
    notes: list[str] = []
    for name, figure in found.items():
        odd = single_outlier(figure.values)
        if odd is not None:
            form = format_speed if name in SPEEDS else _per_s
            notes.append(
                f"Outlier: repeat {odd.place + 1} of {len(figure.values)} {_OF[name]} was "
                f"{abs(100 * (odd.ratio - 1)):.0f} % {'above' if odd.ratio > 1 else 'below'} the median "
                f"({form(odd.value)}, median {form(figure.median)})."
            )
    return notes


def _per_s(rate: float) -> str:
    return f"{rate:.3g} a second"


def uses(spec: TestSpec, found: dict[str, Figure], *, own: OwnSize | None = None, cached: bool) -> list[str]:
    """Return what the figures are enough for; of one file its speeds, of small ones how many are flushed.

    Nothing is said of a figure that spreads too widely to conclude from, and of a copy that was over at once.

    Args:
        spec: the test.
        found: its figures, the low ends of which count.
        own: how much the person's own files are, if they are what was copied: of small ones a stream cannot
            be told.
        cached: whether the read cannot be believed.
    """
    amount = own.bytes if own is not None else spec.total
    write = _sure(found.get("write"), amount)
    read = _sure(found.get("read"), amount * spec.passes) if not cached else None
    if spec.workload == "files" and spec.size <= SMALL_WRITE:
        return enough_for(flushes=write / spec.size if write is not None else None)
    if own is not None and own.bytes < own.files * _STREAM:
        return enough_for(small_files=write)
    return enough_for(read=read, write=write)


def _sure(figure: Figure | None, amount: int) -> float | None:
    """Return the low end of a speed that can be concluded from, else None."""
    if figure is None or (figure.wide and len(figure.values) > 1) or amount < figure.median * SHORTEST_S:
        return None
    return figure.low


def _figure(values: list[float]) -> Figure:
    low, high, confidence = interval(values)
    return Figure(
        values=values,
        median=median(values),
        low=low,
        high=high,
        confidence=confidence,
        wide=spread_is_wide(values),
    )

"""Analysis of a test: medians with intervals, cached reads, bottleneck, and supported use cases.

A read is valid if the server's byte counter grew by the bytes read, and if it was not faster than the link.
The fastest sequential cell of a grid represents streaming in its direction. The smallest random requests
represent the cost of a request, and the gain of a greater queue depth.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from advisor.bottleneck import MIN_LOAD_TIME_S, find_bottleneck
from advisor.experiment.intervals import confidence_interval, median, single_outlier, spread_is_wide
from advisor.facts import payload_rate_bps
from advisor.message import Message, message
from advisor.speeds import format_rate
from advisor.transfer_sizes import SMALL_READ_SIZE
from app.speedtest.model import SMALL_READS, SPEED_FIGURES, CacheReport, Figure
from app.text.message import fill, message_text
from app.text.translate import gettext
from app.text.units import format_size
from app.text.use_cases import use_case_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.bottleneck import Bottleneck, TransferDirection
    from advisor.facts import LinkFacts
    from app.speedtest.messages import RepeatResult, UserFilesSize
    from app.speedtest.model import CacheMethod, GridCell, GridRun, TestResult, TestSpec, Transfer

#: Phrases for the repeats of a figure in a note.


class CombinedEvidence(StrEnum):
    """Evidence that joins the bottlenecks of several transfers."""

    OTHER_DIRECTION = "evidence.other-direction"
    FASTEST_SEQUENTIAL = "evidence.fastest-sequential"
    FASTEST_RANDOM = "evidence.fastest-random"
    RANDOM_ACCESS = "evidence.random-access"
    RATE = "evidence.rate"
    RATE_UNCLEAR = "evidence.rate-unclear"


class Outlier(StrEnum):
    """One repeat far from the others."""

    SPEED_ABOVE = "outlier.speed-above"
    SPEED_BELOW = "outlier.speed-below"
    RATE_ABOVE = "outlier.rate-above"
    RATE_BELOW = "outlier.rate-below"


class SmallReads(StrEnum):
    """Small reads compared with the copy from the server."""

    SHARE = "small-reads.share"
    HELD_BACK = "small-reads.held-back"
    READAHEAD_HELPS = "small-reads.readahead-helps"


#: Codes by whether the figure is a speed, and whether the outlier is above the median.
_OUTLIERS = {
    (True, True): Outlier.SPEED_ABOVE,
    (True, False): Outlier.SPEED_BELOW,
    (False, True): Outlier.RATE_ABOVE,
    (False, False): Outlier.RATE_BELOW,
}
CACHED_SMALL_READ = "The small reads came at least partly from the client's cache: they are not compared."
#: Minimum mean size of files whose copy shows the streaming speed, bytes.
_STREAM_FILE_BYTES = 2**20


def link_share(result: TestResult, direction: TransferDirection) -> float | None:
    """Return the fraction of the link's payload rate that a test used in a direction, at most 1.

    None if the rate is unknown, if the direction was not tested, or if a cache answered part of a read.
    """
    transfer = result.write if direction == "write" else result.read
    rate_bps = result.link.rate_of(direction) if result.link is not None else None
    if transfer is None or transfer.cached or not rate_bps or result.link is None:
        return None
    figure = result.figures.get(direction)
    speed = figure.median if figure is not None else transfer.bytes_per_s
    return min(1.0, speed * 8 / payload_rate_bps(rate_bps, result.link.mtu or 1500))


def figures_of_repeats(rounds: Sequence[RepeatResult]) -> dict[str, Figure]:
    """Return each figure over the measured repeats, by name."""
    figures: dict[str, Figure] = {}
    for name, transfers in (
        ("write", [item.write for item in rounds if item.write is not None]),
        ("read", [item.read for item in rounds if item.read is not None]),
        (SMALL_READS, [item.small_read for item in rounds if item.small_read is not None]),
    ):
        if transfers:
            figure = _figure([transfer.bytes_per_s for transfer in transfers])
            figures[name] = msgspec.structs.replace(
                figure,
                timeouts=sum(transfer.timeouts for transfer in transfers),
                retransmissions=sum(transfer.retransmissions for transfer in transfers),
            )
    for name in ("create", "stat", "delete"):
        values = [item.rates[name] for item in rounds if name in item.rates]
        if values:
            figures[name] = _figure(values)
    return figures


def median_transfer(transfers: Sequence[Transfer]) -> Transfer | None:
    """Return the transfer with the median speed (of two in the middle, the slower); None without any."""
    if not transfers:
        return None
    return sorted(transfers, key=lambda transfer: transfer.bytes_per_s)[(len(transfers) - 1) // 2]


def checked_reads(
    rounds: Sequence[RepeatResult], link: LinkFacts | None
) -> tuple[list[Transfer], CacheReport | None]:
    """Return the reads with cached ones flagged, and one cache report: of the first cached read, if any.

    Args:
        rounds: measured repeats.
        link: facts on the link to the server.
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


def checked_small_reads(rounds: Sequence[RepeatResult], link: LinkFacts | None) -> list[Transfer]:
    """Return the reads with small calls, with cached ones flagged."""
    return [
        msgspec.structs.replace(item.small_read, cached=check_cached(item.small_read, link)[0])
        for item in rounds
        if item.small_read is not None
    ]


def transfer_bottleneck(
    write: Transfer | None, read: Transfer | None, link: LinkFacts | None
) -> Bottleneck | None:
    """Return the bottleneck of the slower direction, with a sentence on the other; None without counters.

    Args:
        write: transfer to the server.
        read: transfer from the server; ignored if it came from the cache.
        link: facts on the link to the server.
    """
    directions: tuple[tuple[TransferDirection, Transfer | None], ...] = (("write", write), ("read", read))
    bottlenecks = [
        (transfer.bytes_per_s, find_bottleneck(direction, transfer.load, link))
        for direction, transfer in directions
        if transfer is not None and transfer.load is not None and not transfer.cached
    ]
    if not bottlenecks:
        return None
    (_, slower), *rest = sorted(bottlenecks, key=lambda item: item[0])
    others = [_other_direction(other, other.evidence[0]) for _, other in rest]
    return replace(slower, evidence=[*slower.evidence, *others])


def _other_direction(other: Bottleneck, evidence: Message | str) -> Message:
    return message(CombinedEvidence.OTHER_DIRECTION, direction=other.way, kind=other.kind, evidence=evidence)


def outlier_notes(figures: dict[str, Figure]) -> list[Message]:
    """Return a message for each figure with a single outlier among its repeats."""
    notes: list[Message] = []
    for name, figure in figures.items():
        outlier = single_outlier(figure.values)
        if outlier is not None:
            is_speed, above = name in SPEED_FIGURES, outlier.ratio > 1
            notes.append(
                message(
                    _OUTLIERS[is_speed, above],
                    figure=name,
                    repeat=outlier.place + 1,
                    count=len(figure.values),
                    share=abs(outlier.ratio - 1),
                    value=outlier.value,
                    median=figure.median,
                )
            )
    return notes


def supported_uses(
    spec: TestSpec, figures: dict[str, Figure], *, own: UserFilesSize | None = None, cached: bool
) -> list[str]:
    """Return the use cases supported by the speeds; for small files, by the rate of flushed files.

    Figures with a wide spread and transfers that were too short are ignored.

    Args:
        spec: specification of the test.
        figures: figures of the test; the low ends of their intervals count.
        own: number and size of the user's own files, if they were copied. Small ones show no streaming speed.
        cached: whether the read came from the cache and is ignored.
    """
    amount = own.bytes if own is not None else spec.total
    write = _reliable_speed(figures.get("write"), amount)
    read = _reliable_speed(figures.get("read"), amount * spec.passes) if not cached else None
    if spec.workload == "files" and spec.size <= SMALL_WRITE_BYTES:
        return use_case_texts(flushes=write / spec.size if write is not None else None)
    if own is not None and own.bytes < own.files * _STREAM_FILE_BYTES:
        return use_case_texts(small_files=write)
    return use_case_texts(read=read, write=write)


def _reliable_speed(figure: Figure | None, amount: int) -> float | None:
    """Return the low end of a speed's interval, None if the figure is not reliable."""
    if figure is None or (figure.wide and len(figure.values) > 1) or amount < figure.median * MIN_LOAD_TIME_S:
        return None
    return figure.low


def _figure(values: list[float]) -> Figure:
    low, high, confidence = confidence_interval(values)
    return Figure(
        values=values,
        median=median(values),
        low=low,
        high=high,
        confidence=confidence,
        wide=spread_is_wide(values),
    )


_CACHE_NOTES: dict[CacheMethod, str] = {
    "fadvise": "The client's cache was told to drop the file before the read.",
    "direct": "The file was read past the client's cache (O_DIRECT).",
    "fresh-mount": "The read relies on the file system having been mounted afresh.",
}

#: Small reads that reach this fraction of the copy's speed count as equally fast.
_AS_FAST_RATIO = 0.8
_FSYNC_NOTE = (
    "The time to the server ends when the server says that it has the data (fsync). One that exports “async” "
    "says so before they are on its disk."
)
_SERVER_MEMORY_NOTE = (
    "What was read had been written just before, so the server will have answered from its memory and not "
    "from its disk, which may be slower. Files larger than its memory show the disk."
)


def unmeasured_effects(result: TestResult) -> list[str]:
    """Return sentences on the limits of a test's figures: call sizes, and effects of disk and memory."""
    notes = [f"It copied in {call_size_text(result)}."] if not result.grid else []
    notes += map(message_text, _small_read_notes(result))
    directions = {cell.way for cell in result.grid}
    if result.nfs and (result.write is not None or "write" in directions):
        notes.append(_FSYNC_NOTE)
    if result.nfs and ((result.read is not None and not result.read.cached) or "read" in directions):
        notes.append(_disk_read_note(result) or _SERVER_MEMORY_NOTE)
    return notes


def _disk_read_note(result: TestResult) -> str:
    """Return a sentence on the fraction of a file read from disk, "" if the server's memory may hold all."""
    size = result.read.bytes if result.read is not None and result.workload == "file" else 0
    if not 0 < result.server_memory < size:
        return ""
    return (
        f"The file was larger than the server's memory, {format_size(result.server_memory)} as you said: at "
        f"least {100 * (1 - result.server_memory / size):.0f} % of what was read came from its disk."
    )


def call_size_text(result: TestResult) -> str:
    """Return the call size of a test as a phrase."""
    size = format_size(result.block_size)
    return f"calls of {size}, as cp does on this mount" if result.as_copy else f"calls of {size}"


def _small_read_notes(result: TestResult) -> list[Message]:
    """Return how small reads compare with the copy, if both were measured and neither was cached."""
    copy, small = (result.figures.get(name) for name in ("read", SMALL_READS))
    cached = any(transfer is None or transfer.cached for transfer in (result.read, result.small_read))
    if copy is None or small is None or cached or not copy.median:
        return []
    params: dict[str, Any] = {"size": SMALL_READ_SIZE, "share": small.median / copy.median}
    bottleneck = result.small_bottleneck
    if bottleneck is None or bottleneck.kind == "unclear" or small.median > _AS_FAST_RATIO * copy.median:
        return [message(SmallReads.SHARE, **params)]
    helps = bottleneck.kind == "round-trips"
    code = SmallReads.READAHEAD_HELPS if helps else SmallReads.HELD_BACK
    return [message(code, kind=bottleneck.kind, **params)]


def check_cached(transfer: Transfer, link: LinkFacts | None) -> tuple[bool, str]:
    """Return whether a read came at least partly from the client's cache, and a sentence with the reason.

    Args:
        transfer: transfer of the read.
        link: facts on the link to the server; only the line rate is used.
    """
    if transfer.server_bytes is not None and transfer.server_bytes < transfer.bytes:
        percent = 100 * transfer.server_bytes / transfer.bytes
        return True, (
            f"The server sent only {percent:.0f} % of the bytes: the rest came from the client's cache, so "
            "this is not the speed of the network."
        )
    rate = link.rate_bps if link is not None else None
    if transfer.server_bytes is not None and rate and transfer.bytes_per_s * 8 > rate:
        return True, (
            f"The read was faster than the link can be ({format_rate(rate)}), so it came at least partly "
            "from the client's cache."
        )
    return False, ""


def cache_report(transfer: Transfer, method: CacheMethod, link: LinkFacts | None) -> CacheReport:
    """Return the cache method of a read, and whether it worked."""
    cached, reason = check_cached(transfer, link)
    checked = transfer.server_bytes is not None
    if cached:
        note = f"{_CACHE_NOTES[method]} {reason}"
    elif checked:
        note = (
            f"{_CACHE_NOTES[method]} This computer's byte counter of the mount says that as much as was read "
            "came from the server; what other programs read on that mount meanwhile would count, too."
        )
    else:
        note = f"{_CACHE_NOTES[method]} This is not NFS, so there is no counter that could confirm it."
    return CacheReport(method=method, checked=checked, cached=cached or transfer.cached, note=note)


DIRECTIONS: tuple[TransferDirection, ...] = ("write", "read")
#: Typical largest write of a virtual disk or a database, bytes.
SMALL_WRITE_BYTES = 16 * 1024


def cells_with_bottleneck(cells: Sequence[GridCell], link: LinkFacts | None) -> list[GridCell]:
    """Return the cells with the bottleneck of their median run, where counters are available.

    Args:
        cells: cells as measured.
        link: facts on the link to the server.
    """
    analyzed: list[GridCell] = []
    for cell in cells:
        run = cell.median_run
        load = run.load if run is not None else None
        verdict = find_bottleneck(cell.way, load, link) if load is not None else None
        analyzed.append(msgspec.structs.replace(cell, bottleneck=verdict))
    return analyzed


def bottleneck_text(bottleneck: Bottleneck) -> str:
    """Return the bottleneck of one direction as a sentence, without a full stop."""
    if bottleneck.kind == "unclear":
        return fill(
            gettext("{direction:direction}: what held it back is not clear"), {"direction": bottleneck.way}
        )
    return fill(
        gettext("{direction:direction}: held back by {kind:bottleneck} ({confidence} confidence)"),
        {"direction": bottleneck.way, "kind": bottleneck.kind, "confidence": bottleneck.confidence},
    )


def grid_bottleneck(cells: Sequence[GridCell]) -> Bottleneck | None:
    """Return the bottleneck of the slower direction, with evidence on the other one and random requests.

    Args:
        cells: cells with their bottlenecks.
    """
    analyzed = _analyzed_cells(cells)
    fastest = [found for direction in DIRECTIONS if (found := _fastest_cell(analyzed, direction)) is not None]
    if not fastest:
        return None
    lead, *rest = sorted(fastest, key=lambda item: item.run.bytes_per_s)
    others = [_other_direction(item.verdict, item.fastest) for item in rest]
    random = [one for direction in DIRECTIONS if (one := _random_access(analyzed, direction))]
    return replace(lead.verdict, evidence=[lead.fastest, *lead.verdict.evidence[1:], *others, *random])


def grid_use_cases(cells: Sequence[GridCell]) -> list[str]:
    """Return the use cases supported by the slowest repeats of the cells, without cells of a wide spread.

    Args:
        cells: cells with their bottlenecks.
    """
    analyzed = _analyzed_cells(cells)
    speeds = {
        direction: min(run.bytes_per_s for run in found.cell.runs)
        for direction in DIRECTIONS
        if (found := _fastest_cell(analyzed, direction)) is not None
        and found.cell.is_sequential
        and not _is_wide(found.cell)
    }
    small = [
        min(run.iops for run in item.cell.runs)
        for item in analyzed
        if item.cell.pattern == "randwrite"
        and item.cell.record <= SMALL_WRITE_BYTES
        and item.cell.at_once == 1
        if not _is_wide(item.cell)
    ]
    return use_case_texts(
        read=speeds.get("read"), write=speeds.get("write"), small_writes=min(small, default=None)
    )


class _AnalyzedCell(NamedTuple):
    """A cell with its median run and bottleneck."""

    cell: GridCell
    run: GridRun
    verdict: Bottleneck

    @property
    def fastest(self) -> Message:
        """Speed of the fastest cell, and its bottleneck."""
        sequential = self.cell.is_sequential
        return message(
            CombinedEvidence.FASTEST_SEQUENTIAL if sequential else CombinedEvidence.FASTEST_RANDOM,
            record=self.cell.record,
            depth=self.cell.at_once,
            speed=self.run.bytes_per_s,
            evidence=self.verdict.evidence[0],
        )

    @property
    def rate(self) -> Message:
        """Rate of requests, and its bottleneck."""
        kind = self.verdict.kind
        code = CombinedEvidence.RATE_UNCLEAR if kind == "unclear" else CombinedEvidence.RATE
        return message(code, depth=self.cell.at_once, rate=self.run.iops, kind=kind)


def _analyzed_cells(cells: Sequence[GridCell]) -> list[_AnalyzedCell]:
    return [
        _AnalyzedCell(cell, run, verdict)
        for cell in cells
        if (run := cell.median_run) is not None and (verdict := cell.bottleneck) is not None
    ]


def _is_wide(cell: GridCell) -> bool:
    return spread_is_wide([run.bytes_per_s for run in cell.runs])


def _fastest_cell(analyzed: Sequence[_AnalyzedCell], direction: TransferDirection) -> _AnalyzedCell | None:
    """Return the fastest sequential cell of a direction, or the fastest random one without any."""
    candidates = [item for item in analyzed if item.cell.way == direction]
    return max(
        [item for item in candidates if item.cell.is_sequential] or candidates,
        key=lambda item: item.run.bytes_per_s,
        default=None,
    )


def _random_access(analyzed: Sequence[_AnalyzedCell], direction: TransferDirection) -> Message | None:
    """Return the rates of the smallest random requests at low and high queue depth, None without any."""
    candidates = [item for item in analyzed if item.cell.way == direction and not item.cell.is_sequential]
    if not candidates:
        return None
    record = min(item.cell.record for item in candidates)
    few, *more = sorted(
        (item for item in candidates if item.cell.record == record), key=lambda i: i.cell.at_once
    )
    return message(
        CombinedEvidence.RANDOM_ACCESS,
        direction=direction,
        record=record,
        rates=[item.rate for item in (few, *more[-1:])],
        evidence=few.verdict.evidence[0],
    )

"""Whether a read can be believed: did the server send the bytes, and could the link have carried them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.bottleneck import KINDS
from advisor.speeds import format_rate
from advisor.transfer_sizes import SMALL_READ
from app.speedtest.model import SMALL_READS, CacheReport
from app.units import format_size

if TYPE_CHECKING:
    from advisor.facts import LinkFacts
    from app.speedtest.model import CacheMethod, TestResult, Transfer

_METHODS: dict[CacheMethod, str] = {
    "fadvise": "The client's cache was told to drop the file before the read.",
    "direct": "The file was read past the client's cache (O_DIRECT).",
    "fresh-mount": "The read relies on the file system having been mounted afresh.",
}

#: Small reads that reach this part of the copy's speed are as fast.
_AS_FAST = 0.8
_FLUSHED = (
    "The time to the server ends when the server says that it has the data (fsync). One that exports “async” "
    "says so before they are on its disk."
)
_FROM_MEMORY = (
    "What was read had been written just before, so the server will have answered from its memory and not "
    "from its disk, which may be slower. Files larger than its memory show the disk."
)


def beyond_the_figures(result: TestResult) -> list[str]:
    """Return what must be known of a test's figures, in sentences: call sizes, and what its disk may do."""
    found = [f"It copied in {calls_text(result)}."] if not result.grid else []
    found += _small_reads(result)
    ways = {cell.way for cell in result.grid}
    if result.nfs and (result.write is not None or "write" in ways):
        found.append(_FLUSHED)
    if result.nfs and ((result.read is not None and not result.read.cached) or "read" in ways):
        found.append(_from_disk(result) or _FROM_MEMORY)
    return found


def _from_disk(result: TestResult) -> str:
    """Return which part of a large file the server's memory cannot have held, "" if it may have held all."""
    size = result.read.bytes if result.read is not None and result.workload == "file" else 0
    if not 0 < result.server_memory < size:
        return ""
    return (
        f"The file was larger than the server's memory, {format_size(result.server_memory)} as you said: at "
        f"least {100 * (1 - result.server_memory / size):.0f} % of what was read came from its disk."
    )


def calls_text(result: TestResult) -> str:
    """Return with how large calls a test copied, as a phrase."""
    size = format_size(result.block_size)
    return f"calls of {size}, as cp does on this mount" if result.as_copy else f"calls of {size}"


def _small_reads(result: TestResult) -> list[str]:
    """Return how the small reads compare with the copy, where both were measured and can be believed."""
    copy, small = (result.figures.get(name) for name in ("read", SMALL_READS))
    cached = any(one is None or one.cached for one in (result.read, result.small_read))
    if copy is None or small is None or cached or not copy.median:
        return []
    text = f"Small reads, in calls of {format_size(SMALL_READ)}, reached "
    text += f"{100 * small.median / copy.median:.0f} % of the speed of the copy from the server."
    held = result.small_bottleneck
    if held is None or held.kind == "unclear" or small.median > _AS_FAST * copy.median:
        return [text]
    helps = ", and more readahead helps them" if held.kind == "round-trips" else ""
    return [f"{text} They were held back by {KINDS[held.kind]}{helps}."]


def flag_cached(transfer: Transfer, link: LinkFacts | None) -> tuple[bool, str]:
    """Return whether a read came at least partly from the client's cache, and why in one sentence.

    Args:
        transfer: of the read.
        link: what is known of the way to the server; only its line rate counts.
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
    """Return how the cache was kept out of a read, and whether that can be believed."""
    cached, why = flag_cached(transfer, link)
    checked = transfer.server_bytes is not None
    if cached:
        note = f"{_METHODS[method]} {why}"
    elif checked:
        note = (
            f"{_METHODS[method]} This computer's byte counter of the mount says that as much as was read "
            "came from the server; what other programs read on that mount meanwhile would count, too."
        )
    else:
        note = f"{_METHODS[method]} This is not NFS, so there is no counter that could confirm it."
    return CacheReport(method=method, checked=checked, cached=cached or transfer.cached, note=note)

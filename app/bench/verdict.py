"""Whether a read can be believed: did the server send the bytes, and could the link have carried them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.bench.result import CacheReport

if TYPE_CHECKING:
    from advisor.facts import LinkFacts
    from app.bench.result import CacheMethod, Transfer

_METHODS: dict[CacheMethod, str] = {
    "fadvise": "The client's cache was told to drop the file before the read.",
    "direct": "The file was read past the client's cache (O_DIRECT).",
    "fresh-mount": "The read relies on the file system having been mounted afresh.",
}


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
            f"The read was faster than the link can be ({rate / 1e6:g} Mbit/s), so it came at least partly "
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
        note = f"{_METHODS[method]} The server's byte counter confirms that it sent the whole file."
    else:
        note = f"{_METHODS[method]} This is not NFS, so there is no counter that could confirm it."
    return CacheReport(method=method, checked=checked, cached=cached or transfer.cached, note=note)

"""Predicted throughput curve: speed over readahead, or over the transfer size for a network card of 1993."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from advisor.identify import network_cards
from advisor.options import catalogue, implied_values
from advisor.prediction import PredictedCurve
from advisor.throughput import CopySpec, predict
from advisor.throughput_udp import UDP_TRANSFER_SIZES, udp_copy
from advisor.transfer_sizes import SMALL_READ_SIZE

if TYPE_CHECKING:
    from advisor.facts import Facts
    from advisor.options import MountOptions

#: Readahead values of the curve, bytes.
_READAHEAD_SIZES = tuple(2**power for power in range(15, 25))
#: Length of the predicted copy, bytes; large enough to make the opening of the file negligible.
COPY_BYTES = 2**28
#: Relative error of the UDP model, which is fitted to two times of one card (throughput_udp).
_UDP_ERROR = 0.3
#: Largest transfer size of the systems of 1993, and their default, bytes.
_MAX_UDP_SIZE = UDP_TRANSFER_SIZES[-1]


def predicted_curve(
    options: MountOptions, advised: MountOptions, facts: Facts, *, read_ahead: int, advised_read_ahead: int
) -> PredictedCurve | None:
    """Return the curve of small reads over TCP, or of a copy over UDP to a card of 1993; None if unknown.

    Args:
        options: current mount options.
        advised: mount options with the recommendations applied.
        facts: facts about link and server.
        read_ahead: readahead in force, bytes.
        advised_read_ahead: recommended readahead, bytes.
    """
    transport = implied_values(advised).get("proto", "")
    if transport.startswith("udp"):
        return _udp_curve(options, advised, facts)
    if transport.startswith("rdma"):
        return None  # the model covers only TCP and UDP
    work = CopySpec(direction="read", length=COPY_BYTES, block=SMALL_READ_SIZE)
    values = sorted({*_READAHEAD_SIZES, advised_read_ahead})
    points = [predict(advised, facts, work, read_ahead=value) for value in values]
    now = predict(options, facts, work, read_ahead=read_ahead)
    best = predict(advised, facts, work, read_ahead=advised_read_ahead)
    if now is None or best is None:
        return None
    known = [point for point in points if point is not None]
    return PredictedCurve(
        over="read_ahead_kb",
        sizes=tuple(values),
        speeds=tuple(point.bytes_per_s for point in known),
        errors=tuple(point.error for point in known),
        now=(read_ahead, now.bytes_per_s),
        advised=(advised_read_ahead, best.bytes_per_s),
    )


def _udp_curve(options: MountOptions, advised: MountOptions, facts: Facts) -> PredictedCurve | None:
    client_card = network_cards().get((facts.link.card if facts.link is not None else None) or "")
    server_card = network_cards().get((facts.server.card if facts.server is not None else None) or "")
    known = [card for card in (client_card, server_card) if card is not None]
    if not known:
        return None
    # Frames are lost in the smaller receive buffer: of the client when reading, of the server when writing.
    card = min(known, key=lambda card: card.receive_buffer)
    name: Literal["rsize", "wsize"] = "rsize" if card is client_card else "wsize"

    def speed(size: int, mount_options: MountOptions) -> float:
        return 2**20 / udp_copy(size, _timeo_s(mount_options), card.receive_buffer).seconds

    now, best = _transfer_size(options, name), _transfer_size(advised, name)
    sizes = sorted({*UDP_TRANSFER_SIZES, now, best})
    return PredictedCurve(
        over=name,
        sizes=tuple(sizes),
        speeds=tuple(speed(size, advised) for size in sizes),
        errors=(_UDP_ERROR,) * len(sizes),
        now=(now, speed(now, options)),
        advised=(best, speed(best, advised)),
    )


def _transfer_size(options: MountOptions, name: str) -> int:
    text = options.get(name) or ""
    size = int(text) if text.isdigit() else _MAX_UDP_SIZE
    return min(max(size, UDP_TRANSFER_SIZES[0]), _MAX_UDP_SIZE)


def _timeo_s(options: MountOptions) -> float:
    """Return timeo in seconds; the option counts tenths of a second (nfs(5))."""
    default = catalogue().find("timeo")
    text = options.get("timeo") or (default.default_for("3", "udp") if default is not None else None) or ""
    return int(text) / 10 if text.isdigit() else 1.1

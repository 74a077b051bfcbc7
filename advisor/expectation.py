"""How sure a recommendation for speed is, given what the throughput model expects of it on this very link."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from advisor.model import Prediction
    from advisor.recommend import Recommendation

#: What is recommended for the sake of speed alone.
_FOR_SPEED = ("read_ahead_kb", "nconnect")
#: A smaller gain is lost in what two runs of one test differ by.
_SMALL = 1.1


def tempered(
    items: tuple[Recommendation, ...], now: Prediction | None, advised: Prediction | None
) -> tuple[Recommendation, ...]:
    """Return the recommendations, no surer than the model is of what they bring.

    A rule knows its source; the model knows that loss, for example, may bound the speed of this link whatever
    is set. Where it expects next to nothing, or has no figures, a test has to say more.

    Args:
        items: as the rules have them.
        now: of reading, with the options as they are; None if the model knows nothing of the link.
        advised: likewise, with all recommendations.
    """
    if now is None or advised is None or advised.bytes_per_s >= _SMALL * now.bytes_per_s:
        return items
    gain = max(0.0, advised.bytes_per_s / now.bytes_per_s - 1)
    words = f"only {gain:.0%} more".replace("%", " %") if gain >= 0.01 else "no gain"
    note = f"Here the model expects {words} when reading: what bounds it is {advised.limit}."
    return tuple(_doubted(item, note) for item in items)


def _doubted(item: Recommendation, note: str) -> Recommendation:
    if item.option not in _FOR_SPEED or item.layer == "measured" or item.status != "untested":
        return item
    return replace(item, confidence="low", effect=f"{item.effect} {note}".strip())

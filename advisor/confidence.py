"""Confidence of speed recommendations, limited by the gain that the throughput model predicts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from advisor.transfer_sizes import SMALL_READ_SIZE

if TYPE_CHECKING:
    from advisor.prediction import Prediction
    from advisor.recommendation import Recommendation

    #: Predictions with the current options and with all recommendations; None if the link is unknown.
    PredictedPair = tuple[Prediction | None, Prediction | None]

_READAHEAD = "read_ahead_kb"
#: Options and tunables that are recommended only for speed.
_SPEED_OPTIONS = (_READAHEAD, "nconnect")
#: Smallest relevant gain, as a fraction; two runs of one test differ by as much.
_MIN_GAIN = 0.1
#: Smallest relevant gain of small reads, as a fraction of the prediction's error.
_ERROR_SHARE = 0.5


def limit_confidence(
    items: tuple[Recommendation, ...], copy: PredictedPair, small_reads: PredictedPair
) -> tuple[Recommendation, ...]:
    """Return the recommendations; those for speed get low confidence if the predicted gain is negligible.

    The confidence of a rule comes from its source. The model adds limits of this link, for example packet
    loss, and the effect of the call size. A note with the predicted gain is added to the effect.

    Args:
        items: recommendations of the rules.
        copy: predictions for reading with the call size of cp (advisor.transfer_sizes).
        small_reads: predictions for reading with calls of SMALL_READ_SIZE.
    """
    gain, small_gain = _predicted_gain(copy), _predicted_gain(small_reads)
    if gain is None or small_gain is None or copy[1] is None or gain >= _MIN_GAIN:
        return items
    limit = f"what bounds it is {copy[1].limit}"
    doubt = f"Here the model expects {_gain_text(gain)} when reading: {limit}."
    if small_gain < max(_MIN_GAIN, _ERROR_SHARE * _prediction_error(small_reads)):
        return tuple(_with_note(item, doubt, doubted=True) for item in items)
    call = f"calls of {SMALL_READ_SIZE // 1024} KiB"
    helped = (
        f"Here it helps small reads alone: the model expects {_percent(small_gain)} more with {call}, and "
        f"{_gain_text(gain)} for a copy with cp."
    )
    return tuple(
        _with_note(item, helped if item.option == _READAHEAD else doubt, doubted=item.option != _READAHEAD)
        for item in items
    )


def _predicted_gain(expected: PredictedPair) -> float | None:
    """Return the predicted gain as a fraction, None if it is unknown."""
    now, advised = expected
    if now is None or advised is None or now.unpredictable or advised.unpredictable:
        return None
    return advised.bytes_per_s / now.bytes_per_s - 1


def _prediction_error(expected: PredictedPair) -> float:
    return max((prediction.error for prediction in expected if prediction is not None), default=0.0)


def _gain_text(gain: float) -> str:
    return f"only {_percent(gain)} more" if gain >= 0.01 else "no gain"


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def _with_note(item: Recommendation, note: str, *, doubted: bool) -> Recommendation:
    if item.option not in _SPEED_OPTIONS or item.layer == "measured" or item.status != "untested":
        return item
    item = replace(item, effect=f"{item.effect} {note}".strip())
    return replace(item, confidence="low") if doubted else item

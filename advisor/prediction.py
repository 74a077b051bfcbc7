"""Prediction of the throughput model: the speed of one copy, and the curve over one setting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["read", "write"]
#: Reason why a speed cannot be predicted, "" if it can: only the unknown speed of the processors limits it.
Unpredictable = Literal["", "processors-unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A predicted copy.

    Attributes:
        seconds: total time until the data has reached the server (write) or the program (read).
        bytes_per_s: length divided by seconds.
        limit: the strongest bound, as a short phrase.
        error: relative error in both directions: 0.3 means 30 %.
        unpredictable: why the speed is only a guess and must not be shown as a prediction; "" if it is one.
    """

    seconds: float
    bytes_per_s: float
    limit: str
    error: float
    unpredictable: Unpredictable = ""

    def holds(self, bytes_per_s: float) -> bool:
        """Return whether a measured speed lies within the error of the prediction."""
        return abs(bytes_per_s - self.bytes_per_s) <= self.error * self.bytes_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedCurve:
    """Predicted speeds of a large file: read in small calls over TCP, or copied over UDP to a card of 1993.

    The curve over readahead is for small reads: most calls of cp are as large as a request, and readahead
    does not change their speed (transfer_sizes).

    Attributes:
        over: the varied setting: readahead, rsize or wsize.
        sizes: values of the setting, bytes.
        speeds: predicted speed with the recommended options and each value, bytes per second.
        errors: relative error of each speed in both directions.
        now: value and speed with the current options.
        advised: value and speed with the recommendations.
    """

    over: Literal["read_ahead_kb", "rsize", "wsize"]
    sizes: tuple[int, ...]
    speeds: tuple[float, ...]
    errors: tuple[float, ...]
    now: tuple[int, float]
    advised: tuple[int, float]

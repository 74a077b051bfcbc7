"""Conclusions of an experiment or a search, as they are sent and saved."""

from __future__ import annotations

from typing import Literal

import msgspec

from advisor.experiment.intervals import DifferenceVerdict  # noqa: TC001 - msgspec reads it at run time


class BaselineDrift(msgspec.Struct, frozen=True, kw_only=True):
    """Drift of the baseline's figure during the experiment.

    Attributes:
        figure: name of the figure.
        workload: name of the workload.
        values: values of the baseline in the order of time.
        change: change from the first half to the second half as a fraction (Hodges-Lehmann estimator).
        notable: whether the change is significant and large enough to matter; None with too few values.
    """

    figure: str
    workload: str
    values: list[float]
    change: float
    notable: bool | None


EstimateMethod = Literal["sign-test", "model"]


class SetEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """Estimate of one option set's figure.

    Attributes:
        levels: factor to level.
        values: figures of its complete trials.
        median: median of six or more values, else the posterior mean of the model of all trials.
        low: lower end of the 95 % interval.
        high: upper end of the 95 % interval.
        method: method of the interval: sign test, or model of all trials.
    """

    levels: dict[str, str]
    values: list[float]
    median: float
    low: float
    high: float
    method: EstimateMethod


class SearchConclusion(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a search for the fastest option set.

    Attributes:
        winner: the fastest option set.
        runner_up: the second fastest one, None if only one was measured.
        default: the option set of the kernel's defaults, None if it was not measured.
        current: the option set that is mounted today, None if it was not measured.
        decided: whether no other option set is likely to be faster by more than 5 %.
        trials: number of trials.
        tried: number of option sets that were tried.
        candidates: number of option sets that could be tried.
    """

    winner: SetEstimate
    runner_up: SetEstimate | None
    default: SetEstimate | None
    current: SetEstimate | None
    decided: bool
    trials: int
    tried: int
    candidates: int


class RetestComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of winner and current setting by one figure, bytes per second.

    Attributes:
        figure: write, read, or BOTH_DIRECTIONS.
        before: median of the current setting.
        after: median of the winner.
        before_values: values of the current setting in the order of its trials.
        after_values: values of the winner in the order of its trials.
        ratio: estimated ratio, after divided by before (Hodges-Lehmann estimator).
        low: lower end of the ratio's confidence interval.
        high: upper end of the ratio's confidence interval.
        confidence: coverage of the interval.
        verdict: higher, lower, same, or unknown.
    """

    figure: str
    before: float
    after: float
    before_values: list[float]
    after_values: list[float]
    ratio: float
    low: float
    high: float
    confidence: float
    verdict: DifferenceVerdict


class Retest(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a retest.

    Attributes:
        winner: levels of the search's winner.
        today: levels of the current setting.
        rounds: number of complete rounds: the smaller number of trials of both sets.
        whole: comparison by the figure that the search optimized.
        ways: comparison of each direction, empty if only one counts.
    """

    winner: dict[str, str]
    today: dict[str, str]
    rounds: int
    whole: RetestComparison
    ways: list[RetestComparison] = []

    @property
    def gained(self) -> bool:
        """Whether the winner is significantly better than the current setting."""
        return self.whole.verdict == "higher"

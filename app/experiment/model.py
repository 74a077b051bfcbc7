"""Data of an experiment: factors, workloads, plan, progress and result; and those of a search.

The field names are those of the JSON output and of the history's database.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.experiment.conclusions import (  # noqa: TC001 - msgspec reads it at run time
    BaselineDrift,
    Retest,
    SearchConclusion,
)
from advisor.experiment.measurements import TrialOutcome  # noqa: TC001 - msgspec reads it at run time
from advisor.message import Message  # noqa: TC001 - msgspec reads it at run time
from advisor.transfer_sizes import CP_CALL_SIZE
from app.speedtest.model import Direction, Environment, TestEvent, WorkloadKind  # noqa: TC001 - msgspec reads it
from app.text.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Name of a search for the best settings, in the field for the recipe's name.
SEARCH_NAME = "best"
#: Time limit of a search that is limited by its bytes only, s: a day.
UNLIMITED_S = 86400.0
#: Separators between the amount and the name in a resized workload's name: present format, and the one of
#: older records.
_PLANNED, _CUT = " (planned: ", ", cut to "
#: Combination of levels: all levels of all factors; each factor varied alone; or the rows listed.
Strategy = Literal["full", "one-at-a-time", "rows"]
#: Current step: mounting option sets, warm-up, trial, trial of a re-test, or a trial that has just ended.
ExperimentPhase = Literal["trying", "warm-up", "trial", "retest", "done"]


class Factor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A factor of an experiment: an option or test parameter, with the levels to compare.

    Attributes:
        name: an option of the catalog, or a name defined in app.experiment.factors.
        levels: values to compare.
        base: level that the others are compared with; "" for the first one.
    """

    name: str
    levels: list[str]
    base: str = ""

    @property
    def baseline(self) -> str:
        """Level that the others are compared with."""
        return self.base or self.levels[0]


class WorkloadSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Workload of a trial.

    Attributes:
        name: name for display and in the outcomes.
        kind: one file, many small files, records in random order, or several files in parallel.
        size: bytes of each file.
        count: number of files.
        block_size: bytes of each call, CP_CALL_SIZE for the call size of cp on the mount of each set.
        direction: to the server, from it, or both.
    """

    name: str
    kind: WorkloadKind = "file"
    size: int
    count: int = 1
    block_size: int = CP_CALL_SIZE
    direction: Direction = "both"

    @property
    def uncut_name(self) -> str:
        """Name of the workload before it was resized."""
        cut, planned, name = self.name.partition(_PLANNED)
        return name.removesuffix(")") if planned else cut.partition(_CUT)[0]

    @property
    def amount(self) -> str:
        """Number and size of the files, for display."""
        return f"{f'{self.count} x ' if self.count > 1 else ''}{format_size(self.size)}"

    def resized(self, *, size: int | None = None, count: int | None = None) -> WorkloadSpec:
        """Return the workload with another amount; its name then shows the amount and the original name."""
        cut = msgspec.structs.replace(self, size=size or self.size, count=count or self.count)
        return msgspec.structs.replace(cut, name=f"{cut.amount}{_PLANNED}{self.uncut_name})")


class Experiment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Factors, workloads and repeats of an experiment on one share.

    Attributes:
        share: server:/export.
        recipe: name of its recipe, or "".
        title: title for display.
        options: mount options common to all sets.
        strategy: how the levels are combined.
        axes: factors of the study's own table: rows, columns, and those that split it into several tables.
        factors: factors to vary.
        rows: option sets of the strategy "rows", as level by factor; an omitted factor has its base level.
        workloads: workloads run with each set.
        repeats: number of repeats of each set and workload.
        seed: seed of the random order.
    """

    share: str
    recipe: str = ""
    title: str = ""
    options: str = ""
    strategy: Strategy = "full"
    axes: list[str] = []
    factors: list[Factor]
    rows: list[dict[str, str]] = []
    workloads: list[WorkloadSpec]
    repeats: int = 3
    seed: int = 0


class ExcludedSet(msgspec.Struct, frozen=True, kw_only=True):
    """Levels that are not measured.

    Attributes:
        levels: level by factor; several levels are excluded only in combination.
        reason: one or two sentences.
        same_as: differing levels of the equivalent set measured instead, {} if there is none.
    """

    levels: dict[str, str]
    reason: str
    same_as: dict[str, str] = {}


class OptionSet(msgspec.Struct, frozen=True, kw_only=True):
    """An option set that can be mounted.

    Attributes:
        levels: level by factor.
        options: mount options of the set.
        read_ahead_kb: readahead to set after mounting, KiB; None for the kernel's default.
        effective: option values in use when it was mounted for probing, by name.
        whole: whether `effective` lists all options in use. Of a set that was not mounted for probing, it
            lists only those implied by its levels.
        seconds: estimated duration of a trial of each workload, s.
    """

    levels: dict[str, str]
    options: str
    read_ahead_kb: int | None = None
    effective: dict[str, str] = {}
    whole: bool = True
    seconds: list[float] = []


class ExperimentPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Plan of an experiment or search.

    Attributes:
        experiment: experiment as requested, or shrunk to fit a budget.
        sets: option sets to compare, the baseline first.
        struck: excluded levels and sets, with reasons.
        trials: number of all trials, including warm-up and baseline.
        seconds: estimated duration, s.
        bytes: bytes that will cross the network in both directions; in a search the limit, 0 for none.
        space: free space needed on the server by the largest trial, bytes.
        notes: sentences for display.
        environment: host that will run it.
        current: in a search, the levels of the present settings; {} if these are no candidate.
        today: in a search, the present settings if they are no candidate, with levels {}. The winner is
            re-tested against them.
    """

    experiment: Experiment
    sets: list[OptionSet]
    struck: list[ExcludedSet]
    trials: int
    seconds: float
    bytes: int
    space: int
    notes: list[str] = []
    environment: Environment | None = None
    current: dict[str, str] = {}
    today: OptionSet | None = None

    @property
    def emulated_link(self) -> str | None:
        """Name of the lab's link that the trials run over, None on a real link."""
        return self.environment.emulated_link if self.environment is not None else None

    @property
    def present(self) -> OptionSet | None:
        """Present settings in a search; None in an experiment."""
        if not self.current:
            return self.today
        return next((one for one in self.sets if one.levels == self.current), None)


class ExperimentArgs(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of ``experiment.plan``.

    Attributes:
        experiment: experiment as requested.
        budget_s: time limit, s, for which the experiment is shrunk; None for no limit.
    """

    experiment: Experiment
    budget_s: float | None = None


class ExperimentRunArgs(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of ``experiment.run``, and of ``experiment.search`` to resume a search.

    Attributes:
        plan: plan from ``experiment.plan``, or from an event of ``experiment.best``.
        done: outcomes of an earlier part of the run; these trials are not repeated.
        budget_s: time limit, s: no trial begins that would probably exceed it. None for no limit, or for the
            remaining time of a search.
    """

    plan: ExperimentPlan
    done: list[TrialOutcome] = []
    budget_s: float | None = None


class ExperimentEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Progress of planning and running.

    Attributes:
        phase: current step.
        number: number of the option set being mounted, or of the trial, from 1.
        total: total number of them.
        eta_s: estimated remaining time, s; None if unknown.
        levels: levels of the current set.
        workload: workload of the current trial, "" while option sets are mounted for probing.
        test: event of the running trial.
        outcome: outcome of a finished trial.
        plan: plan of a search, before its first trial.
    """

    phase: ExperimentPhase
    number: int
    total: int
    eta_s: float | None = None
    levels: dict[str, str] = {}
    workload: str = ""
    test: TestEvent | None = None
    outcome: TrialOutcome | None = None
    plan: ExperimentPlan | None = None


class StopReason(StrEnum):
    """Why a run ended early; "failures" has the parameters count and problem."""

    TIME_LIMIT = "stop.time-limit"
    FAILURES = "stop.failures"


class ExperimentResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a run; its outcomes were reported as events.

    Attributes:
        done: number of finished trials, including earlier parts of the run.
        planned: number of planned trials.
        failed: number of failed trials.
        mismatched: number of trials whose options in use differed from the plan.
        stopped: why it ended before the last trial, a StopReason with its values; None if it did not.
        drift: drift of the baseline, for each figure.
        seconds: duration of this part of the run, s.
        notes: sentences for display.
    """

    done: int
    planned: int
    failed: int
    mismatched: int
    stopped: Message | None = None
    drift: list[BaselineDrift] = []
    seconds: float = 0.0
    notes: list[str] = []


class SearchArgs(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of ``experiment.best``.

    Attributes:
        share: server:/export.
        options: present or intended mount options; those that are not varied apply to all sets, and the
            others form a candidate.
        factors: factors to vary; empty for those that affect speed most.
        direction: direction of the speed to maximize; "both" counts bytes over the time of both.
        size: bytes of the file to copy, None to choose it.
        budget_s: time limit, s.
        budget_bytes: limit of bytes over the network in both directions, None for none.
        seed: seed of random choices.
    """

    share: str
    options: str = ""
    factors: list[Factor] = []
    direction: Direction = "both"
    size: int | None = None
    budget_s: float = 300.0
    budget_bytes: int | None = None
    seed: int = 0


class BestSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a search: the best settings.

    Attributes:
        plan: plan with all candidates and exclusions.
        answer: winner, runner-up, default and present settings with their intervals, bytes per second.
        options: mount options of the winner.
        read_ahead_kb: readahead of the winner, KiB; None for the kernel's default.
        stopped: why it ended before its time limit, a StopReason with its values; None if it did not.
        seconds: duration of the search, or of this part of it, s.
        struck: candidates excluded during the search, with reasons.
        retest: alternating re-test of the winner and the present settings; None if they are the same, or it
            was not run.
    """

    plan: ExperimentPlan
    answer: SearchConclusion
    options: str
    read_ahead_kb: int | None
    retest: Retest | None = None
    stopped: Message | None = None
    seconds: float = 0.0
    struck: list[ExcludedSet] = []


def counted_outcomes(outcomes: Iterable[TrialOutcome]) -> list[TrialOutcome]:
    """Return the valid outcomes of a search in order, without failed ones at its end.

    At such failures the server was probably down, so they say nothing about their sets and are repeated. They
    remain if a resumed search ended before repeating them. A failure at the end of the time limit is valid.

    Args:
        outcomes: outcomes of the search's trials.
    """
    valid = sorted(outcomes, key=lambda outcome: outcome.order)
    while valid and valid[-1].state == "failed" and valid[-1].left_s != 0:
        del valid[-1]
    return valid

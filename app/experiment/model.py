"""Data of an experiment: factors, workloads, plan, progress and result; and those of a search.

The field names are those of the JSON output and of the history's database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.experiment.measurements import TrialOutcome  # noqa: TC001 - msgspec reads it at run time
from advisor.experiment.ranking import BaselineDrift  # noqa: TC001 - msgspec reads the annotations at run time
from advisor.experiment.search import (
    Retest,  # noqa: TC001 - msgspec reads it at run time
    SearchConclusion,  # noqa: TC001 - msgspec reads it at run time
)
from advisor.transfer_sizes import CP_CALL_SIZE
from app.speedtest.model import Direction, Environment, TestEvent, WorkloadKind  # noqa: TC001 - likewise
from app.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterable

#: What a search for the best setting has in the place of a recipe's name.
SEARCH_NAME = "best"
#: The time of a search whose bytes are limited and whose time is not: a day.
UNLIMITED_S = 86400.0
#: Between a workload's name and its amount, where that is no more what the name says.
#: Behind what a cut work copies, the name that it had; the second is of records before.
_PLANNED, _CUT = " (planned: ", ", cut to "
#: All levels of all factors combined; each factor alone around a base; or the rows that are spelled out.
Strategy = Literal["full", "one-at-a-time", "rows"]
#: What is done now: an option set is tried, the line is warmed up, a trial runs, one of a re-test runs, or a
#: trial has just ended.
ExperimentPhase = Literal["trying", "warm-up", "trial", "retest", "done"]


class Factor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is varied.

    Attributes:
        name: an option of the catalogue, or one of app.experiment.factors.
        levels: the values to compare.
        base: the level that the others are compared with; "" for the first.
    """

    name: str
    levels: list[str]
    base: str = ""

    @property
    def baseline(self) -> str:
        """The level that the others are compared with."""
        return self.base or self.levels[0]


class WorkloadSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a trial copies.

    Attributes:
        name: for people, and in the outcomes.
        kind: one file, many small ones, records in random order, or several files at once.
        size: bytes of each file.
        count: number of files.
        block_size: bytes of each call, AS_COPY for those of cp on the mount of each set.
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
        """Its name before it was cut."""
        cut, planned, name = self.name.partition(_PLANNED)
        return name.removesuffix(")") if planned else cut.partition(_CUT)[0]

    @property
    def amount(self) -> str:
        """What it copies, for people."""
        return f"{f'{self.count} x ' if self.count > 1 else ''}{format_size(self.size)}"

    def resized(self, *, size: int | None = None, count: int | None = None) -> WorkloadSpec:
        """Return it with another amount: its name begins with that, and ends with the one it had."""
        cut = msgspec.structs.replace(self, size=size or self.size, count=count or self.count)
        return msgspec.structs.replace(cut, name=f"{cut.amount}{_PLANNED}{self.uncut_name})")


class Experiment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Factors, workloads and repeats on one share.

    Attributes:
        share: server:/export.
        recipe: name of the recipe that it comes from, or "".
        title: for people.
        options: option string that all sets have in common.
        strategy: how the levels are combined.
        axes: factors of the study's own table: down, across, and those whose levels have tables of their own.
        factors: what is varied.
        rows: of the strategy "rows": factor to level; a factor that a row does not name has its base.
        workloads: what each set copies.
        repeats: of each set and workload.
        seed: of the random order.
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
    """Levels that are not measured here.

    Attributes:
        levels: factor to level; several that are only impossible together.
        reason: why, in one or two sentences.
        same_as: the levels that come out the same and are measured instead, {} if there are none.
    """

    levels: dict[str, str]
    reason: str
    same_as: dict[str, str] = {}


class OptionSet(msgspec.Struct, frozen=True, kw_only=True):
    """One option set that was tried and found to work.

    Attributes:
        levels: factor to level.
        options: as mounted.
        read_ahead_kb: to be set after mounting, None to leave it.
        effective: option name to value as in use when it was tried.
        whole: whether that is all that was in use; otherwise, of a set that was not tried itself, only what
            its levels make of it.
        seconds: what a trial of each workload will take, about.
    """

    levels: dict[str, str]
    options: str
    read_ahead_kb: int | None = None
    effective: dict[str, str] = {}
    whole: bool = True
    seconds: list[float] = []


class ExperimentPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What an experiment will do, before it begins.

    Attributes:
        experiment: as asked, or smaller to fit a budget.
        sets: the option sets to compare, the baseline first.
        struck: what is not measured, and why.
        trials: number of all trials, those of the baseline and the warm-up among them.
        seconds: what they will take, about.
        bytes: what will cross the network in both directions together; of a search what may, 0 for no limit.
        space: bytes that the largest trial needs on the server.
        notes: sentences for a person.
        environment: of the host that will run it.
        current: of a search, the levels of the setting in use; {} if it is no candidate.
        today: of a search, the setting in use where it is no candidate: its levels are {}, and the winner is
            tested again beside it.
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
    def present(self) -> OptionSet | None:
        """Of a search, the setting in use; None of an experiment."""
        if not self.current:
            return self.today
        return next((one for one in self.sets if one.levels == self.current), None)


class ExperimentArgs(msgspec.Struct, frozen=True, kw_only=True):
    """``experiment.plan``.

    Attributes:
        experiment: what is asked for.
        budget_s: seconds that it may take; it is made smaller until it should fit. None for no limit.
    """

    experiment: Experiment
    budget_s: float | None = None


class ExperimentRunArgs(msgspec.Struct, frozen=True, kw_only=True):
    """``experiment.run``, and ``experiment.search`` for what is left of a search.

    Attributes:
        plan: from ``experiment.plan``, or as ``experiment.best`` told it.
        done: outcomes of an earlier part of the run; these trials are not repeated.
        budget_s: no further trial begins that would probably end later than this, in seconds from now. None
            for no limit, or for what is left of a search's time.
    """

    plan: ExperimentPlan
    done: list[TrialOutcome] = []
    budget_s: float | None = None


class ExperimentEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What planning and running tell on the way.

    Attributes:
        phase: what is done now.
        number: of the option set being tried, or of the trial, from 1.
        total: how many there are.
        eta_s: seconds that are left, about; None if not known yet.
        levels: of the present set.
        workload: of the present trial, "" while option sets are tried.
        test: from the running trial.
        outcome: of a trial that is done.
        plan: of a search for the best, before its first trial.
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


class ExperimentResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended; its outcomes were told one by one.

    Attributes:
        done: trials done, also those of earlier parts of the run.
        planned: trials in all.
        failed: trials that failed.
        mismatched: trials whose values in use were not those of the plan.
        stopped: why it ended before the last trial, or "".
        drift: of the baseline, for each figure.
        seconds: what this part of the run took.
        notes: sentences for a person.
    """

    done: int
    planned: int
    failed: int
    mismatched: int
    stopped: str = ""
    drift: list[BaselineDrift] = []
    seconds: float = 0.0
    notes: list[str] = []


class SearchArgs(msgspec.Struct, frozen=True, kw_only=True):
    """``experiment.best``.

    Attributes:
        share: server:/export.
        options: as it is mounted now, or is to be: what is not varied is kept, the rest is a candidate.
        factors: what may be changed; empty for the options that make most of a difference.
        direction: whose speed counts; of both, bytes over the time of both.
        size: bytes of the file that is copied, None to choose it.
        budget_s: seconds that it may take.
        budget_bytes: what may cross the network in both directions together, None for no limit.
        seed: of what is left to chance.
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
    """The best setting that was found.

    Attributes:
        plan: all candidates, and what was struck out.
        answer: winner, runner-up, default and current setting with their intervals, bytes a second.
        options: the winner's option string.
        read_ahead_kb: the winner's readahead, None to leave it.
        stopped: why it ended before its time, or "".
        seconds: what it took, or this part of it.
        struck: option sets that turned out not to be candidates when they were tried, and why.
        retest: what the winner gave when it was run again, in turns with the present setting; None if it is
            the present setting, or was not run again.
    """

    plan: ExperimentPlan
    answer: SearchConclusion
    options: str
    read_ahead_kb: int | None
    retest: Retest | None = None
    stopped: str = ""
    seconds: float = 0.0
    struck: list[ExcludedSet] = []


def counted_outcomes(outcomes: Iterable[TrialOutcome]) -> list[TrialOutcome]:
    """Return the outcomes of a search that count, in their order: not the last ones, if they failed.

    With those the server was away: they say nothing of their sets, and are tried again. Where a search that
    went on ended before it came so far, they are left over. The last one at the end of the time does count.

    Args:
        outcomes: of its trials.
    """
    found = sorted(outcomes, key=lambda outcome: outcome.order)
    while found and found[-1].state == "failed" and found[-1].left_s != 0:
        del found[-1]
    return found

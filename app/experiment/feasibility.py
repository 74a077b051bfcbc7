"""Feasible option sets: by the facts and by mounting each once; the others excluded with reasons.

A set is excluded if it cannot be mounted, or if it comes out the same in use as an earlier one.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from advisor.experiment.intervals import median
from advisor.options import MountOptions, catalogue
from advisor.throughput import ServerCosts
from advisor.transfer_sizes import CP_CALL_SIZE, rounded_io_size
from app.errors import AppError, ErrorKind
from app.experiment.estimate import (
    LatencySources,
    latencies_of,
    latency_sample,
    measured_costs,
    transfer_seconds,
)
from app.experiment.factors import (
    OBSOLETE_LEVELS,
    TEST_FACTORS,
    TRANSFER_SIZE,
    UNSUPPORTED_FACTORS,
    conflicting_levels,
    factor_label,
    mount_settings,
    trial_spec,
)
from app.experiment.model import ExcludedSet, ExperimentEvent, OptionSet
from app.mounts.option_comparison import difference_reason
from app.speedtest.cleanup import wait_unless_cancelled
from app.speedtest.model import TestSpec, block_size_problem, file_count_problem
from app.tasks import CancelledError, CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from advisor.facts import Facts
    from app.experiment.context import ExperimentContext, OpenMount
    from app.experiment.factors import MountSettings
    from app.experiment.model import Experiment, Factor, WorkloadSpec
    from app.speedtest.model import TestEvent

#: After so many sets in a row that the server did not answer, it is away.
_MAX_SILENT_IN_A_ROW = 3
_SILENT_KINDS = {ErrorKind.SERVER_SILENT, ErrorKind.SERVER_REFUSED, ErrorKind.NOT_RESPONDING}
#: What no other option set will mend.
_FATAL_KINDS = {
    ErrorKind.CANCELLED, ErrorKind.NOT_AUTHORIZED, ErrorKind.HELPER_MISSING, ErrorKind.HELPER_UNTRUSTED,
    ErrorKind.HELPER_FAILED, ErrorKind.PKEXEC_MISSING, ErrorKind.POLKIT_AGENT_MISSING, ErrorKind.INTERNAL,
    ErrorKind.MOUNT_NFS_MISSING, ErrorKind.SERVER_UNKNOWN, ErrorKind.SHARE_INVALID, ErrorKind.UNAVAILABLE,
}  # fmt: skip
#: Factors of which a server that takes one level takes the smaller ones, and the options that each is about.
_MONOTONIC_FACTORS = {
    TRANSFER_SIZE: ("rsize", "wsize"), "rsize": ("rsize",), "wsize": ("wsize",), "nconnect": ("nconnect",),
}  # fmt: skip
#: What mount.nfs fills in by itself: it differs from mount to mount and says nothing.
VOLATILE_OPTIONS = frozenset({"clientaddr", "addr", "mountaddr", "mountport", "port"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProbeResult:
    """What became of an option string when it was tried.

    Attributes:
        error: why it cannot be mounted, or None.
        effective: what was in use.
        shared: whether the server's connections were there before.
        took_s: seconds to mount and unmount; None if it was not mounted, and a larger level tells.
    """

    error: AppError | None = None
    effective: dict[str, str] = field(default_factory=dict[str, str])
    shared: bool = False
    took_s: float | None = 0.0


class SetProbeReport(NamedTuple):
    """What came of trying option sets.

    Attributes:
        planned: those that can be measured, in their order.
        struck: what cannot, and why.
    """

    planned: list[OptionSet]
    struck: list[ExcludedSet]


class SetProber:
    """Tries option sets, each different option string once.

    Args:
        context: how it mounts, the facts, the clock.
        token: cancels it.
        emit: gets the progress.

    Attributes:
        tried: option string to what became of it.
    """

    def __init__(
        self, context: ExperimentContext, token: CancelToken, emit: Callable[[ExperimentEvent], None]
    ) -> None:
        self.tried: dict[str, SetProbeResult] = {}
        self._costs: dict[LatencySources, ServerCosts] = {}
        #: Seconds that the first small test took beside its copying.
        self._test_overhead_s = 0.0
        self._free: int | None = None
        self._context = context
        self._token = token
        self._emit = emit

    def probe(self, experiment: Experiment, sets: Sequence[Levels]) -> SetProbeReport:
        """Try sets; those of earlier calls are not mounted again.

        Args:
            experiment: that the sets are of.
            sets: their levels; of two that come out the same the first is planned.

        Raises:
            AppError: if no set can be mounted.
            CancelledError: when the token is set.
        """
        mounts = [checked_mount_settings(experiment, levels) for levels in sets]
        self._try_all(experiment, mounts, sets)
        dead = _excluded_sets(sets, mounts, self.tried)
        planned = [
            OptionSet(
                levels=levels,
                options=mount.options,
                read_ahead_kb=mount.read_ahead_kb,
                effective=self.tried[mount.options].effective,
            )
            for number, (levels, mount) in enumerate(zip(sets, mounts, strict=True))
            if number not in dead
        ]
        if not planned:
            raise next(result.error for result in self.tried.values() if result.error is not None)
        return SetProbeReport(planned, explain_exclusions(sets, dead))

    def probe_largest(self, experiment: Experiment, sets: Sequence[Levels]) -> None:
        """Try sets that differ from the first in one level each, but of some options the largest level alone.

        Where that is in use as asked, and nothing else is another, the smaller ones will be, too: they count
        as tried, unless it shares what another mount asked for. A trial looks at what is in use whenever it
        has mounted.

        Args:
            experiment: that the sets are of.
            sets: their levels.

        Raises:
            AppError: if the server does not answer.
            CancelledError: when the token is set.
        """
        smaller: list[tuple[str, Levels, Levels]] = []
        for name in _MONOTONIC_FACTORS.keys() & sets[0].keys():
            exact = {
                int(levels[name]): levels
                for levels in sets[1:]
                if levels[name] != sets[0][name] and _is_exact(name, levels[name])
            }
            smaller += [(name, exact[size], exact[max(exact)]) for size in exact if size != max(exact)]
        left_out = [levels for _name, levels, _largest in smaller]
        first = [levels for levels in sets if levels not in left_out]
        self._try_all(experiment, [checked_mount_settings(experiment, levels) for levels in first], first)
        base = self.tried[checked_mount_settings(experiment, sets[0]).options]
        for name, levels, largest in smaller:
            top = self.tried[checked_mount_settings(experiment, largest).options]
            asked = dict.fromkeys(_MONOTONIC_FACTORS[name], largest[name])
            alone = top.error is None and not top.shared
            if alone and _without_volatile(top.effective) == _without_volatile(base.effective | asked):
                effective = top.effective | dict.fromkeys(_MONOTONIC_FACTORS[name], levels[name])
                known = SetProbeResult(effective=effective, shared=top.shared, took_s=None)
                self.tried.setdefault(checked_mount_settings(experiment, levels).options, known)

    def overhead_s(self) -> float:
        """Return what a trial takes beside its copying, about, in seconds."""
        return self.mounting_s() + self._test_overhead_s

    def mounting_s(self) -> float:
        """Return what mounting and unmounting takes, the median in seconds."""
        return median(
            [one.took_s for one in self.tried.values() if one.error is None and one.took_s is not None]
        )

    def costs(self, options: str) -> ServerCosts:
        """Return what the server takes with these options, a usual one's times if that is not known."""
        return self._costs.get(latencies_of(options), ServerCosts())

    def free(self) -> int | None:
        """Return the bytes that are free there, None if nobody knows."""
        return self._free

    def _try_all(
        self, experiment: Experiment, mounts: Sequence[MountSettings], sets: Sequence[Levels]
    ) -> None:
        total = len(self.tried.keys() | {mount.options for mount in mounts})
        silent = 0
        for mount, levels in zip(mounts, sets, strict=True):
            if mount.options in self.tried:
                continue
            self._token.check()
            of_mount = {name: level for name, level in levels.items() if name not in TEST_FACTORS}
            self._emit(
                ExperimentEvent(phase="trying", number=len(self.tried) + 1, total=total, levels=of_mount)
            )
            result = self._try(experiment, mount.options, levels)
            silent = silent + 1 if result.error is not None and result.error.kind in _SILENT_KINDS else 0
            if result.error is not None and silent == _MAX_SILENT_IN_A_ROW:
                raise result.error
            self.tried[mount.options] = result

    def _try(self, experiment: Experiment, options: str, levels: Levels) -> SetProbeResult:
        began = self._context.now()
        try:
            mount = self._context.open(options, None, self._token)
        except AppError as error:
            if error.kind in _FATAL_KINDS:
                raise
            return SetProbeResult(error=error)
        try:
            took_s = self._context.now() - began
            self._sample(mount, options, latency_sample(experiment, options, levels))
        except CancelledError:
            mount.abandon()
            raise
        except AppError as error:
            mount.abandon()
            raise AppError(
                error.kind,
                f"{experiment.share} can be mounted, but no test can be run there. {error.message}",
                hint=error.hint,
                detail=error.detail,
            ) from error
        except BaseException:
            mount.abandon()
            raise
        began = self._context.now()
        wait_unless_cancelled(mount.close, self._token, mount)
        took_s += self._context.now() - began
        return SetProbeResult(effective=mount.effective, shared=mount.shared, took_s=took_s)

    def _sample(self, mount: OpenMount, options: str, spec: TestSpec) -> None:
        """Test with next to nothing, once for all options that make a test wait for the same.

        What does not work there at all is found before anything is measured.

        Raises:
            AppError: as the first test says.
        """
        waits = latencies_of(options)
        if waits in self._costs:
            return
        first = not self._costs
        if first:
            self._free = mount.look_at(TestSpec(path=""), self._token).free
            # The very first has to wait for what all later ones find there.
            mount.run_test(spec, self._token, _ignore_event, self._context.link, round_trip=False)
        began = self._context.now()
        try:
            result = mount.run_test(spec, self._token, _ignore_event, self._context.link, round_trip=False)
        except CancelledError:
            raise
        except AppError:
            if first:
                raise
            self._costs[waits] = ServerCosts()  # its trials will say what is wrong
            return
        took_s = self._context.now() - began
        copied_s = transfer_seconds(result.write) + transfer_seconds(result.read)
        if first:
            self._test_overhead_s = max(took_s - copied_s, 0.0)
        self._costs[waits] = measured_costs(options, spec, result, self._context.facts)


def _ignore_event(_event: TestEvent) -> None:
    """Nobody listens to what is not measured."""


def checked_mount_settings(experiment: Experiment, levels: Levels) -> MountSettings:
    """Return how an option set is mounted.

    Raises:
        AppError: OPTION_INVALID if a level cannot be written as an option.
    """
    try:
        return mount_settings(experiment, levels)
    except ValueError as error:
        raise AppError(
            ErrorKind.OPTION_INVALID,
            f"{levels_text(levels)} cannot be written as mount options: {error}",
            hint="Correct the level.",
        ) from error


def _excluded_sets(
    sets: Sequence[Levels], mounts: Sequence[MountSettings], tried: Mapping[str, SetProbeResult]
) -> dict[int, Exclusion]:
    """Return the sets that cannot be mounted, or that come out the same as an earlier one, with reasons."""
    dead: dict[int, Exclusion] = {}
    first: dict[object, int] = {}
    for number, (levels, mount) in enumerate(zip(sets, mounts, strict=True)):
        result = tried[mount.options]
        if result.error is not None:
            dead[number] = Exclusion(f"It cannot be mounted. {result.error.message}")
            continue
        key = (
            mount_signature(mount.options, result.effective),
            mount.read_ahead_kb,
            _test_level_pairs(levels),
        )
        other = first.setdefault(key, number)
        if other != number:
            differing = {name: level for name, level in sets[other].items() if levels[name] != level}
            dead[number] = Exclusion(same_set_reason(differing, mount.options, result), differing)
    return dead


def mount_signature(options: str, effective: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what tells one mount from another: what is in use, and what was asked for but is never shown."""
    asked = MountOptions.parse(options).values()
    unseen = {
        name: value
        for name, value in asked.items()
        if (option := catalogue().find(name)) is not None and option.shown == "never"
    }
    return tuple(sorted((unseen | _without_volatile(effective)).items()))


def _without_volatile(effective: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in effective.items() if name not in VOLATILE_OPTIONS}


def _is_exact(name: str, level: str) -> bool:
    """Return whether the kernel takes this level of an option as it is asked for."""
    return level.isdigit() and (name == "nconnect" or rounded_io_size(int(level)) == int(level))


def _test_level_pairs(levels: Levels) -> tuple[tuple[str, str], ...]:
    return tuple((name, level) for name, level in levels.items() if name in TEST_FACTORS)


def same_set_reason(differing: Levels, options: str, result: SetProbeResult) -> str:
    """Return why a set is not measured that comes out the same as another.

    Args:
        differing: the other's levels that are others.
        options: of the set.
        result: what is in use with it.
    """
    requested = MountOptions.parse(options)
    notes = [
        note for name in requested.values() if (note := difference_reason(name, requested, result.effective))
    ]
    text = f"In use it is the same as {levels_text(differing)}."
    held = any((option := catalogue().find(name)) is not None and option.scope == "client"
               for name in differing)  # fmt: skip
    if held and result.shared:
        text += (
            " Another mount of this server and version is there, and all of them share its connections: "
            "unmount it to vary this."
        )
    elif notes:
        text += f" {notes[0]}"
    return text


Levels = dict[str, str]


def possible_factors(experiment: Experiment, facts: Facts) -> tuple[list[Factor], list[ExcludedSet]]:
    """Return the factors with the levels that may work here, and those struck out without trying.

    Args:
        experiment: its factors.
        facts: of client and server; what they do not tell is found out by trying.
    """
    factors: list[Factor] = []
    struck: list[ExcludedSet] = []
    for factor in experiment.factors:
        levels: list[str] = []
        spelled_out = [row[factor.name] for row in experiment.rows if factor.name in row]
        for level in dict.fromkeys([*factor.levels, *spelled_out]):
            reason = _level_exclusion(factor.name, level, facts)
            if reason:
                struck.append(ExcludedSet(levels={factor.name: level}, reason=reason))
            else:
                levels.append(level)
        if levels:
            base = factor.base if factor.base in levels else ""
            factors.append(msgspec.structs.replace(factor, levels=levels, base=base))
    return factors, struck


def without_conflicts(sets: Sequence[Levels]) -> tuple[list[Levels], list[ExcludedSet]]:
    """Return the sets whose levels can be together, and the pairs that cannot."""
    bad = [pair for levels in sets if (pair := conflicting_levels(levels))]
    struck = [
        ExcludedSet(levels=dict(pair), reason="A record cannot be larger than its file.")
        for pair in dict.fromkeys(tuple(pair.items()) for pair in bad)
    ]
    return [levels for levels in sets if not conflicting_levels(levels)], struck


def without_refused_tests(
    sets: Sequence[Levels], works: Sequence[WorkloadSpec]
) -> tuple[list[Levels], list[ExcludedSet]]:
    """Return the sets that make tests of these workloads as they can be run, and what makes others.

    Args:
        sets: of an experiment.
        works: its workloads.
    """
    tests = [dict(pairs) for pairs in dict.fromkeys(tuple(levels_of_test(levels).items()) for levels in sets)]
    dead = {
        number: Exclusion(problem)
        for number, levels in enumerate(tests)
        if (problem := next((found for work in works if (found := _refused_reason(work, levels))), ""))
    }
    bad = [tests[number] for number in dead]
    return [levels for levels in sets if levels_of_test(levels) not in bad], explain_exclusions(tests, dead)


class Exclusion(NamedTuple):
    """Why a set is not measured.

    Attributes:
        reason: in one or two sentences.
        same_as: where another set comes out the same, its levels that are others.
    """

    reason: str
    same_as: Levels = {}  # noqa: RUF012 - never changed


def explain_exclusions(sets: Sequence[Levels], dead: dict[int, Exclusion]) -> list[ExcludedSet]:
    """Return what is struck out because these sets cannot be measured, in as few words as possible.

    A level none of whose sets is left is struck out alone, two levels that are never left together as a
    pair, and what remains set by set.

    Args:
        sets: all.
        dead: index of each set that cannot be measured, with the reason.
    """
    alive = [levels for number, levels in enumerate(sets) if number not in dead]
    struck: dict[tuple[tuple[str, str], ...], Exclusion] = {}
    # Sets with least that could be the cause come first: their reasons are the most to the point.
    for number in sorted(dead, key=lambda number: _unused_levels(sets[number], alive)):
        cause = _smallest_cause(sets[number], alive)
        struck.setdefault(cause, dead[number])
    return [
        ExcludedSet(levels=dict(cause), reason=why.reason, same_as=why.same_as)
        for cause, why in struck.items()
    ]


def levels_text(levels: Levels) -> str:
    """Return levels for people."""
    return ", ".join(f"{factor_label(name)} {level}" for name, level in levels.items())


def _level_exclusion(name: str, level: str, facts: Facts) -> str:
    if name in UNSUPPORTED_FACTORS:
        return UNSUPPORTED_FACTORS[name]
    if (name, level) in OBSOLETE_LEVELS:
        return OBSOLETE_LEVELS[name, level]
    if name == "proto" and level.startswith("udp") and facts.client.udp is False:
        return "This kernel's NFS client is built without UDP (CONFIG_NFS_DISABLE_UDP_SUPPORT)."
    offered = facts.server.tcp_versions if facts.server is not None else None
    if name == "vers" and offered and level.startswith(("3", "4.")) and level not in offered:
        return f"The server does not offer version {level} over TCP; it offers {', '.join(offered)}."
    return ""


def levels_of_test(levels: Levels) -> Levels:
    """Return the levels that are of the test, not of the mount."""
    return {name: level for name, level in levels.items() if name in TEST_FACTORS}


def _refused_reason(work: WorkloadSpec, levels: Levels) -> str:
    spec = trial_spec(work, levels)
    block = "" if spec.block_size == CP_CALL_SIZE else block_size_problem(spec.block_size)
    return block or file_count_problem(spec.workload, spec.count)


def _unused_levels(levels: Levels, alive: Sequence[Levels]) -> int:
    return sum(not any(other.get(name) == level for other in alive) for name, level in levels.items())


def _smallest_cause(levels: Levels, alive: Sequence[Levels]) -> tuple[tuple[str, str], ...]:
    """Return the smallest part of a set's levels that no set that is left has."""
    for size in (1, 2):
        for part in itertools.combinations(levels.items(), size):
            if not any(_contains(part, other) for other in alive):
                return part
    return tuple(levels.items())


def _contains(part: Sequence[tuple[str, str]], levels: Levels) -> bool:
    return all(levels.get(name) == level for name, level in part)

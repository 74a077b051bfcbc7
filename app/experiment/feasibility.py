"""Feasible option sets: checked against known facts and by mounting each set once.

Infeasible sets are excluded with a reason. A set is also excluded if its options in use equal those of an
earlier set.

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
from app.errors import AppError, CancelledError, ErrorKind
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
from app.text.errors import ErrorCode
from app.text.message import message_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from advisor.facts import Facts
    from app.experiment.context import ExperimentContext, OpenMount
    from app.experiment.factors import TrialMountSettings
    from app.experiment.model import Experiment, Factor, WorkloadSpec
    from app.speedtest.model import TestEvent
    from app.tasks import CancelToken

#: Planning stops when the server leaves this many option sets in a row unanswered.
_MAX_SILENT_IN_A_ROW = 3
_SILENT_KINDS = {ErrorKind.SERVER_SILENT, ErrorKind.SERVER_REFUSED, ErrorKind.NOT_RESPONDING}
#: Errors that would occur with every other option set, too.
_FATAL_KINDS = {
    ErrorKind.CANCELLED, ErrorKind.NOT_AUTHORIZED, ErrorKind.HELPER_MISSING, ErrorKind.HELPER_UNTRUSTED,
    ErrorKind.HELPER_FAILED, ErrorKind.PKEXEC_MISSING, ErrorKind.POLKIT_AGENT_MISSING, ErrorKind.INTERNAL,
    ErrorKind.MOUNT_NFS_MISSING, ErrorKind.SERVER_UNKNOWN, ErrorKind.SHARE_INVALID, ErrorKind.UNAVAILABLE,
}  # fmt: skip
#: Factors where a server that accepts a level also accepts all smaller ones, with the options they set.
_MONOTONIC_FACTORS = {
    TRANSFER_SIZE: ("rsize", "wsize"), "rsize": ("rsize",), "wsize": ("wsize",), "nconnect": ("nconnect",),
}  # fmt: skip
#: Options filled in by mount.nfs itself: they differ between mounts and are no part of the settings.
VOLATILE_OPTIONS = frozenset({"clientaddr", "addr", "mountaddr", "mountport", "port"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProbeResult:
    """Result of mounting one option string once.

    Attributes:
        error: why it cannot be mounted, or None.
            effective: options in use after mounting, by name.
            shared: whether an existing mount already held connections to the server.
            took_s: time to mount and unmount, s; None if the result was inferred from a larger level.
    """

    error: AppError | None = None
    effective: dict[str, str] = field(default_factory=dict[str, str])
    shared: bool = False
    took_s: float | None = 0.0


class SetProbeReport(NamedTuple):
    """Result of probing option sets.

    Attributes:
        planned: feasible option sets, in the order of the input.
        struck: excluded levels, pairs of levels and sets, with reasons.
    """

    planned: list[OptionSet]
    struck: list[ExcludedSet]


class SetProber:
    """Mounts option sets to find the feasible ones; each different option string is mounted once.

    Args:
        context: access to mounts, facts and clock.
        token: cancels probing.
        emit: receives progress events.

    Attributes:
        tried: result by option string.
    """

    def __init__(
        self, context: ExperimentContext, token: CancelToken, emit: Callable[[ExperimentEvent], None]
    ) -> None:
        self.tried: dict[str, SetProbeResult] = {}
        self._costs: dict[LatencySources, ServerCosts] = {}
        #: Overhead of the first small test, in addition to its transfers, s.
        self._test_overhead_s = 0.0
        self._free: int | None = None
        self._context = context
        self._token = token
        self._emit = emit

    def probe(self, experiment: Experiment, sets: Sequence[Levels]) -> SetProbeReport:
        """Mount the sets; those mounted by an earlier call are not mounted again.

        Args:
            experiment: experiment to which the sets belong.
            sets: levels of the sets; of two sets with the same options in use, only the first is planned.

        Raises:
            AppError: if no set can be mounted.
            CancelledError: when the token is set.
        """
        mounts = [checked_mount_settings(experiment, levels) for levels in sets]
        self._try_all(experiment, mounts, sets)
        excluded = _excluded_sets(sets, mounts, self.tried)
        planned = [
            OptionSet(
                levels=levels,
                options=mount.options,
                read_ahead_kb=mount.read_ahead_kb,
                effective=self.tried[mount.options].effective,
            )
            for number, (levels, mount) in enumerate(zip(sets, mounts, strict=True))
            if number not in excluded
        ]
        if not planned:
            raise next(result.error for result in self.tried.values() if result.error is not None)
        return SetProbeReport(planned, explain_exclusions(sets, excluded))

    def probe_largest(self, experiment: Experiment, sets: Sequence[Levels]) -> None:
        """Mount sets that differ from the first in one level; of monotonic factors only the largest level.

        If the largest level is in use as requested and no other option changed, the smaller levels count as
        feasible. They do not if the server's connections are shared with another mount. Each trial checks
        the options in use again.

        Args:
            experiment: experiment to which the sets belong.
            sets: levels of the sets.

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
        skipped = [levels for _name, levels, _largest in smaller]
        needed = [levels for levels in sets if levels not in skipped]
        self._try_all(experiment, [checked_mount_settings(experiment, levels) for levels in needed], needed)
        base = self.tried[checked_mount_settings(experiment, sets[0]).options]
        for name, levels, largest in smaller:
            top = self.tried[checked_mount_settings(experiment, largest).options]
            requested = dict.fromkeys(_MONOTONIC_FACTORS[name], largest[name])
            reliable = top.error is None and not top.shared
            if reliable and _without_volatile(top.effective) == _without_volatile(base.effective | requested):
                effective = top.effective | dict.fromkeys(_MONOTONIC_FACTORS[name], levels[name])
                inferred = SetProbeResult(effective=effective, shared=top.shared, took_s=None)
                self.tried.setdefault(checked_mount_settings(experiment, levels).options, inferred)

    def overhead_s(self) -> float:
        """Return the estimated overhead of a trial in addition to its transfers, in seconds."""
        return self.mounting_s() + self._test_overhead_s

    def mounting_s(self) -> float:
        """Return the median time to mount and unmount, in seconds."""
        return median(
            [one.took_s for one in self.tried.values() if one.error is None and one.took_s is not None]
        )

    def costs(self, options: str) -> ServerCosts:
        """Return the server's measured latencies with these options, or typical ones if not measured."""
        return self._costs.get(latencies_of(options), ServerCosts())

    def free(self) -> int | None:
        """Return the free bytes in the share's file system, None if unknown."""
        return self._free

    def _try_all(
        self, experiment: Experiment, mounts: Sequence[TrialMountSettings], sets: Sequence[Levels]
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
            self._measure_latency(mount, options, latency_sample(experiment, options, levels))
        except CancelledError:
            mount.abandon()
            raise
        except AppError as error:
            mount.abandon()
            raise AppError(
                ErrorCode.SHARE_NOT_TESTABLE,
                kind=error.kind,
                detail=error.detail,
                share=experiment.share,
                problem=error,
            ) from error
        except BaseException:
            mount.abandon()
            raise
        began = self._context.now()
        wait_unless_cancelled(mount.close, self._token, mount)
        took_s += self._context.now() - began
        return SetProbeResult(effective=mount.effective, shared=mount.shared, took_s=took_s)

    def _measure_latency(self, mount: OpenMount, options: str, spec: TestSpec) -> None:
        """Measure the server's latencies with a minimal test, once for each LatencySources value.

        The first test also shows whether tests can run on the share at all.

        Raises:
            AppError: if the first test fails.
        """
        latencies = latencies_of(options)
        if latencies in self._costs:
            return
        is_first = not self._costs
        if is_first:
            self._free = mount.look_at(TestSpec(path=""), self._token).free
            # The very first test is slower, as nothing is cached yet. It is repeated, and only then measured.
            mount.run_test(spec, self._token, _ignore_event, self._context.link, round_trip=False)
        began = self._context.now()
        try:
            result = mount.run_test(spec, self._token, _ignore_event, self._context.link, round_trip=False)
        except CancelledError:
            raise
        except AppError:
            if is_first:
                raise
            self._costs[latencies] = ServerCosts()  # the trials will report the error
            return
        took_s = self._context.now() - began
        copied_s = transfer_seconds(result.write) + transfer_seconds(result.read)
        if is_first:
            self._test_overhead_s = max(took_s - copied_s, 0.0)
        self._costs[latencies] = measured_costs(options, spec, result, self._context.facts)


def _ignore_event(_event: TestEvent) -> None:
    """Ignore progress of tests that are not part of the experiment."""


def checked_mount_settings(experiment: Experiment, levels: Levels) -> TrialMountSettings:
    """Return the mount settings of an option set.

    Raises:
        AppError: OPTION_INVALID if a level cannot be written as an option.
    """
    try:
        return mount_settings(experiment, levels)
    except ValueError as error:
        raise AppError(
            ErrorCode.LEVEL_NOT_AN_OPTION, levels=levels_text(levels), problem=str(error)
        ) from error


def _excluded_sets(
    sets: Sequence[Levels], mounts: Sequence[TrialMountSettings], tried: Mapping[str, SetProbeResult]
) -> dict[int, Exclusion]:
    """Return the index of each set that cannot be mounted or equals an earlier set, with the reason."""
    excluded: dict[int, Exclusion] = {}
    first_by_key: dict[object, int] = {}
    for number, (levels, mount) in enumerate(zip(sets, mounts, strict=True)):
        result = tried[mount.options]
        if result.error is not None:
            excluded[number] = Exclusion(f"It cannot be mounted. {result.error.message}")
            continue
        key = (
            mount_signature(mount.options, result.effective),
            mount.read_ahead_kb,
            _test_level_pairs(levels),
        )
        equivalent = first_by_key.setdefault(key, number)
        if equivalent != number:
            differing = {name: level for name, level in sets[equivalent].items() if levels[name] != level}
            excluded[number] = Exclusion(same_set_reason(differing, mount.options, result), differing)
    return excluded


def mount_signature(options: str, effective: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Return a key that is equal for equivalent mounts: options in use, and requested ones never shown."""
    requested = MountOptions.parse(options).values()
    hidden = {
        name: value
        for name, value in requested.items()
        if (option := catalogue().find(name)) is not None and option.shown == "never"
    }
    return tuple(sorted((hidden | _without_volatile(effective)).items()))


def _without_volatile(effective: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in effective.items() if name not in VOLATILE_OPTIONS}


def _is_exact(name: str, level: str) -> bool:
    """Return whether the kernel uses this level of an option without rounding."""
    return level.isdigit() and (name == "nconnect" or rounded_io_size(int(level)) == int(level))


def _test_level_pairs(levels: Levels) -> tuple[tuple[str, str], ...]:
    return tuple((name, level) for name, level in levels.items() if name in TEST_FACTORS)


def same_set_reason(differing: Levels, options: str, result: SetProbeResult) -> str:
    """Return why a set is excluded that equals another one in use.

    Args:
        differing: levels of the other set that differ from those of this set.
        options: option string of this set.
        result: result of mounting this set.
    """
    requested = MountOptions.parse(options)
    notes = [
        note for name in requested.values() if (note := difference_reason(name, requested, result.effective))
    ]
    text = f"In use it is the same as {levels_text(differing)}."
    is_client_wide = any((option := catalogue().find(name)) is not None and option.scope == "client"
               for name in differing)  # fmt: skip
    if is_client_wide and result.shared:
        text += (
            " Another mount of this server and version is there, and all of them share its connections: "
            "unmount it to vary this."
        )
    elif notes:
        text += f" {message_text(notes[0])}"
    return text


Levels = dict[str, str]


def possible_factors(experiment: Experiment, facts: Facts) -> tuple[list[Factor], list[ExcludedSet]]:
    """Return the factors with their possible levels, and the levels excluded by known facts.

    Args:
        experiment: experiment whose factors are checked.
        facts: facts on client and server; unknown ones exclude nothing.
    """
    factors: list[Factor] = []
    exclusions: list[ExcludedSet] = []
    for factor in experiment.factors:
        levels: list[str] = []
        spelled_out = [row[factor.name] for row in experiment.rows if factor.name in row]
        for level in dict.fromkeys([*factor.levels, *spelled_out]):
            reason = _level_exclusion(factor.name, level, facts)
            if reason:
                exclusions.append(ExcludedSet(levels={factor.name: level}, reason=reason))
            else:
                levels.append(level)
        if levels:
            base = factor.base if factor.base in levels else ""
            factors.append(msgspec.structs.replace(factor, levels=levels, base=base))
    return factors, exclusions


def without_conflicts(sets: Sequence[Levels]) -> tuple[list[Levels], list[ExcludedSet]]:
    """Return the sets without conflicting levels, and the conflicting pairs of levels."""
    conflicts = [pair for levels in sets if (pair := conflicting_levels(levels))]
    exclusions = [
        ExcludedSet(levels=dict(pair), reason="A record cannot be larger than its file.")
        for pair in dict.fromkeys(tuple(pair.items()) for pair in conflicts)
    ]
    return [levels for levels in sets if not conflicting_levels(levels)], exclusions


def without_refused_tests(
    sets: Sequence[Levels], works: Sequence[WorkloadSpec]
) -> tuple[list[Levels], list[ExcludedSet]]:
    """Return the sets whose tests are valid for these workloads, and the excluded levels.

    Args:
        sets: levels of the sets of an experiment.
        works: workloads of the experiment.
    """
    tests = [dict(pairs) for pairs in dict.fromkeys(tuple(levels_of_test(levels).items()) for levels in sets)]
    excluded = {
        number: Exclusion(problem)
        for number, levels in enumerate(tests)
        if (problem := next((found for work in works if (found := _refused_reason(work, levels))), ""))
    }
    refused = [tests[number] for number in excluded]
    return [levels for levels in sets if levels_of_test(levels) not in refused], explain_exclusions(
        tests, excluded
    )


class Exclusion(NamedTuple):
    """Reason why an option set is not measured.

    Attributes:
        reason: one or two sentences.
        same_as: the differing levels of the equivalent earlier set; empty if there is none.
    """

    reason: str
    same_as: Levels = {}  # noqa: RUF012 - never changed


def explain_exclusions(sets: Sequence[Levels], excluded: dict[int, Exclusion]) -> list[ExcludedSet]:
    """Return the shortest list of levels and pairs of levels that explains the exclusion of these sets.

    A level is listed alone if all sets with it are excluded. A pair of levels is listed if all sets with both
    are excluded. The remaining sets are listed whole.

    Args:
        sets: levels of all sets.
        excluded: index of each excluded set, with the reason.
    """
    feasible = [levels for number, levels in enumerate(sets) if number not in excluded]
    causes: dict[tuple[tuple[str, str], ...], Exclusion] = {}
    # Sets with the fewest possible causes come first, because their reasons are the most specific.
    for number in sorted(excluded, key=lambda number: _unused_levels(sets[number], feasible)):
        cause = _smallest_cause(sets[number], feasible)
        causes.setdefault(cause, excluded[number])
    return [
        ExcludedSet(levels=dict(cause), reason=exclusion.reason, same_as=exclusion.same_as)
        for cause, exclusion in causes.items()
    ]


def levels_text(levels: Levels) -> str:
    """Return levels for display."""
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
    """Return the levels that belong to the test, not to the mount."""
    return {name: level for name, level in levels.items() if name in TEST_FACTORS}


def _refused_reason(work: WorkloadSpec, levels: Levels) -> str:
    spec = trial_spec(work, levels)
    block = "" if spec.block_size == CP_CALL_SIZE else block_size_problem(spec.block_size)
    return block or file_count_problem(spec.workload, spec.count)


def _unused_levels(levels: Levels, feasible: Sequence[Levels]) -> int:
    return sum(not any(other.get(name) == level for other in feasible) for name, level in levels.items())


def _smallest_cause(levels: Levels, feasible: Sequence[Levels]) -> tuple[tuple[str, str], ...]:
    """Return the smallest subset of a set's levels that occurs in no feasible set."""
    for size in (1, 2):
        for part in itertools.combinations(levels.items(), size):
            if not any(_contains(part, other) for other in feasible):
                return part
    return tuple(levels.items())


def _contains(part: Sequence[tuple[str, str]], levels: Levels) -> bool:
    return all(levels.get(name) == level for name, level in part)

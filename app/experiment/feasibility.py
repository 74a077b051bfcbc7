"""Option sets tried: each is mounted once, to see whether it can be measured here and what comes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from advisor.experiment.intervals import median
from advisor.kernel_numbers import rounded_io_size
from advisor.options import MountOptions, catalogue
from advisor.throughput import Costs
from app.bench.experiment.costs import Waits, measured_costs, sample_of, seconds_of, waits_of
from app.bench.experiment.sift import Dead, levels_text, reasons
from app.errors import AppError, ErrorKind
from app.experiment.factors import OF_THE_TEST, TRANSFER_SIZE, mounting
from app.experiment.model import ExperimentEvent, PlannedSet, Struck
from app.mounts.option_comparison import why_other
from app.speedtest.cleanup import unless_cancelled
from app.speedtest.model import TestSpec
from app.tasks import CancelledError, CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from app.bench.experiment.sift import Levels
    from app.experiment.context import Hands, OpenMount
    from app.experiment.factors import Mounting
    from app.experiment.model import Experiment
    from app.speedtest.model import TestEvent

#: After so many sets in a row that the server did not answer, it is away.
_SILENT_IN_A_ROW = 3
_SILENT = {ErrorKind.SERVER_SILENT, ErrorKind.SERVER_REFUSED, ErrorKind.NOT_RESPONDING}
#: What no other option set will mend.
_HOPELESS = {
    ErrorKind.CANCELLED, ErrorKind.NOT_AUTHORIZED, ErrorKind.HELPER_MISSING, ErrorKind.HELPER_UNTRUSTED,
    ErrorKind.HELPER_FAILED, ErrorKind.PKEXEC_MISSING, ErrorKind.POLKIT_AGENT_MISSING, ErrorKind.INTERNAL,
    ErrorKind.MOUNT_NFS_MISSING, ErrorKind.SERVER_UNKNOWN, ErrorKind.SHARE_INVALID, ErrorKind.UNAVAILABLE,
}  # fmt: skip
#: Factors of which a server that takes one level takes the smaller ones, and the options that each is about.
_BOUNDED = {
    TRANSFER_SIZE: ("rsize", "wsize"), "rsize": ("rsize",), "wsize": ("wsize",), "nconnect": ("nconnect",),
}  # fmt: skip
#: What mount.nfs fills in by itself: it differs from mount to mount and says nothing.
VOLATILE = frozenset({"clientaddr", "addr", "mountaddr", "mountport", "port"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
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


class Probed(NamedTuple):
    """What came of trying option sets.

    Attributes:
        planned: those that can be measured, in their order.
        struck: what cannot, and why.
    """

    planned: list[PlannedSet]
    struck: list[Struck]


class Prober:
    """Tries option sets, each different option string once.

    Args:
        hands: the world.
        token: cancels it.
        emit: gets the progress.

    Attributes:
        tried: option string to what became of it.
    """

    def __init__(self, hands: Hands, token: CancelToken, emit: Callable[[ExperimentEvent], None]) -> None:
        self.tried: dict[str, Tried] = {}
        self._costs: dict[Waits, Costs] = {}
        #: Seconds that the first small test took beside its copying.
        self._beside_s = 0.0
        self._free: int | None = None
        self._hands = hands
        self._token = token
        self._emit = emit

    def probe(self, experiment: Experiment, sets: Sequence[Levels]) -> Probed:
        """Try sets; those of earlier calls are not mounted again.

        Args:
            experiment: that the sets are of.
            sets: their levels; of two that come out the same the first is planned.

        Raises:
            AppError: if no set can be mounted.
            CancelledError: when the token is set.
        """
        mounts = [mount_of(experiment, levels) for levels in sets]
        self._try_all(experiment, mounts, sets)
        dead = _dead(sets, mounts, self.tried)
        planned = [
            PlannedSet(
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
        return Probed(planned, reasons(sets, dead))

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
        for name in _BOUNDED.keys() & sets[0].keys():
            exact = {
                int(levels[name]): levels
                for levels in sets[1:]
                if levels[name] != sets[0][name] and _exact(name, levels[name])
            }
            smaller += [(name, exact[size], exact[max(exact)]) for size in exact if size != max(exact)]
        left_out = [levels for _name, levels, _largest in smaller]
        first = [levels for levels in sets if levels not in left_out]
        self._try_all(experiment, [mount_of(experiment, levels) for levels in first], first)
        base = self.tried[mount_of(experiment, sets[0]).options]
        for name, levels, largest in smaller:
            top = self.tried[mount_of(experiment, largest).options]
            asked = dict.fromkeys(_BOUNDED[name], largest[name])
            alone = top.error is None and not top.shared
            if alone and _shown(top.effective) == _shown(base.effective | asked):
                effective = top.effective | dict.fromkeys(_BOUNDED[name], levels[name])
                known = Tried(effective=effective, shared=top.shared, took_s=None)
                self.tried.setdefault(mount_of(experiment, levels).options, known)

    def overhead_s(self) -> float:
        """Return what a trial takes beside its copying, about, in seconds."""
        return self.mounting_s() + self._beside_s

    def mounting_s(self) -> float:
        """Return what mounting and unmounting takes, the median in seconds."""
        return median(
            [one.took_s for one in self.tried.values() if one.error is None and one.took_s is not None]
        )

    def costs(self, options: str) -> Costs:
        """Return what the server takes with these options, a usual one's times if that is not known."""
        return self._costs.get(waits_of(options), Costs())

    def free(self) -> int | None:
        """Return the bytes that are free there, None if nobody knows."""
        return self._free

    def _try_all(self, experiment: Experiment, mounts: Sequence[Mounting], sets: Sequence[Levels]) -> None:
        total = len(self.tried.keys() | {mount.options for mount in mounts})
        silent = 0
        for mount, levels in zip(mounts, sets, strict=True):
            if mount.options in self.tried:
                continue
            self._token.check()
            of_mount = {name: level for name, level in levels.items() if name not in OF_THE_TEST}
            self._emit(
                ExperimentEvent(phase="trying", number=len(self.tried) + 1, total=total, levels=of_mount)
            )
            result = self._try(experiment, mount.options, levels)
            silent = silent + 1 if result.error is not None and result.error.kind in _SILENT else 0
            if result.error is not None and silent == _SILENT_IN_A_ROW:
                raise result.error
            self.tried[mount.options] = result

    def _try(self, experiment: Experiment, options: str, levels: Levels) -> Tried:
        began = self._hands.now()
        try:
            mount = self._hands.open(options, None, self._token)
        except AppError as error:
            if error.kind in _HOPELESS:
                raise
            return Tried(error=error)
        try:
            took_s = self._hands.now() - began
            self._sample(mount, options, sample_of(experiment, options, levels))
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
        began = self._hands.now()
        unless_cancelled(mount.close, self._token, mount)
        took_s += self._hands.now() - began
        return Tried(effective=mount.effective, shared=mount.shared, took_s=took_s)

    def _sample(self, mount: OpenMount, options: str, spec: TestSpec) -> None:
        """Test with next to nothing, once for all options that make a test wait for the same.

        What does not work there at all is found before anything is measured.

        Raises:
            AppError: as the first test says.
        """
        waits = waits_of(options)
        if waits in self._costs:
            return
        first = not self._costs
        if first:
            self._free = mount.look_at(TestSpec(path=""), self._token).free
            # The very first has to wait for what all later ones find there.
            mount.run_test(spec, self._token, _unheard, self._hands.link, round_trip=False)
        began = self._hands.now()
        try:
            result = mount.run_test(spec, self._token, _unheard, self._hands.link, round_trip=False)
        except CancelledError:
            raise
        except AppError:
            if first:
                raise
            self._costs[waits] = Costs()  # its trials will say what is wrong
            return
        took_s = self._hands.now() - began
        copied_s = seconds_of(result.write) + seconds_of(result.read)
        if first:
            self._beside_s = max(took_s - copied_s, 0.0)
        self._costs[waits] = measured_costs(options, spec, result, self._hands.facts)


def _unheard(_event: TestEvent) -> None:
    """Nobody listens to what is not measured."""


def mount_of(experiment: Experiment, levels: Levels) -> Mounting:
    """Return how an option set is mounted.

    Raises:
        AppError: OPTION_INVALID if a level cannot be written as an option.
    """
    try:
        return mounting(experiment, levels)
    except ValueError as error:
        raise AppError(
            ErrorKind.OPTION_INVALID,
            f"{levels_text(levels)} cannot be written as mount options: {error}",
            hint="Correct the level.",
        ) from error


def _dead(sets: Sequence[Levels], mounts: Sequence[Mounting], tried: Mapping[str, Tried]) -> dict[int, Dead]:
    """Return the sets that cannot be mounted, or that come out the same as an earlier one, with reasons."""
    dead: dict[int, Dead] = {}
    first: dict[object, int] = {}
    for number, (levels, mount) in enumerate(zip(sets, mounts, strict=True)):
        result = tried[mount.options]
        if result.error is not None:
            dead[number] = Dead(f"It cannot be mounted. {result.error.message}")
            continue
        key = (signature(mount.options, result.effective), mount.read_ahead_kb, _of_test(levels))
        other = first.setdefault(key, number)
        if other != number:
            differing = {name: level for name, level in sets[other].items() if levels[name] != level}
            dead[number] = Dead(same_text(differing, mount.options, result), differing)
    return dead


def signature(options: str, effective: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what tells one mount from another: what is in use, and what was asked for but is never shown."""
    asked = MountOptions.parse(options).values()
    unseen = {
        name: value
        for name, value in asked.items()
        if (option := catalogue().find(name)) is not None and option.shown == "never"
    }
    return tuple(sorted((unseen | _shown(effective)).items()))


def _shown(effective: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in effective.items() if name not in VOLATILE}


def _exact(name: str, level: str) -> bool:
    """Return whether the kernel takes this level of an option as it is asked for."""
    return level.isdigit() and (name == "nconnect" or rounded_io_size(int(level)) == int(level))


def _of_test(levels: Levels) -> tuple[tuple[str, str], ...]:
    return tuple((name, level) for name, level in levels.items() if name in OF_THE_TEST)


def same_text(differing: Levels, options: str, result: Tried) -> str:
    """Return why a set is not measured that comes out the same as another.

    Args:
        differing: the other's levels that are others.
        options: of the set.
        result: what is in use with it.
    """
    requested = MountOptions.parse(options)
    notes = [note for name in requested.values() if (note := why_other(name, requested, result.effective))]
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

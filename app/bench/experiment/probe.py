"""Option sets tried: each is mounted once, to see whether it can be measured here and what comes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from advisor.analysis import median
from advisor.model import Costs
from advisor.options import MountOptions, catalogue, implied_values
from app.bench.experiment.factors import OF_THE_TEST, mounting
from app.bench.experiment.model import ExperimentEvent, PlannedSet, Struck
from app.bench.experiment.sift import Dead, levels_text, reasons
from app.bench.result import TestSpec
from app.errors import AppError, ErrorKind
from app.mounts.effective import why_other
from app.tasks import CancelledError, CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from app.bench.experiment.factors import Mounting
    from app.bench.experiment.hands import Hands, OpenMount
    from app.bench.experiment.model import Experiment
    from app.bench.experiment.sift import Levels
    from app.bench.result import TestEvent

#: After so many sets in a row that the server did not answer, it is away.
_SILENT_IN_A_ROW = 3
_SILENT = {ErrorKind.SERVER_SILENT, ErrorKind.SERVER_REFUSED, ErrorKind.NOT_RESPONDING}
#: What no other option set will mend.
_HOPELESS = {
    ErrorKind.CANCELLED, ErrorKind.NOT_AUTHORIZED, ErrorKind.HELPER_MISSING, ErrorKind.HELPER_UNTRUSTED,
    ErrorKind.HELPER_FAILED, ErrorKind.PKEXEC_MISSING, ErrorKind.POLKIT_AGENT_MISSING, ErrorKind.INTERNAL,
    ErrorKind.MOUNT_NFS_MISSING, ErrorKind.SERVER_UNKNOWN, ErrorKind.SHARE_INVALID, ErrorKind.UNAVAILABLE,
}  # fmt: skip
#: A single write of next to nothing says no more of the server than that.
_QUICKEST, _SLOWEST = 0.05, 5.0
#: Bytes that are copied to see whether a test works.
SAMPLE_SIZE = 65536
#: What mount.nfs fills in by itself: it differs from mount to mount and says nothing.
VOLATILE = frozenset({"clientaddr", "addr", "mountaddr", "mountport", "port"})


class Sample(NamedTuple):
    """What a test of next to nothing tells before the real ones.

    Attributes:
        free: bytes free there, None if nobody knows.
        beside_s: seconds that a test takes beside its copying.
        commit_s: until the server had put a write on stable storage.
    """

    free: int | None
    beside_s: float
    commit_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What became of an option string when it was tried.

    Attributes:
        error: why it cannot be mounted, or None.
        effective: what was in use.
        shared: whether the server's connections were there before.
        took_s: seconds to mount and unmount.
        sample: what a small test there told, None if there was none.
    """

    error: AppError | None = None
    effective: dict[str, str] = field(default_factory=dict[str, str])
    shared: bool = False
    took_s: float = 0.0
    sample: Sample | None = None


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
        self._try_all(experiment.share, mounts, sets)
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

    def overhead_s(self) -> float:
        """Return what a trial takes beside its copying, about, in seconds."""
        return self.mounting_s() + sum(one.beside_s for one in self._samples())

    def mounting_s(self) -> float:
        """Return what mounting and unmounting takes, the median in seconds."""
        return median([result.took_s for result in self.tried.values() if result.error is None])

    def costs(self) -> Costs:
        """Return what the server takes: a usual one's times, scaled by how long it took to store a write."""
        usual = Costs()
        commit_s = next((one.commit_s for one in self._samples()), usual.commit_s)
        factor = min(max(commit_s / usual.commit_s, _QUICKEST), _SLOWEST)
        return Costs(
            service_s=usual.service_s,
            commit_s=usual.commit_s * factor,
            attributes_s=usual.attributes_s * factor,
            open_s=usual.open_s * factor,
            create_s=usual.create_s * factor,
        )

    def free(self) -> int | None:
        """Return the bytes that are free there, None if nobody knows."""
        return next((one.free for one in self._samples() if one.free is not None), None)

    def _samples(self) -> list[Sample]:
        return [result.sample for result in self.tried.values() if result.sample is not None]

    def _try_all(self, share: str, mounts: Sequence[Mounting], sets: Sequence[Levels]) -> None:
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
            result = self._try(share, mount.options)
            silent = silent + 1 if result.error is not None and result.error.kind in _SILENT else 0
            if result.error is not None and silent == _SILENT_IN_A_ROW:
                raise result.error
            self.tried[mount.options] = result

    def _try(self, share: str, options: str) -> Tried:
        began = self._hands.now()
        try:
            mount = self._hands.open(options, None, self._token)
        except AppError as error:
            if error.kind in _HOPELESS:
                raise
            return Tried(error=error)
        try:
            took_s = self._hands.now() - began
            sample = None if self._samples() else self._sample(mount, options)
        except CancelledError:
            mount.abandon()
            raise
        except AppError as error:
            mount.abandon()
            raise AppError(
                error.kind,
                f"{share} can be mounted, but no test can be run there. {error.message}",
                hint=error.hint,
                detail=error.detail,
            ) from error
        except BaseException:
            mount.abandon()
            raise
        began = self._hands.now()
        mount.close()
        took_s += self._hands.now() - began
        return Tried(effective=mount.effective, shared=mount.shared, took_s=took_s, sample=sample)

    def _sample(self, mount: OpenMount, options: str) -> Sample:
        """Test with next to nothing, once: what does not work there is found before anything is measured.

        Raises:
            AppError: as the test says.
        """
        free = mount.look_at(TestSpec(path=""), self._token).free
        spec = TestSpec(path="", size=SAMPLE_SIZE)
        # The first has to wait for what all later ones find there.
        mount.run_test(spec, self._token, _unheard, self._hands.link, round_trip=False)
        began = self._hands.now()
        result = mount.run_test(spec, self._token, _unheard, self._hands.link, round_trip=False)
        took_s = self._hands.now() - began
        transfers = [each for each in (result.write, result.read) if each is not None]
        copied_s = sum(each.transfer_s + each.fsync_s + each.close_s for each in transfers)
        commit_s = 0.0
        if result.write is not None:
            # With sync or noac each write was one of its own, otherwise all of them together.
            sync = implied_values(MountOptions.parse(options)).get("sync") == "sync"
            writes = -(-SAMPLE_SIZE // int(mount.effective.get("wsize", SAMPLE_SIZE))) if sync else 1
            write_s = result.write.transfer_s + result.write.fsync_s + result.write.close_s
            rtt_s = self._hands.facts.link.rtt_s if self._hands.facts.link is not None else None
            commit_s = max(write_s / writes - (rtt_s or 0.0), 0.0)
        return Sample(free, max(took_s - copied_s, 0.0), commit_s)


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
    shown = {name: value for name, value in effective.items() if name not in VOLATILE}
    return tuple(sorted((unseen | shown).items()))


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

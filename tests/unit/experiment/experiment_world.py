"""Fake server for experiments, in memory: mounts that limit, refuse or fail as configured; a fake clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
from advisor.options import MountOptions, implied_values
from app.errors import AppError, ErrorKind
from app.experiment.context import ExperimentContext
from app.experiment.estimate import SAMPLE_SIZE
from app.experiment.model import Experiment, Factor, WorkloadSpec
from app.speedtest.messages import WorkerResult
from app.speedtest.model import TestEvent, TestResult, TestSpec, Transfer
from app.speedtest.private_mount import UnmountTiming

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.tasks import CancelToken


class World:
    """Behavior of the fake server, and a record of its mounts.

    Attributes:
        largest: maximum transfer size of the server, bytes.
        refused: options that make a mount fail.
        held: connections of another mount of the same server, 0 for none.
        dead: whether the server stops answering.
        unwritable: error message of a test, None if tests succeed.
        failing: options that make a minimal test fail.
        speed: function from options in use to bytes per second.
        trial_s: duration of each copy on the fake clock, s.
        read_ahead_kb: readahead of the share's present mount, KiB; None if it is not mounted.
    """

    def __init__(self) -> None:
        self.largest = 262144
        self.refused: set[str] = set()
        self.held = 0
        self.dead = False
        self.unwritable: AppError | None = None
        self.failing: set[str] = set()
        self.free: int | None = 10**12
        self.speed: Callable[[dict[str, str]], float] = lambda values: 1e6
        self.trial_s = 1.0
        self.read_ahead_kb: int | None = None
        self.time = 0.0
        self.opened: list[str] = []
        self.closed = 0
        self.specs: list[TestSpec] = []
        #: Option string and specification of each minimal test.
        self.samples: list[tuple[str, TestSpec]] = []
        self.before_test: Callable[[World], None] = lambda world: None
        self.facts = Facts(
            client=ClientFacts(udp=False),
            link=LinkFacts(name="gigabit", rate_bps=1e9, rtt_s=0.001),
            server=ServerFacts(name="nas", tcp_versions=("3", "4.1", "4.2")),
        )

    def context(self) -> ExperimentContext:
        return ExperimentContext(
            open=self.open, facts=self.facts, now=lambda: self.time, read_ahead_kb=self.read_ahead_kb
        )

    def open(self, options: str, read_ahead_kb: int | None, token: CancelToken) -> Mount:
        token.check()
        self.time += 0.1
        self.opened.append(options)
        if self.dead:
            raise AppError(ErrorKind.SERVER_SILENT, "The server does not answer.")
        for item in options.split(","):
            if item in self.refused:
                raise AppError(ErrorKind.OPTION_REJECTED, f"The kernel refuses {item}.")
        return Mount(self, options, read_ahead_kb)


class Mount:
    """A private mount of the fake server."""

    def __init__(self, world: World, options: str, read_ahead_kb: int | None) -> None:
        self._world = world
        self._options = options
        values = implied_values(MountOptions.parse(options))
        for name in ("rsize", "wsize"):
            values[name] = str(min(int(values.get(name, world.largest)), world.largest))
        values.setdefault("vers", "4.2")
        self.connections = world.held or int(values.get("nconnect", "1"))
        values["nconnect"] = str(self.connections)
        self.effective = values
        self.shared = bool(world.held)
        self.mount_s = 0.1
        self.read_ahead_kb: int | None = read_ahead_kb if read_ahead_kb is not None else 128

    def look_at(self, spec: TestSpec, token: CancelToken) -> WorkerResult:
        return WorkerResult(path="/x", where=None, rounds=[], notes=[], free=self._world.free)

    def run_test(
        self,
        spec: TestSpec,
        token: CancelToken,
        emit: Callable[[TestEvent], None],
        link: LinkFacts | None = None,
        *,
        round_trip: bool = True,
    ) -> TestResult:
        assert not round_trip  # outcomes do not contain it, and measuring it takes a second
        if spec.total == SAMPLE_SIZE:
            self._world.time += 1.85  # duration of the transfers plus 10 %
            self._world.samples.append((self._options, spec))
            if self._world.unwritable is not None:
                raise self._world.unwritable
            if self._world.failing & set(self._options.split(",")):
                raise AppError(ErrorKind.NOT_RESPONDING, "The file system has stopped answering.")
        else:
            self._world.before_test(self._world)
            token.check()
            if self._world.dead:
                raise AppError(ErrorKind.NOT_RESPONDING, "The file system has stopped answering.")
            self._world.specs.append(spec)
            self._world.time += self._world.trial_s
        emit(TestEvent(direction="write", phase="write"))
        speed = self._world.speed(self.effective)
        transfer = Transfer(
            bytes=spec.total, bytes_per_s=speed, transfer_s=1.0, fsync_s=0.5, close_s=0.25, timeouts=1,
            retransmissions=2, retransmissions_from="mountstats", rpc_retransmissions=2,
            tcp_retransmissions=None, server_bytes=spec.total, mean_rtt_s=None, cached=False, samples=[],
        )  # fmt: skip
        return TestResult(
            path="", nfs=True, share="nas:/x", started_at="", write=transfer, read=transfer, cache=None,
            requested={}, effective={}, link=None, block_size=spec.block_size, sync=False, notes=[],
        )  # fmt: skip

    def close(self) -> UnmountTiming:
        self._world.closed += 1
        self._world.time += 0.2
        return UnmountTiming(sync_s=0.05, unmount_s=0.15, gone=True)

    def abandon(self) -> None:
        self._world.closed += 1


def experiment(**changes: object) -> Experiment:
    """Return a small experiment with some fields changed."""
    fields: dict[str, object] = {
        "share": "nas:/x",
        "factors": [Factor(name="rsize", levels=["4096", "65536"])],
        "workloads": [WorkloadSpec(name="1 MB", size=2**20)],
        "repeats": 2,
        **changes,
    }
    return Experiment(**fields)  # type: ignore[arg-type]

"""A before-and-after test: the change stays only if it is proven faster, and can be saved and undone."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from memory_host import FSTAB, POINT, SHARE, MemoryHost

from app.errors import AppError, CancelledError, ErrorKind
from app.mounts import apply as apply_module
from app.mounts.apply import ChangeRunner
from app.mounts.change_model import ApplyArgs, RestoreArgs
from app.mounts.plan import make_plan
from app.mounts.removal import remove_saved_mount
from app.mounts.restore import restore_settings, settings_of
from app.mounts.saved_readahead import ReadaheadStore
from app.service.before_after import BeforeAfterTest, lasting_change, plan_before_after, predicted_duration
from app.service.model import BeforeAfterArgs, BeforeAfterEvent, BeforeAfterReport
from app.speedtest.model import TestEvent, TestResult, TestSpec, Transfer
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from app.mounts.model import Mount

MIB = 2**20


def transfer(speed: float) -> Transfer:
    return Transfer(
        bytes=MIB, bytes_per_s=speed, transfer_s=1, fsync_s=0, close_s=0, timeouts=0, retransmissions=0,
        retransmissions_from="none", rpc_retransmissions=None, tcp_retransmissions=None, server_bytes=None,
        mean_rtt_s=None, cached=False, samples=[],
    )  # fmt: skip


def result(write: float, read: float) -> TestResult:
    return TestResult(
        path=POINT, nfs=True, share=SHARE, started_at="", write=transfer(write), read=transfer(read),
        cache=None, requested={}, effective={}, link=None, block_size=MIB, sync=False, notes=[],
    )  # fmt: skip


class Trial:
    """A before-and-after test on the host in memory, whose speed depends on the readahead of the mount."""

    def __init__(
        self, world: MemoryHost, speed: Callable[[int], float], kb: int = 4096, **changes: Any
    ) -> None:
        self.world = world
        self.speed = speed
        self.events: list[BeforeAfterEvent] = []
        self.sizes: list[int] = []
        self.token = CancelToken()
        self.on_test: Callable[[int], None] = lambda _number: None
        options = {"options": "vers=4.2", "read_ahead_kb": kb, "keep_s": 480.0, **changes}
        change = ApplyArgs(share=SHARE, mount_point=POINT, exact=True, **options)
        self.args = BeforeAfterArgs(change=change, spec=TestSpec(path=POINT, size=16 * MIB))
        self.jitter = itertools.cycle((1.0, 1.01, 0.99, 1.005))

    def mount(self) -> Mount:
        return next(row for row in self.world.table().mounts if row.mount_point == POINT)

    def run_test(self, spec: TestSpec, token: CancelToken, emit: Callable[[TestEvent], None]) -> TestResult:
        self.sizes.append(spec.size)
        self.on_test(len(self.sizes))
        token.check()
        emit(TestEvent(direction="write", phase="prepare"))
        speed = self.speed(self.world.live[POINT].read_ahead_kb or 0) * next(self.jitter)
        return result(10e6 * next(self.jitter), speed)

    def make_change(self, args: ApplyArgs, emit: Any, decide: Callable[[], bool]) -> ChangeRunner:
        world = self.world
        return ChangeRunner(
            args, world.view(), world.actions(), self.token, emit, records=world.records, decide=decide
        )

    def run(self) -> BeforeAfterReport:
        settings = settings_of(self.mount())
        test = BeforeAfterTest(
            self.args, settings, self.token, self.events.append, self.run_test, self.make_change
        )
        return test.run()

    def undo(self, report: BeforeAfterReport) -> None:
        world = self.world
        saved = ReadaheadStore(world, world.rule)  # type: ignore[arg-type]
        token = CancelToken()
        restore_settings(
            RestoreArgs(settings=report.before),
            find=lambda _point: self.mount(),
            apply=world.apply,
            remove=lambda args: remove_saved_mount(
                args,
                token,
                world.kept(),
                saved,
                lambda _action, _plan: world,  # type: ignore[arg-type, return-value]
            ),
            save_readahead=lambda point, kb: saved.change(point, kb, None, preview=False, token=token),
        )


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply_module, "_UDEV_S", 0.0)
    monkeypatch.setattr(apply_module, "_SETTLE_S", 0.0)


@pytest.fixture
def world(tmp_path: Path) -> MemoryHost:
    return MemoryHost(tmp_path, mounted=True)


def faster(kb: int) -> float:
    return 9e6 if kb == 4096 else 4e6


def test_a_proven_gain_stays(world: MemoryHost) -> None:
    trial = Trial(world, faster)
    report = trial.run()
    assert report.verdict == "faster"
    assert world.live[POINT].read_ahead_kb == 4096
    assert [(item.figure, item.verdict) for item in report.comparisons] == [
        ("write", "same"), ("read", "faster"),
    ]  # fmt: skip
    stages = [(event.stage, event.number) for event in trial.events if event.result is not None]
    assert stages == [*(("before", n) for n in range(1, 5)), *(("after", n) for n in range(1, 5))]
    assert report.keep is not None


@pytest.mark.parametrize(
    ("speed", "verdict"), [(lambda _kb: 4e6, "same"), (lambda kb: 2e6 if kb == 4096 else 4e6, "slower")]
)
def test_the_old_value_returns_without_a_proven_gain(
    world: MemoryHost, speed: Callable[[int], float], verdict: str
) -> None:
    before = world.state()
    report = Trial(world, speed).run()
    assert (report.verdict, report.keep) == (verdict, None)
    assert world.state() == before


def test_the_old_options_return_without_a_proven_gain(world: MemoryHost) -> None:
    report = Trial(world, lambda _kb: 4e6, options="vers=4.1").run()
    assert report.verdict == "same"
    assert world.state()[2][POINT][1].count("vers=4.2") == 1
    assert world.live[POINT].read_ahead_kb == 512


@pytest.mark.parametrize("number", [1, 3, 7])
def test_a_cancelled_test_leaves_the_old_value(world: MemoryHost, number: int) -> None:
    before, trial = world.state(), Trial(world, faster)
    trial.on_test = lambda now: trial.token.cancel() if now == number else None
    with pytest.raises(CancelledError):
        trial.run()
    assert world.state() == before


def test_a_failed_test_after_the_change_rolls_it_back(world: MemoryHost) -> None:
    before, trial = world.state(), Trial(world, faster)

    def fail(number: int) -> None:
        if number == 7:
            raise AppError(ErrorKind.IO, "The copy failed.")

    trial.on_test = fail
    with pytest.raises(AppError, match=r"The copy failed\. The change was rolled back"):
        trial.run()
    assert world.state() == before


def test_a_value_that_cannot_be_restored_is_an_error(world: MemoryHost) -> None:
    world.fail = [("tune", 2, "before")]
    with pytest.raises(AppError, match="Some steps could not be rolled back"):
        Trial(world, lambda _kb: 4e6).run()


def test_a_slow_mount_gets_a_smaller_file(world: MemoryHost) -> None:
    trial = Trial(world, lambda _kb: 3e6)
    trial.run()
    assert trial.sizes == [4 * MIB, *[8 * MIB] * 8]


def test_the_time_left_follows_the_measured_tests(world: MemoryHost) -> None:
    trial = Trial(world, faster)
    trial.args = msgspec.structs.replace(trial.args, seconds=40.0)
    trial.run()
    left = [event.left_s for event in trial.events if event.left_s is not None]
    assert left[0] == pytest.approx(40, abs=5)
    assert left[-1] == 0


def test_a_saved_readahead_is_kept_and_undone(world: MemoryHost) -> None:
    before, trial = world.state(), Trial(world, faster, options="vers=4.2,x-gvfs-show")
    report = trial.run()
    assert report.keep is not None
    assert (report.keep.keeper, report.keep.save_read_ahead) == ("fstab", True)
    world.apply(report.keep)
    assert world.state()[3] == {POINT: 4096}
    assert world.live[POINT].read_ahead_kb == 4096
    trial.undo(report)
    assert world.state() == before


def test_options_of_an_unsaved_mount_are_kept_in_fstab_and_undone(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True, fstab=b"# head\n")
    before, trial = world.state(), Trial(world, faster, options="vers=4.1")
    report = trial.run()
    assert report.keep is not None
    assert report.keep.keeper == "fstab"
    world.apply(report.keep)
    line = world.path.read_text().splitlines()[-1]
    assert all(word in line for word in (SHARE, POINT, "vers=4.1", "_netdev", "nofail"))
    trial.undo(report)
    assert world.state() == before


def test_a_readahead_of_an_unsaved_mount_is_kept_without_an_entry(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True, fstab=b"# head\n")
    before = settings_of(next(iter(world.table().mounts)))
    change = ApplyArgs(share=SHARE, mount_point=POINT, options=before.options, read_ahead_kb=4096)
    assert lasting_change(change, before).keeper == "nowhere"
    assert lasting_change(change, before).save_read_ahead


def test_a_saved_entry_is_restored_as_it_was_written(world: MemoryHost) -> None:
    trial = Trial(world, faster, options="vers=4.1")
    before = world.path.read_bytes()
    assert before == FSTAB
    report = trial.run()
    assert report.keep is not None
    world.apply(report.keep)
    assert b"vers=4.1" in world.path.read_bytes()
    trial.undo(report)
    assert b"vers=4.2,x-gvfs-show" in world.path.read_bytes()
    assert settings_of(trial.mount()) == report.before


def test_the_plan_has_the_change_and_the_test(world: MemoryHost) -> None:
    from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
    from app.service.advice import advise
    from app.service.model import AdviceArgs

    trial = Trial(world, faster)
    row = msgspec.structs.replace(
        trial.mount(),
        active=msgspec.structs.replace(world.live[POINT], read_ahead_kb=128, recorded="vers=4.2"),
    )
    facts = Facts(
        client=ClientFacts(kernel="6.12.0"),
        link=LinkFacts(kind="ethernet", rate_bps=1e8, rtt_s=0.04),
        server=ServerFacts(name="nas", address="10.0.0.1"),
    )
    advice = advise(AdviceArgs(mount_point=POINT), lambda _share: facts, row, [row])
    plan = plan_before_after(row, advice, lambda change: make_plan(change, world.view()))
    assert plan.change.read_ahead_kb == 1024
    assert (plan.tests, plan.bytes) == (4, 8 * plan.spec.size)
    assert plan.seconds is not None
    assert plan.plan.interruption.effect == "at-once"
    lab = msgspec.structs.replace(advice, facts=replace(facts, link=replace(facts.link, emulated=True)))
    assert (predicted_duration(lab) or 0.0) > plan.seconds
    nothing = msgspec.structs.replace(advice, recommendations=())
    with pytest.raises(AppError, match="Nothing can be tried"):
        plan_before_after(row, nothing, lambda change: make_plan(change, world.view()))

"""Before-and-after test: tests of a mount, a recommended change, the same tests again, and the comparison.

The change stays only if the comparison proves a gain (app.speedtest.result_comparison). Otherwise, and after
every error and cancellation, it is rolled back like any other change (app.mounts.apply). A kept change lasts
as long as the mount; ``BeforeAfterReport.keep`` is the change that saves it.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from app.errors import AppError, ErrorKind
from app.history.model import link_name
from app.mounts.change_model import (
    MAX_KEEP_S,
    ApplyArgs,
    ApplyEvent,
    ApplyPlan,
    MountSettings,
)
from app.mounts.restore import settings_of
from app.service.headline import mount_changes
from app.service.model import (
    BeforeAfterArgs,
    BeforeAfterEvent,
    BeforeAfterPlan,
    BeforeAfterReport,
    BeforeAfterStage,
)
from app.speedtest.model import DEFAULT_SIZE, TestEvent, TestResult, TestSpec
from app.speedtest.planning import predicted_seconds
from app.speedtest.result_comparison import (
    TESTS_PER_SIDE,
    ChangeVerdict,
    change_verdict,
    compare_results,
    measured_recommendations,
)
from app.tasks import CancelToken
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.apply import ChangeRunner
    from app.mounts.model import Mount
    from app.service.model import AdviceResult


#: Predicted time of the slowest copy, s; the file size is chosen for it.
TARGET_COPY_S = 3.0
#: Limits of the file size, bytes.
_MIN_COPY_SIZE, _MAX_COPY_SIZE = 4 * 2**20, 256 * 2**20
#: Assumed duration of the change before it is known, s.
_CHANGE_S = 2.0
#: Time of a test for everything but its copies, s: starting it, its directory, dropping the cache, removing.
#: In the lab, 8 tests and the short one took 51 s where their copies took 20 s.
_EACH_TEST_S, _EACH_TEST_IN_LAB_S = 0.5, 2.5


def plan_before_after(
    mount: Mount, advice: AdviceResult, plan_change: Callable[[ApplyArgs], ApplyPlan]
) -> BeforeAfterPlan:
    """Return the plan of a before-and-after test of a mount's recommendations.

    Args:
        mount: the mount.
        advice: the advice for its present settings.
        plan_change: returns the plan of a change.

    Raises:
        AppError: USAGE if nothing is mounted or recommended; the errors of ``plan_change``.
    """
    changes = mount_changes(advice)
    if mount.active is None or not changes:
        raise AppError(ErrorCode.NOTHING_TO_TRY, mount_point=mount.mount_point)
    read_ahead = {item.option: item.proposed for item in changes}.get("read_ahead_kb")
    change = ApplyArgs(
        share=mount.share,
        mount_point=mount.mount_point,
        options=advice.advised_options,
        exact=True,
        read_ahead_kb=int(read_ahead) if read_ahead is not None else None,
        busy="wait",
        keep_s=MAX_KEEP_S,
    )
    size = copy_size(advice)
    spec = TestSpec(path=mount.mount_point, size=size, small_reads=True)
    plan = plan_change(change)
    return BeforeAfterPlan(
        change=change,
        plan=plan,
        spec=spec,
        recommendations=changes,
        tests=TESTS_PER_SIDE,
        seconds=predicted_duration(advice),
        bytes=2 * TESTS_PER_SIDE * size,
    )


def predicted_duration(advice: AdviceResult) -> float | None:
    """Return the predicted duration of a before-and-after test, s; None if the link is unknown."""
    now: dict[str, float] = {
        item.figure: item.now.bytes_per_s for item in advice.expected if item.now is not None
    }
    then: dict[str, float] = {
        item.figure: item.advised.bytes_per_s for item in advice.expected if item.advised is not None
    }
    if not now or not then:
        return None
    spec = TestSpec(path="", size=copy_size(advice), small_reads=True)
    copying = TESTS_PER_SIDE * sum(predicted_seconds(spec, speeds) for speeds in (now, then))
    link = advice.facts.link
    each_s = _EACH_TEST_IN_LAB_S if link is not None and link.emulated else _EACH_TEST_S
    return copying + _CHANGE_S + (2 * TESTS_PER_SIDE + 1) * each_s


def copy_size(advice: AdviceResult) -> int:
    """Return the size in bytes of a file that takes a few seconds to copy, by the throughput model."""
    speeds = [item.now.bytes_per_s for item in advice.expected if item.now is not None]
    return _size_for(min(speeds), _MAX_COPY_SIZE) if speeds else DEFAULT_SIZE


def _size_for(bytes_per_s: float, most: int) -> int:
    """Return the largest power of two of bytes, up to ``most``, that a speed copies in TARGET_COPY_S."""
    size = _MIN_COPY_SIZE
    while size * 2 <= min(bytes_per_s * TARGET_COPY_S, most):
        size *= 2
    return size


def lasting_change(change: ApplyArgs, before: MountSettings) -> ApplyArgs:
    """Return the change that saves the settings of a change that was made on the live mount alone.

    Options are saved where the mount is saved, or in fstab if it is saved nowhere. A readahead is saved for
    the mount point; if nothing else changes, a mount that is not saved stays so.
    """
    only_readahead = change.read_ahead_kb is not None and change.options == before.options
    target = before.saved_in
    if target == "nowhere" and not only_readahead:
        target = "fstab"
    return msgspec.structs.replace(
        change,
        keeper=target,
        exact=before.saved_in != "nowhere",  # a new entry also gets the options for an absent server
        save_read_ahead=change.read_ahead_kb is not None,
        keep_s=0.0,
        busy="ask",
        expected_sha256="",
    )


@dataclass
class BeforeAfterTest:
    """One before-and-after test, on the thread of its request.

    Attributes:
        args: the request.
        settings: settings of the mount before the change.
        token: cancels the test, which rolls the change back.
        emit: receives the events.
        run_test: runs one test; takes its specification, a token and the function that receives its events.
        make_change: returns the runner of the change; takes the request, the function that receives its
            events, and the function that decides whether it stays.
    """

    args: BeforeAfterArgs
    settings: MountSettings
    token: CancelToken
    emit: Callable[[BeforeAfterEvent], None]
    run_test: Callable[[TestSpec, CancelToken, Callable[[TestEvent], None]], TestResult]
    make_change: Callable[[ApplyArgs, Callable[[ApplyEvent], None], Callable[[], bool]], ChangeRunner]

    def __post_init__(self) -> None:
        self._spec = self.args.spec
        self._results: dict[BeforeAfterStage, list[TestResult]] = {"before": [], "after": []}
        self._durations: dict[BeforeAfterStage, list[float]] = {"before": [], "after": []}
        self._begun = time.monotonic()
        self._verdict: ChangeVerdict | None = None

    def run(self) -> BeforeAfterReport:
        """Test, change, test again; return the result.

        Raises:
            AppError: if a test or the change failed, or was cancelled; the change is rolled back then.
        """
        self._choose_size()
        self._measure("before", self.token)
        self.emit(BeforeAfterEvent(stage="change", left_s=self._left_s()))
        change = self.make_change(self.args.change, self._on_step, self._decide)
        try:
            change.run()
        except AppError:
            if self._verdict is None or self._verdict == "faster" or change.rollback_problems:
                raise  # not the decision of this test, or something could not be restored
        kept = self._verdict == "faster"
        comparisons = compare_results(self._results["before"], self._results["after"])
        return BeforeAfterReport(
            verdict=change_verdict(comparisons),
            comparisons=comparisons,
            measured=measured_recommendations(comparisons, self.args.recommendations),
            share=self.settings.share,
            link=link_name(self._results["before"][0]),
            before=self.settings,
            keep=lasting_change(self.args.change, self.settings) if kept else None,
        )

    def _choose_size(self) -> None:
        """Make the file smaller if a short test shows that copies are slower than predicted."""
        if self._spec.size <= _MIN_COPY_SIZE:
            return
        result = self._test(msgspec.structs.replace(self._spec, size=_MIN_COPY_SIZE), "before", 0, self.token)
        speeds = [
            transfer.bytes_per_s
            for transfer in (result.write, result.read, result.small_read)
            if transfer is not None and transfer.bytes_per_s > 0
        ]
        if speeds:
            size = _size_for(min(speeds), self._spec.size)
            self._spec = msgspec.structs.replace(self._spec, size=size)

    def _measure(self, stage: BeforeAfterStage, token: CancelToken) -> None:
        for number in range(1, TESTS_PER_SIDE + 1):
            begun = time.monotonic()
            result = self._test(self._spec, stage, number, token)
            self._durations[stage].append(time.monotonic() - begun)
            self._results[stage].append(result)
            self.emit(BeforeAfterEvent(stage=stage, number=number, result=result, left_s=self._left_s()))

    def _test(self, spec: TestSpec, stage: BeforeAfterStage, number: int, token: CancelToken) -> TestResult:
        left_s = self._left_s()
        self.emit(BeforeAfterEvent(stage=stage, number=number, left_s=left_s))
        return self.run_test(
            spec, token, lambda event: self.emit(BeforeAfterEvent(stage=stage, number=number, test=event))
        )

    def _decide(self) -> bool:
        """Test with the new settings; return whether they are proven faster."""
        limited = CancelToken()
        timer = threading.Timer(MAX_KEEP_S, limited.cancel)
        timer.daemon = True
        timer.start()
        try:
            with self.token.on_cancel(limited.cancel):
                self._measure("after", limited)
        except AppError as error:
            if error.kind is ErrorKind.CANCELLED and not self.token.cancelled:
                raise AppError(ErrorCode.TRIAL_TESTS_TOO_SLOW) from error
            raise
        finally:
            timer.cancel()
        self._verdict = change_verdict(compare_results(self._results["before"], self._results["after"]))
        return self._verdict == "faster"

    def _on_step(self, event: ApplyEvent) -> None:
        self.emit(BeforeAfterEvent(stage="change", step=event))

    def _left_s(self) -> float | None:
        """Return the estimated time left: from the tests so far, or from the prediction before them."""
        before, after = self._durations["before"], self._durations["after"]
        if not before:
            predicted = self.args.seconds
            return None if predicted is None else max(0.0, predicted - (time.monotonic() - self._begun))
        each_before = sum(before) / len(before)
        each_after = sum(after) / len(after) if after else each_before
        left = (TESTS_PER_SIDE - len(before)) * each_before + (TESTS_PER_SIDE - len(after)) * each_after
        return left if after else left + _CHANGE_S


def before_after_settings(mount: Mount) -> MountSettings:
    """Return the settings of a mount that a before-and-after test may change.

    Raises:
        AppError: NOT_MOUNTED if nothing is mounted.
    """
    if mount.active is None:
        raise AppError(ErrorCode.NOTHING_MOUNTED_THERE, mount_point=mount.mount_point)
    return settings_of(mount)

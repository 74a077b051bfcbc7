"""Test run: target (a mount, or a share for a private mount), progress and result of one test."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from advisor.share import Share, ShareError
from app.history.record_test import RecordedTest
from app.speedtest.model import TestSpec
from app.speedtest.progress import TestProgress
from app.text.units import rounded_duration
from ui.common.translation import tr
from ui.plots.timeline import timeline_of

if TYPE_CHECKING:
    from app.history.model import Run
    from app.mounts.model import Mount
    from app.speedtest.model import TestEvent, TestResult
    from ui.common.bridge import BridgeCall
    from ui.common.mount_request import MountRequest
    from ui.plots.timeline import Timeline, TransferDirection


@dataclass(frozen=True, slots=True)
class TestTarget:
    """Mount, or share for a private mount, that a test copies to.

    Attributes:
        share: server:/export.
        mount_point: present or intended mount point, "" while it is not known.
        options: option string of the private mount, "" for a mounted share.
        mounted: whether the share is mounted, and tested at its mount point.
    """

    __test__ = False  # not a pytest class

    share: str
    mount_point: str
    options: str
    mounted: bool

    @property
    def key(self) -> tuple[str, str]:
        """Share and mount point, which identify the target."""
        return self.share, self.mount_point

    @property
    def place(self) -> str:
        """Name of the target in sentences: mount point if mounted, otherwise the share."""
        return self.mount_point if self.mounted else self.share


def target_of(mount: Mount | None, request: MountRequest | None) -> TestTarget | None:
    """Return the target of a test, None without a valid absolute share.

    Args:
        mount: the selected mount, None for a draft.
        request: share, mount point and options of the form.
    """
    if mount is not None and mount.active is not None:
        return TestTarget(mount.share, mount.mount_point, "", mounted=True)
    if request is None:
        return None
    try:
        share = Share.parse(request.share.strip())
    except ShareError:
        return None
    if share != share.absolute:  # the helper refuses a relative export
        return None
    return TestTarget(str(share), request.mount_point.strip(), request.options, mounted=False)


@dataclass(slots=True)
class TestRun:
    """State of one test, running or ended.

    Attributes:
        spec: specification of the test; its size shrinks if the agent copies less than planned.
        timeline: samples and events so far.
        progress: estimate of the time left.
        share: server:/export.
        link: name of the lab's link, "" for a real link, None until the facts are known.
        best: best speeds of earlier tests with the same specification, by direction, bytes/s.
        call: request to the agent, None after the end.
        result: result of a completed test, None before or if it failed.
        kept: entry in the history, None until the result is saved.
        earlier: whether the test is the last one in the history, and not of this session.
        stopping: whether the user has stopped the test.
        overdue: whether stopping takes too long, so that the test may be abandoned.
    """

    __test__ = False  # not a pytest class

    spec: TestSpec
    timeline: Timeline
    progress: TestProgress
    share: str = ""
    link: str | None = ""
    best: dict[TransferDirection, float] = field(default_factory=dict["TransferDirection", float])
    call: BridgeCall | None = None
    result: TestResult | None = None
    kept: RecordedTest | None = None
    earlier: bool = False
    stopping: bool = False
    overdue: bool = False

    def take(self, event: TestEvent) -> bool:
        """Add an event; return whether it reports less data than planned, which also shrinks ``spec``."""
        self.timeline.take(event)
        spec, passes = self.spec, self.spec.passes if event.direction == "read" else 1
        shrinks = 0 < event.total < spec.total * passes and spec.workload in {"file", "files"}
        if shrinks and spec.workload == "files":
            self.spec = msgspec.structs.replace(spec, count=event.total // spec.size)
        elif shrinks:
            self.spec = msgspec.structs.replace(spec, size=event.total // passes)
        self.progress.take(event, self.spec, time.monotonic())
        return shrinks

    def part(self) -> float | None:
        """Return the fraction of the test's time that is over, None if it is not known."""
        return self.progress.part(self.spec, time.monotonic())

    def progress_text(self) -> str:
        """Return what the test does now, and how long it probably still takes."""
        if self.call is None:
            return "" if self.result is not None else tr("The test was stopped.")
        if self.overdue:
            return tr("Still cleaning up. Abandon it to go on without waiting.")
        if self.stopping:
            return tr("Stopping and cleaning up…")
        doing = self._doing_text()
        left_s = self.progress.left_s(self.spec, time.monotonic())
        if left_s is None:
            return doing
        return tr("{doing} · {time} left").format(doing=doing, time=rounded_duration(max(left_s, 1.0)))

    def _doing_text(self) -> str:
        timeline = self.timeline
        grid = self.spec.grid
        if grid is not None and timeline.phase in ("write", "read"):
            done = sum(curve.round == timeline.round for curve in timeline.curves)
            return tr("Measuring grid cell {number} of {count}").format(number=done, count=len(grid.cells()))
        if timeline.phase in ("write", "read", "small-read"):
            return self._copying_text(timeline.phase)
        phase_texts = {
            "fsync": tr("Waiting for fsync"), "close": tr("Closing the file"),
            "drop-cache": tr("Emptying the client's cache"), "compare": tr("Comparing byte for byte"),
            "stat": tr("Looking up the files"), "delete": tr("Deleting the files"),
            "clean-up": tr("Removing the test files"),
        }  # fmt: skip
        return phase_texts.get(timeline.phase or "", tr("Preparing"))

    def _copying_text(self, phase: str) -> str:
        warm_up, number = self.timeline.round == 0, self.timeline.round
        if self.spec.repeats <= 1:
            texts = {
                "write": tr("Writing"),
                "read": tr("Reading"),
                "small-read": tr("Reading in small calls"),
            }
        elif warm_up:
            texts = {
                "write": tr("Warming up: writing"), "read": tr("Warming up: reading"),
                "small-read": tr("Warming up: reading in small calls"),
            }  # fmt: skip
        else:
            texts = {
                "write": tr("Writing {number} of {count}"), "read": tr("Reading {number} of {count}"),
                "small-read": tr("Reading in small calls, {number} of {count}"),
            }  # fmt: skip
        return texts[phase].format(number=number, count=self.spec.repeats)


def earlier_run(saved: Run, link: str) -> TestRun:
    """Return the state of a test of the history.

    Args:
        saved: the test.
        link: name of the lab's link, "" for a real link.
    """
    result = saved.result
    transfer = result.write or result.read
    spec = TestSpec(
        path=result.path,
        direction="both" if result.write and result.read else "write" if result.write else "read",
        size=transfer.bytes // max(result.count, 1) if transfer is not None else 0,
        count=result.count,
        block_size=result.block_size,
        workload=result.workload,
    )
    return TestRun(
        spec, timeline_of(result), TestProgress(None, 0.0), saved.result.share or "", link,
        result=result, kept=RecordedTest(id=saved.id), earlier=True,
    )  # fmt: skip

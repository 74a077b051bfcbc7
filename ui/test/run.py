"""Test run: target (a mount, or a share for a private mount), progress and result of one test."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from advisor.share import Share, ShareError
from app.text.units import format_size
from ui.common.translation import tr

if TYPE_CHECKING:
    from app.history.record_test import RecordedTest
    from app.mounts.model import Mount
    from app.speedtest.model import TestEvent, TestResult, TestSpec
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
        share: server:/export.
        link: name of the lab's link, "" for a real link, None until the facts are known.
        best: best speeds of earlier tests with the same specification, by direction, bytes/s.
        call: request to the agent, None after the end.
        result: result of a completed test, None before or if it failed.
        kept: entry in the history, None until the result is saved.
        stopping: whether the user has stopped the test.
        overdue: whether stopping takes too long, so that the test may be abandoned.
    """

    __test__ = False  # not a pytest class

    spec: TestSpec
    timeline: Timeline
    share: str = ""
    link: str | None = ""
    best: dict[TransferDirection, float] = field(default_factory=dict["TransferDirection", float])
    call: BridgeCall | None = None
    result: TestResult | None = None
    kept: RecordedTest | None = None
    stopping: bool = False
    overdue: bool = False

    def take(self, event: TestEvent) -> bool:
        """Add an event; return whether it reports less data than planned, which also shrinks ``spec``."""
        self.timeline.take(event)
        spec, passes = self.spec, self.spec.passes if event.direction == "read" else 1
        if not event.total or event.total >= spec.total * passes or spec.workload not in {"file", "files"}:
            return False
        if spec.workload == "files":
            self.spec = msgspec.structs.replace(spec, count=event.total // spec.size)
        else:
            self.spec = msgspec.structs.replace(spec, size=event.total // passes)
        return True

    def progress_text(self) -> str:
        """Return a sentence with the present repeat and phase of the test."""
        if self.call is None:
            return "" if self.result is not None else tr("Stopped before the end.")
        if self.overdue:
            return tr("Still cleaning up. Abandon it to go on without waiting.")
        if self.stopping:
            return tr("Stopping and cleaning up…")
        return f"{self._round_text()}{self._phase_text()}"

    def _round_text(self) -> str:
        if self.spec.repeats <= 1:
            return ""
        number = self.timeline.round
        if self.spec.workload == "grid":
            return tr("Repeat {number} of {count}. ").format(number=number + 1, count=self.spec.repeats)
        if number == 0:
            return tr("Warm-up, not counted. ")
        return tr("Repeat {number} of {count}. ").format(number=number, count=self.spec.repeats)

    def _phase_text(self) -> str:
        timeline = self.timeline
        grid = self.spec.grid
        if grid is not None and timeline.phase in ("write", "read"):
            done = sum(curve.round == timeline.round for curve in timeline.curves)
            return tr("Cell {number} of {count}…").format(number=done, count=len(grid.cells()))
        phase_texts = {
            "prepare": tr("Preparing…"),
            "fsync": tr("Waiting until the server has it all (fsync)…"),
            "close": tr("Closing the file…"), "drop-cache": tr("Emptying the client's cache…"),
            "compare": tr("Comparing byte for byte…"),
            "stat": tr("Looking the files up (stat)…"), "delete": tr("Deleting the files…"),
            "clean-up": tr("Removing what was written…"),
        }  # fmt: skip
        curve = timeline.latest(timeline.way) if timeline.way is not None else None
        texts = {
            "write": tr("Writing"), "read": tr("Reading"), "small-read": tr("Reading in small calls"),
        }  # fmt: skip
        text = texts.get(timeline.phase or "")
        if text is not None and curve is not None:
            return tr("{doing}: {moved} of {all}").format(
                doing=text, moved=format_size(curve.moved), all=format_size(timeline.total or self.spec.total)
            )
        return phase_texts.get(timeline.phase or "prepare", phase_texts["prepare"])

"""Test run: its target (a mount, or a share that is mounted for the test alone) and its progress."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from advisor.share import Share, ShareError
from app.units import format_size
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
    """Where a test copies to.

    Attributes:
        share: server:/export.
        mount_point: where it is mounted, or is to be; "" if that is not known yet.
        options: for the mount that is made for the test alone.
        mounted: it is mounted already, and tested there.
    """

    __test__ = False  # not a pytest class

    share: str
    mount_point: str
    options: str
    mounted: bool

    @property
    def key(self) -> tuple[str, str]:
        """Tells it from others."""
        return self.share, self.mount_point

    @property
    def place(self) -> str:
        """Where files appear, for people."""
        return self.mount_point if self.mounted else self.share


def target_of(mount: Mount | None, request: MountRequest | None) -> TestTarget | None:
    """Return what would be tested, None as long as there is no share.

    Args:
        mount: the row shown, None for a draft.
        request: what the form says.
    """
    if mount is not None and mount.active is not None:
        return TestTarget(mount.share, mount.mount_point, "", mounted=True)
    if request is None:
        return None
    try:
        share = Share.parse(request.share.strip())
    except ShareError:
        return None
    if share != share.absolute:  # the helper would not mount it
        return None
    return TestTarget(str(share), request.mount_point.strip(), request.options, mounted=False)


@dataclass(slots=True)
class TestRun:
    """A test of one mount.

    Attributes:
        spec: what is done.
        timeline: what has been seen of it.
        share: server:/export.
        link: name of the lab's link, "" on a real one, None until that is known.
        best: the best speeds of earlier tests that did the same, bytes a second.
        call: while it runs.
        result: once it is done.
        kept: once it is in the history.
        stopping: the person wants it to end.
        overdue: it should have ended by now, and may be abandoned.
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
        """Add an event; return whether it says that the repeats copy less than was planned."""
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
        """Return what it does now."""
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
        words = {
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
        return words.get(timeline.phase or "prepare", words["prepare"])

"""Plan of a test: requests it from the agent after a pause in editing, and describes it in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.errors import AppError, ErrorKind
from app.speedtest.planning import plan_test
from app.text.units import format_size, rounded_duration
from ui.common.bridge import LatestCall
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.facts import LinkFacts
    from app.speedtest.model import TestPlan, TestPlanArgs, TestSpec
    from ui.common.bridge import BridgeCall


def what_text(spec: TestSpec, path: str) -> str:
    """Return a description of a test: what it writes, reads and removes, and how often."""
    if spec.workload == "grid":
        grid = {
            "both": tr(
                "Writes one file of {size} to {path}, reads and writes in it with fio, and removes it."
            ),
            "write": tr("Writes one file of {size} to {path}, writes in it with fio, and removes it."),
            "read": tr("Writes one file of {size} to {path}, reads in it with fio, and removes it."),
        }[spec.direction]  # fmt: skip
        return grid.format(size=format_size(spec.size), path=path)
    if spec.workload == "own":
        return _user_files_text(spec, path)
    what = tr("one file of {size}").format(size=format_size(spec.size))
    if spec.workload == "files":
        what = tr("{count} files of {size}").format(count=spec.count, size=format_size(spec.size))
    text = {
        "both": tr("Writes {what} to {path}, reads it back, and removes it."),
        "write": tr("Writes {what} to {path}, and removes it."),
        "read": tr("Writes {what} to {path} first, then measures reading it, and removes it."),
    }[spec.direction].format(what=what, path=path)  # fmt: skip
    sentences = [text]
    if spec.passes > 1:
        sentences.append(
            tr("Reads it {passes} times, because the link is faster from the server.").format(
                passes=spec.passes
            )
        )
    if spec.reads_again:
        sentences.append(tr("Reads it once more in small calls."))
    if spec.repeats > 1:
        sentences.append(
            tr("Repeats this {count} times after a warm-up that does not count.").format(count=spec.repeats)
        )
    return " ".join(sentences)


def _user_files_text(spec: TestSpec, path: str) -> str:
    """Return a description of a test with the user's own files; only a plan knows their number."""
    sentences = [
        tr(
            "Copies {source} to {path}, reads the copy back, compares it byte for byte, and removes it. The "
            "original is only read."
        ).format(source=spec.source, path=path)
    ]
    if spec.count > 1:
        amount = tr("These are {count} files, {size} in all.")
        sentences.append(amount.format(count=f"{spec.count:,}", size=format_size(spec.total)))
    if spec.repeats > 1:
        sentences.append(
            tr("Repeats this {count} times after a warm-up that does not count.").format(count=spec.repeats)
        )
    return " ".join(sentences)


def plan_text(plan: TestPlan, path: str) -> str:
    """Return a description of a plan: steps, duration, bytes over the network, free space and note."""
    size = format_size(plan.bytes)
    if plan.seconds is None:
        cost = tr("{size} cross the network. The duration is unknown.").format(size=size)
    else:
        cost = tr("Takes about {time}. {size} cross the network.").format(
            time=rounded_duration(plan.seconds), size=size
        )
    free = tr("{size} are free there.").format(size=format_size(plan.free)) if plan.free is not None else ""
    return " ".join(part for part in (what_text(plan.spec, path), cost, free, plan.note) if part)


def private_mount_text(args: TestPlanArgs, share: str, link: LinkFacts | None) -> str:
    """Return a description of a test in a private mount.

    Args:
        args: chosen test.
        share: server:/export.
        link: facts of the link, from which the cost is estimated; None while they are not known.
    """
    how = tr(
        "{share} is not mounted. The test uses a private mount with these settings and may ask for a "
        "password. It checks the free space first."
    ).format(share=share)
    if args.spec.workload == "own":  # only the agent knows the size of the user's files
        return f"{how} {what_text(args.spec, share)}"
    return f"{how} {plan_text(plan_test(args, None, link), share)}"


#: Pause after the last change before a plan is requested, ms.
_PAUSE_MS = 250


class SpeedTestPlanner(QObject):
    """Requests the plan of the chosen test from the agent.

    Signals:
        changed: the plan or the error changed.

    Attributes:
        plan: plan of the chosen test, None until it arrives.
        error: why planning failed, None if it did not.
    """

    changed = Signal()

    def __init__(self, submit: Callable[[str, Any], BridgeCall], parent: QObject) -> None:
        super().__init__(parent)
        self._call = LatestCall(submit)
        self._args: TestPlanArgs | None = None
        self._last: tuple[TestPlanArgs | None, TestPlan] | None = None
        self.plan: TestPlan | None = None
        self.error: AppError | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self._request)

    @property
    def asking(self) -> bool:
        """Whether a request is pending."""
        return self._call.is_pending or self._timer.isActive()

    @property
    def shown(self) -> TestPlan | None:
        """Plan to show: the present one, or during a new request the last one of the same test."""
        if self.plan is None and self.error is None and self._last and self._last[0] == self._args:
            return self._last[1]
        return self.plan

    def want(self, args: TestPlanArgs | None) -> None:
        """Plan a test after a pause, if it has changed; None drops the plan."""
        if args == self._args:
            return
        self.reset()
        self._args = args
        if args is not None:
            self._timer.start()
        self.changed.emit()

    def ask_again(self, args: TestPlanArgs) -> None:
        """Plan a test at once, unless its request is pending."""
        if args == self._args and self.asking:
            return
        self.reset()
        self._args = args
        self._request()

    def reset(self) -> None:
        """Drop the plan and cancel a pending request."""
        self._timer.stop()
        self._args = self.plan = self.error = None
        self._call.cancel()

    def reset_plan(self) -> None:
        """Drop the plan and the last shown one, because the link has changed."""
        self._last = None
        self.reset()

    def _request(self) -> None:
        self._call.ask("test.plan", self._args, self._on_plan, self._on_failed)

    def _on_plan(self, plan: TestPlan) -> None:
        self.plan, self.error = plan, None
        self._last = self._args, plan
        self.changed.emit()

    def _on_failed(self, error: AppError) -> None:
        if error.kind is not ErrorKind.CANCELLED:
            self.plan, self.error = None, error
            self.changed.emit()

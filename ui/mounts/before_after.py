"""Before-and-after test: quick tests, the recommended change, the same tests again, and the comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QObject, QTimer, Signal

from app.errors import AppError, ErrorKind
from app.history.model import link_name
from app.speedtest.model import DEFAULT_SIZE, TestSpec
from app.speedtest.result_comparison import TESTS_PER_SIDE, compare_results, measured_recommendations
from app.text.units import format_duration, format_size
from ui.common.dialogs import confirm
from ui.common.translation import tr

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.mounts.change_model import ApplyArgs, ApplyReport
    from app.service.model import AdviceResult
    from app.speedtest.model import TestResult
    from app.speedtest.result_comparison import FigureComparison
    from ui.apply.controller import ApplyController
    from ui.overview.panel import AdvicePanel
    from ui.test.panel import SpeedTestPanel

BeforeAfterState = Literal["idle", "before", "apply", "after"]

#: Predicted time of one copy, s; the file size is chosen for it.
_TARGET_COPY_S = 3.0
#: Limits of the file size, bytes.
_MIN_COPY_SIZE, _MAX_COPY_SIZE = 4 * 2**20, 256 * 2**20


class BeforeAfterTest(QObject):
    """Measures a mount before and after its recommended change; one mount at a time.

    Args:
        window: widget whose window shows the dialogs.
        quick_test: runs the tests and shows their results.
        applying: applies the change.
        advice: starts the test with a button, and shows its progress and the comparison.

    Signals:
        apply_wanted: the tests before the change are complete; carries the AdviceResult to apply.
        restore_wanted: the user wants the previous settings back after a change that made the mount slower.
        failed: the AppError of a test that could not start.
    """

    apply_wanted = Signal(object)
    restore_wanted = Signal()
    failed = Signal(object)

    def __init__(
        self, window: QWidget, quick_test: SpeedTestPanel, applying: ApplyController, advice: AdvicePanel
    ) -> None:
        super().__init__(window)
        self._window = window
        self._panel = advice
        self._quick_test = quick_test
        self._state: BeforeAfterState = "idle"
        self._advice: AdviceResult | None = None
        self._spec: TestSpec | None = None
        self._share = self._link = ""
        self._results: dict[BeforeAfterState, list[TestResult]] = {}
        quick_test.ended.connect(self._on_test)
        applying.applied.connect(self._on_applied)
        applying.closed.connect(self._on_dialog_closed)
        advice.try_chosen.connect(self._ask)
        advice.trial.stop_clicked.connect(self.stop)
        advice.trial.back_clicked.connect(self.restore_wanted)

    def _ask(self, advice: AdviceResult, mount_point: str) -> None:
        """Describe the tests and their expected duration in a dialog; start them after confirmation."""
        if self._state != "idle":
            return
        if not self._quick_test.free:
            self.failed.emit(
                AppError(
                    ErrorKind.UNAVAILABLE,
                    self.tr("Something is still running on this host."),
                    hint=self.tr("Wait until it has finished, or stop it, and then test."),
                )
            )
            return  # fmt: skip
        # Readahead can have no effect on a copy and a large one on small reads.
        spec = TestSpec(path=mount_point, size=copy_size(advice), small_reads=True)
        confirm(
            self._window.window(),
            self.tr("Test {path} before and after the change?").format(path=mount_point),
            self.tr("A file of {size} is written there and read back as cp does, then read once more in "
                    "small calls and removed, {count} times before the change and {count} times after it: "
                    "{time} in all. In between, “Apply…” shows what the "
                    "change would do, and asks.")
            .format(size=format_size(spec.size), count=TESTS_PER_SIDE, time=_time_text(advice, spec.size)),
            self.tr("&Test"),
            lambda: self._begin(advice, spec),
        )  # fmt: skip

    def _begin(self, advice: AdviceResult, spec: TestSpec) -> None:
        self._advice = advice
        self._spec = spec
        self._results = {"before": [], "after": []}
        self._state = "before"
        self._test()

    def _on_applied(self, args: ApplyArgs, report: ApplyReport) -> None:
        if self._state != "apply" or self._spec is None or args.mount_point != self._spec.path:
            return
        if report.report is None:
            self._stop(self.tr("The change is written, but not mounted yet: there is nothing to compare."))
            return
        self._state = "after"
        self._test()

    def _on_dialog_closed(self) -> None:
        # ApplyController emits `applied` after `closed`, so a successful change has to be reported first.
        QTimer.singleShot(0, self, self.end_without_change)

    def end_without_change(self) -> None:
        """End the test if it waits for a change that was not applied."""
        if self._state == "apply":
            self._stop(self.tr("Nothing was changed, so there is nothing to compare."))

    def stop(self) -> None:
        """End the test, and stop the quick test that is running for it."""
        running = self._state in {"before", "after"}
        if self._state != "idle":
            self._stop(self.tr("The test before and after was given up."))
        if running:
            self._quick_test.stop()

    def _test(self) -> None:
        number = len(self._results[self._state]) + 1
        text = (
            self.tr("Testing with the settings as they are, {number} of {count}…")
            if self._state == "before"
            else self.tr("Testing with the recommended settings, {number} of {count}…")
        )
        self._show_progress(text.format(number=number, count=TESTS_PER_SIDE), running=True)
        if self._is_shown() and self._spec is not None and not self._quick_test.start(self._spec):
            self._stop(self.tr("The test could not begin: the test before and after was given up."))

    def _is_shown(self) -> bool:
        """Return whether the page still shows the tested mount; end the test if not."""
        shown = self._spec is not None and self._quick_test.shows(self._spec)
        if not shown:
            self._stop(self.tr("The mount that was being tested is no longer shown: the test was given up."))
        return shown

    def _on_test(self, result: TestResult | None) -> None:
        if self._state not in {"before", "after"}:
            return
        if result is None:
            self._stop(self.tr("A test did not end, so there is nothing to compare."))
            return
        self._share, self._link = result.share or "", link_name(result)
        self._results[self._state].append(result)
        if len(self._results[self._state]) < TESTS_PER_SIDE:
            self._test()
        elif self._state == "before":
            if not self._is_shown():
                return
            self._state = "apply"
            self._show_progress(
                self.tr("The tests before are done. Now the change: look at it, and apply it."), running=True
            )
            self.apply_wanted.emit(self._advice)
        else:
            comparisons: list[FigureComparison] = compare_results(
                self._results["before"], self._results["after"]
            )
            self._state = "idle"
            self._show_progress(comparison_text(comparisons), running=False)
            if self._advice is not None and self._spec is not None:
                self._panel.remember(
                    self._share,
                    self._link,
                    measured_recommendations(comparisons, self._advice.recommendations),
                )
                slower = any(item.verdict == "slower" for item in comparisons)
                self._panel.trial.offer_restore(offered=slower)

    def _stop(self, text: str) -> None:
        self._state = "idle"
        self._show_progress(text, running=False)

    def _show_progress(self, text: str, *, running: bool) -> None:
        mount_point = self._spec.path if self._spec is not None else ""
        self._panel.trial.say(mount_point, text, running=running)


def copy_size(advice: AdviceResult) -> int:
    """Return the size in bytes of a file that takes a few seconds to copy, by the throughput model."""
    speeds = [item.now.bytes_per_s for item in advice.expected if item.now is not None]
    if not speeds:
        return DEFAULT_SIZE
    size = _MIN_COPY_SIZE
    while size * 2 <= min(speeds) * _TARGET_COPY_S and size < _MAX_COPY_SIZE:
        size *= 2
    return size


def _time_text(advice: AdviceResult, size: int) -> str:
    """Return the duration of all tests as text, predicted by the throughput model."""
    speeds = [item.now.bytes_per_s for item in advice.expected if item.now is not None]
    if not speeds:
        return tr("how long depends on the link, which is not known,")
    seconds = 2 * TESTS_PER_SIDE * sum(size / speed for speed in speeds)
    return tr("about {time}").format(time=format_duration(seconds))


def comparison_text(comparisons: list[FigureComparison]) -> str:
    """Return the comparison as text, one line for each measured direction."""
    if not comparisons:
        return tr("The figures cannot be compared: reads came from this computer's own cache.")
    lines = [f"{item.text()[:1].upper()}{item.text()[1:]}." for item in comparisons]
    note = tr("Each figure is the median of {count} tests. Other load meanwhile can make a difference, too.")
    return "\n".join([*lines, note.format(count=TESTS_PER_SIDE)])

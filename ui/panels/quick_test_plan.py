"""Asks the agent what a test would do, a moment after the last change; the window never waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.errors import AppError, ErrorKind
from ui.latest_call import LatestCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.speedtest.model import TestPlan, TestPlanArgs
    from ui.common.bridge import BridgeCall

_PAUSE_MS = 250


class Planner(QObject):
    """Keeps the plan of the test that is chosen now.

    Signals:
        changed: there is another plan, or none, or an error.

    Attributes:
        plan: of the test wanted, None until it is known.
        error: why there is none, None if that is not so.
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
        self._timer.timeout.connect(self._ask)

    @property
    def asking(self) -> bool:
        """Whether an answer is under way."""
        return self._call.is_pending or self._timer.isActive()

    @property
    def shown(self) -> TestPlan | None:
        """The plan, or while it is asked for again the last one of the same test."""
        if self.plan is None and self.error is None and self._last and self._last[0] == self._args:
            return self._last[1]
        return self.plan

    def want(self, args: TestPlanArgs | None) -> None:
        """Plan this test, if it is another than before; None plans nothing."""
        if args == self._args:
            return
        self.forget()
        self._args = args
        if args is not None:
            self._timer.start()
        self.changed.emit()

    def ask_again(self, args: TestPlanArgs) -> None:
        """Plan this test at once, unless that is under way."""
        if args == self._args and self.asking:
            return
        self.forget()
        self._args = args
        self._ask()

    def forget(self) -> None:
        """Plan nothing."""
        self._timer.stop()
        self._args = self.plan = self.error = None
        self._call.cancel()

    def start_over(self) -> None:
        """Plan nothing, and show nothing that was planned: the link is another now."""
        self._last = None
        self.forget()

    def _ask(self) -> None:
        self._call.ask("test.plan", self._args, self._on_plan, self._on_failed)

    def _on_plan(self, plan: TestPlan) -> None:
        self.plan, self.error = plan, None
        self._last = self._args, plan
        self.changed.emit()

    def _on_failed(self, error: AppError) -> None:
        if error.kind is not ErrorKind.CANCELLED:
            self.plan, self.error = None, error
            self.changed.emit()

"""Progress of an experiment: trials done, the running trial, and its curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.units import format_duration
from ui.common.labels import MutedLabel, plain_label
from ui.experiments.plan_view import levels_text

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QShowEvent

    from app.experiment.model import ExperimentEvent
    from ui.experiments.controller import ExperimentController

_FRAME_MS = 50


class ExperimentProgress(QWidget):
    """Shows progress; hidden while nothing runs.

    Signals:
        stop_clicked: end it; it can be resumed.
    """

    stop_clicked = Signal()

    def __init__(self, experimenting: ExperimentController) -> None:
        super().__init__()
        self._experimenting = experimenting
        self._plot: Any = None
        self._drawn: tuple[int, int] = (0, 0)
        self._bar = QProgressBar()
        self._bar.setObjectName("experiment-bar")
        self._bar.setTextVisible(False)
        self._stop = QPushButton(self.tr("&Stop"))
        self._stop.setObjectName("experiment-stop")
        self._stop.setToolTip(self.tr("What was measured is kept, and the rest can be run later."))
        self._stop.clicked.connect(self.stop_clicked)
        self._text = plain_label(wrap=True)
        self._text.setObjectName("experiment-progress")
        self._trial = MutedLabel(wrap=True)
        self._box = QFrame()
        self._box.setFrameShape(QFrame.Shape.StyledPanel)
        self._box.setFixedHeight(self.fontMetrics().lineSpacing() * 11)
        self._box_layout = QVBoxLayout(self._box)
        self._box_layout.setContentsMargins(1, 1, 1, 1)
        self._timer = QTimer(self)
        self._timer.setInterval(_FRAME_MS)
        self._timer.timeout.connect(self._draw)
        top = QHBoxLayout()
        top.addWidget(self._bar, 1)
        top.addWidget(self._stop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(top)
        layout.addWidget(self._text)
        layout.addWidget(self._trial)
        layout.addWidget(self._box)
        self.hide()

    def refresh(self) -> None:
        """Show the present state."""
        now = self._experimenting
        self.setVisible(now.busy)
        self._pace()
        if not now.busy:
            return
        self._stop.setVisible(now.state == "running")
        self._stop.setEnabled(now.overdue or not now.stopping)
        self._stop.setText(self.tr("A&bandon") if now.overdue else self.tr("&Stop"))
        self._box.setVisible(now.state == "running")
        event = now.progress
        self._show_bar()
        self._text.setText(self._words())
        levels = levels_text(event.levels) if event is not None else ""
        work = event.workload if event is not None and not now.searches else ""
        self._trial.setText(f"{work}  {levels}".strip())

    def _show_bar(self) -> None:
        """Show how far it is: in trials, or, of a search, in its time."""
        now = self._experimenting
        event, plan = now.progress, now.plan
        if event is not None and event.total:
            self._bar.setRange(0, event.total)
            self._bar.setValue(event.number - (event.phase != "done"))
        elif now.searches and plan is not None and plan.seconds and event is not None:
            self._bar.setRange(0, round(plan.seconds))
            self._bar.setValue(round(plan.seconds - (event.eta_s or 0.0)))
        else:
            self._bar.setRange(0, 0)

    def _words(self) -> str:
        now = self._experimenting
        event = now.progress
        if now.stopping:
            overdue = self.tr("Still cleaning up. Abandon it to go on without waiting.")
            return overdue if now.overdue else self.tr("Stopping and cleaning up…")
        if event is None:
            return self.tr("Preparing…")
        if now.state == "planning":
            return self.tr("Trying option set {number} of {total}…").format(
                number=event.number, total=event.total
            )
        if event.phase == "warm-up":
            return self.tr("Warming up; this does not count.")
        return self._trial_text(event)

    def _trial_text(self, event: ExperimentEvent) -> str:
        if event.phase == "retest":
            return self.tr(
                "Testing the winner again, in turns with the present setting: trial {number} of {total}…"
            ).format(number=event.number, total=event.total)
        left = (
            ""
            if event.eta_s is None
            else self.tr(", about {time} left").format(time=format_duration(event.eta_s))
        )
        if not event.total:
            return self.tr("Trial {number}{left} at most").format(number=event.number, left=left)
        return self.tr("Trial {number} of {total}{left}").format(
            number=event.number, total=event.total, left=left
        )

    def _pace(self) -> None:
        live = self._experimenting.state == "running" and self.isVisible()
        if live and self._plot is None:
            # Imported here: pyqtgraph takes a second, which the window's start should not.
            from ui.plots.live_plot import LivePlot

            self._plot = LivePlot(self._box)
            self._box_layout.addWidget(self._plot)
        if live != self._timer.isActive():
            if live:
                self._timer.start()
            else:
                self._timer.stop()

    def _draw(self) -> None:
        timeline = self._experimenting.timeline
        drawn = (id(timeline), timeline.version)
        if drawn != self._drawn and self._plot is not None:
            if drawn[0] != self._drawn[0]:
                self._plot.clear()
            self._drawn = drawn
            self._plot.draw(timeline)

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: draw while it can be seen."""
        super().showEvent(event)
        self._pace()

    def hideEvent(self, event: QHideEvent) -> None:
        """Qt: draw nothing while it cannot be seen."""
        super().hideEvent(event)
        self._timer.stop()

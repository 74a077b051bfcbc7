"""Progress of an experiment: bar, description of the running trial, and its speed curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from ui.common.labels import MutedLabel, plain_label
from ui.experiments.plan_view import about, levels_text

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QShowEvent

    from app.experiment.model import ExperimentEvent
    from ui.experiments.controller import ExperimentController

#: Interval between two frames of the speed curve, ms.
_FRAME_MS = 50


class ExperimentProgress(QWidget):
    """Progress bar, text and speed curve; hidden while nothing runs.

    Args:
        controller: the experiment whose progress is shown.

    Signals:
        stop_clicked: the user wants to stop the experiment.
    """

    stop_clicked = Signal()

    def __init__(self, controller: ExperimentController) -> None:
        super().__init__()
        self._controller = controller
        self._plot: Any = None
        self._drawn: tuple[int, int] = (0, 0)
        self._bar = QProgressBar()
        self._bar.setObjectName("experiment-bar")
        self._bar.setTextVisible(False)
        self._stop = QPushButton(self.tr("&Stop"))
        self._stop.setObjectName("experiment-stop")
        self._stop.setToolTip(self.tr("Finished trials are saved. You can resume the rest later."))
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
        """Show the present state of the controller."""
        controller = self._controller
        self.setVisible(controller.busy)
        self._update_timer()
        if not controller.busy:
            return
        self._stop.setVisible(controller.state == "running")
        self._stop.setEnabled(controller.overdue or not controller.stopping)
        self._stop.setText(self.tr("A&bandon") if controller.overdue else self.tr("&Stop"))
        self._box.setVisible(controller.state == "running")
        event = controller.progress
        self._show_bar()
        self._text.setText(self._status_text())
        levels = levels_text(event.levels) if event is not None else ""
        work = event.workload if event is not None and not controller.searches else ""
        self._trial.setText(f"{work}  {levels}".strip())

    def _show_bar(self) -> None:
        """Update the bar: trials of an experiment, elapsed seconds of a search."""
        controller = self._controller
        event, plan = controller.progress, controller.plan
        if event is not None and event.total:
            self._bar.setRange(0, event.total)
            self._bar.setValue(event.number - (event.phase != "done"))
        elif controller.searches and plan is not None and plan.seconds and event is not None:
            self._bar.setRange(0, round(plan.seconds))
            self._bar.setValue(round(plan.seconds - (event.eta_s or 0.0)))
        else:
            self._bar.setRange(0, 0)

    def _status_text(self) -> str:
        controller = self._controller
        event = controller.progress
        if controller.stopping:
            overdue = self.tr("Still cleaning up. Abandon the experiment to continue without waiting.")
            return overdue if controller.overdue else self.tr("Stopping and cleaning up…")
        if event is None:
            return self.tr("Preparing…")
        if controller.state == "planning":
            return self.tr("Trying option set {number} of {total}…").format(
                number=event.number, total=event.total
            )
        if event.phase == "warm-up":
            return self.tr("Warming up. This trial is not counted.")
        return self._trial_text(event)

    def _trial_text(self, event: ExperimentEvent) -> str:
        if event.phase == "retest":
            return self.tr(
                "Testing the winner again beside the present settings: trial {number} of {total}…"
            ).format(number=event.number, total=event.total)
        left = "" if event.eta_s is None else self.tr(", about {time} left").format(time=about(event.eta_s))
        if not event.total:
            return self.tr("Trial {number}{left} at most").format(number=event.number, left=left)
        return self.tr("Trial {number} of {total}{left}").format(
            number=event.number, total=event.total, left=left
        )

    def _update_timer(self) -> None:
        live = self._controller.state == "running" and self.isVisible()
        if live and self._plot is None:
            # Imported late, because pyqtgraph takes a second to import.
            from ui.plots.live_plot import LivePlot

            self._plot = LivePlot(self._box)
            self._box_layout.addWidget(self._plot)
        if live != self._timer.isActive():
            if live:
                self._timer.start()
            else:
                self._timer.stop()

    def _draw(self) -> None:
        timeline = self._controller.timeline
        drawn = (id(timeline), timeline.version)
        if drawn != self._drawn and self._plot is not None:
            if drawn[0] != self._drawn[0]:
                self._plot.clear()
            self._drawn = drawn
            self._plot.draw(timeline)

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: start the drawing timer."""
        super().showEvent(event)
        self._update_timer()

    def hideEvent(self, event: QHideEvent) -> None:
        """Qt: stop the drawing timer."""
        super().hideEvent(event)
        self._timer.stop()

"""The plan of an experiment: its size, its levels, and those that are struck out, each with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from app.bench.experiment.factors import label
from app.units import format_duration, format_size
from ui.widgets.labels import MutedLabel, heading, plain_label
from ui.widgets.sentences import Sentences

if TYPE_CHECKING:
    from app.bench.experiment.model import ExperimentPlan


class ExperimentPlanView(QWidget):
    """Shows a plan; hidden without one."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("experiment-plan-view")
        self._plan: ExperimentPlan | None = None
        self._text = plain_label(wrap=True)
        self._text.setObjectName("experiment-plan-text")
        self._levels = QWidget()
        self._grid = QGridLayout(self._levels)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(3)
        self._grid.setColumnStretch(1, 1)
        self._notes = Sentences("", "info")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(heading(self.tr("Plan"), scale=1.0))
        layout.addWidget(self._text)
        layout.addWidget(self._levels)
        layout.addWidget(self._notes)
        self.hide()

    def show_plan(self, plan: ExperimentPlan | None) -> None:
        """Show this plan."""
        self.setVisible(plan is not None)
        if plan is self._plan:
            return
        self._plan = plan
        if plan is None:
            return
        experiment = plan.experiment
        text = self.tr(
            "{sets} option sets, {works} workloads, {repeats} repeats: {trials} trials with those of the "
            "baseline. About {time}, {bytes} over the network, {space} on the server at a time."
        )
        self._text.setText(text.format(
            sets=len(plan.sets), works=len(experiment.workloads), repeats=experiment.repeats,
            trials=plan.trials, time=format_duration(plan.seconds), bytes=format_size(plan.bytes),
            space=format_size(plan.space),
        ))  # fmt: skip
        self._show_levels(plan)
        self._notes.show_sentences(plan.notes)

    def _show_levels(self, plan: ExperimentPlan) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        row = 0
        for factor in plan.experiment.factors:
            used = dict.fromkeys(one.levels[factor.name] for one in plan.sets if factor.name in one.levels)
            self._grid.addWidget(plain_label(label(factor.name)), row, 0, _TOP)
            self._grid.addWidget(plain_label(",  ".join(used) or "—", wrap=True), row, 1)
            row += 1
        for struck in plan.struck:
            text = ", ".join(f"{label(name)} {level}" for name, level in struck.levels.items())
            out = plain_label(text, wrap=True)
            font = out.font()
            font.setStrikeOut(True)
            out.setFont(font)
            out.setAccessibleName(self.tr("Not measured: {levels}").format(levels=text))
            self._grid.addWidget(out, row, 0, _TOP)
            reason: QLabel = MutedLabel(struck.reason, wrap=True)
            self._grid.addWidget(reason, row, 1)
            row += 1


_TOP = Qt.AlignmentFlag.AlignTop

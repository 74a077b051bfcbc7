"""The plan of an experiment: its share, its size, its levels, and those struck out, each with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from advisor.experiment_values import in_order
from app.experiment.factors import label, level_label
from ui.common.labels import heading, plain_label
from ui.common.message_list import Sentences
from ui.experiments.plan_view import size_sentence
from ui.widgets.fold import Fold
from ui.widgets.struck_list import StruckList

if TYPE_CHECKING:
    from app.experiment.model import ExperimentPlan


class ExperimentPlanView(QWidget):
    """Shows a plan; hidden without one."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("experiment-plan-view")
        self._plan: ExperimentPlan | None = None
        self._title = heading("", scale=1.0)
        self._text = plain_label(wrap=True)
        self._text.setObjectName("experiment-plan-text")
        self._levels = QWidget()
        self._grid = QGridLayout(self._levels)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(3)
        self._grid.setColumnStretch(1, 1)
        self._struck = StruckList()
        self._fold = Fold("experiment-varied", [self._levels, self._struck])
        self._open: bool | None = None
        self._notes = Sentences("", "info")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._title)
        layout.addWidget(self._text)
        layout.addWidget(self._fold)
        layout.addWidget(self._notes)
        self.hide()

    def show_plan(self, plan: ExperimentPlan | None, *, ahead: bool) -> None:
        """Show this plan.

        Args:
            plan: None for none.
            ahead: whether it is still to be run; afterwards what it found is of more interest.
        """
        self.setVisible(plan is not None)
        if ahead != self._open or plan is not self._plan:
            self._open = ahead
            self._fold.set_open(on=ahead)
        if plan is self._plan:
            return
        self._plan = plan
        if plan is None:
            return
        title = plan.experiment.title
        self._title.setText(self.tr("Plan: {title}").format(title=title) if title else self.tr("Plan"))
        share = self.tr("Share: {share}.").format(share=plan.experiment.share)
        self._text.setText(f"{share} {size_sentence(plan)}")
        varied = self.tr("What is varied")
        struck = self.tr("What is varied, and what is struck out ({count})").format(count=len(plan.struck))
        self._fold.set_title(struck if plan.struck else varied)
        self._show_levels(plan)
        self._notes.show_sentences(plan.notes)

    def _show_levels(self, plan: ExperimentPlan) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for row, factor in enumerate(plan.experiment.factors):
            used = dict.fromkeys(one.levels[factor.name] for one in plan.sets if factor.name in one.levels)
            text = ",  ".join(level_label(factor.name, level) for level in in_order(list(used)))
            self._grid.addWidget(plain_label(label(factor.name)), row, 0, _TOP)
            self._grid.addWidget(plain_label(text or "—", wrap=True), row, 1)
        self._struck.show_struck(plan.struck)


_TOP = Qt.AlignmentFlag.AlignTop

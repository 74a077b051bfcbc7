"""Plan view of an experiment: share, cost, levels, and the excluded levels with their reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from advisor.experiment.measurements import sorted_levels
from app.experiment.factors import DISPLAY_NAMES, factor_label, level_label
from app.experiment.model import SEARCH_NAME
from app.text.experiment import set_text
from app.text.units import format_size
from ui.common.labels import MutedLabel, heading, plain_label
from ui.common.layout import CollapsibleSection
from ui.common.message_list import MessageList
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.experiment.model import ExcludedSet, ExperimentPlan, OptionSet


def size_sentence(plan: ExperimentPlan) -> str:
    """Return a sentence with the trials, time and bytes of a plan."""
    experiment = plan.experiment
    if experiment.recipe == SEARCH_NAME:
        over = tr("{bytes} over the network").format(bytes=format_size(plan.bytes))
        limit = over if plan.bytes else about(plan.seconds)
        return tr(
            "{sets} option sets to choose among. Trials for {limit} at most, each with {space} on the server."
        ).format(sets=len(plan.sets), limit=limit, space=format_size(plan.space))
    parts = [
        _count(len(plan.sets), tr("1 option set"), tr("{count} option sets")),
        _count(len(experiment.workloads), tr("1 workload"), tr("{count} workloads")),
        _count(experiment.repeats, tr("1 repeat"), tr("{count} repeats")),
    ]
    return tr(
        "{parts}: {trials} trials with those of the baseline. About {time}, {bytes} over the network, "
        "{space} on the server at a time."
    ).format(
        parts=", ".join(parts), trials=plan.trials, time=about(plan.seconds),
        bytes=format_size(plan.bytes), space=format_size(plan.space),
    )  # fmt: skip


def levels_text(levels: Mapping[str, str]) -> str:
    """Return the levels of an option set as text, each with the name of its factor."""
    return set_text(levels, names=DISPLAY_NAMES) if levels else ""


def setting_text(option_set: OptionSet) -> str:
    """Return the mount options and the readahead of an option set as text."""
    options = option_set.options or tr("the default options")
    if option_set.read_ahead_kb is None:
        return options
    return tr("{options}, readahead {size} KiB").format(options=options, size=option_set.read_ahead_kb)


def about(seconds: float) -> str:
    """Return an estimated time in words, rounded to what an estimate is worth: ``10 s``, ``3 min``."""
    if seconds < 55:
        return tr("{count} s").format(count=max(5, 5 * round(seconds / 5)))
    minutes = max(1, round(seconds / 60))
    if minutes < 90:
        return tr("{count} min").format(count=minutes)
    return tr("{count} h").format(count=round(minutes / 60))


def _count(count: int, one: str, many: str) -> str:
    return one if count == 1 else many.format(count=count)


class ExcludedLevels(QWidget):
    """Grid of the excluded levels and the reason of each; hidden when it is empty."""

    def __init__(self) -> None:
        super().__init__()
        self._excluded: list[ExcludedSet] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(3)
        self._grid.setColumnStretch(1, 1)
        self.hide()

    def show_excluded(self, excluded: Sequence[ExcludedSet]) -> None:
        """Replace the shown exclusions."""
        self.setVisible(bool(excluded))
        if list(excluded) == self._excluded:
            return
        self._excluded = list(excluded)
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for row, (text, reason) in enumerate(_grouped(excluded)):
            label = plain_label(text, wrap=True)
            font = label.font()
            font.setStrikeOut(True)
            label.setFont(font)
            label.setAccessibleName(self.tr("Not measured: {levels}").format(levels=text))
            label.setMinimumWidth(min(label.fontMetrics().horizontalAdvance(text) + 2,
                                    label.fontMetrics().averageCharWidth() * 30))  # fmt: skip
            self._grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(MutedLabel(reason, wrap=True), row, 1, Qt.AlignmentFlag.AlignTop)


def _grouped(excluded: Sequence[ExcludedSet]) -> list[tuple[str, str]]:
    """Return pairs of level text and reason; levels of one factor with the same reason share a row."""
    rows: dict[tuple[str, str], list[str]] = {}
    for excluded_set in excluded:
        texts = [levels_text(excluded_set.levels)]
        if len(excluded_set.levels) == 1:
            ((factor, level),) = excluded_set.levels.items()
            texts = [factor_label(factor), level_label(factor, level)]
        rows.setdefault((texts[0], excluded_set.reason), []).extend(texts[1:])
    return [
        (f"{name}: {', '.join(levels)}" if levels else name, reason)
        for (name, reason), levels in rows.items()
    ]


class ExperimentPlanView(QWidget):
    """Title, cost, levels and notes of a plan; hidden without a plan."""

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
        self._excluded = ExcludedLevels()
        self._section = CollapsibleSection("experiment-varied", [self._levels, self._excluded])
        self._levels_open: bool | None = None
        self._notes = MessageList("", "info")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._title)
        layout.addWidget(self._text)
        layout.addWidget(self._section)
        layout.addWidget(self._notes)
        self.hide()

    def show_plan(self, plan: ExperimentPlan | None, *, ahead: bool) -> None:
        """Show a plan.

        Args:
            plan: the plan, None to hide the view.
            ahead: whether the plan has not run yet; then its levels are unfolded.
        """
        self.setVisible(plan is not None)
        if ahead != self._levels_open or plan is not self._plan:
            self._levels_open = ahead
            self._section.set_open(on=ahead)
        if plan is self._plan:
            return
        self._plan = plan
        if plan is None:
            return
        title = plan.experiment.title
        self._title.setText(self.tr("Plan: {title}").format(title=title) if title else self.tr("Plan"))
        share = self.tr("Share: {share}.").format(share=plan.experiment.share)
        self._text.setText(f"{share} {size_sentence(plan)}")
        varied = self.tr("Settings Compared")
        excluded = self.tr("Settings Compared, and Excluded Values ({count})").format(count=len(plan.struck))
        self._section.set_title(excluded if plan.struck else varied)
        self._show_levels(plan)
        self._notes.show_sentences(plan.notes)

    def _show_levels(self, plan: ExperimentPlan) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for row, factor in enumerate(plan.experiment.factors):
            used = dict.fromkeys(
                option_set.levels[factor.name] for option_set in plan.sets if factor.name in option_set.levels
            )
            text = ",  ".join(level_label(factor.name, level) for level in sorted_levels(list(used)))
            self._grid.addWidget(plain_label(factor_label(factor.name)), row, 0, _TOP)
            self._grid.addWidget(plain_label(text or "—", wrap=True), row, 1)
        self._excluded.show_excluded(plan.struck)


_TOP = Qt.AlignmentFlag.AlignTop

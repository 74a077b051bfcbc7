"""Results of an experiment: headline, messages, ranking, charts, and excluded sets."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from advisor.experiment.measurements import WRITE, outcomes_of_workload, set_key, sync_time_matters
from advisor.experiment.search import search_verdict
from app.experiment.analysis import (
    analyze,
    analyze_search,
    figure_label,
    figures_in,
    measured_options,
    options_measured_by_retest,
    parts_of_plan,
    set_evidence_text,
    set_with_levels,
)
from app.experiment.factors import DISPLAY_NAMES, factor_label
from app.experiment.model import ExcludedSet
from app.experiment.proposed_options import matching_set
from app.experiment.search import search_result_to_date
from ui.common.cards import SPACING_SMALL, CardKind, Headline, primary_button
from ui.common.figure_text import with_unit
from ui.common.labels import MutedLabel, breakable, heading, plain_tip
from ui.common.layout import CollapsibleSection
from ui.common.message_list import MessageList
from ui.common.speed_units import SPEED_UNITS
from ui.experiments.charts import ExperimentCharts
from ui.experiments.interval_chart import IntervalChart, SetMarks, ranking_rows, search_result_rows
from ui.experiments.plan_view import ExcludedLevels, setting_text
from ui.experiments.ranking import EffectsTable, RankingTable, SearchResultTable
from ui.experiments.study_view import StudyView
from ui.experiments.use_settings import ChosenSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtCore import QPoint

    from advisor.experiment.measurements import TrialOutcome
    from app.errors import AppError
    from app.experiment.analysis import FigureAnalysis, WorkloadPart
    from app.experiment.model import BestSettings, ExperimentPlan, OptionSet
    from app.experiment.recipes import Study
    from app.report.export import ExportFormat
    from ui.common.bridge import BridgeCall, RunInThread
    from ui.experiments.controller import ExperimentController

#: Icon and meaning of each verdict; others have `_UNKNOWN`.
_SIGNS = {
    "better": ("up", CardKind.OK), "effect": ("up", CardKind.OK),
    "no-difference": ("equal", CardKind.PLAIN), "none-better": ("equal", CardKind.PLAIN),
    "present": ("equal", CardKind.PLAIN), "worse": ("equal", CardKind.PLAIN),
}  # fmt: skip
_UNKNOWN = ("question", CardKind.WARNING)
#: Verdicts that prove a gain of an option set.
_PROVEN = {"better"}


class VerdictHeadline(Headline):
    """Headline with the icon of a verdict; hidden without a sentence."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._verdict = ("", "")
        SPEED_UNITS.changed.connect(self._show_again)
        self.hide()

    def text(self) -> str:
        """Return the sentence."""
        return self.title() if self._verdict[1] else ""

    def show_verdict(self, verdict: str, text: str) -> None:
        """Show a sentence with the icon of its verdict; an empty text hides the headline."""
        self._verdict = verdict, text
        icon_name, kind = _SIGNS.get(verdict, _UNKNOWN)
        self.set_text(icon_name, text, kind=kind)
        self.setVisible(bool(text))

    def _show_again(self) -> None:
        self.show_verdict(*self._verdict)


#: Width of a combo box for an axis, characters; fits a narrow window.
_AXIS_LETTERS = 14


class AxisChoice(QWidget):
    """Two combo boxes for the factors of the table's rows and columns; hidden if there is no table.

    Signals:
        chosen: names of the row factor and of the column factor, which differ.
    """

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._choices: list[str] = []
        self._shown: list[str] = []
        self._boxes = QComboBox(), QComboBox()
        names = ("experiment-rows", "experiment-columns")
        texts = (self.tr("Table &down"), self.tr("Across"))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for axis, (box, name, text) in enumerate(zip(self._boxes, names, texts, strict=True)):
            title = QLabel(text)
            title.setBuddy(box)
            box.setObjectName(name)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            box.setMinimumContentsLength(_AXIS_LETTERS)
            box.activated.connect(partial(self._on_chosen, axis))
            layout.addWidget(title)
            layout.addWidget(box)
        layout.addStretch(1)
        self.hide()

    def show_findings(self, analysis: FigureAnalysis | None) -> None:
        """Offer the varied factors, and select those of the present table."""
        self.setVisible(analysis is not None and bool(analysis.axes))
        if analysis is None or not analysis.axes:
            return
        if analysis.axis_choices != self._choices:
            self._choices = analysis.axis_choices
            for box in self._boxes:
                box.clear()
                for name in self._choices:
                    box.addItem(factor_label(name), name)
        self._show(analysis.axes)

    def _show(self, axes: Sequence[str]) -> None:
        self._shown = list(axes)
        for box, name in zip(self._boxes, axes, strict=True):
            box.setCurrentIndex(box.findData(name))

    def _on_chosen(self, axis: int, _index: int) -> None:
        """Apply a choice; if the other box has the same factor, the two factors are exchanged."""
        factors: list[str] = [box.currentData() for box in self._boxes]
        if factors[0] == factors[1]:
            factors[1 - axis] = self._shown[axis]
        self._show(factors)
        self.chosen.emit(factors)


#: Number of sentences below the headline; the others go to the statistics.
_SUMMARY_LINES = 2
#: Width of the combo boxes of workload and figure, characters; fits a narrow window.
_LETTERS = 16


class ExperimentResults(QWidget):
    """Analysis of the finished trials; hidden without any.

    Args:
        controller: the experiment whose outcomes are shown.
        run: runs blocking work on a thread.

    Signals:
        use_clicked: the user wants to use a ChosenSet for the mount.
        export_clicked: the user wants to export the experiment; the file format.
        longer_clicked: the user wants more trials.
    """

    use_clicked = Signal(object)
    export_clicked = Signal(str)
    longer_clicked = Signal()

    def __init__(self, controller: ExperimentController, run: RunInThread) -> None:
        super().__init__()
        self._controller = controller
        self._run = run
        #: Share that the window shows.
        self._share = ""
        #: Options and readahead of the mount now and as recommended, None if unknown.
        self._present: tuple[str, int | None] = ("", None)
        self._recommended: tuple[str, int | None] | None = None
        #: Running analysis, and whether another one follows it.
        self._analysis_call: BridgeCall | None = None
        self._analysis_pending = False
        #: Plan and analysis that are shown.
        self._plan: ExperimentPlan | None = None
        self._chosen: OptionSet | None = None
        self._analysis: FigureAnalysis | None = None
        self._best: BestSettings | None = None
        #: Comparable parts of the plan, by label.
        self._parts: dict[str, WorkloadPart] = {}
        #: Factors that the user chose for the table, empty for the recipe's own.
        self._wanted_axes: list[str] = []
        self._heading = heading(self.tr("So Far"), scale=1.0)
        self._work = QComboBox()
        self._work.setObjectName("experiment-workload")
        self._work.setAccessibleName(self.tr("Workload"))
        self._figure = QComboBox()
        self._figure.setObjectName("experiment-figure")
        self._figure.setAccessibleName(self.tr("What is compared"))
        self._counted = QCheckBox(self.tr("Count the time to s&ync and unmount"))
        self._counted.setObjectName("experiment-counted")
        self._counted.setToolTip(
            self.tr("What was written in seconds may take minutes until the mount can be let go.")
        )
        self._counting = MutedLabel(
            self.tr(
                "Bytes over the time of transfer, sync and unmount together. In the study that “Every "
                "combination” repeats, 73 MB/s became 3.6 MB/s by that."
            ),
            wrap=True,
        )
        self._counting.hide()
        self._create_analysis_widgets()
        for box in (self._work, self._figure):
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            box.setMinimumContentsLength(_LETTERS)
            box.activated.connect(self._on_choice)
        self._counted.toggled.connect(self._on_choice)
        SPEED_UNITS.changed.connect(self._request_analysis)
        self._export = QPushButton(self.tr("Expor&t"))
        self._export.setObjectName("experiment-export")
        self._set_up_export()
        self._failed_sets = ExcludedLevels()
        self._failed_section = CollapsibleSection("experiment-dropped", [self._failed_sets])
        self._study = StudyView("experiment-then")
        self._study.set_title(self.tr("The Study"))
        self._lay_out()
        self.hide()

    def _create_analysis_widgets(self) -> None:
        """Create the widgets of the analysis and connect the menus of their rows."""
        self._headline = VerdictHeadline("experiment-headline")
        self._messages = {
            "summary": MessageList("", "info"),
            "warn": MessageList("", "warn"),
            "info": MessageList("", "info"),
        }
        for name, sentences in self._messages.items():
            sentences.setObjectName(f"experiment-{name}")
        self._table = RankingTable()
        self._table.chosen.connect(self._show_chosen)
        self._table.menu_asked.connect(self._on_menu)
        self._effects = EffectsTable()
        self._statistics = CollapsibleSection(
            "experiment-statistics", [self._messages["summary"], self._messages["info"], self._effects]
        )
        self._statistics.set_title(self.tr("Statistics"))
        self._statistics.hide()
        self._chosen_label = MutedLabel(wrap=True)
        self._chosen_label.setObjectName("experiment-used")
        self._chart = IntervalChart()
        #: Levels of the set that is proven to be better, None for none.
        self._proven: dict[str, str] | None = None
        self._use = primary_button(self.tr("&Use These Settings…"))
        self._use.setObjectName("experiment-use-proven")
        self._use.clicked.connect(self._on_use_proven)
        self._longer = QPushButton(self.tr("Run &Longer"))
        self._longer.setObjectName("experiment-longer")
        self._longer.setToolTip(self.tr("Run more trials, so that smaller differences can be proven."))
        self._longer.clicked.connect(self.longer_clicked)
        self._may_run_longer = False
        self._use.hide()
        self._longer.hide()
        self._charts = ExperimentCharts()
        self._axes = AxisChoice()
        self._axes.chosen.connect(self._on_axes)
        self._search_result = SearchResultTable()
        self._search_result.chosen.connect(self._choose)
        self._search_result.menu_asked.connect(self._on_menu)
        self._ranking_note = MutedLabel(
            self.tr(
                "Each set by its own trials alone, which may be few; what stands above weighs all of them "
                "together."
            ),
            wrap=True,
        )
        self._ranking_note.hide()

    def _set_up_export(self) -> None:
        menu = QMenu(self)
        kinds: tuple[tuple[str, ExportFormat], ...] = (
            (self.tr("&Report (HTML)…"), "html"),
            (self.tr("Raw trials as &CSV…"), "csv"),
            (self.tr("Raw trials as &Excel workbook…"), "xlsx"),
            (self.tr("Everything as &JSON…"), "json"),
        )
        for text, kind in kinds:
            menu.addAction(text, partial(self.export_clicked.emit, kind))
        self._export.setMenu(menu)

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.addWidget(self._work)
        top.addWidget(self._figure)
        top.addStretch(1)
        use = QHBoxLayout()
        use.setSpacing(SPACING_SMALL)
        for button in (self._use, self._longer, self._export):
            use.addWidget(button)
        use.addStretch(1)
        self._ranking_section = CollapsibleSection(
            "experiment-ranking-section",
            [self._search_result, self._ranking_note, self._table, self._chosen_label],
        )
        self._ranking_section.set_title(self.tr("Ranking"))
        self._chart_section = CollapsibleSection("experiment-chart-section", [self._axes, self._charts])
        self._chart_section.set_title(self.tr("Charts and Heat Maps"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SPACING_SMALL)
        layout.addWidget(self._heading)
        layout.addWidget(self._headline)
        layout.addWidget(self._messages["warn"])
        layout.addLayout(top)
        layout.addWidget(self._counted)
        layout.addWidget(self._counting)
        layout.addWidget(self._chart)
        layout.addLayout(use)
        layout.addWidget(self._ranking_section)
        layout.addWidget(self._chart_section)
        layout.addWidget(self._statistics)
        layout.addWidget(self._failed_section)
        layout.addWidget(self._study)

    # Called by the panel

    def set_share(self, share: str) -> None:
        """Set the share of the window; only settings measured on it can be used."""
        self._share = share
        self._show_proven(self._proven)

    def refresh(self) -> None:
        """Show the finished trials of the controller, and request their analysis."""
        controller = self._controller
        plan, outcomes = controller.plan, list(controller.outcomes.values())
        self.setVisible(plan is not None and bool(outcomes))
        if plan is not self._plan or not outcomes:
            self._plan = plan
            self._show_none()
        if plan is None or not outcomes:
            return
        self._parts = {part.label: part for part in parts_of_plan(plan)}
        _fill_choices(self._work, [(label, label) for label in self._parts])
        part = self._parts[self._work.currentData()]
        names = figures_in(outcomes, part.workload)
        _fill_choices(self._figure, [(figure_label(name), name) for name in names])
        self._work.setVisible(self._work.count() > 1)
        chosen = outcomes_of_workload(outcomes, part.workload)
        self._counted.setEnabled(sync_time_matters(chosen, self._figure.currentData() or ""))
        self._counting.setVisible(self._counted.isEnabled() and self._counted.isChecked())
        self._heading.setVisible(controller.busy)
        self._export.setEnabled(bool(controller.number) and controller.settled)
        self._show_failed_sets()
        self._request_analysis()

    def _show_none(self) -> None:
        """Clear the results of the previous experiment."""
        self._analysis = self._best = None
        self._wanted_axes = []
        self._chart.show_rows("", [])
        self._show_proven(None)
        self._table.clearSelection()
        self._table.show_ranking(None)
        self._search_result.show_result(None)
        self._ranking_note.hide()
        self._headline.show_verdict("", "")
        for sentences in self._messages.values():
            sentences.show_sentences([])
        self._show_complete_run(None)
        self._show_chosen(None)

    def set_settings(
        self, present: tuple[str, int | None], recommended: tuple[str, int | None] | None
    ) -> None:
        """Set the options and the readahead (KiB) of the mount now and as recommended, None if unknown."""
        if (present, recommended) != (self._present, self._recommended):
            self._present, self._recommended = present, recommended
            self._request_analysis()

    def allow_longer(self, *, possible: bool) -> None:
        """Allow or prevent that more trials are offered."""
        self._may_run_longer = possible

    def show_study(self, study: Study | None) -> None:
        """Show the results of the published study that the recipe repeats, None for none."""
        self._study.show_study(study)

    def _show_failed_sets(self) -> None:
        """Show the option sets without a finished trial, each with its reason."""
        controller = self._controller
        outcomes = [outcome for outcome in controller.outcomes.values() if not outcome.retest]
        finished = {set_key(outcome.levels) for outcome in outcomes if outcome.state == "ok"}
        excluded = {
            set_key(outcome.levels): ExcludedSet(levels=outcome.levels, reason=outcome.note)
            for outcome in outcomes if set_key(outcome.levels) not in finished
        }  # fmt: skip
        if controller.best is not None:
            excluded |= {
                set_key(excluded_set.levels): excluded_set for excluded_set in controller.best.struck
            }
        dropped = list(excluded.values())
        self._failed_section.setVisible(bool(dropped))
        self._failed_section.set_title(self.tr("Dropped: {count}").format(count=len(dropped)))
        self._failed_sets.show_excluded(dropped)

    def _on_choice(self, _value: object = None) -> None:
        self.refresh()

    def _request_analysis(self) -> None:
        """Analyze the outcomes on a thread; while an analysis runs, at most one other is pending."""
        controller = self._controller
        plan, outcomes = controller.plan, self._ordered_outcomes()
        part, figure = self._parts.get(self._work.currentData()), self._figure.currentData()
        if plan is None or not outcomes or not figure or part is None:
            return
        if self._analysis_call is not None:
            self._analysis_pending = True
            return
        counted, axes = self._counted.isChecked(), self._wanted_axes
        best = controller.best
        present, recommended = self._present, self._recommended
        # The result of a stopped or saved search is computed from its trials.
        ended = controller.searches and not controller.busy and best is None

        def work() -> _Analysis:
            analysis = analyze(
                plan,
                outcomes,
                figure,
                part.workload,
                written=with_unit,
                names=DISPLAY_NAMES,
                counted=counted,
                file_size=part.file_size,
                axes=axes,
            )
            marks = SetMarks(*(_levels_of(plan, settings) for settings in (present, recommended)))
            return _Analysis(analysis, search_result_to_date(plan, outcomes) if ended else best, marks)

        call = self._run("findings", work)
        self._analysis_call = call
        call.succeeded.connect(partial(self._on_analyzed, plan))
        call.failed.connect(partial(self._on_failed, plan))
        call.finished.connect(self._on_finished)

    def _ordered_outcomes(self) -> list[TrialOutcome]:
        """Return the outcomes in the order of the plan's sets, because text levels have no natural order."""
        plan = self._controller.plan
        sets = plan.sets if plan is not None else []
        positions = {set_key(option_set.levels): index for index, option_set in enumerate(sets)}
        outcomes = self._controller.outcomes.values()
        return sorted(outcomes, key=lambda outcome: positions.get(set_key(outcome.levels), len(positions)))

    def _on_failed(self, plan: ExperimentPlan, error: AppError) -> None:
        if plan is self._controller.plan:
            self._messages["warn"].show_sentences([error.message])

    def _on_finished(self) -> None:
        self._analysis_call = None
        if self._analysis_pending:
            self._analysis_pending = False
            self._request_analysis()

    def _on_analyzed(self, plan: ExperimentPlan, result: _Analysis) -> None:
        if plan is not self._controller.plan:
            return
        analysis, best, _marks = result
        self._analysis, self._best = analysis, best
        self._table.show_ranking(analysis.ranking)
        busy, searches = self._controller.busy, self._controller.searches
        search_analysis = analyze_search(best, with_unit, DISPLAY_NAMES) if best is not None else None
        messages = [*(search_analysis.said if search_analysis is not None else []), *analysis.said]
        # Later trials may contradict a partial result, so a running experiment shows only warnings.
        if busy:
            self._headline.show_verdict("", "")
            messages = [message for message in messages if message[0] == "warn"]
        elif search_analysis is not None:
            self._headline.show_verdict(search_analysis.verdict, search_analysis.headline)
        elif not searches:
            self._headline.show_verdict(analysis.conclusion.verdict, analysis.headline)
        self._show_chart(plan, result)
        self._show_proven(None if busy else self._proven_levels(analysis, best))
        self._search_result.show_result(best)
        self._ranking_note.setVisible(best is not None)
        infos = [text for tone, text in messages if tone != "warn"]
        first = len(search_analysis.retold) if search_analysis is not None else _SUMMARY_LINES
        self._messages["summary"].show_sentences(infos[:first])
        self._messages["info"].show_sentences(infos[first:])
        self._messages["warn"].show_sentences([text for tone, text in messages if tone == "warn"])
        # If another analysis is pending, this one covers only a part of the trials.
        whole = not busy and not self._analysis_pending and not searches
        self._show_complete_run(analysis if whole else None)
        self._statistics.setVisible(bool(infos) or not self._effects.isHidden())
        self._show_chosen(self._table.levels())

    def _show_chart(self, plan: ExperimentPlan, result: _Analysis) -> None:
        analysis, best, marks = result
        if best is not None:
            self._chart.show_rows(WRITE, search_result_rows(best, marks.recommended))
        else:
            self._chart.show_rows(analysis.figure, ranking_rows(analysis.ranking, plan, marks))

    def _proven_levels(self, analysis: FigureAnalysis, best: BestSettings | None) -> dict[str, str] | None:
        """Return the levels of the set that is proven to be better, None without one."""
        if best is not None:
            proven = search_verdict(best.answer, best.retest) in _PROVEN
            return best.retest.winner if proven and best.retest is not None else None
        gain = analysis.conclusion.gain
        if analysis.conclusion.verdict not in _PROVEN or gain is None or self._controller.searches:
            return None
        return {**gain.levels, **gain.at}

    def _show_proven(self, levels: dict[str, str] | None) -> None:
        """Offer to use a set that is proven to be better; without one, offer more trials."""
        plan, controller = self._controller.plan, self._controller
        known = levels is not None and plan is not None and set_with_levels(levels, plan.sets) is not None
        self._proven = levels if known else None
        self._use.setVisible(known)
        ended = controller.settled and bool(controller.outcomes) and not controller.origin
        self._longer.setVisible(ended and not known and self._may_run_longer)
        problem = self._share_problem() if known else ""
        self._use.setEnabled(not problem)
        self._use.setToolTip(plain_tip(problem))

    def _show_complete_run(self, analysis: FigureAnalysis | None) -> None:
        """Show the effects and charts of a complete run; None hides them."""
        self._effects.show_findings(analysis)
        self._chart_section.setVisible(analysis is not None)
        self._charts.show_findings(analysis)
        self._axes.show_findings(analysis)
        if analysis is None:
            self._statistics.hide()

    # Actions of the user

    def _choose(self, levels: dict[str, str]) -> None:
        """Select an option set, and its row of the ranking if a trial of it finished."""
        if not self._table.choose(levels):
            self._show_chosen(levels)

    def _show_chosen(self, levels: dict[str, str] | None) -> None:
        plan = self._controller.plan
        self._chosen = set_with_levels(levels, plan.sets) if levels is not None and plan is not None else None
        hint = "" if self._controller.busy else self.tr("Right-click a row to use its settings.")
        self._chosen_label.setText(
            breakable(setting_text(self._chosen)) if self._chosen is not None else hint
        )

    def _on_axes(self, axes: list[str]) -> None:
        self._wanted_axes = axes
        self._request_analysis()

    def menu_of(self, levels: dict[str, str]) -> QMenu:
        """Return the context menu for the row of an option set."""
        menu = QMenu(self)
        menu.setObjectName("experiment-menu")
        menu.setToolTipsVisible(True)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        problem = self._use_problem(levels)
        use = menu.addAction(self.tr("&Use These Settings…"), partial(self._on_use, levels))
        use.setEnabled(not problem)
        if problem:
            menu.addAction(problem).setEnabled(False)
        return menu

    def _use_problem(self, levels: dict[str, str]) -> str:
        """Return why the settings of a set cannot be used, "" if they can."""
        controller, best = self._controller, self._best
        plan = controller.plan
        if plan is None or controller.busy or self._analysis_call is not None or self._analysis is None:
            return self.tr("Wait until it has ended.")
        if problem := self._share_problem():
            return problem
        if set_with_levels(levels, plan.sets) is None or (plan.current and levels == plan.current):
            return self.tr("It is in use already.")
        if controller.searches and (best is None or best.retest is None or levels != best.retest.winner):
            return self.tr("It was not tested again beside the present setting.")
        return ""

    def _share_problem(self) -> str:
        """Return that another share was measured than the one shown, or ""."""
        plan = self._controller.plan
        share = plan.experiment.share if plan is not None else ""
        if share == self._share:
            return ""
        return self.tr("It was measured on {share}: choose that share at the left.").format(share=share)

    def _on_use_proven(self) -> None:
        if self._proven is not None and not self._use_problem(self._proven):
            self._on_use(self._proven)

    def _on_menu(self, levels: dict[str, str], position: QPoint) -> None:
        self.menu_of(levels).popup(position)

    def _on_use(self, levels: dict[str, str]) -> None:
        plan, analysis, best = self._controller.plan, self._analysis, self._best
        option_set = set_with_levels(levels, plan.sets) if plan is not None else None
        if plan is None or analysis is None or option_set is None:
            return
        if self._controller.searches and best is not None:
            measured = options_measured_by_retest(best, with_unit)
            shown = analyze_search(best, with_unit, DISPLAY_NAMES).headline
        else:
            measured = measured_options(analysis, plan, option_set, with_unit)
            shown = set_evidence_text(analysis, plan, levels, with_unit, DISPLAY_NAMES)
        environment = plan.environment
        link = (environment.emulated_link if environment is not None else None) or ""
        self.use_clicked.emit(ChosenSet(plan, option_set, shown, measured, plan.experiment.share, link))


class _Analysis(NamedTuple):
    """Analysis of one figure, the result of a search (None for an experiment), and the sets to mark."""

    findings: FigureAnalysis
    best: BestSettings | None
    marks: SetMarks


def _levels_of(plan: ExperimentPlan, settings: tuple[str, int | None] | None) -> dict[str, str] | None:
    """Return the levels of the set that a mount with these options and readahead has, None without one."""
    found = matching_set(plan, *settings) if settings is not None else None
    return found.levels if found is not None else None


def _fill_choices(box: QComboBox, items: list[tuple[str, str]]) -> None:
    """Fill a combo box with pairs of text and data; the selected data stays selected if it is offered."""
    if [box.itemData(index) for index in range(box.count())] == [data for _text, data in items]:
        return
    selected = box.currentData()
    box.clear()
    for text, data in items:
        box.addItem(text, data)
    box.setCurrentIndex(max(box.findData(selected), 0))

"""Results of an experiment: headline, ranking, messages, and charts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QEvent, Qt, Signal
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

from advisor.experiment.measurements import outcomes_of_workload, set_key, sync_time_matters
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
from app.experiment.search import search_result_to_date
from ui.common import theme
from ui.common.dialogs import show_outline
from ui.common.figure_text import with_unit
from ui.common.labels import MutedLabel, UnitAwareLabel, breakable, enlarge, heading, plain_label
from ui.common.layout import CollapsibleSection
from ui.common.message_list import MessageList
from ui.common.speed_units import SPEED_UNITS
from ui.experiments.charts import ExperimentCharts
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

#: Sign and meaning (a field of ui.common.theme.Colors) of each verdict; those that are not here are unknown.
_SIGNS = {
    "better": ("▲", "ok"), "effect": ("▲", "ok"),
    "no-difference": ("=", "info"), "none-better": ("=", "info"), "present": ("=", "info"),
    "worse": ("=", "info"),
}  # fmt: skip
_UNKNOWN = ("?", "warn")


class Headline(QWidget):
    """Shows one sentence; hidden without."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._meaning = "info"
        self._sign = plain_label()
        self._text = UnitAwareLabel()
        self._text.setObjectName(name)
        for part in (self._sign, self._text):
            enlarge(part, 1.25, bold=True)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 2, 0, 2)
        layout.setSpacing(10)
        layout.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self._text, 1)
        self.hide()

    def show_verdict(self, verdict: str, text: str) -> None:
        """Show a sentence with the sign of its verdict, "" for none."""
        sign, self._meaning = _SIGNS.get(verdict, _UNKNOWN)
        self._sign.setText(sign)
        self._text.say(text)
        self._update_colors()
        self.setVisible(bool(text))

    def _update_colors(self) -> None:
        color: str = getattr(theme.colors(), self._meaning)
        theme.tint(self._sign, color)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_sign"):
            self._update_colors()


#: Letters of a setting that have room in a narrow window, too.
_AXIS_LETTERS = 14


class AxisChoice(QWidget):
    """Two combo boxes; hidden where there is no table.

    Signals:
        chosen: names of the settings down and across, another one each.
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
        for place, (box, name, text) in enumerate(zip(self._boxes, names, texts, strict=True)):
            title = QLabel(text)
            title.setBuddy(box)
            box.setObjectName(name)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            box.setMinimumContentsLength(_AXIS_LETTERS)
            box.activated.connect(partial(self._on_chosen, place))
            layout.addWidget(title)
            layout.addWidget(box)
        layout.addStretch(1)
        self.hide()

    def show_findings(self, found: FigureAnalysis | None) -> None:
        """Offer what was varied, and show what the tables have."""
        self.setVisible(found is not None and bool(found.axes))
        if found is None or not found.axes:
            return
        if found.axis_choices != self._choices:
            self._choices = found.axis_choices
            for box in self._boxes:
                box.clear()
                for name in self._choices:
                    box.addItem(factor_label(name), name)
        self._show(found.axes)

    def _show(self, axes: Sequence[str]) -> None:
        self._shown = list(axes)
        for box, name in zip(self._boxes, axes, strict=True):
            box.setCurrentIndex(box.findData(name))

    def _on_chosen(self, place: int, _index: int) -> None:
        """Take a choice; where it stands on the other side already, the two change places."""
        now: list[str] = [box.currentData() for box in self._boxes]
        if now[0] == now[1]:
            now[1 - place] = self._shown[place]
        self._show(now)
        self.chosen.emit(now)


#: Sentences that stand beside the headline; the others are statistics.
_SUMMARY_LINES = 2
#: Letters of a workload's name and of a figure's that have room in a narrow window, too.
_LETTERS = 16


class ExperimentResults(QWidget):
    """Shows the outcomes so far; hidden without any.

    Signals:
        use_clicked: the ChosenSet that is to be used for the mount.
        export_clicked: write it to a file of this kind.
    """

    use_clicked = Signal(object)
    export_clicked = Signal(str)

    def __init__(self, experimenting: ExperimentController, run: RunInThread) -> None:
        super().__init__()
        self._experimenting = experimenting
        self._run = run
        #: The share that the window shows.
        self._share = ""
        self._finding: BridgeCall | None = None
        self._again = False
        #: What the table, the sentences and the pictures are of.
        self._plan: ExperimentPlan | None = None
        self._chosen: OptionSet | None = None
        self._found: FigureAnalysis | None = None
        self._best: BestSettings | None = None
        #: By their labels, what is compared with its like.
        self._parts: dict[str, WorkloadPart] = {}
        #: What the person chose for the tables, empty for the study's own.
        self._wanted_axes: list[str] = []
        self._heading = heading("", scale=1.0)
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
        self._make_findings()
        for box in (self._work, self._figure):
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            box.setMinimumContentsLength(_LETTERS)
            box.activated.connect(self._on_choice)
        self._counted.toggled.connect(self._on_choice)
        SPEED_UNITS.changed.connect(self._find)
        self._export = QPushButton(self.tr("Expor&t"))
        self._export.setObjectName("experiment-export")
        self._set_up_export()
        self._dropped = ExcludedLevels()
        self._dropped_fold = CollapsibleSection("experiment-dropped", [self._dropped])
        self._study = StudyView("experiment-then")
        self._study.set_title(self.tr("What the study found then"))
        self._lay_out()
        show_outline(self._counted)
        self.hide()

    def _make_findings(self) -> None:
        """Make what shows the findings, and has menus on their rows."""
        self._headline = Headline("experiment-headline")
        self._said = {
            "summary": MessageList("", "info"),
            "warn": MessageList("", "warn"),
            "info": MessageList("", "info"),
        }
        for name, sentences in self._said.items():
            sentences.setObjectName(f"experiment-{name}")
        self._table = RankingTable()
        self._table.chosen.connect(self._show_chosen)
        self._table.menu_asked.connect(self._on_menu)
        self._effects = EffectsTable()
        self._statistics = CollapsibleSection("experiment-statistics", [self._said["info"], self._effects])
        self._statistics.set_title(self.tr("Statistics"))
        self._statistics.hide()
        self._used = MutedLabel(wrap=True)
        self._used.setObjectName("experiment-used")
        self._pictures = ExperimentCharts()
        self._axes = AxisChoice()
        self._axes.chosen.connect(self._on_axes)
        self._answer = SearchResultTable()
        self._answer.chosen.connect(self._choose)
        self._answer.menu_asked.connect(self._on_menu)
        self._alone = MutedLabel(
            self.tr(
                "Each set by its own trials alone, which may be few; what stands above weighs all of them "
                "together."
            ),
            wrap=True,
        )
        self._alone.hide()

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
        use.addWidget(self._used, 1)
        use.addWidget(self._export)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self._heading)
        layout.addWidget(self._headline)
        layout.addWidget(self._said["summary"])
        layout.addWidget(self._said["warn"])
        layout.addWidget(self._answer)
        layout.addLayout(top)
        layout.addWidget(self._counted)
        layout.addWidget(self._counting)
        layout.addWidget(self._alone)
        layout.addWidget(self._table)
        layout.addLayout(use)
        layout.addWidget(self._axes)
        layout.addWidget(self._pictures)
        layout.addWidget(self._statistics)
        layout.addWidget(self._dropped_fold)
        layout.addWidget(self._study)

    # What the panel tells

    def set_share(self, share: str) -> None:
        """Offer to use what was found if it is of this share."""
        self._share = share

    def refresh(self) -> None:
        """Show the outcomes so far."""
        now = self._experimenting
        plan, outcomes = now.plan, list(now.outcomes.values())
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
        self._heading.setText(self.tr("So far") if now.busy else self.tr("What it found"))
        self._export.setEnabled(bool(now.number) and now.settled)
        self._show_failed_sets()
        self._find()

    def _show_none(self) -> None:
        """Show nothing of the experiment before: until there are findings, and if there are none."""
        self._found = self._best = None
        self._wanted_axes = []
        self._table.clearSelection()
        self._table.show_ranking(None)
        self._answer.show_result(None)
        self._alone.hide()
        self._headline.show_verdict("", "")
        for sentences in self._said.values():
            sentences.show_sentences([])
        self._show_complete_run(None)
        self._show_chosen(None)

    def show_study(self, study: Study | None) -> None:
        """Show what was found when it was measured first."""
        self._study.show_study(study)

    def _show_failed_sets(self) -> None:
        """Show the option sets that no trial was finished of, and why; of an experiment they are few."""
        now = self._experimenting
        tried = [one for one in now.outcomes.values() if not one.retest]
        finished = {set_key(one.levels) for one in tried if one.state == "ok"}
        why = {
            set_key(one.levels): ExcludedSet(levels=one.levels, reason=one.note)
            for one in tried if set_key(one.levels) not in finished
        }  # fmt: skip
        if now.best is not None:
            why |= {set_key(one.levels): one for one in now.best.struck}
        dropped = list(why.values())
        self._dropped_fold.setVisible(bool(dropped))
        self._dropped_fold.set_title(self.tr("Dropped: {count}").format(count=len(dropped)))
        self._dropped.show_excluded(dropped)

    def _on_choice(self, _value: object = None) -> None:
        self.refresh()

    def _find(self) -> None:
        """Have the findings made on a thread; while one is at work, the next waits."""
        now = self._experimenting
        plan, outcomes = now.plan, self._in_order()
        part, figure = self._parts.get(self._work.currentData()), self._figure.currentData()
        if plan is None or not outcomes or not figure or part is None:
            return
        if self._finding is not None:
            self._again = True
            return
        counted, axes = self._counted.isChecked(), self._wanted_axes
        best = now.best
        # Of a search that was stopped, or of the history, the answer is in its trials.
        ended = now.searches and not now.busy and best is None

        def work() -> _Analysis:
            found = analyze(
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
            return _Analysis(found, search_result_to_date(plan, outcomes) if ended else best)

        call = self._run("findings", work)
        self._finding = call
        call.succeeded.connect(partial(self._on_found, plan))
        call.failed.connect(partial(self._on_failed, plan))
        call.finished.connect(self._on_finished)

    def _in_order(self) -> list[TrialOutcome]:
        """Return the outcomes in the order of the plan's sets, for words come in no order of their own."""
        plan = self._experimenting.plan
        sets = plan.sets if plan is not None else []
        places = {set_key(one.levels): place for place, one in enumerate(sets)}
        outcomes = self._experimenting.outcomes.values()
        return sorted(outcomes, key=lambda one: places.get(set_key(one.levels), len(places)))

    def _on_failed(self, plan: ExperimentPlan, error: AppError) -> None:
        if plan is self._experimenting.plan:
            self._said["warn"].show_sentences([error.message])

    def _on_finished(self) -> None:
        self._finding = None
        if self._again:
            self._again = False
            self._find()

    def _on_found(self, plan: ExperimentPlan, both: _Analysis) -> None:
        if plan is not self._experimenting.plan:
            return
        found, best = both
        self._found, self._best = found, best
        self._table.show_ranking(found.ranking)
        busy, searches = self._experimenting.busy, self._experimenting.searches
        told = analyze_search(best, with_unit, DISPLAY_NAMES) if best is not None else None
        said = [*(told.said if told is not None else []), *found.said]
        # What a part of the trials says may be gone with the next ones: nothing is claimed of it.
        if busy:
            self._headline.show_verdict("", "")
            said = [one for one in said if one[0] == "warn"]
        elif told is not None:
            self._headline.show_verdict(told.verdict, told.headline)
        elif not searches:
            self._headline.show_verdict(found.conclusion.verdict, found.headline)
        self._answer.show_result(best)
        self._alone.setVisible(best is not None)
        infos = [text for tone, text in said if tone != "warn"]
        first = len(told.retold) if told is not None else _SUMMARY_LINES
        self._said["summary"].show_sentences(infos[:first])
        self._said["info"].show_sentences(infos[first:])
        self._said["warn"].show_sentences([text for tone, text in said if tone == "warn"])
        # While the findings are made anew, those at hand are of a part of the trials.
        whole = not busy and not self._again and not searches
        self._show_complete_run(found if whole else None)
        self._statistics.setVisible(bool(infos[first:]) or not self._effects.isHidden())
        self._show_chosen(self._table.levels())

    def _show_complete_run(self, found: FigureAnalysis | None) -> None:
        """Show what only a whole run can tell, or nothing of the one before."""
        self._effects.show_findings(found)
        self._pictures.show_findings(found)
        self._axes.show_findings(found)
        if found is None:
            self._statistics.hide()

    # What the person does

    def _choose(self, levels: dict[str, str]) -> None:
        """Choose an option set, and its row if it has one: of some a search knows without a whole trial."""
        if not self._table.choose(levels):
            self._show_chosen(levels)

    def _show_chosen(self, levels: dict[str, str] | None) -> None:
        plan = self._experimenting.plan
        self._chosen = set_with_levels(levels, plan.sets) if levels is not None and plan is not None else None
        hint = "" if self._experimenting.busy else self.tr("Right-click a row to use its settings.")
        self._used.setText(breakable(setting_text(self._chosen)) if self._chosen is not None else hint)

    def _on_axes(self, axes: list[str]) -> None:
        self._wanted_axes = axes
        self._find()

    def menu_of(self, levels: dict[str, str]) -> QMenu:
        """Return the menu of an option set's row."""
        menu = QMenu(self)
        menu.setObjectName("experiment-menu")
        menu.setToolTipsVisible(True)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        why = self._why_not(levels)
        use = menu.addAction(self.tr("&Use These Settings…"), partial(self._on_use, levels))
        use.setEnabled(not why)
        if why:
            menu.addAction(why).setEnabled(False)
        return menu

    def _why_not(self, levels: dict[str, str]) -> str:
        """Return why a set is not offered for the mount, "" if it is."""
        now, best = self._experimenting, self._best
        plan = now.plan
        if plan is None or now.busy or self._finding is not None or self._found is None:
            return self.tr("Wait until it has ended.")
        share = plan.experiment.share
        if share != self._share:
            return self.tr("It was measured on {share}: choose that share at the left.").format(share=share)
        if set_with_levels(levels, plan.sets) is None or (plan.current and levels == plan.current):
            return self.tr("It is in use already.")
        if now.searches and (best is None or best.retest is None or levels != best.retest.winner):
            return self.tr("It was not tested again beside the present setting.")
        return ""

    def _on_menu(self, levels: dict[str, str], where: QPoint) -> None:
        self.menu_of(levels).popup(where)

    def _on_use(self, levels: dict[str, str]) -> None:
        plan, found, best = self._experimenting.plan, self._found, self._best
        one = set_with_levels(levels, plan.sets) if plan is not None else None
        if plan is None or found is None or one is None:
            return
        if self._experimenting.searches and best is not None:
            learned = options_measured_by_retest(best, with_unit)
            shown = analyze_search(best, with_unit, DISPLAY_NAMES).headline
        else:
            learned = measured_options(found, plan, one, with_unit)
            shown = set_evidence_text(found, plan, levels, with_unit, DISPLAY_NAMES)
        where = plan.environment
        link = (where.emulated_link if where is not None else None) or ""
        self.use_clicked.emit(ChosenSet(plan, one, shown, learned, plan.experiment.share, link))


class _Analysis(NamedTuple):
    """What was found, and of a search its answer."""

    findings: FigureAnalysis
    best: BestSettings | None


def _fill_choices(box: QComboBox, items: list[tuple[str, str]]) -> None:
    """Offer these items, the chosen one kept if it is among them."""
    if [box.itemData(place) for place in range(box.count())] == [data for _text, data in items]:
        return
    kept = box.currentData()
    box.clear()
    for text, data in items:
        box.addItem(text, data)
    box.setCurrentIndex(max(box.findData(kept), 0))

"""What an experiment found: the ranking, what is said of it, and its curves, heat maps and surfaces."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QMenu,
    QPushButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from advisor.experiment_values import key_of
from app.bench.experiment.factors import label
from app.bench.experiment.findings import (
    answer_said,
    figure_label,
    figures_in,
    find,
    measured,
    set_of,
)
from app.bench.experiment.model import Struck
from app.bench.experiment.so_far import best_so_far
from ui.dialogs.buttons import show_outline
from ui.models.experiment_words import in_words, levels_words, setting_text
from ui.models.figure_words import written
from ui.models.ranking_model import RankingModel
from ui.speed_units import SPEED_UNITS
from ui.widgets.fold import Fold
from ui.widgets.heat_map import HeatMap
from ui.widgets.labels import MutedLabel, heading
from ui.widgets.plain_table import name_parts
from ui.widgets.search_answer import SearchAnswer
from ui.widgets.sentences import Sentences
from ui.widgets.struck_list import StruckList
from ui.widgets.study_view import StudyView
from ui.widgets.surface_view import SurfaceView

if TYPE_CHECKING:
    from advisor.trials import Outcome
    from app.bench.experiment.findings import Findings
    from app.bench.experiment.model import BestResult, ExperimentPlan, PlannedSet
    from app.bench.experiment.recipe import Study
    from app.errors import AppError
    from app.history.export import Format
    from ui.bridge import BridgeCall
    from ui.dialogs.copy_as import Run
    from ui.experimenting import Experimenting

#: Lines of the ranking that are seen without scrolling.
_LINES = 10


class ExperimentResults(QWidget):
    """Shows the outcomes so far; hidden without any.

    Signals:
        use_clicked: the PlannedSet that is to be used for the mount, what was Measured of its
            options, and the lab's link.
        export_clicked: write it to a file of this kind.
    """

    use_clicked = Signal(object, object, str)
    export_clicked = Signal(str)

    def __init__(self, experimenting: Experimenting, run: Run) -> None:
        super().__init__()
        self._experimenting = experimenting
        self._run = run
        self._finding: BridgeCall | None = None
        self._again = False
        self._chosen: PlannedSet | None = None
        self._found: Findings | None = None
        self._heading = heading("", scale=1.0)
        self._work = QComboBox()
        self._work.setObjectName("experiment-workload")
        self._work.setAccessibleName(self.tr("Workload"))
        self._figure = QComboBox()
        self._figure.setObjectName("experiment-figure")
        self._figure.setAccessibleName(self.tr("What is compared"))
        self._counted = QCheckBox(self.tr("&Count the time to sync and unmount"))
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
        self._counted.toggled.connect(self._counting.setVisible)
        for box in (self._work, self._figure):
            box.activated.connect(self._on_choice)
        self._counted.toggled.connect(self._on_choice)
        SPEED_UNITS.changed.connect(self._find)
        self._said = {"ok": Sentences("", "ok"), "warn": Sentences("", "warn"), "info": Sentences("", "info")}
        for name, sentences in self._said.items():
            sentences.setObjectName(f"experiment-{name}")
        self._model = RankingModel(self)
        self._table = QTableView()
        self._set_up_table()
        self._use = QPushButton(self.tr("&Use this…"))
        self._use.setObjectName("experiment-use")
        self._use.setToolTip(self.tr("Puts these options into the settings; nothing is mounted by that."))
        self._use.clicked.connect(self._on_use)
        self._used = MutedLabel(wrap=True)
        self._export = QPushButton(self.tr("&Export"))
        self._export.setObjectName("experiment-export")
        self._set_up_export()
        self._pictures = QVBoxLayout()
        self._answer = SearchAnswer()
        self._answer.chosen.connect(self._choose)
        self._alone = MutedLabel(
            self.tr(
                "Each set by its own trials alone, which may be few; what stands above weighs all of them "
                "together."
            ),
            wrap=True,
        )
        self._alone.hide()
        self._dropped = StruckList()
        self._dropped_fold = Fold("experiment-dropped", [self._dropped])
        self._study = StudyView("experiment-then")
        self._study.set_title(self.tr("What the study found then"))
        self._lay_out()
        show_outline(self._counted)
        self.hide()

    def _set_up_table(self) -> None:
        table = self._table
        table.setObjectName("experiment-ranking")
        table.setAccessibleName(self.tr("Ranking"))
        name_parts(table)
        table.setModel(self._model)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setFrameShape(QFrame.Shape.NoFrame)
        table.setShowGrid(False)
        table.setAlternatingRowColors(True)
        table.setTabKeyNavigation(False)
        table.setWordWrap(False)
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(int(self.fontMetrics().lineSpacing() * 1.5))
        table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        table.horizontalHeader().setHighlightSections(False)
        table.horizontalHeader().setStretchLastSection(True)
        table.selectionModel().selectionChanged.connect(self._on_selection)

    def _set_up_export(self) -> None:
        menu = QMenu(self)
        kinds: tuple[tuple[str, Format], ...] = (
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
        top.addWidget(self._counted)
        top.addStretch(1)
        use = QHBoxLayout()
        use.addWidget(self._use)
        use.addWidget(self._used, 1)
        use.addWidget(self._export)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self._heading)
        layout.addLayout(top)
        layout.addWidget(self._counting)
        layout.addWidget(self._answer)
        layout.addWidget(self._said["ok"])
        layout.addWidget(self._said["warn"])
        layout.addWidget(self._alone)
        layout.addWidget(self._table)
        layout.addLayout(use)
        layout.addWidget(self._said["info"])
        layout.addWidget(self._dropped_fold)
        layout.addWidget(self._study)
        layout.addLayout(self._pictures)

    # What the panel tells

    def refresh(self) -> None:
        """Show the outcomes so far."""
        now = self._experimenting
        plan, outcomes = now.plan, list(now.outcomes.values())
        self.setVisible(plan is not None and bool(outcomes))
        if plan is None or not outcomes:
            self._model.show_ranking(None)
            return
        _offer(self._work, [(work.name, work.name) for work in plan.experiment.workloads])
        names = figures_in(outcomes, self._work.currentData())
        _offer(self._figure, [(figure_label(name), name) for name in names])
        self._work.setVisible(self._work.count() > 1)
        self._heading.setText(self.tr("So far") if now.busy else self.tr("What it found"))
        self._export.setEnabled(bool(now.number) and now.settled)
        self._show_dropped()
        self._find()

    def show_study(self, study: Study | None) -> None:
        """Show what was found when it was measured first."""
        self._study.show_study(study)

    def _show_dropped(self) -> None:
        """Show the option sets that no trial was finished of, and why; of an experiment they are few."""
        now = self._experimenting
        finished = {key_of(one.levels) for one in now.outcomes.values() if one.state == "ok"}
        why = {
            key_of(one.levels): Struck(levels=one.levels, reason=one.note)
            for one in now.outcomes.values() if key_of(one.levels) not in finished
        }  # fmt: skip
        if now.best is not None:
            why |= {key_of(one.levels): one for one in now.best.struck}
        dropped = list(why.values())
        self._dropped_fold.setVisible(bool(dropped))
        self._dropped_fold.set_title(self.tr("Dropped: {count}").format(count=len(dropped)))
        self._dropped.show_struck(dropped)

    def _on_choice(self, _value: object = None) -> None:
        self.refresh()

    def _find(self) -> None:
        """Have the findings made on a thread; while one is at work, the next waits."""
        now = self._experimenting
        plan, outcomes = now.plan, self._in_order()
        workload, figure = self._work.currentData(), self._figure.currentData()
        if plan is None or not outcomes or not figure:
            return
        if self._finding is not None:
            self._again = True
            return
        counted = self._counted.isChecked()
        best = now.best
        # Of a search that was stopped, or of the history, the answer is in its trials.
        ended = now.searches and not now.busy and best is None

        def work() -> _Found:
            found = find(plan, outcomes, figure, workload, written=written, counted=counted)
            return _Found(found, best_so_far(plan, outcomes) if ended else best)

        call = self._run("findings", work)
        self._finding = call
        call.succeeded.connect(partial(self._on_found, plan))
        call.failed.connect(self._on_failed)
        call.finished.connect(self._on_finished)

    def _in_order(self) -> list[Outcome]:
        """Return the outcomes in the order of the plan's sets, for words come in no order of their own."""
        plan = self._experimenting.plan
        sets = plan.sets if plan is not None else []
        places = {key_of(one.levels): place for place, one in enumerate(sets)}
        outcomes = self._experimenting.outcomes.values()
        return sorted(outcomes, key=lambda one: places.get(key_of(one.levels), len(places)))

    def _on_failed(self, error: AppError) -> None:
        self._said["warn"].show_sentences([error.message])

    def _on_finished(self) -> None:
        self._finding = None
        if self._again:
            self._again = False
            self._find()

    def _on_found(self, plan: ExperimentPlan, both: _Found) -> None:
        if plan is not self._experimenting.plan:
            return
        found, best = both
        self._found = found
        selected = self._table.selectionModel().selectedRows()
        place = selected[0].row() if selected else 0
        self._model.show_ranking(found.ranking)
        line = self._table.verticalHeader().defaultSectionSize()
        lines = min(max(self._model.rowCount(), 2), _LINES)
        header, bar = self._table.horizontalHeader(), self._table.horizontalScrollBar()
        self._table.setFixedHeight(header.sizeHint().height() + bar.sizeHint().height() + line * lines + 8)
        if self._model.rowCount():
            self._table.selectRow(min(place, self._model.rowCount() - 1))
        said = found.said
        if self._experimenting.busy:
            # What a few trials say of single factors may be gone with the next ones.
            said = [one for one in said if one[0] != "info"]
        if self._experimenting.searches:
            # Few trials of few of its sets: what sets have in common is not said of them.
            said = [one for one in found.said if one[0] == "warn"]
            said = [*(answer_said(best, written) if best is not None else []), *said]
        self._answer.show_answer(best.answer if best is not None else None, plan.sets)
        self._alone.setVisible(best is not None)
        for tone, sentences in self._said.items():
            sentences.show_sentences([in_words(text) for one, text in said if one == tone])
        if not self._experimenting.busy and not self._experimenting.searches:
            self._show_pictures(found)
        self._on_selection()

    # Pictures: made once the run is over, as they cost time that a measurement should have

    def _show_pictures(self, found: Findings) -> None:
        while (item := self._pictures.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        if found.curves:
            # A second to import: only once there is something to draw.
            from ui.plots.curve_plot import CurvePlot

            for curve in found.curves:
                plot: Any = CurvePlot()
                plot.draw(curve)
                self._add(heading(label(curve.factor), scale=1.0), plot)
        for matrix in found.matrices:
            fixed = levels_words(matrix.fixed)
            title = f"{label(matrix.row_factor)} ↓  {label(matrix.column_factor)} →"
            heat = HeatMap()
            heat.show_matrix(matrix)
            self._add(heading(f"{title}, {fixed}" if fixed else title, scale=1.0), heat)
            if min(len(matrix.rows), len(matrix.columns)) > 1:
                surface = SurfaceView()
                surface.show_matrix(matrix)
                self._add(surface)

    def _add(self, *widgets: QWidget) -> None:
        for widget in widgets:
            self._pictures.addWidget(widget)

    # What the person does

    def _choose(self, levels: dict[str, str]) -> None:
        """Choose an option set, and its row if it has one: of some a search knows without a whole trial."""
        standings = [self._model.standing(row) for row in range(self._model.rowCount())]
        place = next((row for row, one in enumerate(standings) if one and one.levels == levels), None)
        if place is not None:
            self._table.selectRow(place)
            return
        self._table.clearSelection()
        self._show_chosen(levels)

    def _on_selection(self, *_changes: object) -> None:
        rows = self._table.selectionModel().selectedRows()
        standing = self._model.standing(rows[0].row()) if rows else None
        self._show_chosen(standing.levels if standing is not None else None)

    def _show_chosen(self, levels: dict[str, str] | None) -> None:
        plan = self._experimenting.plan
        self._chosen = set_of(levels, plan.sets) if levels is not None and plan is not None else None
        self._use.setEnabled(self._chosen is not None and not self._experimenting.busy)
        self._used.setText(setting_text(self._chosen) if self._chosen is not None else "")

    def _on_use(self) -> None:
        plan, found = self._experimenting.plan, self._found
        if self._chosen is not None and plan is not None and found is not None:
            where = plan.environment
            link = (where.emulated_link if where is not None else None) or ""
            self.use_clicked.emit(self._chosen, measured(found, plan, self._chosen, written), link)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_pictures"):
            show_outline(self._counted)


class _Found(NamedTuple):
    """What was found, and of a search its answer."""

    findings: Findings
    best: BestResult | None


def _offer(box: QComboBox, items: list[tuple[str, str]]) -> None:
    """Offer these items, the chosen one kept if it is among them."""
    if [box.itemData(place) for place in range(box.count())] == [data for _text, data in items]:
        return
    kept = box.currentData()
    box.clear()
    for text, data in items:
        box.addItem(text, data)
    box.setCurrentIndex(max(box.findData(kept), 0))

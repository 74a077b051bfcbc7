"""What an experiment found: the ranking, what is said of it, and its curves, heat maps and surfaces."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QMenu, QPushButton, QVBoxLayout, QWidget

from advisor.experiment_values import can_count_in, key_of, of_workload
from app.bench.experiment.factors import SPOKEN
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
from ui.models.experiment_words import setting_text
from ui.models.figure_words import written
from ui.speed_units import SPEED_UNITS
from ui.widgets.effects_table import EffectsTable
from ui.widgets.experiment_pictures import ExperimentPictures
from ui.widgets.fold import Fold
from ui.widgets.labels import MutedLabel, breakable, heading
from ui.widgets.ranking_table import RankingTable
from ui.widgets.search_answer import SearchAnswer
from ui.widgets.sentences import Sentences
from ui.widgets.struck_list import StruckList
from ui.widgets.study_view import StudyView

if TYPE_CHECKING:
    from advisor.trials import Outcome
    from app.bench.experiment.findings import Findings
    from app.bench.experiment.model import BestResult, ExperimentPlan, PlannedSet
    from app.bench.experiment.recipe import Study
    from app.errors import AppError
    from app.history.export import Format
    from ui.bridge import BridgeCall, RunInThread
    from ui.experimenting import Experimenting

#: Letters of a workload's name and of a figure's that have room in a narrow window, too.
_LETTERS = 16


class ExperimentResults(QWidget):
    """Shows the outcomes so far; hidden without any.

    Signals:
        use_clicked: the PlannedSet that is to be used for the mount, what was Measured of its
            options, and the share and the lab's link that it was measured on.
        export_clicked: write it to a file of this kind.
    """

    use_clicked = Signal(object, object, str, str)
    export_clicked = Signal(str)

    def __init__(self, experimenting: Experimenting, run: RunInThread) -> None:
        super().__init__()
        self._experimenting = experimenting
        self._run = run
        #: The share that the window shows.
        self._share = ""
        self._finding: BridgeCall | None = None
        self._again = False
        #: What the table, the sentences and the pictures are of.
        self._plan: ExperimentPlan | None = None
        self._chosen: PlannedSet | None = None
        self._found: Findings | None = None
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
        for box in (self._work, self._figure):
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            box.setMinimumContentsLength(_LETTERS)
            box.activated.connect(self._on_choice)
        self._counted.toggled.connect(self._on_choice)
        SPEED_UNITS.changed.connect(self._find)
        self._said = {"ok": Sentences("", "ok"), "warn": Sentences("", "warn"), "info": Sentences("", "info")}
        for name, sentences in self._said.items():
            sentences.setObjectName(f"experiment-{name}")
        self._table = RankingTable()
        self._table.chosen.connect(self._show_chosen)
        self._effects = EffectsTable()
        self._use = QPushButton(self.tr("Use th&is…"))
        self._use.setObjectName("experiment-use")
        self._use.clicked.connect(self._on_use)
        self._used = MutedLabel(wrap=True)
        self._export = QPushButton(self.tr("Expor&t"))
        self._export.setObjectName("experiment-export")
        self._set_up_export()
        self._pictures = ExperimentPictures()
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
        layout.addWidget(self._counted)
        layout.addWidget(self._counting)
        layout.addWidget(self._answer)
        layout.addWidget(self._said["ok"])
        layout.addWidget(self._said["warn"])
        layout.addWidget(self._alone)
        layout.addWidget(self._table)
        layout.addLayout(use)
        layout.addWidget(self._said["info"])
        layout.addWidget(self._effects)
        layout.addWidget(self._dropped_fold)
        layout.addWidget(self._study)
        layout.addWidget(self._pictures)

    # What the panel tells

    def set_share(self, share: str) -> None:
        """Offer to use what was found if it is of this share."""
        self._share = share
        self._show_use()

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
        _offer(self._work, [(work.name, work.name) for work in plan.experiment.workloads])
        names = figures_in(outcomes, self._work.currentData())
        _offer(self._figure, [(figure_label(name), name) for name in names])
        self._work.setVisible(self._work.count() > 1)
        chosen = of_workload(outcomes, self._work.currentData())
        self._counted.setEnabled(can_count_in(chosen, self._figure.currentData() or ""))
        self._counting.setVisible(self._counted.isEnabled() and self._counted.isChecked())
        self._heading.setText(self.tr("So far") if now.busy else self.tr("What it found"))
        self._export.setEnabled(bool(now.number) and now.settled)
        self._show_dropped()
        self._find()

    def _show_none(self) -> None:
        """Show nothing of the experiment before: until there are findings, and if there are none."""
        self._found = None
        self._table.show_ranking(None)
        self._answer.show_answer(None, [])
        self._alone.hide()
        for sentences in self._said.values():
            sentences.show_sentences([])
        self._show_whole(None)
        self._show_chosen(None)

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
            found = find(plan, outcomes, figure, workload, written=written, names=SPOKEN, counted=counted)
            return _Found(found, best_so_far(plan, outcomes) if ended else best)

        call = self._run("findings", work)
        self._finding = call
        call.succeeded.connect(partial(self._on_found, plan))
        call.failed.connect(partial(self._on_failed, plan))
        call.finished.connect(self._on_finished)

    def _in_order(self) -> list[Outcome]:
        """Return the outcomes in the order of the plan's sets, for words come in no order of their own."""
        plan = self._experimenting.plan
        sets = plan.sets if plan is not None else []
        places = {key_of(one.levels): place for place, one in enumerate(sets)}
        outcomes = self._experimenting.outcomes.values()
        return sorted(outcomes, key=lambda one: places.get(key_of(one.levels), len(places)))

    def _on_failed(self, plan: ExperimentPlan, error: AppError) -> None:
        if plan is self._experimenting.plan:
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
        self._table.show_ranking(found.ranking)
        said = found.said
        if self._experimenting.busy:
            # What a few trials say of single factors may be gone with the next ones.
            said = [one for one in said if one[0] != "info"]
        if self._experimenting.searches:
            # Few trials of few of its sets: what sets have in common is not said of them.
            said = [one for one in found.said if one[0] == "warn"]
            said = [*(answer_said(best, written, SPOKEN) if best is not None else []), *said]
        self._answer.show_answer(best.answer if best is not None else None, plan.sets)
        self._alone.setVisible(best is not None)
        for tone, sentences in self._said.items():
            sentences.show_sentences([text for one, text in said if one == tone])
        # While the findings are made anew, those at hand are of a part of the trials.
        whole = not self._experimenting.busy and not self._again and not self._experimenting.searches
        self._show_whole(found if whole else None)
        self._show_chosen(self._table.levels())

    def _show_whole(self, found: Findings | None) -> None:
        """Show what only a whole run can tell, or nothing of the one before."""
        self._effects.show_findings(found)
        self._pictures.show_findings(found)

    # What the person does

    def _choose(self, levels: dict[str, str]) -> None:
        """Choose an option set, and its row if it has one: of some a search knows without a whole trial."""
        if not self._table.choose(levels):
            self._show_chosen(levels)

    def _show_chosen(self, levels: dict[str, str] | None) -> None:
        plan = self._experimenting.plan
        self._chosen = set_of(levels, plan.sets) if levels is not None and plan is not None else None
        self._used.setText(breakable(setting_text(self._chosen)) if self._chosen is not None else "")
        self._show_use()

    def _show_use(self) -> None:
        """Offer a set for the mount that is shown, unless another share's was measured."""
        now = self._experimenting
        measured = now.plan.experiment.share if now.plan is not None else self._share
        here = measured == self._share
        self._use.setEnabled(self._chosen is not None and not now.busy and not self._again and here)
        self._use.setToolTip(
            self.tr("Puts these options into the settings; nothing is mounted by that.") if here
            else self.tr("It was measured on {share}: choose that share at the left to use it.").format(
                share=measured
            )
        )  # fmt: skip

    def _on_use(self) -> None:
        plan, found = self._experimenting.plan, self._found
        if self._chosen is not None and plan is not None and found is not None:
            where = plan.environment
            link = (where.emulated_link if where is not None else None) or ""
            said = measured(found, plan, self._chosen, written)
            self.use_clicked.emit(self._chosen, said, plan.experiment.share, link)


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

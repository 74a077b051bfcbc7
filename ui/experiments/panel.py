"""Experiments page: a study or a recipe of the user: planned, run, ranked, and its winner used."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from advisor.options import MountOptions, options_for_mount
from app.errors import AppError, ErrorKind
from app.experiment.model import SEARCH_NAME
from app.experiment.recipe_store import RecipeCollection, delete_recipe, read_recipes, recipe_source
from app.experiment.recipes import Recipe, RecipeWorkload
from app.history import experiment_store
from ui.common.dialogs import confirm
from ui.common.history_actions import HistoryActions
from ui.common.labels import MutedLabel, Separator, plain_label, plain_tip
from ui.common.layout import PageScrollArea
from ui.experiments.controller import ExperimentController
from ui.experiments.live_estimate import LiveEstimator
from ui.experiments.plan_view import ExperimentPlanView
from ui.experiments.progress import ExperimentProgress
from ui.experiments.recipe_dialog import RecipeDialog, RecipeDraft
from ui.experiments.results import ExperimentResults
from ui.experiments.setup import ExperimentSetup

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QShowEvent

    from app.experiment.model import ExcludedSet
    from app.experiment.recipes import RecipeSize, Study
    from app.history.experiment_store import ExperimentSummary
    from app.report.export import ExportFormat
    from ui.common.bridge import BridgeCall, RunInThread


class ExperimentPanel(QWidget):
    """Runs one experiment at a time.

    Args:
        submit: sends a request to the agent.
        run: runs blocking work on a thread.

    Signals:
        failed: something did not work (AppError).
        running_changed: whether an experiment is planned or runs.
        use_chosen: the ChosenSet whose settings are wanted for the mount.
    """

    failed = Signal(object)
    running_changed = Signal(bool)
    use_chosen = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], run: RunInThread) -> None:
        super().__init__()
        self._submit = submit
        self._run = run
        self._share = self._options = ""
        self._source: BridgeCall | None = None
        #: Why nothing may begin now, "" if it may.
        self._blocked = ""
        self._was_busy = False
        self._was_settled = True
        self._recipes: list[Recipe] = []
        #: What was written to a file, until something else begins, and the experiment that it was of.
        self._written = ""
        self._exported = 0
        self._experimenting = ExperimentController(submit, run, self)
        self._experimenting.changed.connect(self._refresh)
        self._experimenting.failed.connect(self.failed)
        self._setup = ExperimentSetup()
        self._setup.chosen.connect(self._refresh)
        self._setup.other_chosen.connect(self._experimenting.reset)
        self._setup.plan_clicked.connect(self._on_plan)
        self._setup.stop_clicked.connect(self._experimenting.cancel)
        self._setup.earlier_chosen.connect(self._experimenting.open)
        self._setup.continue_clicked.connect(self._on_continue)
        self._setup.new_clicked.connect(self._on_new)
        self._setup.edit_clicked.connect(self._on_edit)
        self._setup.remove_clicked.connect(self._on_remove)
        self._about = MutedLabel(
            self.tr(
                "Each trial mounts the share afresh where only the test sees it. Your own mounts are left as "
                "they are, and every file that a trial makes is removed."
            ),
            wrap=True,
        )
        self._plan = ExperimentPlanView()
        self._start = QPushButton()
        self._start.setObjectName("experiment-start")
        self._start.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._start.clicked.connect(self._on_start)
        self._ended = plain_label(wrap=True)
        self._ended.setObjectName("experiment-ended")
        self._progress = ExperimentProgress(self._experimenting)
        self._progress.stop_clicked.connect(self._experimenting.cancel)
        self._experimenting.ticked.connect(self._progress.refresh)
        self._results = ExperimentResults(self._experimenting, run)
        self._results.use_clicked.connect(self.use_chosen)
        self._keeping = HistoryActions(run, self)
        self._keeping.failed.connect(self.failed)
        self._keeping.changed.connect(self._on_written)
        self._results.export_clicked.connect(self._on_export)
        self._lay_out()
        self._refresh()

    def _lay_out(self) -> None:
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(10)
        begin = QHBoxLayout()
        begin.addWidget(self._start)
        begin.addWidget(self._ended, 1)
        begin.addStretch(0)
        for widget in (self._setup, self._about, Separator(), self._plan):
            layout.addWidget(widget)
        layout.addLayout(begin)
        layout.addWidget(self._progress)
        layout.addWidget(self._results)
        layout.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(PageScrollArea(page, self.tr("Experiment")))

    # What the window tells

    @property
    def running(self) -> bool:
        """Whether something runs on the host."""
        return self._experimenting.busy

    def set_blocked(self, why: str) -> None:
        """Let nothing begin while something else is measured or changed, and say why; "" lets it again."""
        if why != self._blocked:
            self._blocked = why
            self._refresh()

    def set_share(self, share: str, options: str) -> None:
        """Experiment on this share from now on, whose settings are these; one that runs goes on."""
        self._options = options
        if share == self._share:
            return
        self._share = share
        self._results.set_share(share)
        self._setup.show_earlier([])  # those of the share before are not to be gone on with here
        if not self._experimenting.busy:
            self._experimenting.reset()
        if self.isVisible():
            self._read()
        self._refresh()

    def reset(self) -> None:
        """Another host is shown now."""
        self._experimenting.reset()

    # What happens

    def _read(self) -> None:
        """Read the recipes and what the history has of the share."""
        share = self._share
        found = self._run("recipes", read_recipes)
        found.succeeded.connect(partial(self._on_recipes, ""))
        found.failed.connect(self.failed)
        earlier = self._run("history", lambda: experiment_store.experiments_of_share(share))
        earlier.succeeded.connect(partial(self._on_earlier, share))
        earlier.failed.connect(partial(self._on_no_earlier, share))

    def _on_no_earlier(self, share: str, error: AppError) -> None:
        if share == self._share:
            self.failed.emit(error)

    def _on_earlier(self, share: str, lines: list[ExperimentSummary]) -> None:
        if share == self._share:
            self._setup.show_earlier(lines)
            self._refresh()

    def _study(self) -> Study | None:
        """Return the study that what is shown repeats."""
        plan = self._experimenting.plan
        name = plan.experiment.recipe if plan is not None else ""
        return next((one.study for one in self._recipes if one.name == name), None)

    def _refresh(self) -> None:
        now = self._experimenting
        if now.busy != self._was_busy:
            self._was_busy = now.busy
            self._written = ""
            self.running_changed.emit(now.busy)
        if now.settled != self._was_settled:
            self._was_settled = now.settled
            if now.settled and self.isVisible():
                self._read()
        self._setup.set_state(
            planning=now.state == "planning", busy=now.busy, shown=now.plan is not None,
            possible=bool(self._share) and (self._setup.recipe is not None or self._setup.searches),
            blocked=self._blocked,
        )  # fmt: skip
        self._about.setVisible(now.plan is None and not now.busy)
        self._plan.show_plan(now.plan, ahead=not now.busy and not now.outcomes)
        self._progress.refresh()
        self._results.show_study(self._study())
        self._results.refresh()
        new = not now.number and now.best is None  # what was imported has a number, and is not resumable
        self._start.setVisible(now.plan is not None and not now.busy and (new or now.resumable))
        self._start.setEnabled(not self._blocked)
        self._start.setToolTip(plain_tip(self._blocked))
        self._start.setText(self.tr("&Go on with it") if now.number else self.tr("&Start"))
        written = self._written if now.number == self._exported else ""
        self._ended.setText(f"{self._ending()} {written}".strip())
        self._ended.setVisible(bool(self._ended.text()))

    def _ending(self) -> str:
        now = self._experimenting
        if now.busy or now.plan is None or not now.number:
            return "" if self._share else self.tr("Name a share in the settings first.")
        done = sum(outcome.state != "failed" for outcome in now.outcomes.values())
        if now.plan.experiment.recipe == SEARCH_NAME:
            text = self.tr("Search {number} of the history: {done} trials on {share}.")
            text = text.format(number=now.number, done=done, share=now.share)
            return self._with_end_reason(text, now.best.stopped if now.best is not None else "")
        text = self.tr("Experiment {number} of the history: {done} of {planned} trials on {share}.").format(
            number=now.number, done=done, planned=now.plan.trials, share=now.share
        )
        return self._with_end_reason(text, now.result.stopped if now.result is not None else "")

    def _with_end_reason(self, text: str, stopped: str) -> str:
        """Add why it ended, and what a person should know of it."""
        now = self._experimenting
        parts = [text, stopped]
        if now.origin:
            origin = self.tr(
                "It was imported from {file}: here it is only looked at. Plan its recipe to measure on this "
                "computer."
            )
            parts.append(origin.format(file=now.origin))
        if now.settled and now.lost:
            lost = self.tr(
                "The history could not be written: {count} of the trials are not in it. Go on with it from "
                "“Earlier” to measure them again."
            )
            parts.append(lost.format(count=now.lost))
        return " ".join(part for part in parts if part)

    # What the person does

    def _on_plan(self) -> None:
        recipe = self._setup.recipe
        if self._setup.searches:
            setup = self._setup
            self._experimenting.search(self._share, self._options, setup.budget_s, setup.budget_bytes)
        elif recipe is not None and self._share:
            self._experimenting.make_plan(recipe, self._share, self._setup.extent, self._setup.budget_s)

    def _on_start(self) -> None:
        if self._experimenting.number:
            self._experimenting.resume(self._setup.budget_s)
        else:
            self._experimenting.start()

    def _on_continue(self, number: int) -> None:
        self._experimenting.resume_saved(number, self._setup.budget_s)

    def _on_export(self, kind: ExportFormat) -> None:
        self._exported = self._experimenting.number
        self._keeping.ask_export_experiment(self._exported, kind)

    def _on_written(self, text: str, _gone: object) -> None:
        self._written = text
        self._refresh()

    def _on_edit(self) -> None:
        recipe = self._setup.recipe
        if recipe is not None:
            call = self._run("recipe", lambda: recipe_source(recipe))
            self._source = call
            call.succeeded.connect(partial(self._on_source, call, recipe))
            call.failed.connect(self.failed)

    def _on_source(self, call: BridgeCall, recipe: Recipe, text: str) -> None:
        if call is self._source:  # else it was asked for twice
            self._edit(recipe, text, recipe.name if recipe.own else f"my-{recipe.name}"[:48])

    def _on_new(self) -> None:
        """Begin with what the share is mounted with, and nothing varied yet."""
        options = str(options_for_mount(MountOptions.parse(self._options)))
        work = RecipeWorkload(name="", size="64M", quick_size="16M")
        title = self.tr("My experiment")
        self._edit(Recipe(title=title, options=options, factor=[], workload=[work]), "", "my-experiment")

    def _edit(self, recipe: Recipe, text: str, name: str) -> None:
        estimating = LiveEstimator(self._submit, self._run, self._share, self)
        draft = RecipeDraft(recipe=recipe, text=text, name=name, size=self._setup.extent)
        dialog = RecipeDialog(self.window(), draft, estimating, self._run)
        dialog.saved.connect(self._on_saved)
        dialog.run_wanted.connect(partial(self._on_run, estimating.share))
        dialog.open()

    def _on_run(self, share: str, recipe: Recipe, size: RecipeSize, seen: list[ExcludedSet]) -> None:
        # On the share that it was tried on: the list may show another since that one was unmounted.
        if self._blocked:
            self.failed.emit(AppError(ErrorKind.UNAVAILABLE, self._blocked))
        else:
            self._experimenting.make_plan(recipe, share, size, self._setup.budget_s, seen=seen)

    def _on_saved(self, recipe: Recipe) -> None:
        found = self._run("recipes", read_recipes)
        found.succeeded.connect(partial(self._on_recipes, recipe.name))
        found.failed.connect(self.failed)

    def _on_remove(self) -> None:
        recipe = self._setup.recipe
        if recipe is None or not recipe.own:
            return
        confirm(
            self.window(),
            self.tr("Remove the recipe “{title}”?").format(title=recipe.title),
            self.tr("What was measured with it stays in the history."),
            self.tr("&Remove"),
            partial(self._remove, recipe.name),
        )

    def _remove(self, name: str) -> None:
        call = self._run("recipe", lambda: delete_recipe(name))
        call.succeeded.connect(self._on_removed)
        call.failed.connect(self.failed)

    def _on_recipes(self, name: str, book: RecipeCollection) -> None:
        self._recipes = book.recipes
        self._setup.show_recipes(book.recipes, name)
        if book.unreadable:
            self.failed.emit(book.unreadable[0])

    def _on_removed(self, _none: object) -> None:
        self._read()

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: read what there is to choose from."""
        super().showEvent(event)
        self._read()

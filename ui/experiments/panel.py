"""Experiments page: choose a recipe, plan and run it, show its results, use the settings of an option set."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from advisor.options import MountOptions, options_for_mount
from app.errors import AppError, ErrorKind
from app.experiment.model import SEARCH_NAME
from app.experiment.recipe_store import RecipeCollection, delete_recipe, read_recipes, recipe_source
from app.experiment.recipes import Recipe, RecipeRepeats, RecipeWorkload
from app.history import experiment_store
from app.text.message import message_text
from ui.common.cards import primary_button, text_button
from ui.common.dialogs import confirm
from ui.common.history_actions import HistoryActions
from ui.common.icons import icon
from ui.common.labels import MutedLabel, plain_label, plain_tip
from ui.common.layout import PageColumn, PageScrollArea
from ui.experiments.cards import QuestionCards
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

    from advisor.message import Message
    from app.experiment.model import ExcludedSet
    from app.experiment.recipes import RecipeSize, Study
    from app.history.experiment_store import ExperimentSummary
    from app.report.export import ExportFormat
    from ui.common.bridge import BridgeCall, RunInThread


#: Shortest time of a search that is doubled, s.
_SHORTEST_SEARCH_S = 60.0


class ExperimentPanel(QWidget):
    """Page for one experiment at a time.

    Args:
        submit: sends a request to the agent.
        run: runs blocking work on a thread.

    Signals:
        failed: an operation failed (AppError).
        running_changed: an experiment began or ended; whether one is planned or runs now.
        use_chosen: the user wants the settings of a ChosenSet in the form of the mount.
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
        #: Why no experiment may start now, "" if one may.
        self._blocked = ""
        self._was_busy = False
        self._was_settled = True
        self._recipes: list[Recipe] = []
        #: Message about the exported file until the next run, and the number of the exported experiment.
        self._export_message = ""
        self._exported_number = 0
        self._controller = ExperimentController(submit, run, self)
        self._controller.changed.connect(self._refresh)
        self._controller.failed.connect(self.failed)
        self._setup = ExperimentSetup()
        self._setup.chosen.connect(self._refresh)
        self._setup.other_chosen.connect(self._controller.reset)
        self._setup.plan_clicked.connect(self._on_plan)
        self._setup.stop_clicked.connect(self._controller.cancel)
        self._setup.earlier_chosen.connect(self._on_earlier_chosen)
        self._setup.continue_clicked.connect(self._on_continue)
        self._setup.new_clicked.connect(self._on_new)
        self._setup.edit_clicked.connect(self._on_edit)
        self._setup.remove_clicked.connect(self._on_remove)
        self._cards = QuestionCards()
        self._cards.start_clicked.connect(self._on_question)
        #: Recipe that was planned last, None after an earlier experiment was opened.
        self._planned: Recipe | None = None
        #: Whether the experiment starts as soon as it is planned.
        self._starts_at_once = False
        self._about = MutedLabel(
            self.tr("Your mounts stay as they are. Each trial uses a private mount and removes its files."),
            wrap=True,
        )
        self._back = text_button(self.tr("All Experiments"))
        self._back.setObjectName("experiment-back")
        self._back.setIcon(icon("chevron-left", "accent"))
        self._back.clicked.connect(self._controller.reset)
        self._plan = ExperimentPlanView()
        self._start = primary_button("")
        self._start.setObjectName("experiment-start")
        self._start.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._start.clicked.connect(self._on_start)
        self._progress = ExperimentProgress(self._controller)
        self._progress.stop_clicked.connect(self._controller.cancel)
        self._controller.ticked.connect(self._progress.refresh)
        self._results = ExperimentResults(self._controller, run)
        self._results.use_clicked.connect(self.use_chosen)
        self._results.longer_clicked.connect(self._on_longer)
        self._history_actions = HistoryActions(run, self)
        self._history_actions.failed.connect(self.failed)
        self._history_actions.changed.connect(self._on_written)
        self._results.export_clicked.connect(self._on_export)
        self._lay_out()
        self._refresh()

    def _lay_out(self) -> None:
        self._end_label = plain_label(wrap=True)
        self._end_label.setObjectName("experiment-ended")
        page = PageColumn()
        layout = page.body
        begin = QHBoxLayout()
        begin.addWidget(self._start)
        begin.addWidget(self._end_label, 1)
        begin.addStretch(0)
        #: Title of the experiment that is shown.
        self._title = MutedLabel(wrap=True)
        self._title.setObjectName("experiment-title")
        top = QHBoxLayout()
        top.addWidget(self._back)
        top.addWidget(self._title, 1)
        layout.addLayout(top)
        for widget in (self._cards, self._about, self._progress, self._results):
            layout.addWidget(widget)
        layout.addLayout(begin)
        layout.addWidget(self._plan)
        layout.addWidget(self._setup)
        layout.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(PageScrollArea(page, self.tr("Experiments")))

    # Called by the window

    @property
    def running(self) -> bool:
        """Whether an experiment is planned or runs on the host."""
        return self._controller.busy

    def set_blocked(self, why: str) -> None:
        """Prevent or allow a start: `why` is the reason shown, "" allows it."""
        if why != self._blocked:
            self._blocked = why
            self._refresh()

    def set_share(self, share: str, options: str) -> None:
        """Use this share and its option string for new experiments; a running experiment continues."""
        self._options = options
        if share == self._share:
            return
        self._share = share
        self._results.set_share(share)
        self._setup.show_earlier([])  # experiments of the previous share cannot be resumed here
        if not self._controller.busy:
            self._controller.reset()
        if self.isVisible():
            self._reload()
        self._refresh()

    def set_settings(
        self, present: tuple[str, int | None], recommended: tuple[str, int | None] | None
    ) -> None:
        """Set the options and the readahead (KiB) of the mount now and as recommended, None if unknown."""
        self._results.set_settings(present, recommended)

    def reset(self) -> None:
        """Drop the experiment, because the window shows another host."""
        self._controller.reset()

    # Results of requests

    def _reload(self) -> None:
        """Read the recipes and the saved experiments of the share."""
        share = self._share
        recipes = self._run("recipes", read_recipes)
        recipes.succeeded.connect(partial(self._on_recipes, ""))
        recipes.failed.connect(self.failed)
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
        """Return the published study that the shown experiment repeats, if any."""
        plan = self._controller.plan
        name = plan.experiment.recipe if plan is not None else ""
        return next((recipe.study for recipe in self._recipes if recipe.name == name), None)

    def _refresh(self) -> None:
        controller = self._controller
        if self._starts_at_once and not controller.busy:
            self._starts_at_once = False
            if controller.plan is not None and not controller.number and not self._blocked:
                controller.start()
        if controller.busy != self._was_busy:
            self._was_busy = controller.busy
            self._export_message = ""
            self.running_changed.emit(controller.busy)
        if controller.settled != self._was_settled:
            self._was_settled = controller.settled
            if controller.settled and self.isVisible():
                self._reload()
        self._setup.set_state(
            planning=controller.state == "planning", busy=controller.busy, shown=controller.plan is not None,
            possible=bool(self._share) and (self._setup.recipe is not None or self._setup.searches),
            blocked=self._blocked,
        )  # fmt: skip
        begins = controller.plan is None and not controller.busy
        self._cards.setVisible(begins)
        self._cards.enable(
            recipes=[recipe.name for recipe in self._recipes], possible=bool(self._share), why=self._blocked
        )
        self._about.setVisible(begins)
        self._back.setVisible(not begins and not controller.busy)
        self._title.setText(self._title_text())
        self._title.setVisible(not begins and bool(self._title.text()))
        self._plan.show_plan(controller.plan, ahead=not controller.busy and not controller.outcomes)
        self._progress.refresh()
        self._results.show_study(self._study())
        self._results.allow_longer(
            possible=controller.searches or controller.resumable or self._recipe_shown() is not None
        )
        self._results.refresh()
        # An imported experiment has a number and is not resumable.
        new = not controller.number and controller.best is None
        self._start.setVisible(
            controller.plan is not None and not controller.busy and (new or controller.resumable)
        )
        self._start.setEnabled(not self._blocked)
        self._start.setToolTip(plain_tip(self._blocked))
        self._start.setText(self.tr("&Resume") if controller.number else self.tr("&Start"))
        written = self._export_message if controller.number == self._exported_number else ""
        self._end_label.setText(f"{self._end_text()} {written}".strip())
        self._end_label.setVisible(bool(self._end_label.text()))

    def _title_text(self) -> str:
        controller = self._controller
        if controller.searches or (controller.plan is None and controller.state == "running"):
            return self.tr("Find the Fastest Settings")
        if controller.plan is not None:
            return controller.plan.experiment.title
        return self._planned.title if self._planned is not None else ""

    def _end_text(self) -> str:
        controller = self._controller
        if controller.busy or controller.plan is None or not controller.number:
            return "" if self._share else self.tr("Enter a share in the settings first.")
        done = sum(outcome.state != "failed" for outcome in controller.outcomes.values())
        if controller.plan.experiment.recipe == SEARCH_NAME:
            text = self.tr("Search {number} of the history: {done} trials on {share}.")
            text = text.format(number=controller.number, done=done, share=controller.share)
            return self._with_end_reason(text, controller.best.stopped if controller.best else None)
        text = self.tr("Experiment {number} of the history: {done} of {planned} trials on {share}.").format(
            number=controller.number, done=done, planned=controller.plan.trials, share=controller.share
        )
        return self._with_end_reason(text, controller.result.stopped if controller.result else None)

    def _with_end_reason(self, text: str, stopped: Message | None) -> str:
        """Add the reason of the end, the origin of an import, and the number of unsaved trials."""
        controller = self._controller
        parts = [text, message_text(stopped)]
        if controller.origin:
            origin = self.tr("Imported from {file}. Plan its recipe to measure on this computer.")
            parts.append(origin.format(file=controller.origin))
        if controller.settled and controller.lost:
            lost = self.tr(
                "Could not write the history: {count} of the trials are not in it. Resume it under "
                "“Earlier” to measure them again."
            )
            parts.append(lost.format(count=controller.lost))
        return " ".join(part for part in parts if part)

    # Actions of the user

    def _on_plan(self) -> None:
        recipe = self._setup.recipe
        if self._setup.searches:
            setup = self._setup
            self._controller.search(self._share, self._options, setup.budget_s, setup.budget_bytes)
        elif recipe is not None and self._share:
            self._planned = recipe
            self._controller.make_plan(recipe, self._share, self._setup.extent, self._setup.budget_s)

    def _on_question(self, name: str, seconds: float) -> None:
        """Answer the question of a card: plan its recipe and start it, or search."""
        if not name:
            self._controller.search(self._share, self._options, seconds, None)
            return
        recipe = next((recipe for recipe in self._recipes if recipe.name == name), None)
        if recipe is not None:
            self._starts_at_once = True
            self._planned = recipe
            self._controller.make_plan(recipe, self._share, "quick", seconds)

    def _on_earlier_chosen(self, number: int) -> None:
        self._planned = None
        self._controller.open(number)

    def _recipe_shown(self) -> Recipe | None:
        """Return the recipe of the shown experiment, if it is known."""
        plan = self._controller.plan
        name = plan.experiment.recipe if plan is not None else ""
        return next((recipe for recipe in self._recipes if recipe.name == name), self._planned)

    def _on_longer(self) -> None:
        """Run the trials that are left, or the same experiment with twice as many repeats."""
        controller, plan = self._controller, self._controller.plan
        if plan is None or self._blocked:
            return
        if controller.resumable and not controller.searches:
            controller.resume(None)
        elif controller.searches:
            seconds = max(plan.seconds, _SHORTEST_SEARCH_S) * 2
            controller.search(controller.share, self._options, seconds, None)
        else:
            recipe = self._recipe_shown()
            if recipe is not None:
                repeats = RecipeRepeats(repeats=2 * plan.experiment.repeats)
                self._starts_at_once = True
                more = msgspec.structs.replace(recipe, quick=repeats)
                controller.make_plan(more, controller.share, "quick", None)

    def _on_start(self) -> None:
        if self._controller.number:
            self._controller.resume(self._setup.budget_s)
        else:
            self._controller.start()

    def _on_continue(self, number: int) -> None:
        self._controller.resume_saved(number, self._setup.budget_s)

    def _on_export(self, kind: ExportFormat) -> None:
        self._exported_number = self._controller.number
        self._history_actions.ask_export_experiment(self._exported_number, kind)

    def _on_written(self, text: str, _gone: object) -> None:
        self._export_message = text
        self._refresh()

    def _on_edit(self) -> None:
        recipe = self._setup.recipe
        if recipe is not None:
            call = self._run("recipe", lambda: recipe_source(recipe))
            self._source = call
            call.succeeded.connect(partial(self._on_source, call, recipe))
            call.failed.connect(self.failed)

    def _on_source(self, call: BridgeCall, recipe: Recipe, text: str) -> None:
        if call is self._source:  # else a second click has started another call
            self._edit(recipe, text, recipe.name if recipe.own else f"my-{recipe.name}"[:48])

    def _on_new(self) -> None:
        """Edit a new recipe that has the options of the mount and no factors."""
        options = str(options_for_mount(MountOptions.parse(self._options)))
        work = RecipeWorkload(name="", size="64M", quick_size="16M")
        title = self.tr("My experiment")
        self._edit(Recipe(title=title, options=options, factor=[], workload=[work]), "", "my-experiment")

    def _edit(self, recipe: Recipe, text: str, name: str) -> None:
        estimator = LiveEstimator(self._submit, self._run, self._share, self)
        draft = RecipeDraft(recipe=recipe, text=text, name=name, size=self._setup.extent)
        dialog = RecipeDialog(self.window(), draft, estimator, self._run)
        dialog.saved.connect(self._on_saved)
        dialog.run_wanted.connect(partial(self._on_run, estimator.share))
        dialog.open()

    def _on_run(self, share: str, recipe: Recipe, size: RecipeSize, seen: list[ExcludedSet]) -> None:
        # On the share of the probe: the list may show another one if that share was unmounted meanwhile.
        if self._blocked:
            self.failed.emit(AppError(ErrorKind.UNAVAILABLE, self._blocked))
        else:
            self._planned = recipe
            self._controller.make_plan(recipe, share, size, self._setup.budget_s, seen=seen)

    def _on_saved(self, recipe: Recipe) -> None:
        recipes = self._run("recipes", read_recipes)
        recipes.succeeded.connect(partial(self._on_recipes, recipe.name))
        recipes.failed.connect(self.failed)

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

    def _on_recipes(self, name: str, collection: RecipeCollection) -> None:
        self._recipes = collection.recipes
        self._setup.show_recipes(collection.recipes, name)
        if collection.unreadable:
            self.failed.emit(collection.unreadable[0])

    def _on_removed(self, _none: object) -> None:
        self._reload()

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: read recipes and saved experiments when the page is shown."""
        super().showEvent(event)
        self._reload()

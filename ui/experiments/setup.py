"""Setup of an experiment: recipe, size, limit of time or bytes, and earlier experiments of the share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.text.units import format_size
from ui.common.inputs import NoWheelComboBox
from ui.common.labels import plain_label, plain_tip
from ui.common.layout import CollapsibleSection
from ui.common.status_text import local_time
from ui.experiments.study_view import StudyView

if TYPE_CHECKING:
    from app.experiment.recipes import Recipe, RecipeSize
    from app.history.experiment_store import ExperimentSummary

#: Time limits offered, min.
_BUDGET_MINUTES = (2, 5, 15, 60, 240)
#: Default time limit of a search, min.
_DEFAULT_MINUTES = 5
#: Limits of the bytes moved over the network that a search offers.
_BUDGET_BYTES = (2**30, 10 * 2**30, 100 * 2**30)


class _Budget(NamedTuple):
    """Limit of an experiment, in seconds or in bytes over the network; None is no limit."""

    seconds: float | None = None
    bytes: int | None = None


class ExperimentSetup(QWidget):
    """Form above the plan: choices for a new experiment, and access to earlier ones.

    Signals:
        chosen: the recipe, size or limit changed, also by the program.
        other_chosen: the user changed the recipe, size or limit, so the shown plan is outdated.
        plan_clicked: plan the recipe, or start the search.
        stop_clicked: stop the planning.
        earlier_chosen: show the saved experiment of this number.
        continue_clicked: resume the saved experiment of this number.
        new_clicked: create a recipe.
        edit_clicked: edit the chosen recipe of the user, or a copy of a built-in one.
        remove_clicked: delete the chosen recipe of the user.
    """

    chosen = Signal()
    other_chosen = Signal()
    plan_clicked = Signal()
    stop_clicked = Signal()
    earlier_chosen = Signal(int)
    continue_clicked = Signal(int)
    new_clicked = Signal()
    edit_clicked = Signal()
    remove_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._recipes: list[Recipe] = []
        self._planning = self._shown = False
        self._recipe = NoWheelComboBox()
        self._recipe.setObjectName("experiment-recipe")
        self._size = NoWheelComboBox()
        self._size.setObjectName("experiment-size")
        self._size.addItem(self.tr("Short: minutes"), "quick")
        self._size.addItem(self.tr("Full: as in the study"), "full")
        self._budget = NoWheelComboBox()
        self._budget.setObjectName("experiment-budget")
        self._offer_budgets()
        for box in (self._recipe, self._size, self._budget):
            box.currentIndexChanged.connect(self._on_chosen)
            box.activated.connect(self.other_chosen)
        self._text = plain_label(wrap=True)
        self._study = StudyView("experiment-study")
        self._study.set_title(self.tr("The Published Study"))
        self._plan = QPushButton(self.tr("&Plan Experiment"))
        self._plan.setObjectName("experiment-plan")
        self._plan_tip = self.tr("Mounts every option set once in a private mount, and measures nothing.")
        self._plan.clicked.connect(self._on_plan)
        self._new = QPushButton(self.tr("Your Own…"))
        self._new.setObjectName("experiment-new")
        self._new.clicked.connect(self.new_clicked)
        self._change = QPushButton(self.tr("&Change…"))
        self._change.setObjectName("experiment-change")
        self._change.clicked.connect(self.edit_clicked)
        self._remove = QPushButton(self.tr("Re&move"))
        self._remove.setObjectName("experiment-remove")
        self._remove.clicked.connect(self.remove_clicked)
        self._earlier = NoWheelComboBox()
        self._earlier.view().setMinimumWidth(self.fontMetrics().averageCharWidth() * 60)
        self._earlier.setObjectName("experiment-earlier")
        self._earlier.setAccessibleName(self.tr("Earlier experiments on this share"))
        self._earlier.activated.connect(self._on_earlier)
        self._unfinished_number = 0
        self._unfinished = plain_label(wrap=True)
        self._unfinished.setObjectName("experiment-unfinished")
        self._continue = QPushButton(self.tr("Res&ume"))
        self._continue.setObjectName("experiment-continue")
        self._continue.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._continue.clicked.connect(self._on_continue)
        self._lay_out()

    def _offer_budgets(self) -> None:
        """Fill the list of limits; a search needs a limit, offers also limits of bytes, and has a default."""
        searches = self.searches
        if self._budget.count() and searches == (self._budget.itemData(0) is not None):
            return
        self._budget.clear()
        if not searches:
            self._budget.addItem(self.tr("As long as needed"), None)
        for minutes in _BUDGET_MINUTES:
            text = self.tr("At most {count} min").format(count=minutes)
            self._budget.addItem(text, _Budget(seconds=minutes * 60.0))
        for size in _BUDGET_BYTES if searches else ():
            text = self.tr("{size} over the network").format(size=format_size(size))
            self._budget.addItem(text, _Budget(bytes=size))
        self._budget.setCurrentIndex(_BUDGET_MINUTES.index(_DEFAULT_MINUTES) if searches else 0)

    def _lay_out(self) -> None:
        # Several short rows fit a narrow window.
        recipe, extent, earlier = QHBoxLayout(), QHBoxLayout(), QHBoxLayout()
        fields: list[tuple[QHBoxLayout, str, NoWheelComboBox]] = [
            (recipe, self.tr("&Experiment"), self._recipe),
            (extent, self.tr("Si&ze"), self._size),
            (extent, self.tr("&Within"), self._budget),
            (earlier, self.tr("Ea&rlier"), self._earlier),
        ]
        for row, text, box in fields:
            label = QLabel(text)
            label.setBuddy(box)
            if box is self._size:
                self._size_label = label
            row.setSpacing(8)
            row.addWidget(label)
            row.addWidget(box, 1)
        for box in (self._recipe, self._earlier):
            box.setSizeAdjustPolicy(NoWheelComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        actions = QHBoxLayout()
        for button in (self._plan, self._change, self._remove):
            actions.addWidget(button)
        actions.addStretch(1)
        resume = QHBoxLayout()
        resume.addWidget(self._unfinished, 1)
        resume.addWidget(self._continue)
        form = QWidget()
        rows = QVBoxLayout(form)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.addLayout(recipe)
        rows.addLayout(extent)
        rows.addWidget(self._text)
        rows.addWidget(self._study)
        rows.addLayout(actions)
        self._section = CollapsibleSection("experiment-studies", [form])
        self._show_count([])
        own = QHBoxLayout()
        own.addWidget(self._new)
        own.addStretch(1)
        own.addLayout(earlier, 2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(resume)
        layout.addLayout(own)
        layout.addWidget(self._section)

    def _show_count(self, recipes: list[Recipe]) -> None:
        """Show the number of studies and of the user's own experiments in the title of the section."""
        own = sum(recipe.own for recipe in recipes)
        text = self.tr("Published Studies ({studies}) and Your Own ({own})") if own else None
        text = text or self.tr("Published Studies ({studies})")
        self._section.set_title(text.format(studies=len(recipes) - own, own=own))

    # Called by the panel

    def show_recipes(self, recipes: list[Recipe], name: str = "") -> None:
        """Fill the list of recipes; select the one with this name, "" keeps the selection."""
        keep_search = self.searches and not name
        selected = name or (self.recipe.name if self.recipe is not None else "")
        self._recipe.blockSignals(True)  # noqa: FBT003
        self._recipe.clear()
        self._recipes = recipes
        self._show_count(recipes)
        for recipe in recipes:
            own = self.tr("{title} (your own)").format(title=recipe.title)
            self._recipe.addItem(own if recipe.own else recipe.title)
        self._recipe.addItem(self.tr("Find the fastest settings"))
        names = [recipe.name for recipe in recipes]
        index = len(names) if keep_search else 0
        self._recipe.setCurrentIndex(names.index(selected) if selected in names else index)
        self._recipe.blockSignals(False)  # noqa: FBT003
        self._on_chosen()

    def show_earlier(self, experiments: list[ExperimentSummary]) -> None:
        """Fill the list of saved experiments of the share, and offer to resume the latest unfinished one."""
        self._earlier.clear()
        self._earlier.addItem(self.tr("None") if not experiments else self.tr("Choose…"), 0)
        for experiment in experiments:
            progress = self._progress_text(experiment)
            text = f"{local_time(experiment.started_at)}  {experiment.title}  ({progress})"
            self._earlier.addItem(text, experiment.number)
        self._earlier.setEnabled(bool(experiments))
        unfinished = next((experiment for experiment in experiments if experiment.unfinished), None)
        self._unfinished_number = unfinished.number if unfinished is not None else 0
        if unfinished is not None:
            text = self.tr("“{title}” of {when} is not finished: {state}.")
            self._unfinished.setText(
                text.format(
                    title=unfinished.title,
                    when=local_time(unfinished.started_at),
                    state=self._progress_text(unfinished),
                )
            )

    def _progress_text(self, experiment: ExperimentSummary) -> str:
        if not experiment.planned:
            return self.tr("{done} trials").format(done=experiment.done)
        return self.tr("{done} of {planned} trials").format(done=experiment.done, planned=experiment.planned)

    def set_state(
        self, *, planning: bool, busy: bool, possible: bool, shown: bool, blocked: str = ""
    ) -> None:
        """Enable the controls that fit the state of the experiment.

        Args:
            planning: whether option sets are probed.
            busy: whether an experiment is planned or runs.
            possible: whether a share and a recipe are chosen.
            shown: whether the page shows a plan below, which replaces the description.
            blocked: why no experiment may start now, "" if one may.
        """
        self._planning = planning
        self._shown = shown or busy
        offered = bool(self._unfinished_number) and not self._shown
        self._unfinished.setVisible(offered)
        self._continue.setVisible(offered)
        self._update_description()
        idle = self.tr("&Start Search") if self.searches else self.tr("&Plan Experiment")
        self._plan.setText(self.tr("&Stop") if planning else idle)
        self._plan.setEnabled(planning or (possible and not busy and not blocked))
        self._plan.setToolTip(plain_tip(blocked) if blocked else self._plan_tip)
        self._continue.setEnabled(not blocked)
        self._continue.setToolTip(plain_tip(blocked))
        for widget in (self._recipe, self._size, self._budget, self._new):
            widget.setEnabled(not busy)
        recipe = self.recipe
        self._change.setEnabled(not busy and recipe is not None)
        self._remove.setEnabled(not busy and recipe is not None and recipe.own)
        self._earlier.setEnabled(not busy and self._earlier.count() > 1)

    @property
    def searches(self) -> bool:
        """Whether the search for the best setting is selected instead of a recipe."""
        return bool(self._recipes) and self._recipe.currentIndex() == len(self._recipes)

    @property
    def recipe(self) -> Recipe | None:
        """Selected recipe, None for a search."""
        index = self._recipe.currentIndex()
        return self._recipes[index] if 0 <= index < len(self._recipes) else None

    @property
    def extent(self) -> RecipeSize:
        """Selected size of the recipe, quick or full."""
        return "full" if self._size.currentData() == "full" else "quick"

    @property
    def budget_s(self) -> float | None:
        """Time limit, s; None for no limit."""
        limit: _Budget | None = self._budget.currentData()
        return limit.seconds if limit is not None else None

    @property
    def budget_bytes(self) -> int | None:
        """Limit of the bytes that a search moves over the network, None for no limit."""
        limit: _Budget | None = self._budget.currentData()
        return limit.bytes if limit is not None else None

    # Actions of the user

    def _on_chosen(self, _index: int = 0) -> None:
        recipe = self.recipe
        self._text.setText(recipe.text if recipe is not None else self._search_text())
        for widget in (self._size, self._size_label):
            widget.setVisible(recipe is not None)
        study = recipe.study if recipe is not None else None
        own = recipe is not None and recipe.own
        self._change.setToolTip(
            "" if own else self.tr("Makes an experiment of your own from it. The study stays.")
        )
        self._size.setItemText(1, self.tr("Full: as in the study") if study is not None else self.tr("Full"))
        self._offer_budgets()
        self._update_description()
        self.chosen.emit()

    def _update_description(self) -> None:
        """Show the description of the recipe and its study, unless the page shows a plan."""
        recipe = self.recipe
        self._text.setVisible(not self._shown and bool(self._text.text()))
        self._study.show_study(recipe.study if recipe is not None and not self._shown else None)

    def _search_text(self) -> str:
        return self.tr(
            "Tries NFS versions, transfer sizes, connections and readahead in combination, and drops what is "
            "clearly slower. At the end the winner is tested again beside the present settings."
        )

    def _on_plan(self) -> None:
        (self.stop_clicked if self._planning else self.plan_clicked).emit()

    def _on_earlier(self, _index: int) -> None:
        number = self._earlier.currentData()
        if number:
            self.earlier_chosen.emit(number)
            self._earlier.setCurrentIndex(0)

    def _on_continue(self) -> None:
        if self._unfinished_number:
            self.continue_clicked.emit(self._unfinished_number)

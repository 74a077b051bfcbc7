"""Setup of an experiment: recipe, study, size, and time limit."""

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

from app.units import format_size
from ui.common.inputs import NoWheelComboBox
from ui.common.labels import plain_label, plain_tip
from ui.common.status_text import local_time
from ui.experiments.study_view import StudyView

if TYPE_CHECKING:
    from app.experiment.recipes import Recipe, RecipeSize
    from app.history.experiment_store import ExperimentSummary

_BUDGET_MINUTES = (2, 5, 15, 60, 240)
#: Minutes of a search, if nothing else is asked for.
_DEFAULT_MINUTES = 5
_BUDGET_BYTES = (2**30, 10 * 2**30, 100 * 2**30)


class _Budget(NamedTuple):
    """What an experiment may take: seconds or bytes, None for no limit of the kind."""

    seconds: float | None = None
    bytes: int | None = None


class ExperimentSetup(QWidget):
    """Asks.

    Signals:
        chosen: another recipe, size or time was chosen.
        other_chosen: the person chose one of them: what was planned before is not it.
        plan_clicked: try the option sets.
        stop_clicked: end the trying.
        earlier_chosen: number of an experiment of the history to look at.
        continue_clicked: number of one that is to be gone on with.
        new_clicked: make an experiment of one's own.
        edit_clicked: make one of one's own from the one chosen, or change it if it is one.
        remove_clicked: remove the one chosen, which is one's own.
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
        self._size.addItem(self.tr("Quick: minutes"), "quick")
        self._size.addItem(self.tr("Full: as in the study"), "full")
        self._budget = NoWheelComboBox()
        self._budget.setObjectName("experiment-budget")
        self._offer_budgets()
        for box in (self._recipe, self._size, self._budget):
            box.currentIndexChanged.connect(self._on_chosen)
            box.activated.connect(self.other_chosen)
        self._text = plain_label(wrap=True)
        self._study = StudyView("experiment-study")
        self._study.set_title(self.tr("The study that it repeats"))
        self._plan = QPushButton(self.tr("&Plan it"))
        self._plan.setObjectName("experiment-plan")
        self._about_planning = self.tr(
            "Mounts every option set once, where only the test sees it, and measures nothing."
        )
        self._plan.clicked.connect(self._on_plan)
        self._new = QPushButton(self.tr("New e&xperiment…"))
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
        self._going_on = 0
        self._unfinished = plain_label(wrap=True)
        self._unfinished.setObjectName("experiment-unfinished")
        self._continue = QPushButton(self.tr("Con&tinue"))
        self._continue.setObjectName("experiment-continue")
        self._continue.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._continue.clicked.connect(self._on_continue)
        self._lay_out()

    def _offer_budgets(self) -> None:
        """Offer times; a search needs a limit, which may be one of bytes, and has a usual one."""
        searches = self.searches
        if self._budget.count() and searches == (self._budget.itemData(0) is not None):
            return
        self._budget.clear()
        if not searches:
            self._budget.addItem(self.tr("as long as it takes"), None)
        for minutes in _BUDGET_MINUTES:
            text = self.tr("{count} minutes").format(count=minutes)
            self._budget.addItem(text, _Budget(seconds=minutes * 60.0))
        for size in _BUDGET_BYTES if searches else ():
            text = self.tr("{size} over the network").format(size=format_size(size))
            self._budget.addItem(text, _Budget(bytes=size))
        self._budget.setCurrentIndex(_BUDGET_MINUTES.index(_DEFAULT_MINUTES) if searches else 0)

    def _lay_out(self) -> None:
        # Rows that fit a narrow window, too.
        what, extent, earlier = QHBoxLayout(), QHBoxLayout(), QHBoxLayout()
        fields: list[tuple[QHBoxLayout, str, NoWheelComboBox]] = [
            (what, self.tr("&Experiment"), self._recipe),
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
        for button in (self._plan, self._new, self._change, self._remove):
            actions.addWidget(button)
        actions.addStretch(1)
        goes_on = QHBoxLayout()
        goes_on.addWidget(self._unfinished, 1)
        goes_on.addWidget(self._continue)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(goes_on)
        layout.addLayout(what)
        layout.addLayout(extent)
        layout.addWidget(self._text)
        layout.addWidget(self._study)
        layout.addLayout(actions)
        layout.addLayout(earlier)

    # What the panel tells

    def show_recipes(self, recipes: list[Recipe], name: str = "") -> None:
        """Offer these, and choose the one of this name."""
        searched = self.searches and not name
        kept = name or (self.recipe.name if self.recipe is not None else "")
        self._recipe.blockSignals(True)  # noqa: FBT003
        self._recipe.clear()
        self._recipes = recipes
        for recipe in recipes:
            own = self.tr("{title} (your own)").format(title=recipe.title)
            self._recipe.addItem(own if recipe.own else recipe.title)
        self._recipe.addItem(self.tr("Find the best setting"))
        names = [recipe.name for recipe in recipes]
        place = len(names) if searched else 0
        self._recipe.setCurrentIndex(names.index(kept) if kept in names else place)
        self._recipe.blockSignals(False)  # noqa: FBT003
        self._on_chosen()

    def show_earlier(self, lines: list[ExperimentSummary]) -> None:
        """Offer the experiments that the history has of the share."""
        self._earlier.clear()
        self._earlier.addItem(self.tr("none") if not lines else self.tr("choose…"), 0)
        for line in lines:
            self._earlier.addItem(
                f"{local_time(line.started_at)}  {line.title}  ({self._state_of(line)})", line.number
            )
        self._earlier.setEnabled(bool(lines))
        left = next((line for line in lines if line.unfinished), None)
        self._going_on = left.number if left is not None else 0
        if left is not None:
            text = self.tr("“{title}” of {when} is not finished: {state}.")
            self._unfinished.setText(
                text.format(title=left.title, when=local_time(left.started_at), state=self._state_of(left))
            )

    def _state_of(self, line: ExperimentSummary) -> str:
        if not line.planned:
            return self.tr("{done} trials").format(done=line.done)
        return self.tr("{done} of {planned} trials").format(done=line.done, planned=line.planned)

    def set_state(
        self, *, planning: bool, busy: bool, possible: bool, shown: bool, blocked: str = ""
    ) -> None:
        """Offer what can be done now.

        Args:
            planning: whether option sets are tried.
            busy: whether anything runs.
            possible: whether there is a share to plan for.
            shown: whether a plan is shown below, which says what it is.
            blocked: why nothing may begin now, "" if it may.
        """
        self._planning = planning
        self._shown = shown or busy
        offered = bool(self._going_on) and not self._shown
        self._unfinished.setVisible(offered)
        self._continue.setVisible(offered)
        self._show_about()
        idle = self.tr("&Search") if self.searches else self.tr("&Plan it")
        self._plan.setText(self.tr("&Stop") if planning else idle)
        self._plan.setEnabled(planning or (possible and not busy and not blocked))
        self._plan.setToolTip(plain_tip(blocked) if blocked else self._about_planning)
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
        """Whether the best setting is to be looked for."""
        return bool(self._recipes) and self._recipe.currentIndex() == len(self._recipes)

    @property
    def recipe(self) -> Recipe | None:
        """The one chosen."""
        place = self._recipe.currentIndex()
        return self._recipes[place] if 0 <= place < len(self._recipes) else None

    @property
    def extent(self) -> RecipeSize:
        """The one chosen."""
        return "full" if self._size.currentData() == "full" else "quick"

    @property
    def budget_s(self) -> float | None:
        """Seconds that it may take, None for no limit."""
        limit: _Budget | None = self._budget.currentData()
        return limit.seconds if limit is not None else None

    @property
    def budget_bytes(self) -> int | None:
        """Bytes that a search may move over the network, None for no limit."""
        limit: _Budget | None = self._budget.currentData()
        return limit.bytes if limit is not None else None

    # What the person does

    def _on_chosen(self, _index: int = 0) -> None:
        recipe = self.recipe
        self._text.setText(recipe.text if recipe is not None else self._search_text())
        for widget in (self._size, self._size_label):
            widget.setVisible(recipe is not None)
        study = recipe.study if recipe is not None else None
        own = recipe is not None and recipe.own
        self._change.setToolTip("" if own else self.tr("Makes one of your own from it; the study stays."))
        self._size.setItemText(1, self.tr("Full: as in the study") if study is not None else self.tr("Full"))
        self._offer_budgets()
        self._show_about()
        self.chosen.emit()

    def _show_about(self) -> None:
        """Describe what is chosen, as long as nothing of it stands below."""
        recipe = self.recipe
        self._text.setVisible(not self._shown and bool(self._text.text()))
        self._study.show_study(recipe.study if recipe is not None and not self._shown else None)

    def _search_text(self) -> str:
        return self.tr(
            "Looks for the options with which a file is copied fastest: versions, transfer sizes, "
            "connections and readahead in all combinations. Few trials are enough: each one says something "
            "of its neighbors, and what is clearly slower is given up. At the end the winner is tested again "
            "in turns with the present setting: only a gain that this shows is claimed."
        )

    def _on_plan(self) -> None:
        (self.stop_clicked if self._planning else self.plan_clicked).emit()

    def _on_earlier(self, _index: int) -> None:
        number = self._earlier.currentData()
        if number:
            self.earlier_chosen.emit(number)
            self._earlier.setCurrentIndex(0)

    def _on_continue(self) -> None:
        if self._going_on:
            self.continue_clicked.emit(self._going_on)

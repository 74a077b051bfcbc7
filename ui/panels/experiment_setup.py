"""What an experiment is to be: the recipe, its study, its size, and the time it may take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from ui.models.history_model import when
from ui.widgets.labels import MutedLabel, heading, plain_label

if TYPE_CHECKING:
    from app.bench.experiment.keeping import ExperimentLine
    from app.bench.experiment.recipe import Recipe, Size

_MINUTES = (0, 2, 5, 15, 60, 240)


class ExperimentSetup(QWidget):
    """Asks.

    Signals:
        chosen: another recipe, size or time was chosen.
        plan_clicked: try the option sets.
        stop_clicked: end the trying.
        earlier_chosen: number of an experiment of the history to look at.
        new_clicked: make an experiment of one's own.
        edit_clicked: make one of one's own from the one chosen, or change it if it is one.
        remove_clicked: remove the one chosen, which is one's own.
    """

    chosen = Signal()
    plan_clicked = Signal()
    stop_clicked = Signal()
    earlier_chosen = Signal(int)
    new_clicked = Signal()
    edit_clicked = Signal()
    remove_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._recipes: list[Recipe] = []
        self._planning = False
        self._recipe = QComboBox()
        self._recipe.setObjectName("experiment-recipe")
        self._size = QComboBox()
        self._size.setObjectName("experiment-size")
        self._size.addItem(self.tr("Quick: minutes"), "quick")
        self._size.addItem(self.tr("Full: as in the study"), "full")
        self._budget = QComboBox()
        self._budget.setObjectName("experiment-budget")
        for minutes in _MINUTES:
            text = (
                self.tr("{count} minutes").format(count=minutes)
                if minutes
                else self.tr("as long as it takes")
            )
            self._budget.addItem(text, minutes * 60.0 or None)
        for box in (self._recipe, self._size, self._budget):
            box.currentIndexChanged.connect(self._on_chosen)
        self._text = plain_label(wrap=True)
        self._more = QPushButton()
        self._more.setObjectName("experiment-study")
        self._more.setCheckable(True)
        self._more.setFlat(True)
        self._more.toggled.connect(self._show_study)
        self._study = QFrame()
        self._study_layout = QVBoxLayout(self._study)
        self._study_labels = {
            name: plain_label(wrap=True) for name in ("by", "measured", "concluded", "today")
        }
        self._plan = QPushButton(self.tr("&Plan it"))
        self._plan.setObjectName("experiment-plan")
        self._plan.setToolTip(
            self.tr("Mounts every option set once, where only the test sees it, and measures nothing.")
        )
        self._plan.clicked.connect(self._on_plan)
        self._new = QPushButton(self.tr("&New experiment…"))
        self._new.setObjectName("experiment-new")
        self._new.clicked.connect(self.new_clicked)
        self._change = QPushButton(self.tr("&Change…"))
        self._change.setObjectName("experiment-change")
        self._change.clicked.connect(self.edit_clicked)
        self._remove = QPushButton(self.tr("Re&move"))
        self._remove.setObjectName("experiment-remove")
        self._remove.clicked.connect(self.remove_clicked)
        self._earlier = QComboBox()
        self._earlier.setObjectName("experiment-earlier")
        self._earlier.setAccessibleName(self.tr("Earlier experiments on this share"))
        self._earlier.activated.connect(self._on_earlier)
        self._lay_out()
        self._show_study(open_=False)

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(10)
        rows = [
            (self.tr("&Experiment"), self._recipe),
            (self.tr("&Size"), self._size),
            (self.tr("&Time"), self._budget),
        ]
        for row, (text, box) in enumerate(rows):
            label = QLabel(text)
            label.setBuddy(box)
            if box is self._size:
                self._size_label = label
            grid.addWidget(label, row, 0)
            grid.addWidget(box, row, 1)
        for row, button in enumerate((self._new, self._change, self._remove)):
            grid.addWidget(button, row, 2)
        grid.setColumnStretch(1, 1)
        titles = {
            "measured": self.tr("Measured then"),
            "concluded": self.tr("Concluded then"),
            "today": self.tr("Today"),
        }
        self._study_layout.setContentsMargins(14, 2, 0, 4)
        for name, label in self._study_labels.items():
            if name in titles:
                self._study_layout.addWidget(heading(titles[name], scale=1.0))
            self._study_layout.addWidget(label)
        self._study_labels["measured"].setWordWrap(True)
        self._study_labels["measured"].setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        actions = QHBoxLayout()
        actions.addWidget(self._plan)
        actions.addStretch(1)
        actions.addWidget(MutedLabel(self.tr("Earlier:")))
        actions.addWidget(self._earlier)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(grid)
        layout.addWidget(self._text)
        more = QHBoxLayout()
        more.addWidget(self._more)
        more.addStretch(1)
        layout.addLayout(more)
        layout.addWidget(self._study)
        layout.addLayout(actions)

    # What the panel tells

    def show_recipes(self, recipes: list[Recipe], name: str = "") -> None:
        """Offer these, and choose the one of this name."""
        kept = name or (self.recipe.name if self.recipe is not None else "")
        self._recipe.blockSignals(True)  # noqa: FBT003
        self._recipe.clear()
        self._recipes = recipes
        for recipe in recipes:
            own = self.tr("{title} (your own)").format(title=recipe.title)
            self._recipe.addItem(own if recipe.own else recipe.title)
        self._recipe.addItem(self.tr("Find the best setting within a time"))
        names = [recipe.name for recipe in recipes]
        self._recipe.setCurrentIndex(names.index(kept) if kept in names else 0)
        self._recipe.blockSignals(False)  # noqa: FBT003
        self._on_chosen()

    def show_earlier(self, lines: list[ExperimentLine]) -> None:
        """Offer the experiments that the history has of the share."""
        self._earlier.clear()
        self._earlier.addItem(self.tr("none") if not lines else self.tr("choose…"), 0)
        for line in lines:
            state = self.tr("{done} of {planned} trials").format(done=line.done, planned=line.planned)
            self._earlier.addItem(f"{when(line.started_at)}  {line.title}  ({state})", line.number)
        self._earlier.setEnabled(bool(lines))

    def set_state(self, *, planning: bool, busy: bool, possible: bool) -> None:
        """Offer what can be done now."""
        self._planning = planning
        idle = self.tr("&Search") if self.searches else self.tr("&Plan it")
        self._plan.setText(self.tr("&Stop") if planning else idle)
        self._plan.setEnabled(planning or (possible and not busy))
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
    def extent(self) -> Size:
        """The one chosen."""
        return "full" if self._size.currentData() == "full" else "quick"

    @property
    def budget_s(self) -> float | None:
        """Seconds that it may take, None for no limit."""
        seconds: float | None = self._budget.currentData()
        return seconds

    # What the person does

    def _on_chosen(self, _index: int = 0) -> None:
        recipe = self.recipe
        self._text.setText(recipe.text if recipe is not None else self._search_text())
        for widget in (self._size, self._size_label):
            widget.setVisible(recipe is not None)
        study = recipe.study if recipe is not None else None
        self._more.setVisible(study is not None)
        own = recipe is not None and recipe.own
        self._change.setToolTip("" if own else self.tr("Makes one of your own from it; the study stays."))
        self._size.setItemText(1, self.tr("Full: as in the study") if study is not None else self.tr("Full"))
        if study is not None:
            texts = {
                "by": f"{study.name}. {study.by}.", "measured": study.measured.strip(),
                "concluded": study.concluded.strip(), "today": study.today.strip(),
            }  # fmt: skip
            for name, text in texts.items():
                self._study_labels[name].setText(text)
        self._show_study(open_=self._more.isChecked())
        self.chosen.emit()

    def _search_text(self) -> str:
        return self.tr(
            "Looks for the options with which a file is copied fastest: versions, transfer sizes, "
            "connections and readahead in all combinations. Few trials are enough: each one says something "
            "of its neighbours, and what is clearly slower is given up. Without a limit it takes five "
            "minutes."
        )

    def _show_study(self, open_: bool) -> None:  # noqa: FBT001 - a slot
        sign = "▾" if open_ else "▸"
        self._more.setText(self.tr("{sign} The study that it repeats").format(sign=sign))
        self._study.setVisible(open_ and not self._more.isHidden())

    def _on_plan(self) -> None:
        (self.stop_clicked if self._planning else self.plan_clicked).emit()

    def _on_earlier(self, _index: int) -> None:
        number = self._earlier.currentData()
        if number:
            self.earlier_chosen.emit(number)
            self._earlier.setCurrentIndex(0)

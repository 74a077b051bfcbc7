"""Recipe dialog: edits a recipe of the user as a form or as the TOML text of its file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.errors import AppError
from app.experiment.model import Factor
from app.experiment.recipe_store import save_recipe
from app.experiment.recipes import parse_recipe, recipe_toml
from ui.common.dialogs import add_buttons
from ui.common.labels import plain_label
from ui.experiments.plan_view import ExcludedLevels, size_sentence
from ui.experiments.recipe_form import RecipeForm

if TYPE_CHECKING:
    from PySide6.QtCore import QSize
    from PySide6.QtGui import QKeyEvent

    from app.experiment.model import ExcludedSet
    from app.experiment.recipes import Recipe, RecipeSize
    from ui.common.bridge import RunInThread
    from ui.experiments.live_estimate import LiveEstimate, LiveEstimator

#: Maximum length of a recipe's file name, characters.
_MAX_NAME_LENGTH = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeDraft:
    """Initial content of the dialog.

    Attributes:
        recipe: recipe to edit.
        text: TOML text of its file, "" for a new recipe.
        name: file name to save it under, without extension.
        size: size to estimate and run, quick or full.
    """

    recipe: Recipe
    text: str
    name: str
    size: RecipeSize


class RecipeDialog(QDialog):
    """Dialog that edits a recipe, shows its estimated cost, saves it, and starts it.

    Args:
        parent: the window.
        draft: initial content.
        estimator: estimator of the share; the dialog becomes its Qt parent.
        run: runs blocking work on a thread.

    Signals:
        saved: the recipe was saved (Recipe).
        run_wanted: the user starts it: the Recipe, its size, and the exclusions shown (list of ExcludedSet).
    """

    saved = Signal(object)
    run_wanted = Signal(object, str, object)

    def __init__(
        self, parent: QWidget, draft: RecipeDraft, estimator: LiveEstimator, run: RunInThread
    ) -> None:
        super().__init__(parent)
        self.setObjectName("recipe")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("An experiment of your own"))
        self._run = run
        self._estimator = estimator
        estimator.setParent(self)
        self._shown_exclusions: list[ExcludedSet] = []
        #: Edited recipe, None while the form or text is invalid.
        self._recipe: Recipe | None = None
        self._problem = ""
        #: Whether the recipe starts as soon as the estimator is idle.
        self._start_when_idle = False
        self._form = RecipeForm()
        self._text = QPlainTextEdit()
        self._text.setObjectName("recipe-text")
        self._text.setAccessibleName(self.tr("The recipe's file"))
        self._text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._text.setTabChangesFocus(True)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._form)
        self._pages.addWidget(self._text)
        self._size = QComboBox()
        self._size.setObjectName("recipe-size")
        self._size.addItem(self.tr("Quick"), "quick")
        self._size.addItem(self.tr("Full"), "full")
        self._size.setCurrentIndex(self._size.findData(draft.size))
        self._try = QCheckBox(self.tr("Tr&y every option set on the share"))
        self._try.setObjectName("recipe-try")
        self._try.setToolTip(
            self.tr("Mounts each one once, where only the test sees it, and measures nothing:\n"
                    "so you see at once what cannot be varied here.")
        )  # fmt: skip
        self._status = plain_label(wrap=True)
        self._status.setObjectName("recipe-told")
        self._status.setMinimumHeight(self.fontMetrics().lineSpacing() * 2)
        self._excluded = ExcludedLevels()
        self._name = QLineEdit(draft.name)
        self._name.setObjectName("recipe-name")
        self._as_text = QPushButton()
        self._as_text.setObjectName("recipe-as-text")
        self._save = QPushButton(self.tr("&Save"))
        self._save.setObjectName("recipe-save")
        self._start = QPushButton(self.tr("&Run"))
        self._start.setObjectName("recipe-run")
        self._start.setToolTip(
            self.tr("Tries every option set, and starts unless something more has to be struck out.")
        )
        self._lay_out(parent.window().size())
        self._form.set_recipe(draft.recipe)
        self._text.setPlainText(draft.text or recipe_toml(draft.recipe))
        self._connect(new=not draft.text)
        self._show_page(form=True)
        self._check()

    def _lay_out(self, window_size: QSize) -> None:
        excluded = QScrollArea()
        excluded.setAccessibleName(self.tr("What is not measured"))
        excluded.setWidget(self._excluded)
        excluded.setWidgetResizable(True)
        excluded.setFrameShape(QFrame.Shape.NoFrame)
        excluded.setMaximumHeight(self.fontMetrics().lineSpacing() * 5)
        self._excluded_area = excluded
        options = QHBoxLayout()
        size = QLabel(self.tr("Si&ze"))
        size.setBuddy(self._size)
        for widget in (size, self._size, self._try):
            options.addWidget(widget)
        options.addStretch(1)
        name = QLabel(self.tr("Save &as"))
        name.setBuddy(self._name)
        self._name.setFixedWidth(self.fontMetrics().averageCharWidth() * 26)
        options.addWidget(name)
        options.addWidget(self._name)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.addWidget(self._pages, 1)
        layout.addLayout(options)
        layout.addWidget(self._status)
        layout.addWidget(excluded)
        actions = [self._as_text, self._save, self._start]
        add_buttons(self, layout, self.tr("&Cancel"), actions, self._start)
        letters, lines = self.fontMetrics().averageCharWidth(), self.fontMetrics().lineSpacing()
        self.resize(
            min(letters * 150, max(window_size.width() - 20, 700)),
            min(lines * 46, max(window_size.height() - 20, 500)),
        )

    def _connect(self, *, new: bool) -> None:
        self._form.changed.connect(self._on_form)
        self._text.textChanged.connect(self._check)
        self._size.currentIndexChanged.connect(self._check)
        self._try.toggled.connect(self._on_try)
        self._as_text.clicked.connect(self._on_switch_page)
        self._save.clicked.connect(self._on_save)
        self._start.clicked.connect(self._on_run)
        self._estimator.told.connect(self._on_estimate)
        self._estimator.trying.connect(self._on_trying)
        self._estimator.idle.connect(self._on_idle)
        #: The name of a new recipe follows its title until the user edits the name.
        self._name_edited = not new
        self._name.textEdited.connect(self._on_named)

    @property
    def _is_form(self) -> bool:
        return self._pages.currentWidget() is self._form

    def _recipe_size(self) -> RecipeSize:
        return "full" if self._size.currentData() == "full" else "quick"

    # One recipe, two pages

    def _on_form(self) -> None:
        recipe = self._form.recipe()
        self._text.blockSignals(True)  # noqa: FBT003
        self._text.setPlainText(recipe_toml(recipe))
        self._text.blockSignals(False)  # noqa: FBT003
        if not self._name_edited:
            self._name.setText(_slug(recipe.title))
        self._check()

    def _on_switch_page(self) -> None:
        if not self._is_form and self._recipe is not None:
            self._form.set_recipe(self._recipe)
        self._show_page(form=not self._is_form)
        self._check()

    def _show_page(self, *, form: bool) -> None:
        self._pages.setCurrentWidget(self._form if form else self._text)
        self._as_text.setText(self.tr("As te&xt") if form else self.tr("As &form"))
        self._as_text.setToolTip(self.tr("The same recipe, as its file has it.") if form else "")

    def _check(self, _index: int = 0) -> None:
        """Validate the form or text, and request an estimate of a valid recipe."""
        problem = self._form.problem() if self._is_form else ""
        self._recipe = None
        if not problem:
            try:
                text = self._text.toPlainText()
                self._recipe = parse_recipe(text, self.tr("the recipe"), name="new", own=True)
            except AppError as error:
                problem = " ".join(part for part in (error.message, error.hint, error.detail) if part)
        for button in (self._save, self._start):
            button.setEnabled(self._recipe is not None)
        self._start.setEnabled(self._recipe is not None and bool(self._estimator.share))
        # An invalid text cannot be shown as a form.
        self._as_text.setEnabled(self._is_form or self._recipe is not None)
        recipe = self._recipe
        if recipe is None or self._problem:
            self._status.setText(problem)
        self._problem = problem
        if recipe is None:
            self._show_excluded([])
            self._estimator.ask(None, [])
            return
        factors = self._form.offered() if self._is_form else []
        offered = [Factor(name=factor.name, levels=factor.levels) for factor in factors]
        self._estimator.ask(recipe.experiment(self._estimator.share, self._recipe_size()), offered)

    # Estimate

    def _on_try(self, on: bool) -> None:  # noqa: FBT001 - a slot
        self._estimator.set_trying(on=on)

    def _on_trying(self, number: int, total: int) -> None:
        self._status.setText(
            self.tr("Trying option set {number} of {total}…").format(number=number, total=total)
        )

    def _on_estimate(self, estimate: LiveEstimate) -> None:
        excluded = list(estimate.offered)
        if estimate.error is not None:
            self._status.setText(f"{estimate.error.message} {estimate.error.hint}".strip())
        elif estimate.plan is not None:
            plan = estimate.plan
            text = size_sentence(plan)
            if not estimate.tried:
                text = self.tr("If every set can be mounted: {text}").format(text=text)
            self._status.setText(" ".join([text, *plan.notes]))
            excluded += plan.struck
            self._shown_exclusions = plan.struck
            self._show_excluded(
                [
                    excluded_set
                    for excluded_set in plan.struck
                    if len(excluded_set.levels) > 1 or not self._is_form
                ]
            )
        self._form.show_excluded(excluded)

    def _show_excluded(self, excluded: list[ExcludedSet]) -> None:
        self._excluded.show_excluded(excluded)
        self._excluded_area.setVisible(bool(excluded))

    # Actions of the user

    def _on_named(self, _text: str) -> None:
        self._name_edited = True

    def _on_save(self) -> None:
        name, text = self._name.text().strip(), self._text.toPlainText()
        self._save.setEnabled(False)
        call = self._run("recipe", lambda: save_recipe(text, name))
        call.succeeded.connect(self._on_saved)
        call.failed.connect(self._on_not_saved)

    def _on_saved(self, recipe: Recipe) -> None:
        self.saved.emit(recipe)
        self.accept()

    def _on_not_saved(self, error: AppError) -> None:
        self._save.setEnabled(True)
        self._status.setText(f"{error.message} {error.hint}".strip())

    def _on_run(self) -> None:
        """Start the recipe once no probe runs, because the agent runs one experiment at a time."""
        self._start_when_idle = True
        self._pages.setEnabled(False)
        self._start.setEnabled(False)
        self._estimator.stop()

    def _on_idle(self) -> None:
        recipe = self._recipe
        if self._start_when_idle and recipe is not None:
            self._start_when_idle = False
            self.run_wanted.emit(recipe, self._recipe_size(), self._shown_exclusions)
            self.accept()

    # Qt overrides

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: ignore Enter in a field, which would start the experiment or close the dialog."""
        if event.key() not in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            super().keyPressEvent(event)

    def done(self, result: int) -> None:
        """Qt: close the dialog and stop the estimator."""
        self._start_when_idle = False
        self._estimator.stop()
        super().done(result)


def _slug(title: str) -> str:
    return re.sub("[^a-z0-9]+", "-", title.casefold()).strip("-")[:_MAX_NAME_LENGTH].strip("-")

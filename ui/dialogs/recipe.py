"""A recipe of one's own, written as the recipes of the studies are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.bench.experiment.cookbook import save_recipe
from app.bench.experiment.recipe_text import parse_recipe
from app.errors import AppError
from ui.dialogs.buttons import add_buttons
from ui.widgets.labels import plain_label

if TYPE_CHECKING:
    from app.bench.experiment.recipe import Recipe
    from ui.dialogs.copy_as import Run


class RecipeDialog(QDialog):
    """Edits the text of a recipe, checks it while one types, and keeps it.

    Signals:
        saved: the Recipe.
    """

    saved = Signal(object)

    def __init__(self, parent: QWidget, text: str, name: str, run: Run) -> None:
        super().__init__(parent)
        self.setObjectName("recipe")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("A recipe of your own"))
        self._run = run
        self._name = QLineEdit(name)
        self._name.setObjectName("recipe-name")
        self._text = QPlainTextEdit(text)
        self._text.setObjectName("recipe-text")
        self._text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._told = plain_label(wrap=True)
        self._told.setObjectName("recipe-told")
        self._save = QPushButton(self.tr("&Save"))
        self._save.setObjectName("recipe-save")
        self._save.clicked.connect(self._on_save)
        label = QLabel(self.tr("&Name"))
        label.setBuddy(self._name)
        top = QHBoxLayout()
        top.addWidget(label)
        top.addWidget(self._name, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.addLayout(top)
        layout.addWidget(self._text, 1)
        layout.addWidget(self._told)
        add_buttons(self, layout, self.tr("&Cancel"), [self._save], None)
        self._text.textChanged.connect(self._check)
        self.resize(self.fontMetrics().averageCharWidth() * 96, self.fontMetrics().lineSpacing() * 38)
        self._check()

    def _check(self) -> None:
        try:
            recipe = parse_recipe(self._text.toPlainText(), self.tr("the recipe"), name="new", own=True)
        except AppError as error:
            self._told.setText(" ".join(part for part in (error.message, error.hint, error.detail) if part))
            self._save.setEnabled(False)
            return
        self._told.setText(self.tr("“{title}” can be planned.").format(title=recipe.title))
        self._save.setEnabled(True)

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
        self._told.setText(f"{error.message} {error.hint}".strip())

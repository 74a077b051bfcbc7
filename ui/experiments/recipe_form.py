"""Recipe form: factors, workloads, repeats and common options of a recipe."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, cast

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from advisor.options import MountOptions, check_options
from app.experiment.factors import normalized_level
from app.experiment.recipes import Recipe, RecipeFactor, RecipeRepeats, RecipeWorkload
from ui.common.inputs import NoWheelComboBox, NoWheelSpinBox
from ui.common.labels import MutedLabel, heading
from ui.common.layout import PageScrollArea
from ui.experiments.factor_editor import FactorCard
from ui.experiments.factor_picker import FactorPicker, choice_of
from ui.experiments.workload_editor import WorkloadCard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.experiment.model import ExcludedSet, Strategy

#: Upper limit of the number of repeats.
_MAX_REPEATS = 100
_NEW_WORKLOAD = RecipeWorkload(name="", size="64M", quick_size="16M")


class RecipeForm(QWidget):
    """Editor of one recipe: a factor picker and a page of factor and workload cards.

    Signals:
        changed: the user edited the recipe.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._recipe = Recipe(title="", factor=[], workload=[])
        self._factors: list[FactorCard] = []
        self._workloads: list[WorkloadCard] = []
        self._picker = FactorPicker()
        self._picker.picked.connect(self._on_picked)
        self._title = QLineEdit()
        self._text = QLineEdit()
        self._text.setPlaceholderText(self.tr("A sentence for the list of recipes"))
        self._options = QLineEdit()
        self._options.setPlaceholderText(self.tr("none, for example vers=4.2,hard"))
        self._strategy = NoWheelComboBox()
        for text, strategy in (
            (self.tr("in all combinations"), "full"), (self.tr("one at a time, the others at their base"),
                                                       "one-at-a-time"),
        ):  # fmt: skip
            self._strategy.addItem(text, strategy)
        self._repeats, self._quick_repeats = _repeats_box(), _repeats_box()
        self._empty = MutedLabel(
            self.tr("Tick what is to be varied in the list. Every other setting stays the same."), wrap=True
        )
        self._add_work = QPushButton(self.tr("A&dd something to copy"))
        self._add_work.setObjectName("work-add")
        self._add_work.setAutoDefault(False)
        self._add_work.clicked.connect(self._on_add_workload)
        self._factor_area, self._workload_area = QVBoxLayout(), QVBoxLayout()
        self._fields = QGridLayout()
        self._lay_out()
        for line in (self._title, self._text, self._options):
            line.textChanged.connect(self._on_changed)
        self._strategy.currentIndexChanged.connect(self._on_changed)
        for spin in (self._repeats, self._quick_repeats):
            spin.valueChanged.connect(self._on_changed)

    def _lay_out(self) -> None:
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(14, 0, 10, 0)
        layout.setSpacing(8)
        naming = QGridLayout()
        self._field(naming, 0, "title", self.tr("&Title"), self._title)
        self._field(naming, 1, "text", self.tr("&What for"), self._text)
        layout.addLayout(naming)
        layout.addWidget(heading(self.tr("What is varied"), scale=1.0))
        layout.addWidget(self._empty)
        layout.addLayout(self._factor_area)
        layout.addWidget(heading(self.tr("What each trial copies"), scale=1.0))
        layout.addLayout(self._workload_area)
        add = QHBoxLayout()
        add.addWidget(self._add_work)
        add.addStretch(1)
        layout.addLayout(add)
        layout.addWidget(heading(self.tr("How"), scale=1.0))
        rows: list[tuple[str, str, QWidget]] = [
            ("strategy", self.tr("C&ombine"), self._strategy),
            ("repeats", self.tr("Repeat &each"), self._repeats),
            ("quick-repeats", self.tr("In the &quick size"), self._quick_repeats),
            ("options", self.tr("Same &in all"), self._options),
        ]
        for row, (name, text, field) in enumerate(rows):
            self._field(self._fields, row, name, text, field)
        self._fields.setColumnStretch(1, 1)
        layout.addLayout(self._fields)
        layout.addWidget(MutedLabel(
            self.tr("Within each repeat the order is random, so that a server that slows down hits all "
                    "alike; the base comes again and again to show it."), wrap=True))  # fmt: skip
        layout.addStretch(1)
        self._scroll = PageScrollArea(page, self.tr("Recipe"))
        self._scroll.setObjectName("recipe-scroll")
        outer = QHBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(10)
        self._picker.setFixedWidth(self.fontMetrics().averageCharWidth() * 36)
        outer.addWidget(self._picker)
        outer.addWidget(self._scroll, 1)

    def _field(self, grid: QGridLayout, row: int, name: str, text: str, field: QWidget) -> None:
        label = QLabel(text)
        label.setBuddy(field)
        field.setObjectName(f"recipe-{name}")
        field.setAccessibleName(text.replace("&", ""))
        grid.addWidget(label, row, 0)
        grid.addWidget(field, row, 1)

    # Called by the dialog

    def set_recipe(self, recipe: Recipe) -> None:
        """Fill the form with a recipe, without emitting ``changed``."""
        self.blockSignals(True)  # noqa: FBT003
        self._recipe = recipe
        self._title.setText(recipe.title)
        self._text.setText(recipe.text)
        self._text.setCursorPosition(0)
        self._options.setText(recipe.options)
        index = self._strategy.findData("rows")
        if recipe.row and index < 0:
            self._strategy.addItem(self.tr("as spelled out in the file"), "rows")
        elif not recipe.row and index >= 0:
            self._strategy.removeItem(index)
        self._strategy.setCurrentIndex(self._strategy.findData(recipe.strategy))
        self._repeats.setValue(recipe.full.repeats)
        self._quick_repeats.setValue(recipe.quick.repeats)
        for card in [*self._factors, *self._workloads]:
            _delete_later(card)
        self._factors, self._workloads = [], []
        for factor in recipe.factor:
            self._add_factor(factor)
        for work in recipe.workload:
            self._add_workload_card(work)
        self._show_selected()
        self.blockSignals(False)  # noqa: FBT003

    def recipe(self) -> Recipe:
        """Return the recipe as entered, also if it is invalid."""
        strategy = cast("Strategy", self._strategy.currentData())
        return msgspec.structs.replace(
            self._recipe,
            text=self._text.text().strip(),
            options=self._options.text().strip(),
            strategy=strategy,
            axes=[name for name in self._recipe.axes if name in {card.name for card in self._factors}],
            factor=[card.factor() for card in self._factors],
            row=self._rows() if strategy == "rows" else [],
            workload=[card.work() for card in self._workloads],
            title=self._title.text().strip(),
            full=RecipeRepeats(repeats=self._repeats.value()),
            quick=RecipeRepeats(repeats=self._quick_repeats.value()),
        )

    def _rows(self) -> list[dict[str, str]]:
        """Return the explicit option sets of the file, reduced to the factors that are still varied."""
        names = {card.name for card in self._factors}
        return [{name: level for name, level in row.items() if name in names} for row in self._recipe.row]

    def problem(self) -> str:
        """Return the first problem of the recipe, "" without one."""
        if not self._title.text().strip():
            return self.tr("Give it a title.")
        if not self._factors:
            return self.tr("Tick at least one thing to vary.")
        if not self._workloads:
            return self.tr("Add something to copy.")
        cards: Sequence[FactorCard | WorkloadCard] = [*self._factors, *self._workloads]
        problem = next((text for card in cards if (text := card.problem())), "")
        if problem:
            return problem
        names = [card.work().name for card in self._workloads]
        if len(set(names)) < len(names):
            return self.tr("Two workloads have the same name.")
        findings = check_options(MountOptions.parse(self._options.text().strip()))
        return findings[0].message if findings else ""

    def offered(self) -> list[RecipeFactor]:
        """Return every factor with all its valid levels: those that are selected and those that could be."""
        return [RecipeFactor(name=card.name, levels=levels)
                for card in self._factors if (levels := card.offered())]  # fmt: skip

    def show_excluded(self, excluded: Sequence[ExcludedSet]) -> None:
        """Strike out the excluded levels in the cards of their factors."""
        for card in self._factors:
            card.show_exclusions({
                level: excluded_set.reason
                for excluded_set in excluded
                if list(excluded_set.levels) == [card.name]
                for level in excluded_set.levels.values()
            })  # fmt: skip

    # Actions of the user

    def _on_picked(self, name: str, chosen: bool) -> None:  # noqa: FBT001 - a slot
        if chosen:
            start = [level for level in choice_of(name).start if _is_valid_level(name, level)]
            card = self._add_factor(RecipeFactor(name=name, levels=start))
            card.show()
            self._scroll.ensureWidgetVisible(card)
        else:
            self._remove_factor(next(card for card in self._factors if card.name == name))
        self._show_selected()
        self._on_changed()

    def _on_factor_removed(self, card: FactorCard) -> None:
        self._remove_factor(card)
        self._show_selected()
        self._on_changed()

    def _on_add_workload(self) -> None:
        card = self._add_workload_card(_NEW_WORKLOAD)
        card.show()
        self._set_tab_order()
        self._on_changed()

    def _on_workload_removed(self, card: WorkloadCard) -> None:
        self._workloads.remove(card)
        _delete_later(card)
        self._on_changed()

    def _on_changed(self, *_value: object) -> None:
        self.changed.emit()

    def _add_factor(self, factor: RecipeFactor) -> FactorCard:
        card = FactorCard(factor)
        card.changed.connect(self._on_changed)
        card.removed.connect(partial(self._on_factor_removed, card))
        self._factors.append(card)
        self._factor_area.addWidget(card)
        return card

    def _remove_factor(self, card: FactorCard) -> None:
        self._factors.remove(card)
        _delete_later(card)

    def _add_workload_card(self, work: RecipeWorkload) -> WorkloadCard:
        card = WorkloadCard(work)
        card.changed.connect(self._on_changed)
        card.removed.connect(partial(self._on_workload_removed, card))
        self._workloads.append(card)
        self._workload_area.addWidget(card)
        return card

    def _set_tab_order(self) -> None:
        """Set the tab order from top to bottom; cards that were added later would otherwise come last."""
        cards: list[QWidget] = [*self._factors, *self._workloads]
        parts = [self._picker, self._title, self._text, *cards, self._add_work, self._strategy, self._repeats,
                 self._quick_repeats, self._options]  # fmt: skip
        stops = [
            stop
            for part in parts
            for stop in (part, *part.findChildren(QWidget))
            if stop.focusPolicy() & Qt.FocusPolicy.TabFocus
            # Neither the inner widgets of a field nor its drop-down list, which is a window.
            and not stop.objectName().startswith("qt_")
            and stop.window() is self.window()
        ]
        for first, second in itertools.pairwise(stops):
            QWidget.setTabOrder(first, second)

    def _show_selected(self) -> None:
        self._set_tab_order()
        self._picker.show_selected({card.name for card in self._factors})
        self._empty.setVisible(not self._factors)


def _repeats_box() -> NoWheelSpinBox:
    spin = NoWheelSpinBox()
    spin.setRange(1, _MAX_REPEATS)
    return spin


def _delete_later(widget: QWidget) -> None:
    widget.hide()
    widget.deleteLater()


def _is_valid_level(name: str, level: str) -> bool:
    try:
        normalized_level(name, level)
    except ValueError:
        return False
    return True

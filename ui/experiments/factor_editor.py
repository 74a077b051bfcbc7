"""Editor of one factor of a recipe: its levels, its reference level, and which levels are left out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.experiment.factors import normalized_level
from app.experiment.recipes import RecipeFactor
from ui.common.inputs import NoWheelComboBox
from ui.common.labels import MutedLabel, ProblemLabel, enlarge, plain_label, plain_tip
from ui.experiments.factor_picker import choice_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


#: Number of check boxes per row.
_COLUMNS = 4


class FactorCard(QWidget):
    """Editor of one factor: its levels, its reference level, and its levels in the quick size.

    Args:
        factor: initial levels.

    Signals:
        changed: the user edited the factor.
        removed: the user removed the factor from the recipe.
    """

    changed = Signal()
    removed = Signal()

    def __init__(self, factor: RecipeFactor) -> None:
        super().__init__()
        self.setObjectName(f"factor-{factor.name}")
        self._choice = choice_of(factor.name)
        self._boxes: dict[str, QCheckBox] = {}
        #: Checked levels in the order of checking; the first one is the default reference.
        self._checked = list(dict.fromkeys(factor.levels))
        self._typed: QLineEdit | None = None
        self._title = plain_label(self._choice.label)
        enlarge(self._title, 1.0, bold=True)
        self._remove_button = QToolButton()
        self._remove_button.setText("✕")
        self._remove_button.setAutoRaise(True)
        self._remove_button.setToolTip(self.tr("Do not vary it."))
        self._remove_button.setAccessibleName(
            self.tr("{label}: do not vary it").format(label=self._choice.label)
        )
        self._remove_button.clicked.connect(self.removed)
        levels = self._level_boxes(factor.levels) if self._choice.offered else self._level_line(factor.levels)
        self._base = NoWheelComboBox()
        self._base.setObjectName(f"base-{factor.name}")
        self._base.setAccessibleName(self.tr("{label}: compared with").format(label=self._choice.label))
        self._quick = QLineEdit(", ".join(factor.quick))
        self._quick.setObjectName(f"quick-{factor.name}")
        self._quick.setPlaceholderText(self.tr("all"))
        self._quick.setAccessibleName(self.tr("{label}: in the quick size").format(label=self._choice.label))
        self._quick.setToolTip(self.tr("Levels of the quick size, with commas between; empty for all."))
        self._problem = ProblemLabel()
        self._reasons = MutedLabel(wrap=True)
        self._reasons.hide()
        self._lay_out(levels)
        self._fill_base(factor.base)
        self._base.activated.connect(self._on_changed)
        self._quick.textChanged.connect(self._on_changed)

    def _lay_out(self, levels: QWidget) -> None:
        top = QHBoxLayout()
        top.addWidget(self._title)
        top.addWidget(MutedLabel(self._choice.name))
        top.addStretch(1)
        top.addWidget(self._remove_button)
        below = QHBoxLayout()
        for text, field in (
            (self.tr("Compared with"), self._base), (self.tr("Quick size"), self._quick),
        ):  # fmt: skip
            label = QLabel(text)
            label.setBuddy(field)
            below.addWidget(label)
            below.addWidget(field, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 6)
        layout.setSpacing(4)
        layout.addLayout(top)
        layout.addWidget(levels)
        layout.addLayout(below)
        layout.addWidget(self._problem)
        layout.addWidget(self._reasons)

    def _level_boxes(self, chosen: Sequence[str]) -> QWidget:
        area = QWidget()
        grid = QGridLayout(area)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(14)
        # A recipe file may have levels that the form does not offer; they stay.
        for index, level in enumerate(dict.fromkeys([*self._choice.offered, *chosen])):
            box = QCheckBox(self._choice.text_of(level).replace("&", "&&"))
            box.setObjectName(f"level-{self._choice.name}-{level}")
            box.setChecked(level in chosen)
            box.toggled.connect(partial(self._on_ticked, level))
            self._boxes[level] = box
            grid.addWidget(box, *divmod(index, _COLUMNS))
        grid.setColumnStretch(_COLUMNS, 1)
        area.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        return area

    def _level_line(self, chosen: Sequence[str]) -> QWidget:
        self._typed = QLineEdit(", ".join(chosen))
        self._typed.setObjectName(f"levels-{self._choice.name}")
        self._typed.setAccessibleName(self._choice.label)
        self._typed.setAccessibleDescription(self._choice.hint)
        self._typed.setPlaceholderText(self._choice.hint)
        self._typed.setToolTip(plain_tip(self._choice.hint))
        self._typed.textChanged.connect(self._on_changed)
        return self._typed

    @property
    def name(self) -> str:
        """Name of the factor in recipe files."""
        return self._choice.name

    def factor(self) -> RecipeFactor:
        """Return the factor as entered, also with invalid levels."""
        levels, quick = self._levels(), _split(self._quick.text())
        base = self._base.currentData() or ""
        return RecipeFactor(name=self.name, levels=levels, quick=quick, base=base if base in levels else "")

    def offered(self) -> list[str]:
        """Return the valid levels, selected ones first, then those only offered."""
        return [level for level in dict.fromkeys([*self._levels(), *self._choice.offered])
                if not self._level_problem(level)]  # fmt: skip

    def problem(self) -> str:
        """Return the first problem of the levels, "" without one."""
        factor = self.factor()
        if not factor.levels:
            return self.tr("Choose at least one level.")
        problem = next((text for level in factor.levels if (text := self._level_problem(level))), "")
        if problem:
            return problem
        known = {normalized_level(self.name, level) for level in factor.levels}
        for level in factor.quick:
            if self._level_problem(level) or normalized_level(self.name, level) not in known:
                return self.tr("“{level}” of the quick size is not among the levels.").format(level=level)
        return ""

    def show_exclusions(self, reasons: Mapping[str, str]) -> None:
        """Strike out the levels that cannot be measured on the share.

        Args:
            reasons: reason of each exclusion, by normalized level.
        """
        levels_by_reason: dict[str, list[str]] = {}
        chosen = self._levels()
        for level in dict.fromkeys([*self._boxes, *chosen]):
            reason = "" if self._level_problem(level) else reasons.get(normalized_level(self.name, level), "")
            box = self._boxes.get(level)
            if box is not None:
                font = box.font()
                font.setStrikeOut(bool(reason))
                box.setFont(font)
                box.setToolTip(plain_tip(reason))
                box.setAccessibleDescription(reason)
            if reason and level in chosen:
                levels_by_reason.setdefault(reason, []).append(self._choice.text_of(level))
        self._reasons.setText(
            "\n".join(f"{', '.join(levels)}: {reason}" for reason, levels in levels_by_reason.items())
        )
        self._reasons.setVisible(bool(levels_by_reason))

    def _levels(self) -> list[str]:
        if self._typed is not None:
            return _split(self._typed.text())
        return list(self._checked)

    def _level_problem(self, level: str) -> str:
        try:
            normalized_level(self.name, level)
        except ValueError as error:
            return str(error)
        return ""

    def _fill_base(self, chosen: str) -> None:
        levels = self._levels()
        self._base.clear()
        self._base.addItem(self.tr("the first"), "")
        for level in levels:
            self._base.addItem(self._choice.text_of(level), level)
        self._base.setCurrentIndex(max(self._base.findData(chosen), 0))

    def _on_ticked(self, level: str, on: bool) -> None:  # noqa: FBT001 - a slot
        self._checked = [checked for checked in self._checked if checked != level] + [level] * on
        self._on_changed()

    def _on_changed(self, *_value: object) -> None:
        if [self._base.itemData(index) for index in range(1, self._base.count())] != self._levels():
            self._fill_base(self._base.currentData() or "")
        self._problem.show_problem(self.problem())
        self.changed.emit()


def _split(text: str) -> list[str]:
    return list(dict.fromkeys(part for part in (item.strip() for item in text.split(",")) if part))

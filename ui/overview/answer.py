"""Recommendations with their reasons, one card each, for a mount or for another machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from advisor.recommend import group_recommendations
from app.text.headline import setting_label
from ui.overview.cards import RecommendationCard, SystemWarningCard
from ui.overview.sections import FoldedList, rejected_entries, unknown_entries

if TYPE_CHECKING:
    from app.service.model import AdviceResult


class Recommendations(QWidget):
    """Cards of the recommendations and of problems that no option fixes.

    Args:
        can_include: whether the user can leave a recommendation out.

    Signals:
        included: option name, and whether its recommendation is included in the advice.
    """

    included = Signal(str, bool)

    def __init__(self, *, can_include: bool = True) -> None:
        super().__init__()
        self._can_include = can_include
        self._cards = QVBoxLayout(self)
        self._cards.setContentsMargins(0, 0, 0, 0)
        self._cards.setSpacing(8)

    def show_result(self, result: AdviceResult | None) -> None:
        """Show the recommendations of a result, None for none."""
        while (item := self._cards.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()
        if result is None:
            return
        for warning in result.attention:
            self._cards.addWidget(SystemWarningCard(warning))
        for group in group_recommendations(result.recommendations):
            card = RecommendationCard(
                group, result.gains.get(group[0].option), result.tried, can_include=self._can_include
            )
            card.included.connect(self.included)
            self._cards.addWidget(card)


class AdviceLists(QWidget):
    """Folded lists of an advice: settings that are right, values that are rejected, and unknown facts.

    Args:
        prefix: beginning of the object names.
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._agreed = FoldedList(f"{prefix}agreed")
        self._rejected = FoldedList(f"{prefix}not-recommended")
        self._unknown = FoldedList(f"{prefix}unknown-facts")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part in (self._agreed, self._rejected, self._unknown):
            layout.addWidget(part)

    def show_result(self, result: AdviceResult | None) -> None:
        """Show the lists of a result, None for none."""
        agreed = (
            [(setting_label(name), reason) for name, reason in result.agreed.items()]
            if result is not None
            else []
        )
        self._agreed.show_entries(self.tr("Right Already ({count})").format(count=len(agreed)), agreed)
        rejected = rejected_entries(result) if result is not None else []
        self._rejected.show_entries(
            self.tr("Not Recommended ({count})").format(count=len(rejected)), rejected
        )
        unknown = unknown_entries(result) if result is not None else []
        self._unknown.show_entries(self.tr("Unknown Facts ({count})").format(count=len(unknown)), unknown)

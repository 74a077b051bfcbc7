"""Cards of the experiments page: one question each, which is answered by one click on Start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from ui.common.cards import SPACING_SMALL, Card, CardKind, primary_button
from ui.common.fonts import TextSize, set_text_size
from ui.common.inputs import NoWheelComboBox
from ui.common.labels import MutedLabel, heading, plain_tip
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtGui import QResizeEvent

#: Time limits of the search, min, and the default.
_SEARCH_MINUTES, _DEFAULT_MINUTES = (2, 5, 15, 60), 5
#: Time limit of the other questions, min.
_QUESTION_MINUTES = 5
#: Width below which the small cards stand below each other, characters.
_NARROW_LETTERS = 60


@dataclass(frozen=True, slots=True)
class Question:
    """A question that an experiment answers.

    Attributes:
        recipe: name of the recipe, "" for the search for the fastest settings.
        title: the question.
        text: what the experiment does, one sentence.
    """

    recipe: str
    title: str
    text: str


def questions() -> list[Question]:
    """Return the questions, the most useful first."""
    return [
        Question(
            "", tr("Find the Fastest Settings"),
            tr("Tries versions, transfer sizes, connections and readahead in both directions. The winner is "
               "tested again beside the present settings."),
        ),
        Question(
            "versions", tr("Compare NFS 3, 4.1 and 4.2"),
            tr("Copies and reads with each version that the server offers."),
        ),
        Question(
            "attribute-caching", tr("What Does noac Cost?"),
            tr("Compares the default with noac and actimeo=0, for large and for many files."),
        ),
        Question(
            "transfer-size", tr("Which Transfer Size Is Best?"),
            tr("Compares read and write sizes at several block sizes and loads."),
        ),
    ]  # fmt: skip


class QuestionCard(Card):
    """Card with one question, the time that the answer takes, and a Start button.

    Signals:
        start_clicked: the user wants the answer; carries the time limit in seconds.
    """

    start_clicked = Signal(float)

    def __init__(self, question: Question) -> None:
        super().__init__(CardKind.PLAIN if question.recipe else CardKind.ACCENT)
        self.question = question
        name = question.recipe or "fastest"
        self._minutes: NoWheelComboBox | None = None
        self.start = QPushButton(tr("Start")) if question.recipe else primary_button(tr("Start"))
        self.start.setObjectName(f"question-{name}")
        self.start.setAccessibleName(tr("Start: {question}").format(question=question.title))
        self.start.clicked.connect(self._on_start)
        actions = QHBoxLayout()
        actions.setSpacing(SPACING_SMALL)
        actions.addWidget(self.start)
        if not question.recipe:
            self._minutes = self._make_minutes()
            actions.addWidget(self._minutes)
        actions.addStretch(1)
        title = heading(question.title, scale=1.15)
        title.setWordWrap(True)
        self.body.addWidget(title)
        self.body.addWidget(MutedLabel(question.text, wrap=True))
        self.body.addStretch(1)
        if question.recipe:
            time = MutedLabel(tr("At most {count} min").format(count=_QUESTION_MINUTES))
            set_text_size(time, TextSize.SMALL)
            self.body.addWidget(time)
        self.body.addLayout(actions)

    def _make_minutes(self) -> NoWheelComboBox:
        box = NoWheelComboBox()
        box.setObjectName("question-minutes")
        box.setAccessibleName(tr("Time limit"))
        box.setSizeAdjustPolicy(NoWheelComboBox.SizeAdjustPolicy.AdjustToContents)
        for count in _SEARCH_MINUTES:
            box.addItem(tr("At most {count} min").format(count=count), count)
        box.setCurrentIndex(_SEARCH_MINUTES.index(_DEFAULT_MINUTES))
        return box

    def _on_start(self) -> None:
        minutes = self._minutes.currentData() if self._minutes is not None else _QUESTION_MINUTES
        self.start_clicked.emit(60.0 * minutes)


class QuestionCards(QWidget):
    """The questions: the search at the top, the others beside each other below.

    Signals:
        start_clicked: name of the recipe, "" for the search, and the time limit in seconds.
    """

    start_clicked = Signal(str, float)

    def __init__(self) -> None:
        super().__init__()
        self._cards = [QuestionCard(question) for question in questions()]
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(SPACING_SMALL * 2)
        self._columns = 0
        for card in self._cards:
            card.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
            card.start_clicked.connect(partial(self.start_clicked.emit, card.question.recipe))
        self._arrange(len(self._cards) - 1)

    def enable(self, *, recipes: Iterable[str], possible: bool, why: str) -> None:
        """Enable the Start buttons.

        Args:
            recipes: names of the recipes that can be run.
            possible: whether an experiment may start.
            why: why none may start, shown as tooltip; "" for no reason.
        """
        known = {"", *recipes}
        for card in self._cards:
            card.setVisible(card.question.recipe in known)
            card.start.setEnabled(possible and not why)
            card.start.setToolTip(plain_tip(why))

    def _arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        first, *others = self._cards
        self._grid.addWidget(first, 0, 0, 1, columns)
        for number, card in enumerate(others):
            self._grid.addWidget(card, 1 + number // columns, number % columns, Qt.AlignmentFlag(0))

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: put the small cards below each other in a narrow page."""
        super().resizeEvent(event)
        narrow = self.width() < self.fontMetrics().averageCharWidth() * _NARROW_LETTERS
        self._arrange(1 if narrow else len(self._cards) - 1)

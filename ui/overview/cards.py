"""Recommendation cards: the change with its check box, gain and risk; facts and source are folded."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QCheckBox, QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from advisor.recommend import undo_text
from app.text.headline import setting_label
from ui.common.cards import BarComparison, Card, CardKind, text_button
from ui.common.fonts import TextSize, set_text_size
from ui.common.icons import icon, icon_label
from ui.common.labels import MutedLabel, UnitAwareLabel, plain_label, plain_tip
from ui.common.layout import CollapsibleSection
from ui.common.speed_units import speed_text
from ui.common.translation import tr
from ui.overview.advice_text import change_text, confidence_names, scope_names, status_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.recommendation import Recommendation, SystemWarning
    from app.service.model import Expected


class RecommendationCard(Card):
    """Card for the recommendations of one rule, which differ only in their options and values.

    Args:
        items: the recommendations.
        gain: predicted gain of these recommendations alone, None without one.
        tried: options whose value a test compared without a proven difference.
        can_include: whether the user can leave a recommendation out.

    Signals:
        included: option name, and whether its recommendation is included in the advice.
    """

    included = Signal(str, bool)

    def __init__(
        self,
        items: Sequence[Recommendation],
        gain: Expected | None = None,
        tried: Sequence[str] = (),
        *,
        can_include: bool = True,
    ) -> None:
        super().__init__()
        self._can_include = can_include
        first = items[0]
        self.setObjectName(f"advice-{first.rule or 'measured'}")
        for item in items:
            self.body.addLayout(self._change_row(item))
        self.body.addWidget(UnitAwareLabel(first.reason))
        if gain is not None and gain.now is not None and gain.advised is not None:
            self.body.addWidget(GainBars(gain))
        if any(item.option in tried for item in items):
            self.body.addWidget(MutedLabel(self.tr("Your test found no difference."), wrap=True))
        if first.risk:
            self.body.addLayout(_labeled(self.tr("Risk"), first.risk))
        details = CollapsibleSection(f"facts-{first.option}", [self._details(items)])
        details.set_title(self.tr("Facts and Source"))
        self.body.addWidget(details)

    def _change_row(self, item: Recommendation) -> QHBoxLayout:
        text = change_text(item)
        label = plain_label(text.label) if item.included else MutedLabel(text.label)
        set_text_size(label, TextSize.BODY, bold=True)
        label.setToolTip(plain_tip(item.option))
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(label)
        row.addWidget(MutedLabel(text.current))
        row.addWidget(plain_label("→"))
        proposed = plain_label(text.proposed) if item.included else MutedLabel(text.proposed)
        set_text_size(proposed, TextSize.BODY, bold=True)
        row.addWidget(proposed)
        row.addStretch(1)
        if (
            item.scope != "host" and self._can_include
        ):  # a change of the whole computer is never part of the advised settings
            row.addWidget(self._include_box(item, text.label))
        return row

    def _include_box(self, item: Recommendation, label: str) -> QCheckBox:
        box = QCheckBox(self.tr("Include"))
        box.setObjectName(f"include-{item.option}")
        box.setChecked(item.included)
        box.setAccessibleName(self.tr("Include {name}").format(name=label))
        box.toggled.connect(partial(self.included.emit, item.option))
        return box

    def _details(self, items: Sequence[Recommendation]) -> QWidget:
        first = items[0]
        details = QWidget()
        layout = QVBoxLayout(details)
        layout.setContentsMargins(0, 0, 0, 0)
        rows = [
            (self.tr("Expect"), first.effect), (self.tr("Facts"), "; ".join(first.evidence)),
            (self.tr("Undo"), undo_text(items, setting_label)),
            (self.tr("Confidence"), confidence_names()[first.confidence]),
            (self.tr("Tested"), status_names()[first.status]),
            (self.tr("Applies to"), scope_names()[first.scope]),
            (self.tr("Commands"), "\n".join(first.how_to)),
        ]  # fmt: skip
        for name, text in rows:
            if text:
                layout.addLayout(_labeled(name, text))
        layout.addWidget(source_button(first.source, first.link), 0, Qt.AlignmentFlag.AlignLeft)
        return details


class GainBars(QWidget):
    """Predicted gain of one recommendation: a bar now and a bar with it, and what becomes faster."""

    def __init__(self, gain: Expected) -> None:
        super().__init__()
        self.setObjectName("gain")
        names = {
            "write": self.tr("Writing, predicted"), "read": self.tr("Reading, predicted"),
            "small-read": self.tr("Small reads, predicted"),
        }  # fmt: skip
        bars = BarComparison()
        now, advised = gain.now, gain.advised
        if now is not None and advised is not None:
            color = "write" if gain.figure == "write" else "read"
            text = self.tr("{speed} (±{percent}%)").format(
                speed=speed_text(advised.bytes_per_s), percent=round(100 * advised.error)
            )
            bars.set_bars([
                (self.tr("Now"), now.bytes_per_s, speed_text(now.bytes_per_s), "muted"),
                (self.tr("Then"), advised.bytes_per_s, text, color),
            ])  # fmt: skip
        caption = MutedLabel(names[gain.figure])
        set_text_size(caption, TextSize.SMALL)
        bars.setAccessibleName(names[gain.figure])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(caption)
        layout.addWidget(bars)


class SystemWarningCard(Card):
    """Problem of the system that mount options cannot fix."""

    def __init__(self, warning: SystemWarning) -> None:
        super().__init__(CardKind.WARNING)
        self.setObjectName("attention")
        top = QHBoxLayout()
        top.setSpacing(8)
        text = UnitAwareLabel(warning.text)
        set_text_size(text, TextSize.BODY, bold=True)
        top.addWidget(icon_label("warning", "warn"), 0, Qt.AlignmentFlag.AlignTop)
        top.addWidget(text, 1)
        self.body.addLayout(top)
        self.body.addWidget(UnitAwareLabel(warning.reason))
        texts = ("; ".join(warning.evidence), "\n".join(warning.how_to))
        parts: list[QWidget] = [UnitAwareLabel(text) for text in texts if text]
        parts.append(source_button(warning.source, warning.link))
        details = CollapsibleSection(f"facts-{warning.rule}", parts)
        details.set_title(
            self.tr("What to Do, Facts and Source") if warning.how_to else self.tr("Facts and Source")
        )
        self.body.addWidget(details)


def _labeled(name: str, text: str) -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(8)
    grid.setColumnStretch(1, 1)
    label = MutedLabel(name)
    label.setMinimumWidth(label.fontMetrics().averageCharWidth() * _NAME_CHARACTERS)
    grid.addWidget(label, 0, 0, Qt.AlignmentFlag.AlignTop)
    grid.addWidget(UnitAwareLabel(text), 0, 1)
    return grid


def source_button(source: str, link: str) -> QLabel | QPushButton:
    """Return a label with the source of a recommendation, or a button that opens its https address."""
    words = source if len(source) <= _SOURCE_LENGTH else f"{source[:_SOURCE_LENGTH].rstrip()}…"
    text = tr("Source: {words}").format(words=words)
    if not link.startswith("https://"):
        label = MutedLabel(text)
        label.setToolTip(plain_tip(source))
        return label
    button = text_button(text)
    button.setIcon(icon("external-link", "accent"))
    button.setToolTip(plain_tip(f"{source}\n{link}"))
    button.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(link)))
    return button


#: Width of the names of facts, characters.
_NAME_CHARACTERS = 12
#: Maximum length of a source's text, characters; the tool tip has the full text.
_SOURCE_LENGTH = 56

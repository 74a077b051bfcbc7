"""Recommendation cards: the change, its reason, evidence, risk and source."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QCheckBox, QFrame, QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from advisor.recommend import undo_text
from ui.common import theme
from ui.common.dialogs import show_outline
from ui.common.labels import MutedLabel, UnitAwareLabel, enlarge, plain_label, plain_tip
from ui.overview.advice_text import change_text, confidence_names, option_label, scope_names, status_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.recommendation import Recommendation, SystemWarning


class AdviceCard(QFrame):
    """Card for the recommendations of one rule, which differ only in their options and values.

    Signals:
        included: option name, and whether its recommendation is included in the advice.
    """

    included = Signal(str, bool)

    def __init__(self, items: Sequence[Recommendation]) -> None:
        super().__init__()
        first = items[0]
        self.setObjectName(f"advice-{first.rule or 'measured'}")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 10, 14, 10)
        layout.setSpacing(5)
        layout.addLayout(self._changes(items))
        layout.addWidget(UnitAwareLabel(first.reason))
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        evidence = "; ".join(first.evidence)
        rows = [
            (self.tr("Expect"), first.effect), (self.tr("Risk"), first.risk),
            (self.tr("Because of"), evidence), (self.tr("Undo"), undo_text(items, option_label)),
        ]  # fmt: skip
        for name, text in rows:
            if text:
                row = grid.rowCount()
                grid.addWidget(MutedLabel(name), row, 0, Qt.AlignmentFlag.AlignTop)
                grid.addWidget(UnitAwareLabel(text), row, 1)
        layout.addLayout(grid)
        self._steps = _steps(first.how_to)
        layout.addWidget(self._steps)
        self._add_foot(layout, first)

    def _changes(self, items: Sequence[Recommendation]) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(1)
        grid.setColumnStretch(4, 1)
        for row, item in enumerate(items):
            text = change_text(item)
            name, proposed = (
                plain_label(words) if item.included else MutedLabel(words)
                for words in (text.label, text.proposed)
            )
            for label in (name, proposed):
                enlarge(label, 1.05, bold=item.included)
            name.setToolTip(plain_tip(item.option))
            if item.scope != "host":  # “Use recommended” changes only the mount, not the host
                grid.addWidget(self._include_box(item, text.label), row, 0)
            grid.addWidget(name, row, 1)
            grid.addWidget(MutedLabel(text.current), row, 2)
            grid.addWidget(plain_label("→"), row, 3)
            grid.addWidget(proposed, row, 4)
        return grid

    def _include_box(self, item: Recommendation, label: str) -> QCheckBox:
        box = QCheckBox()
        show_outline(box)
        box.setObjectName(f"include-{item.option}")
        box.setChecked(item.included)
        box.setAccessibleName(self.tr("Include {name}").format(name=label))
        box.setToolTip(self.tr("Part of “Use recommended”. Clear it to leave this change out."))
        box.toggled.connect(partial(self.included.emit, item.option))
        return box

    def _add_foot(self, layout: QVBoxLayout, item: Recommendation) -> None:
        foot = QHBoxLayout()
        foot.setSpacing(12)
        facts = [confidence_names()[item.confidence], status_names()[item.status], scope_names()[item.scope]]
        summary = MutedLabel("  ·  ".join(fact for fact in facts if fact), wrap=True)
        if item.how_to:
            # On a separate line, because two buttons need the whole width of a narrow window.
            layout.addWidget(summary)
            foot.addStretch(1)
            words = self.tr("How to…") if item.scope == "host" else self.tr("How long it lasts…")
            foot.addWidget(_steps_button(words, self._steps))
        else:
            foot.addWidget(summary, 1)
        foot.addWidget(source_button(item.source, item.link))
        layout.addLayout(foot)


class SystemWarningBox(QFrame):
    """Box in the warning color for a problem of the system that mount options cannot fix."""

    def __init__(self, warning: SystemWarning) -> None:
        super().__init__()
        self.setObjectName("attention")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._word = plain_label(self.tr("⚠ Look at this first"))
        enlarge(self._word, 1.0, bold=True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 10, 14, 10)
        layout.addWidget(self._word)
        layout.addWidget(UnitAwareLabel(f"{warning.text} {warning.reason}"))
        foot = QHBoxLayout()
        foot.addWidget(UnitAwareLabel("; ".join(warning.evidence)), 1)
        if warning.how_to:
            steps = _steps(warning.how_to)
            layout.addWidget(steps)
            foot.addWidget(_steps_button(self.tr("How to…"), steps))
        foot.addWidget(source_button(warning.source, warning.link))
        layout.addLayout(foot)
        self._update_colors()

    def _update_colors(self) -> None:
        theme.tint(self._word, theme.colors().warn)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_word"):
            self._update_colors()


def source_button(source: str, link: str) -> QWidget:
    """Return a label with the source of a recommendation, or a button that opens its https address."""
    words = source if len(source) <= _SOURCE_LENGTH else f"{source[:_SOURCE_LENGTH].rstrip()}…"
    if not link.startswith("https://"):
        label = MutedLabel(QCoreApplication.translate("advice", "Source: {words}").format(words=words))
        label.setToolTip(plain_tip(source))
        return label
    button = QPushButton(QCoreApplication.translate("advice", "Source: {words} ↗").format(words=words))
    button.setFlat(True)
    button.setToolTip(plain_tip(f"{source}\n{link}"))
    button.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(link)))
    return button


def _steps(lines: Sequence[str]) -> QWidget:
    steps = UnitAwareLabel("\n".join(lines))
    steps.setObjectName("how-to-steps")
    steps.hide()
    return steps


def _steps_button(words: str, steps: QWidget) -> QPushButton:
    button = QPushButton(words)
    button.setObjectName("how-to")
    button.setCheckable(True)
    button.toggled.connect(steps.setVisible)
    return button


#: Maximum length of a source's text, characters; the tool tip has the full text.
_SOURCE_LENGTH = 32

"""Headline card: the one thing about a mount that matters most now, with one accented button."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton

from ui.common.cards import Card, CardKind, Headline, primary_button, text_button
from ui.common.icons import icon
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.headline import HeadlineCode


class OverviewAction(StrEnum):
    """Action of a button of the overview."""

    TRY = "try"
    APPLY = "apply"
    USE = "use"
    WHY = "why"
    TEST = "test"
    EXPERIMENT = "experiment"
    CHECK_SERVER = "check-server"
    CHECK_NAME = "check-name"
    UNMOUNT = "unmount"
    REMOUNT = "remount"
    SAVE = "save"
    MOUNT = "mount"
    REFRESH = "refresh"


class HeadlineStyle(NamedTuple):
    """Icon and kind of a headline, its accented action, and its other actions."""

    icon: str
    kind: CardKind
    primary: OverviewAction | None
    others: tuple[OverviewAction, ...] = ()


_A = OverviewAction
HEADLINE_STYLES: dict[HeadlineCode, HeadlineStyle] = {
    "gain": HeadlineStyle("speed", CardKind.ACCENT, _A.TRY, (_A.APPLY, _A.WHY)),
    "recommended": HeadlineStyle("warning", CardKind.WARNING, _A.APPLY, (_A.WHY,)),
    "full-link": HeadlineStyle("check", CardKind.OK, _A.TEST),
    "held-back": HeadlineStyle("info", CardKind.PLAIN, _A.EXPERIMENT, (_A.TEST,)),
    "not-measured": HeadlineStyle("speed", CardKind.PLAIN, _A.TEST),
    "not-responding": HeadlineStyle("error", CardKind.ERROR, _A.CHECK_SERVER, (_A.UNMOUNT,)),
    "stale": HeadlineStyle("error", CardKind.ERROR, _A.REMOUNT, (_A.CHECK_SERVER, _A.UNMOUNT)),
    "ends-at-boot": HeadlineStyle("clock", CardKind.WARNING, _A.SAVE, (_A.TEST,)),
    "no-address": HeadlineStyle("question", CardKind.WARNING, _A.CHECK_NAME),
    "not-mounted": HeadlineStyle("eject", CardKind.PLAIN, _A.MOUNT),
}


#: Actions of text buttons, from left to right.
_TEXT_ACTIONS = (_A.APPLY, _A.TEST, _A.CHECK_SERVER, _A.UNMOUNT, _A.WHY)
#: Actions that measure or change something.
_BLOCKED_ACTIONS = frozenset({_A.TRY, _A.APPLY, _A.TEST, _A.SAVE, _A.MOUNT, _A.REMOUNT, _A.UNMOUNT})


def action_texts() -> dict[OverviewAction, str]:
    """Return the text of each action's button."""
    return {
        _A.TRY: tr("Try It and &Measure"),
        _A.APPLY: tr("Appl&y Untested…"),
        _A.USE: tr("Use &Recommended"),
        _A.WHY: tr("&Why?"),
        _A.TEST: tr("Test the &Speed"),
        _A.EXPERIMENT: tr("Try Other Settings"),
        _A.CHECK_SERVER: tr("Check Server"),
        _A.CHECK_NAME: tr("Check the Name"),
        _A.UNMOUNT: tr("Unmount…"),
        _A.REMOUNT: tr("Remount…"),
        _A.SAVE: tr("Save at Boot…"),
        _A.MOUNT: tr("Mount"),
        _A.REFRESH: tr("Retry"),
    }


class HeadlineCard(Card):
    """Title, sentences, and the buttons of the headline.

    Signals:
        triggered: a button was clicked; its OverviewAction.
    """

    triggered = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("overview-headline-card")
        self.headline = Headline()
        self.headline.setObjectName("overview-headline")
        self._primary_action: OverviewAction | None = None
        self._primary = primary_button("")
        self._primary.clicked.connect(self._on_primary)
        # Made at once, so that a button keeps the focus when the headline changes.
        self._others = {action: self._text_button(action) for action in _TEXT_ACTIONS}
        self._why_open = False
        row = QHBoxLayout()
        row.setSpacing(8)
        for button in (self._primary, *self._others.values()):
            button.hide()
            row.addWidget(button)
        row.addStretch(1)
        self.body.addWidget(self.headline)
        self.body.addLayout(row)

    def _text_button(self, action: OverviewAction) -> QPushButton:
        button = text_button("")
        button.clicked.connect(partial(self.triggered.emit, action))
        return button

    def show_headline(
        self,
        style: HeadlineStyle,
        title: str,
        lines: Sequence[str] = (),
        *,
        notes: dict[OverviewAction, str] | None = None,
    ) -> None:
        """Show a headline.

        Args:
            style: icon, kind and actions.
            title: short sentence.
            lines: further sentences, one below the other.
            notes: texts that replace the texts of buttons.
        """
        self.set_kind(style.kind)
        self.headline.set_text(style.icon, title, "\n".join(lines), style.kind)
        texts = action_texts() | (notes or {})
        self._primary_action = style.primary
        self._show_button(self._primary, style.primary, texts)
        for action, button in self._others.items():
            self._show_button(button, action if action in style.others else None, texts)
        self._show_why()

    def _show_button(
        self, button: QPushButton, action: OverviewAction | None, texts: dict[OverviewAction, str]
    ) -> None:
        """Let a button stand for an action, or hide it for None."""
        button.setVisible(action is not None)
        button.setObjectName("" if action is None else f"overview-{action}")
        button.setText("" if action is None else texts[action])

    def _on_primary(self) -> None:
        if self._primary_action is not None:
            self.triggered.emit(self._primary_action)

    def set_why_open(self, *, on: bool) -> None:
        """Show whether the reasons are unfolded."""
        self._why_open = on
        self._show_why()

    def set_blocked(self, why: str) -> None:
        """Disable the actions that measure or change something while another one runs; "" allows them."""
        for action, button in ((self._primary_action, self._primary), *self._others.items()):
            if action in _BLOCKED_ACTIONS:
                button.setEnabled(not why)
                button.setToolTip(why)
            else:
                button.setEnabled(True)
                button.setToolTip("")

    def _show_why(self) -> None:
        name = "chevron-down" if self._why_open else "chevron-right"
        self._others[_A.WHY].setIcon(icon(name, "accent"))

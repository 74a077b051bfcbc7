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


def action_texts() -> dict[OverviewAction, str]:
    """Return the text of each action's button."""
    return {
        _A.TRY: tr("&Try It and Measure"),
        _A.APPLY: tr("Appl&y Untested…"),
        _A.USE: tr("Use &Recommended"),
        _A.WHY: tr("&Why?"),
        _A.TEST: tr("&Test the Speed"),
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
        self._row = QHBoxLayout()
        self._row.setSpacing(8)
        self._buttons: dict[OverviewAction, QPushButton] = {}
        self._style: tuple[object, ...] = ()
        self._why_open = False
        self.body.addWidget(self.headline)
        self.body.addLayout(self._row)

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
        actions = [action for action in (style.primary, *style.others) if action is not None]
        if (style.primary, *style.others) != self._style:
            self._style = (style.primary, *style.others)
            self._make_buttons(style.primary, actions)
        for action in actions:
            self._buttons[action].setText(texts[action])
        self._show_why()

    def _make_buttons(self, primary: OverviewAction | None, actions: Sequence[OverviewAction]) -> None:
        while (item := self._row.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.setObjectName("")
                widget.deleteLater()
        self._buttons = {}
        for action in actions:
            button = primary_button("") if action is primary else text_button("")
            button.setObjectName(f"overview-{action}")
            button.clicked.connect(partial(self.triggered.emit, action))
            self._buttons[action] = button
            self._row.addWidget(button)
        self._row.addStretch(1)

    def set_why_open(self, *, on: bool) -> None:
        """Show whether the reasons are unfolded."""
        self._why_open = on
        self._show_why()

    def set_blocked(self, why: str) -> None:
        """Disable the actions that measure or change something while another one runs; "" allows them."""
        for action in (_A.TRY, _A.APPLY, _A.TEST, _A.SAVE, _A.MOUNT, _A.REMOUNT, _A.UNMOUNT):
            button = self._buttons.get(action)
            if button is not None:
                button.setEnabled(not why)
                button.setToolTip(why)

    def _show_why(self) -> None:
        button = self._buttons.get(_A.WHY)
        if button is not None:
            button.setIcon(icon("chevron-down" if self._why_open else "chevron-right", "accent"))

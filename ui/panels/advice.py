"""Advice: what leads to the server, what to change on the mount and why, and one button that takes it all."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.errors import AppError
from ui.advice_text import expected_text, option_label, other_text
from ui.panels.advice_question import AdviceQuestion
from ui.widgets.advice_card import AdviceCard, AttentionBox
from ui.widgets.labels import MutedLabel, heading, plain_label
from ui.words import link_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtGui import QShowEvent

    from app.advice import AdviceArgs, AdviceResult
    from app.mounts.model import Mount
    from ui.bridge import BridgeCall


class AdvicePanel(QWidget):
    """Asks for advice when it is seen, and shows it.

    Signals:
        use_chosen: the person wants all recommendations for the mount (AdviceResult).
        advised: an answer came (AdviceResult), or None: there is none any more.
    """

    use_chosen = Signal(object)
    advised = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall]) -> None:
        super().__init__()
        self._submit = submit
        #: Mount point (of a mount) and share (of a new one as well).
        self._subject = ("", "")
        self._options = ""
        self._result: AdviceResult | None = None
        self._call: BridgeCall | None = None
        self._asked: AdviceArgs | None = None
        self._link = plain_label(wrap=True)
        self._link.setObjectName("advice-link")
        self._question = AdviceQuestion()
        self._question.changed.connect(self._ask)
        self._summary = heading("")
        self._summary.setObjectName("advice-summary")
        self._use = QPushButton(self.tr("Use &recommended"))
        self._use.setObjectName("use-recommended")
        self._use.setToolTip(self.tr("Fill the settings with these values. Nothing is mounted by that."))
        self._use.clicked.connect(self._on_use)
        self._page = QWidget()
        self._body = QVBoxLayout()
        self._lay_out()

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.addWidget(self._summary, 1)
        top.addWidget(self._use)
        self._body.setSpacing(10)
        layout = QVBoxLayout(self._page)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(10)
        layout.addWidget(self._link)
        layout.addWidget(self._question)
        layout.addLayout(top)
        layout.addLayout(self._body)
        layout.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidget(self._page)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scroll)

    # What the window tells

    def set_subject(self, mount: Mount | None, share: str, options: str) -> None:
        """Advise on this mount, or on this share for a new one, with the options that the form asks for."""
        if (mount.mount_point if mount is not None else "", share) != self._subject:
            self._forget_answer()
        self._subject = (mount.mount_point if mount is not None else "", share)
        self._options = options
        if self.isVisible():
            self._ask()

    def forget(self) -> None:
        """Another host is shown now."""
        self._subject, self._options = ("", ""), ""
        self._forget_answer()

    def _forget_answer(self) -> None:
        if self._call is not None:
            self._call.cancel()
        self._call = self._asked = self._result = None
        self.advised.emit(None)
        self._show()

    def _ask(self) -> None:
        args = self._question.args(*self._subject, self._options)
        if args is None:
            self._forget_answer()
            self._summary.setText(self._question.wanting())
            return
        if args == self._asked:
            return
        if self._call is not None:
            self._call.cancel()
            self._call = None
        self._asked = args
        try:
            call = self._submit("advice.get", args)
        except AppError as error:
            self._show_failure(error)
            return
        self._call = call
        if self._result is None:
            self._summary.setText(self.tr("Looking at the link and the server…"))
        call.succeeded.connect(partial(self._on_answer, call))
        call.failed.connect(partial(self._on_failure, call))

    def _on_answer(self, call: BridgeCall, result: AdviceResult) -> None:
        if call is self._call:
            self._call = None
            self._result = result
            self.advised.emit(None if self._question.elsewhere else result)
            self._show()

    def _on_failure(self, call: BridgeCall, error: AppError) -> None:
        if call is self._call:
            self._call = self._result = None
            self.advised.emit(None)
            self._show_failure(error)

    def _on_use(self) -> None:
        if self._result is not None:
            self.use_chosen.emit(self._result)

    # What is shown

    def _show_failure(self, error: AppError) -> None:
        self._clear()
        self._use.setVisible(False)
        self._summary.setText(self.tr("No advice: {message}").format(message=error.message))
        if error.hint:
            self._body.addWidget(plain_label(error.hint, wrap=True))

    def _show(self) -> None:
        self._clear()
        result = self._result
        self._use.setVisible(result is not None and bool(result.recommendations))
        self._use.setEnabled(not self._question.elsewhere)
        if result is None:
            self._summary.setText("")
            self._link.setText("")
            return
        self._link.setText(link_line(result.facts))
        count = len(result.recommendations)
        self._summary.setText(
            self.tr("Nothing to change.") if not count
            else self.tr("One thing to change") if count == 1
            else self.tr("{count} things to change").format(count=count)
        )  # fmt: skip
        for matter in result.attention:
            self._body.addWidget(AttentionBox(matter))
        for _key, group in groupby(result.recommendations, key=lambda item: (item.rule, item.reason)):
            self._body.addWidget(AdviceCard(list(group)))
        self._section(self.tr("Expected speed of large files, from a model"), expected_text(result.expected))
        self._section(
            self.tr("Right as it is"),
            [f"{option_label(name)}: {reason}" for name, reason in result.agreed.items()],
        )
        self._section(
            self.tr("Not recommended"),
            [f"{other_text(other)}. {other.reason}" for other in result.not_recommended],
        )
        self._section(
            self.tr("Not known, and so not taken into account"),
            [f"{name.replace('_', ' ')}: {why}" for name, why in result.unknown.items()],
        )

    def _section(self, title: str, lines: Sequence[str]) -> None:
        if not lines:
            return
        self._body.addWidget(heading(title, scale=1.0))
        for line in lines:
            self._body.addWidget(MutedLabel(line, wrap=True))

    def _clear(self) -> None:
        while (item := self._body.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: ask once somebody looks."""
        super().showEvent(event)
        self._ask()

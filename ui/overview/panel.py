"""Advice page: the link to the server, recommended changes with reasons, and one button to use them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.history import queries
from ui.common.bridge import LatestCall
from ui.common.labels import UnitAwareLabel, heading
from ui.common.layout import PageScrollArea
from ui.common.speed_units import SPEED_UNITS
from ui.overview.answer import AdviceAnswer
from ui.overview.facts_card import FactsCard
from ui.overview.question import AdviceForm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtGui import QShowEvent

    from advisor.recommend import MeasuredOption
    from app.errors import AppError
    from app.mounts.model import Mount
    from app.service.advice import AdviceArgs, AdviceResult
    from ui.common.bridge import BridgeCall, RunInThread
    from ui.common.mount_request import MountRequest


class BeforeAfterBox(QFrame):
    """Hidden until there is something to say.

    Signals:
        stop_clicked: give it up.
        back_clicked: apply what was before again.
    """

    stop_clicked = Signal()
    back_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("trial")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._text = UnitAwareLabel()
        self._text.setObjectName("trial-text")
        self._title = heading("", scale=1.0)
        self._title.setObjectName("trial-title")
        self._running = self._offered = False
        #: The mount point that it is about, and the one that is shown.
        self._place = self._shown = ""
        self._button = QPushButton()
        self._button.setObjectName("trial-stop")
        self._button.clicked.connect(self._on_clicked)
        self._back = QPushButton(self.tr("Put the old values &back…"))
        self._back.setObjectName("trial-back")
        self._back.clicked.connect(self.back_clicked)
        self._back.hide()
        texts = QVBoxLayout()
        texts.addWidget(self._title)
        texts.addWidget(self._text)
        texts.addWidget(self._back, 0, Qt.AlignmentFlag.AlignLeft)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(14, 8, 14, 10)
        layout.addLayout(texts, 1)
        layout.addWidget(self._button, 0, Qt.AlignmentFlag.AlignTop)
        self.hide()

    def say(self, place: str, text: str, *, running: bool) -> None:
        """Say where the test of a mount point is, and whether it goes on."""
        self._running = running
        self._place = place
        self._title.setText(self.tr("Test before and after: {path}").format(path=place))
        self._text.say(text)
        self.offer_restore(offered=False)
        self._button.setText(self.tr("&Stop") if running else self.tr("&Close"))
        self.show()

    def offer_restore(self, *, offered: bool) -> None:
        """Offer to apply again what was before: the change made it slower."""
        self._offered = offered
        self._back.setVisible(offered and self._place == self._shown)

    def look_at(self, place: str) -> None:
        """Another mount is shown: what was before is put back only where it was."""
        self._shown = place
        self.offer_restore(offered=self._offered)

    def _on_clicked(self) -> None:
        if self._running:
            self.stop_clicked.emit()
        else:
            self.hide()


#: A share, and the name of the lab's link or "".
_Place = tuple[str, str]
#: The form is let settle before it is judged: each question looks at the link and the server, milliseconds.
_PAUSE_MS = 400


class AdvicePanel(QWidget):
    """Asks for advice on the mount that is shown, in the background, and shows it.

    A new mount is asked about once somebody looks: its share is still being typed.

    Signals:
        use_chosen: the person wants all recommendations for the mount (AdviceResult).
        try_chosen: the recommendations are to be tested before and after (AdviceResult, mount point).
        advised: an answer came (AdviceResult), or None: there is none any more.
        failed: what was measured could not be kept or looked up (AppError).
    """

    use_chosen = Signal(object)
    try_chosen = Signal(object, str)
    advised = Signal(object)
    failed = Signal(object)

    def __init__(
        self,
        submit: Callable[[str, Any], BridgeCall],
        run: RunInThread,
    ) -> None:
        super().__init__()
        self._call = LatestCall(submit)
        self._run = run
        self._mount: Mount | None = None
        self._request: MountRequest | None = None
        self._result: AdviceResult | None = None
        #: The question and the state of the mount that the answer is for.
        self._asked: tuple[AdviceArgs, object] | None = None
        self._facts = FactsCard()
        self._facts.refresh_clicked.connect(self._on_refresh)
        self._question = AdviceForm()
        self._question.changed.connect(self._ask)
        SPEED_UNITS.changed.connect(self._on_units)
        self._answer = AdviceAnswer()
        self._answer.use_clicked.connect(self._on_use)
        self._answer.try_clicked.connect(self._on_try)
        self._answer.included.connect(self._on_included)
        #: Options whose recommendations the person leaves out.
        self._without: set[str] = set()
        #: The check box that was clicked, for the keyboard to stay on.
        self._focus = ""
        self.trial = BeforeAfterBox()
        #: What tests have found, by share and the lab's link, and by option.
        self._measured: dict[_Place, dict[str, MeasuredOption]] = {}
        self._link = ""
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._pause.timeout.connect(self._ask)
        self._lay_out()

    def _lay_out(self) -> None:
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(10)
        layout.addWidget(self._facts)
        layout.addWidget(self._question)
        layout.addWidget(self.trial)
        layout.addWidget(self._answer)
        layout.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(PageScrollArea(page, self.tr("Advice")))

    # What the window tells

    def set_target(self, mount: Mount | None, request: MountRequest) -> None:
        """Advise on this mount, or on the share of a new one, with what the form asks for."""
        before = (
            self._mount.mount_point if self._mount else "",
            self._request.share if self._request else "",
        )
        if (mount.mount_point if mount else "", request.share) != before:
            self._without.clear()
            self._clear_answer()
        self._mount, self._request = mount, request
        if (mount is not None or self.isVisible()) and self._key() != self._asked:
            self._pause.start()

    def reset(self) -> None:
        """Another host is shown now."""
        self._mount = self._request = None
        self._measured.clear()
        self.trial.hide()
        self._clear_answer()

    def take_link(self, name: str) -> None:
        """Ask again: the lab's link is this one now, and what was advised rests on another."""
        self._clear_answer()
        self._link = name
        if self._mount is not None or self.isVisible():
            self._ask()

    def remember(self, share: str, link: str, findings: Sequence[MeasuredOption]) -> None:
        """Take what tests on a share over a link of the lab (else "") have found into account from now on.

        It is kept for later sessions, too.
        """
        if not findings:
            return
        self._take((share, link), findings)
        kept = self._run("history", lambda: queries.save_findings(share, link, findings))
        kept.failed.connect(self.failed)

    def _load_history(self, result: AdviceResult) -> None:
        """Look up what earlier sessions found, once for each share and link."""
        found = result.facts.link
        self._link = found.name if found is not None and found.emulated else ""
        place = (self._request.share if self._request is not None else "", self._link)
        if place[0] and place not in self._measured:
            self._measured[place] = {}
            call = self._run("history", lambda: queries.load_findings(*place))
            call.succeeded.connect(partial(self._take, place))
            call.failed.connect(partial(self._on_history_failed, place))

    def _on_history_failed(self, place: _Place, error: AppError) -> None:
        if self._request is not None and place == (self._request.share, self._link):
            self.failed.emit(error)
        elif not self._measured.get(place):
            self._measured.pop(place, None)  # it is looked up, and told of, when it is shown again

    def _take(self, place: _Place, findings: Sequence[MeasuredOption]) -> None:
        known = self._measured.setdefault(place, {})
        for item in findings:
            # As the history does it: what was not decided takes nothing back that was.
            before = known.get(item.option)
            if item.status != "untested" or before is None or before.status == "untested":
                known[item.option] = item
        if findings:
            self._ask()

    def _clear_answer(self) -> None:
        self._pause.stop()
        self._call.cancel()
        self._asked = self._result = None
        self.advised.emit(None)
        self._show()

    # Asking

    def _key(self) -> tuple[AdviceArgs, object] | None:
        mount, request = self._mount, self._request
        if request is None:
            return None
        args = self._question.args(mount.mount_point if mount else "", request.share, request.options)
        if args is None:
            return None
        active = mount.active if mount is not None and not self._question.elsewhere else None
        state = (active.options, active.read_ahead_kb) if active is not None else None
        measured = tuple(self._measured.get((request.share, self._link), {}).values())
        measured = () if self._question.elsewhere else measured
        args = msgspec.structs.replace(
            args,
            read_ahead_kb=request.read_ahead_kb,
            measured=measured,
            without=tuple(sorted(self._without)),
        )
        return args, state

    def _ask(self) -> None:
        self._pause.stop()
        key = self._key()
        if key is None:
            self._clear_answer()
            self._answer.show_text(self._question.missing_text())
            return
        if key == self._asked:
            return
        self._call.cancel()
        self._asked = key
        if self._call.ask("advice.get", key[0], self._on_answer, self._on_failure) and self._result is None:
            self._answer.show_text(self.tr("Looking at the link and the server…"))

    def _on_refresh(self) -> None:
        self._asked = None
        self._ask()

    def _on_answer(self, result: AdviceResult) -> None:
        self._result = result
        self._load_history(result)
        self.advised.emit(None if self._question.elsewhere else result)
        self._show()
        box = self._answer.findChild(QCheckBox, self._focus) if self._focus else None
        self._focus = ""
        if box is not None:
            box.setFocus()

    def _on_failure(self, error: AppError) -> None:
        self._result = None
        self.advised.emit(None)
        self._show()
        self._answer.show_failure(error)

    def _on_use(self) -> None:
        if self._result is not None:
            self.use_chosen.emit(self._result)

    def _on_try(self) -> None:
        if self._result is not None and self._mount is not None:
            self.try_chosen.emit(self._result, self._mount.mount_point)

    def _on_included(self, option: str, *chosen: bool) -> None:
        (self._without.discard if all(chosen) else self._without.add)(option)
        self._focus = f"include-{option}"
        self._ask()

    def _on_units(self) -> None:
        if self._result is not None:
            self._show()

    def _show(self) -> None:
        result = self._result
        self._facts.show_facts(result.facts if result is not None else None)
        if result is None:
            self._answer.show_text("")
        else:
            mounted = self._mount is not None and self._mount.active is not None
            self._answer.show_result(result, elsewhere=self._question.elsewhere, mounted=mounted)

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: ask once somebody looks."""
        super().showEvent(event)
        self._ask()

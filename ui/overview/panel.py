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

    from advisor.recommendation import MeasuredOption
    from app.errors import AppError
    from app.mounts.model import Mount
    from app.service.model import AdviceArgs, AdviceResult
    from ui.common.bridge import BridgeCall, RunInThread
    from ui.common.mount_request import MountRequest


class BeforeAfterBox(QFrame):
    """Progress and result of the before-and-after test; hidden until a test starts.

    Signals:
        stop_clicked: stop the test.
        back_clicked: apply the previous settings again.
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
        #: Mount point of the test, and mount point shown on the page.
        self._mount_point = self._shown_mount_point = ""
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
        """Show the progress or the result of a test.

        Args:
            place: mount point of the test.
            text: progress or result, in sentences.
            running: whether the test continues.
        """
        self._running = running
        self._mount_point = place
        self._title.setText(self.tr("Test before and after: {path}").format(path=place))
        self._text.say(text)
        self.offer_restore(offered=False)
        self._button.setText(self.tr("&Stop") if running else self.tr("&Close"))
        self.show()

    def offer_restore(self, *, offered: bool) -> None:
        """Show or hide the button that restores the settings from before the change."""
        self._offered = offered
        self._back.setVisible(offered and self._mount_point == self._shown_mount_point)

    def look_at(self, place: str) -> None:
        """Set the mount point shown on the page; only the tested mount offers its previous settings."""
        self._shown_mount_point = place
        self.offer_restore(offered=self._offered)

    def _on_clicked(self) -> None:
        if self._running:
            self.stop_clicked.emit()
        else:
            self.hide()


#: Share, and name of the lab's link; "" outside the lab.
_ShareAndLink = tuple[str, str]
#: Delay between the last edit of the form and the request, ms; each request examines the link and the server.
_PAUSE_MS = 400


class AdvicePanel(QWidget):
    """Requests advice on the mount shown, in the background, and shows it.

    Advice on a new mount is requested only while the page is visible, because its share may be incomplete.

    Signals:
        use_chosen: the AdviceResult whose included recommendations the user wants in the form.
        try_chosen: the AdviceResult and the mount point for which the user wants the before-and-after test.
        advised: a new AdviceResult, or None when the last one is outdated.
        failed: the AppError of measured results that could not be saved or loaded.
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
        #: Request that was sent last, and the mount's options and readahead at that time.
        self._last_key: tuple[AdviceArgs, object] | None = None
        self._facts = FactsCard()
        self._facts.refresh_clicked.connect(self._on_refresh)
        self._question = AdviceForm()
        self._question.changed.connect(self._ask)
        SPEED_UNITS.changed.connect(self._on_units)
        self._answer = AdviceAnswer()
        self._answer.use_clicked.connect(self._on_use)
        self._answer.try_clicked.connect(self._on_try)
        self._answer.included.connect(self._on_included)
        #: Options whose recommendations the user excluded.
        self._excluded: set[str] = set()
        #: Object name of the check box that was clicked, to restore its keyboard focus.
        self._focused_box = ""
        self.trial = BeforeAfterBox()
        #: Measured effect of each option, by share and lab link, then by option name.
        self._measured: dict[_ShareAndLink, dict[str, MeasuredOption]] = {}
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

    # Called by the mount page

    def set_target(self, mount: Mount | None, request: MountRequest) -> None:
        """Set the mount (None for a draft) and the values of the form; request new advice if they changed."""
        before = (
            self._mount.mount_point if self._mount else "",
            self._request.share if self._request else "",
        )
        if (mount.mount_point if mount else "", request.share) != before:
            self._excluded.clear()
            self._clear_answer()
        self._mount, self._request = mount, request
        if (mount is not None or self.isVisible()) and self._key() != self._last_key:
            self._pause.start()

    def reset(self) -> None:
        """Clear the page, because the window switches to another host."""
        self._mount = self._request = None
        self._measured.clear()
        self.trial.hide()
        self._clear_answer()

    def take_link(self, name: str) -> None:
        """Discard the advice and request it again, because the lab's link changed to this one."""
        self._clear_answer()
        self._link = name
        if self._mount is not None or self.isVisible():
            self._ask()

    def remember(self, share: str, link: str, findings: Sequence[MeasuredOption]) -> None:
        """Use measured effects of options in the advice, and save them for later sessions.

        Args:
            share: share of the tests.
            link: name of the lab's link, or "" outside the lab.
            findings: measured effect of each option.
        """
        if not findings:
            return
        self._add_findings((share, link), findings)
        call = self._run("history", lambda: queries.save_findings(share, link, findings))
        call.failed.connect(self.failed)

    def _load_history(self, result: AdviceResult) -> None:
        """Load the measured effects of earlier sessions, once for each share and link."""
        link = result.facts.link
        self._link = link.name if link is not None and link.emulated else ""
        key = (self._request.share if self._request is not None else "", self._link)
        if key[0] and key not in self._measured:
            self._measured[key] = {}
            call = self._run("history", lambda: queries.load_findings(*key))
            call.succeeded.connect(partial(self._add_findings, key))
            call.failed.connect(partial(self._on_history_failed, key))

    def _on_history_failed(self, key: _ShareAndLink, error: AppError) -> None:
        if self._request is not None and key == (self._request.share, self._link):
            self.failed.emit(error)
        elif not self._measured.get(key):
            self._measured.pop(key, None)  # loaded again, with an error report, when the share is shown again

    def _add_findings(self, key: _ShareAndLink, findings: Sequence[MeasuredOption]) -> None:
        known = self._measured.setdefault(key, {})
        for item in findings:
            # As in the history, an undecided test does not replace a decided one.
            before = known.get(item.option)
            if item.status != "untested" or before is None or before.status == "untested":
                known[item.option] = item
        if findings:
            self._ask()

    def _clear_answer(self) -> None:
        self._pause.stop()
        self._call.cancel()
        self._last_key = self._result = None
        self.advised.emit(None)
        self._show()

    # Requests

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
            without=tuple(sorted(self._excluded)),
        )
        return args, state

    def _ask(self) -> None:
        self._pause.stop()
        key = self._key()
        if key is None:
            self._clear_answer()
            self._answer.show_text(self._question.missing_text())
            return
        if key == self._last_key:
            return
        self._call.cancel()
        self._last_key = key
        if self._call.ask("advice.get", key[0], self._on_answer, self._on_failure) and self._result is None:
            self._answer.show_text(self.tr("Looking at the link and the server…"))

    def _on_refresh(self) -> None:
        self._last_key = None
        self._ask()

    def _on_answer(self, result: AdviceResult) -> None:
        self._result = result
        self._load_history(result)
        self.advised.emit(None if self._question.elsewhere else result)
        self._show()
        box = self._answer.findChild(QCheckBox, self._focused_box) if self._focused_box else None
        self._focused_box = ""
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
        (self._excluded.discard if all(chosen) else self._excluded.add)(option)
        self._focused_box = f"include-{option}"
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
        """Qt: request advice when the page becomes visible."""
        super().showEvent(event)
        self._ask()

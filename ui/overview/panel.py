"""Overview of a mount: headline with one button, last test, link and traffic, and the reasons folded."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QVBoxLayout, QWidget

from app.history import queries
from app.history.last_test import find_last_tests
from app.mounts.model import Mount
from app.service.before_after import predicted_duration
from app.service.headline import last_test_of, mount_headline
from app.service.model import AdviceArgs
from app.text.headline import headline_text
from ui.common.bridge import LatestCall
from ui.common.cards import CardKind, text_button
from ui.common.layout import CollapsibleSection, PageColumn, PageScrollArea
from ui.common.speed_units import SPEED_UNITS
from ui.overview.answer import AdviceLists, Recommendations
from ui.overview.before_after import BeforeAfterCard, BeforeAfterController, time_text
from ui.overview.facts_card import FactsTable, fact_rows
from ui.overview.headline_card import HEADLINE_STYLES, HeadlineCard, HeadlineStyle, OverviewAction
from ui.overview.other_machine import OtherMachine
from ui.overview.question import UseForm
from ui.overview.sections import ExpectedSpeed
from ui.overview.tiles import OverviewTiles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtGui import QShowEvent

    from advisor.recommendation import MeasuredOption
    from app.errors import AppError
    from app.history.last_test import LastTest
    from app.service.model import AdviceResult, BeforeAfterReport
    from app.stats.model import SpeedsSample
    from ui.common.bridge import BridgeCall, RunInThread
    from ui.common.mount_request import MountRequest

#: Share, and name of the lab's link; "" outside the lab.
_ShareAndLink = tuple[str, str]
#: Delay between the last edit of the form and the request, ms; each request examines the link and the server.
_PAUSE_MS = 400
#: Interval at which a duration in the headline is updated, ms.
_TICK_MS = 1000


class OverviewPanel(QWidget):
    """Requests advice on the mount shown, in the background, and shows what matters most about the mount.

    Advice on a new mount is requested only while the page is visible, because its share may be incomplete.

    Signals:
        triggered: the user chose an action that another part of the window carries out; its OverviewAction.
        use_chosen: the AdviceResult whose included recommendations the user wants in the form.
        apply_chosen: the AdviceResult whose included recommendations the user wants applied.
        watch_clicked: the user wants the live page.
        check_clicked: the user wants to check the server of this name.
        advised: a new AdviceResult, or None when the last one is outdated.
        busy_changed: a before-and-after test began or ended.
        recorded: a test of a before-and-after test was saved in the history.
        failed: the AppError of a test, or of measured results that could not be saved or loaded.
    """

    triggered = Signal(object)
    use_chosen = Signal(object)
    apply_chosen = Signal(object)
    watch_clicked = Signal()
    check_clicked = Signal(str)
    advised = Signal(object)
    busy_changed = Signal()
    recorded = Signal()
    failed = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], run: RunInThread) -> None:
        super().__init__()
        self._call = LatestCall(submit)
        self._tests_call = LatestCall(submit)
        self._run = run
        self._mount: Mount | None = None
        self._request: MountRequest | None = None
        self._result: AdviceResult | None = None
        self._failure: AppError | None = None
        self._last_tests: Sequence[LastTest] = ()
        self._clock_ahead_s = 0.0
        self._blocked = ""
        #: Request that was sent last, and the mount's options and readahead at that time.
        self._last_key: tuple[AdviceArgs, object] | None = None
        #: Share and link of the tests that were requested last.
        self._tests_key: _ShareAndLink = ("", "")
        #: Options whose recommendations the user excluded.
        self._excluded: set[str] = set()
        #: Object name of the check box that was clicked, to restore its keyboard focus.
        self._focused_box = ""
        #: Measured effect of each option, by share and lab link, then by option name.
        self._measured: dict[_ShareAndLink, dict[str, MeasuredOption]] = {}
        self._link = ""
        self._headline = HeadlineCard()
        self._headline.triggered.connect(self._on_triggered)
        self._trial_card = BeforeAfterCard()
        self.trial = BeforeAfterController(self, self._trial_card, submit, run)
        self._tiles = OverviewTiles()
        self._why = QWidget()
        self._recommendations = Recommendations()
        self._use = text_button(self.tr("Use &Recommended"))
        self._form = UseForm()
        self._facts = FactsTable()
        self._expected = ExpectedSpeed("expected-speed")
        self._lists = AdviceLists("")
        self._other_machine = OtherMachine(submit)
        self._pause = self._timer(_PAUSE_MS, self._ask, single=True)
        self._tick = self._timer(_TICK_MS, self._show_headline, single=False)
        self._lay_out()
        self._connect()
        self._show()

    def _timer(self, interval_ms: int, work: Callable[[], None], *, single: bool) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(single)
        timer.setInterval(interval_ms)
        timer.timeout.connect(work)
        return timer

    def _lay_out(self) -> None:
        self._use.setObjectName("use-recommended")
        self._use.setToolTip(self.tr("Fill in the settings with these values. Nothing is mounted by that."))
        self._why.setObjectName("overview-reasons")
        why = QVBoxLayout(self._why)
        why.setContentsMargins(0, 0, 0, 0)
        why.addWidget(self._recommendations)
        why.addWidget(self._use)
        self._why.hide()
        column = PageColumn()
        for part in (self._headline, self._trial_card, self._tiles, self._why):
            column.body.addWidget(part)
        self._facts_section = self._section("server-and-link", self._facts)
        sections = QVBoxLayout()
        sections.setSpacing(0)
        for section in (
            self._section("used-for", self._form, self.tr("What Is This Share Used For?")),
            self._facts_section,
            self._expected,
            self._lists,
            self._section("other-machine", self._other_machine, self.tr("Advice for Another Machine")),
        ):
            sections.addWidget(section)
        column.body.addLayout(sections)
        column.body.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(PageScrollArea(column, self.tr("Overview")))

    def _section(self, name: str, part: QWidget, title: str = "") -> CollapsibleSection:
        section = CollapsibleSection(name, [part])
        section.set_title(title)
        return section

    def _connect(self) -> None:
        self._use.clicked.connect(self._on_use)
        self._recommendations.included.connect(self._on_included)
        self._facts.refresh_clicked.connect(self._on_refresh)
        self._form.changed.connect(self._ask)
        self._tiles.test_clicked.connect(partial(self.triggered.emit, OverviewAction.TEST))
        self._tiles.check_clicked.connect(self._on_check)
        self._tiles.watch_clicked.connect(self.watch_clicked)
        self.trial.changed.connect(self._on_trial_changed)
        self.trial.measured.connect(self._on_measured)
        self.trial.recorded.connect(self._on_recorded)
        self.trial.settings_changed.connect(self._on_settings_changed)
        self.trial.closed.connect(self._on_trial_changed)
        self.trial.failed.connect(self.failed)
        SPEED_UNITS.changed.connect(self._show)

    # Called by the mount page

    def set_target(self, mount: Mount | None, request: MountRequest) -> None:
        """Set the mount (None for a draft) and the values of the form; request new advice if they changed."""
        before = (
            self._mount.mount_point if self._mount else "",
            self._request.share if self._request else "",
        )
        place = (mount.mount_point if mount else "", request.share)
        changed = mount != self._mount
        self._mount, self._request = mount, request
        self.trial.look_at(place[0])
        if place != before:
            self._excluded.clear()
            self._last_tests = ()
            self._clear_answer()
            self._open_why(on=False)
        elif changed:
            self._show()
        self._tiles.follow(mount)
        self._other_machine.set_options(request.options)
        if (mount is not None or self.isVisible()) and self._key() != self._last_key:
            self._pause.start()

    def set_clock(self, ahead_s: float) -> None:
        """Set the offset of the host's clock from this computer's clock, s; positive if the host is ahead."""
        self._clock_ahead_s = ahead_s

    def set_blocked(self, why: str) -> None:
        """Prevent or allow tests and changes: ``why`` is the reason, "" allows them."""
        self._blocked = why
        self._headline.set_blocked(why)
        self._tiles.set_blocked(why)

    def take_speeds(self, sample: SpeedsSample) -> None:
        """Take a sample of the speeds of all mounts."""
        self._tiles.take_speeds(sample)

    def refresh_tests(self) -> None:
        """Read the last tests again, because one was saved."""
        self._tests_key = ("", "")
        self._load_tests()

    def reset(self) -> None:
        """Clear the page, because the window switches to another host."""
        self._mount = self._request = None
        self._measured.clear()
        self._last_tests = ()
        self._tests_key = ("", "")
        self.trial.reset()
        self._other_machine.reset()
        self._clear_answer()

    def take_link(self, name: str) -> None:
        """Discard the advice and request it again, because the lab's link changed to this one."""
        self._clear_answer()
        self._link = name
        self._load_tests()
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

    # History

    def _load_history(self, result: AdviceResult) -> None:
        """Load the measured effects and the tests of earlier sessions, once for each share and link."""
        link = result.facts.link
        self._link = link.name if link is not None and link.emulated else ""
        self._load_tests()
        key = (self._request.share if self._request is not None else "", self._link)
        if key[0] and key not in self._measured:
            self._measured[key] = {}
            call = self._run("history", lambda: queries.load_findings(*key))
            call.succeeded.connect(partial(self._add_findings, key))
            call.failed.connect(partial(self._on_history_failed, key))

    def _load_tests(self) -> None:
        """Read the last tests of the share over the present link, unless they were read already."""
        key = (self._mount.share if self._mount is not None else "", self._link)
        if not key[0] or key == self._tests_key:
            return
        self._tests_key = key
        call = self._run("history-last", lambda: find_last_tests(*key))
        self._tests_call.follow(call, self._on_tests, partial(self._on_history_failed, key))

    def _on_tests(self, tests: Sequence[LastTest]) -> None:
        self._last_tests = tests
        self._show()

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
        self._last_key = self._result = self._failure = None
        self.advised.emit(None)
        self._show()

    # Requests

    def _args(self) -> AdviceArgs | None:
        """Return the request for advice, None while the share is unknown."""
        mount, request = self._mount, self._request
        if request is None or (mount is None and not request.share.strip()):
            return None
        return self._form.apply_to(
            AdviceArgs(
                share="" if mount is not None else request.share,
                mount_point=mount.mount_point if mount is not None else "",
                options=request.options,
                read_ahead_kb=request.read_ahead_kb,
                measured=tuple(self._measured.get((request.share, self._link), {}).values()),
                without=tuple(sorted(self._excluded)),
            )
        )

    def _key(self) -> tuple[AdviceArgs, object] | None:
        args = self._args()
        active = self._mount.active if self._mount is not None else None
        state = (active.options, active.read_ahead_kb) if active is not None else None
        return (args, state) if args is not None else None

    def _ask(self) -> None:
        self._pause.stop()
        key = self._key()
        if key is None:
            self._clear_answer()
            return
        if key == self._last_key:
            return
        self._call.cancel()
        self._last_key = key
        self._call.ask("advice.get", key[0], self._on_answer, self._on_failure)
        if self._result is None:
            self._show()

    def _on_refresh(self) -> None:
        self._last_key = None
        self._ask()

    def _on_settings_changed(self) -> None:
        self._on_refresh()
        self.refresh_tests()

    def _on_answer(self, result: AdviceResult) -> None:
        self._result, self._failure = result, None
        self._load_history(result)
        self.advised.emit(result)
        self._show()
        box = self._recommendations.findChild(QCheckBox, self._focused_box) if self._focused_box else None
        self._focused_box = ""
        if box is not None:
            box.setFocus()

    def _on_failure(self, error: AppError) -> None:
        self._result, self._failure = None, error
        self.advised.emit(None)
        self._show()

    # Actions of the user

    def _on_triggered(self, action: OverviewAction) -> None:
        if action is OverviewAction.WHY:
            self._open_why(on=self._why.isHidden())
        elif action is OverviewAction.TRY:
            args = self._args()
            if args is not None:
                # The mount as it is, without edits of the form that were not applied.
                self.trial.ask(msgspec.structs.replace(args, options=None, read_ahead_kb=None))
        elif action is OverviewAction.APPLY and self._result is not None:
            self.apply_chosen.emit(self._result)
        elif action is OverviewAction.CHECK_SERVER:
            self._on_check()
        elif action is OverviewAction.REFRESH:
            self._on_refresh()
        else:
            self.triggered.emit(action)

    def _open_why(self, *, on: bool) -> None:
        self._why.setVisible(on)
        self._headline.set_why_open(on=on)

    def _on_check(self) -> None:
        share = (
            self._mount.share if self._mount is not None else (self._request.share if self._request else "")
        )
        server = share.partition(":/")[0]
        if server:
            self.check_clicked.emit(server)

    def _on_use(self) -> None:
        if self._result is not None:
            self.use_chosen.emit(self._result)

    def _on_included(self, option: str, *chosen: bool) -> None:
        (self._excluded.discard if all(chosen) else self._excluded.add)(option)
        self._focused_box = f"include-{option}"
        self._ask()

    # Before-and-after test

    def _on_trial_changed(self) -> None:
        self._show_headline()
        self.busy_changed.emit()

    def _on_measured(self, report: BeforeAfterReport) -> None:
        self.remember(report.share, report.link, report.measured)

    def _on_recorded(self) -> None:
        self.refresh_tests()
        self.recorded.emit()

    # Showing

    def _show(self) -> None:
        result, mount = self._result, self._mount
        facts = result.facts if result is not None else None
        self._show_headline()
        self._recommendations.show_result(result)
        for_mount = [
            item
            for item in (result.recommendations if result is not None else ())
            if item.scope != "host" and item.included
        ]
        self._use.setVisible(bool(for_mount))
        self._facts.show_facts(facts)
        count = len(fact_rows(facts)) if facts is not None else 0
        self._facts_section.set_title(self.tr("Server and Link ({count})").format(count=count))
        self._facts_section.setVisible(count > 0)
        self._expected.show_result(result)
        self._lists.show_result(result)
        self._tiles.setVisible(mount is not None)
        if mount is not None:
            self._tiles.show_test(last_test_of(mount, self._last_tests), mount, facts)
        self._tiles.show_link(facts)

    def _show_headline(self) -> None:
        """Show the headline, unless the card of a before-and-after test takes its place."""
        shown = self.trial.is_shown
        self._headline.setVisible(not shown)
        mount = self._mount if self._mount is not None else self._draft()
        has_trouble = mount is not None and mount.since is not None
        (self._tick.start if has_trouble and self.isVisible() else self._tick.stop)()
        if mount is None:
            style = HeadlineStyle("plus", CardKind.PLAIN, OverviewAction.CHECK_NAME)
            notes = {OverviewAction.CHECK_NAME: self.tr("Enter the Share")}
            self._headline.show_headline(
                style, self.tr("New mount"), [self.tr("Enter its share to get advice.")], notes=notes
            )
            return
        headline = mount_headline(mount, self._result, self._last_tests)
        if headline is None:
            self._show_waiting()
            return
        text = headline_text(headline, mount, time.time() + self._clock_ahead_s)
        has_reasons = self._result is not None and bool(
            self._result.recommendations or self._result.attention
        )
        style = HEADLINE_STYLES[headline.code]
        if has_reasons and OverviewAction.WHY not in style.others:
            style = style._replace(others=(*style.others, OverviewAction.WHY))
        notes = self._notes(measured=headline.code in {"full-link", "held-back"})
        if style.primary is OverviewAction.APPLY:
            notes[OverviewAction.APPLY] = self.tr("Appl&y…")
        self._headline.show_headline(style, text.title, text.lines, notes=notes)
        self._headline.set_blocked(self._blocked)
        if not has_reasons:
            self._open_why(on=False)

    def _show_waiting(self) -> None:
        error = self._failure
        if error is None:
            style = HeadlineStyle("search", CardKind.PLAIN, None)
            self._headline.show_headline(style, self.tr("Examining the link and the server…"))
        else:
            style = HeadlineStyle("warning", CardKind.WARNING, OverviewAction.REFRESH)
            lines = [text for text in (error.message, error.hint) if text]
            self._headline.show_headline(style, self.tr("No advice"), lines)

    def _draft(self) -> Mount | None:
        """Return the draft of a new mount as a mount, None while its share is unknown."""
        request = self._request
        if request is None or not request.share.strip():
            return None
        return Mount(
            share=request.share.strip(), mount_point=request.mount_point, state="not-mounted",
            requested=request.options,
        )  # fmt: skip

    def _notes(self, *, measured: bool) -> dict[OverviewAction, str]:
        """Return the texts of buttons that name a duration.

        Args:
            measured: whether the mount was tested with its present settings.
        """
        again, first = self.tr("Te&st Again · 15 s"), self.tr("Test the &Speed · 15 s")
        notes = {OverviewAction.TEST: again if measured else first}
        seconds = predicted_duration(self._result) if self._result is not None else None
        if seconds is not None:
            template = self.tr("Try It and &Measure · {time}")
            notes[OverviewAction.TRY] = template.format(time=time_text(seconds))
        return notes

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: request advice when the page becomes visible."""
        super().showEvent(event)
        self._ask()
        self._show_headline()
        self._tiles.show_speeds()

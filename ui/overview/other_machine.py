"""Advice for another machine, whose adapter, link and server the user describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.service.advice import headline
from ui.common.bridge import LatestCall
from ui.common.fonts import TextSize, set_text_size
from ui.common.labels import plain_label
from ui.overview.answer import AdviceLists, Recommendations
from ui.overview.question import OtherMachineForm
from ui.overview.sections import ExpectedSpeed

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.errors import AppError
    from app.service.model import AdviceResult
    from ui.common.bridge import BridgeCall


class OtherMachine(QWidget):
    """Form of another machine, and the advice for it. Nothing of it can be applied here."""

    def __init__(self, submit: Callable[[str, Any], BridgeCall]) -> None:
        super().__init__()
        self._call = LatestCall(submit)
        self._options = ""
        self._form = OtherMachineForm()
        self._form.changed.connect(self._ask)
        self._summary = plain_label(wrap=True)
        self._summary.setObjectName("other-machine-summary")
        set_text_size(self._summary, TextSize.TITLE, bold=True)
        self._recommendations = Recommendations(can_include=False)
        self._expected = ExpectedSpeed("other-machine-expected")
        self._lists = AdviceLists("other-machine-")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for part in (self._form, self._summary, self._recommendations, self._expected, self._lists):
            layout.addWidget(part)
        self._show(None)

    def set_options(self, options: str) -> None:
        """Set the options that the advice is about."""
        if options != self._options:
            self._options = options
            if self.isVisible():
                self._ask()

    def reset(self) -> None:
        """Forget the advice, because another host is shown."""
        self._call.reset()
        self._show(None)

    def _ask(self) -> None:
        args = self._form.args(self._options)
        if args is None:
            self._call.reset()
            self._show(None)
        else:
            self._call.ask("advice.get", args, self._show, self._on_failed)

    def _show(self, result: AdviceResult | None) -> None:
        missing = self.tr("Choose the other machine's adapter, link or server.")
        self._summary.setText(headline(result) if result is not None else missing)
        self._recommendations.show_result(result)
        self._expected.show_result(result)
        self._lists.show_result(result)

    def _on_failed(self, error: AppError) -> None:
        self._show(None)
        self._summary.setText(" ".join(text for text in (error.message, error.hint) if text))

"""Study view: measurements and conclusions of the published study that a recipe repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QFontDatabase

from ui.common.labels import heading, plain_label
from ui.common.layout import CollapsibleSection

if TYPE_CHECKING:
    from app.experiment.recipes import Study


class StudyView(CollapsibleSection):
    """Foldable section with the texts of one study; hidden without one.

    Args:
        name: Qt object name.
    """

    def __init__(self, name: str) -> None:
        self._by, self._measured = plain_label(wrap=True), plain_label(wrap=True)
        self._concluded, self._today = plain_label(wrap=True), plain_label(wrap=True)
        titles = [heading("", scale=1.0) for _ in range(3)]
        super().__init__(
            name,
            [self._by, titles[0], self._measured, titles[1], self._concluded, titles[2], self._today],
        )
        texts = (self.tr("Measured then"), self.tr("Concluded then"), self.tr("Today"))
        for title, text in zip(titles, texts, strict=True):
            title.setText(text)
        self._today_title = titles[2]

    def show_study(self, study: Study | None) -> None:
        """Show the texts of a study; None hides the section."""
        self.setVisible(study is not None)
        if study is None:
            return
        self._by.setText(f"{study.name}. {study.by}.")
        measured = study.measured.strip()
        # Only columns, recognized by double spaces, need a monospace font.
        fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        self._measured.setFont(fixed if "  " in measured else self.font())
        self._measured.setText(measured)
        self._concluded.setText(study.concluded.strip())
        self._today.setText(study.today.strip())
        for widget in (self._today, self._today_title):
            widget.setVisible(bool(study.today.strip()))

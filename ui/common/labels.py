"""Labels: plain text, headings, elided text, states, problems, and speeds in the chosen unit.

All show plain text, never rich text, because Qt guesses markup and servers choose names of exports.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.text.message import message_text
from ui.common import theme
from ui.common.fonts import scale_font
from ui.common.icons import draw_icon
from ui.common.speed_units import SPEED_UNITS, convert_to_chosen_unit

if TYPE_CHECKING:
    from advisor.message import Message


def plain_label(text: str = "", parent: QWidget | None = None, *, wrap: bool = False) -> QLabel:
    """Create a label that shows its text literally, never as markup."""
    label = QLabel(text, parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(wrap)
    return label


def breakable(text: str) -> str:
    """Insert zero-width spaces after commas, so that a label can wrap; not for text that is copied."""
    return text.replace(",", ",\u200b")


def plain_tip(text: str) -> str:
    """Return a tooltip that shows a text literally; a text with “<” is escaped."""
    if "<" not in text:
        return text
    return "<qt>" + html.escape(text).replace("\n", "<br>") + "</qt>"


def heading(text: str, *, scale: float = 1.15) -> QLabel:
    """Create a bold heading whose font is larger by a factor."""
    label = plain_label(text)
    enlarge(label, scale, bold=True)
    return label


def enlarge(widget: QWidget, scale: float, *, bold: bool = False) -> None:
    """Scale the font of a widget in relation to the application's, and optionally make it bold."""
    scale_font(widget, scale, bold=bold)


class MutedLabel(QLabel):
    """Label for secondary text, in the placeholder color of the palette."""

    def __init__(self, text: str = "", *, wrap: bool = False) -> None:
        super().__init__(text)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)
        self.setForegroundRole(QPalette.ColorRole.PlaceholderText)


class Separator(QWidget):
    """A thin horizontal line between two parts of the window."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(1)
        self.setAutoFillBackground(True)
        self.setBackgroundRole(QPalette.ColorRole.Mid)


class ElidedLabel(QWidget):
    """One line of text, elided with … if it does not fit; the tooltip has the whole text."""

    def __init__(self, text: str = "", *, mode: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle) -> None:
        super().__init__()
        self._text = text
        self._mode = mode
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setText(text)

    def text(self) -> str:
        """Return the whole text."""
        return self._text

    def setText(self, text: str) -> None:
        """Set the text, its tooltip and its accessible name."""
        self._text = text
        self.setToolTip(plain_tip(text))
        self.setAccessibleName(text)
        self.updateGeometry()
        self.update()

    def text_color(self) -> QColor:
        """Return the color of the text."""
        return self.palette().color(self.foregroundRole())

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: width of the whole text."""
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(self._text) + 2, metrics.height())

    def minimumSizeHint(self) -> QSize:
        """Qt: width of eight characters."""
        metrics = self.fontMetrics()
        return QSize(metrics.averageCharWidth() * 8, metrics.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint the elided text."""
        del event
        painter = QPainter(self)
        text = self.fontMetrics().elidedText(self._text, self._mode, self.width())
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.setPen(self.text_color())
        painter.drawText(self.rect(), flags, text)
        painter.end()


#: Backgrounds of a state by the name of its color.
_STATE_TINTS = {"ok": "ok_tint", "warn": "warn_tint", "error": "error_tint", "lab": "lab_tint"}


class StateLabel(QWidget):
    """State as a chip: icon and word in the color of the state, on a tint of it."""

    def __init__(self) -> None:
        super().__init__()
        self._icon = self._word = ""
        self._meaning = "muted"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def word(self) -> str:
        """Return the shown word."""
        return self._word

    def set_state(self, icon_name: str, word: str, meaning: str) -> None:
        """Show a word in a color.

        Args:
            icon_name: name of the icon.
            word: the state.
            meaning: field name of :class:`ui.common.theme.Colors`.
        """
        self._icon, self._word, self._meaning = icon_name, word, meaning
        self.setAccessibleName(word)
        self.updateGeometry()
        self.update()

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: icon, word and margins."""
        metrics = self.fontMetrics()
        height = metrics.height()
        return QSize(metrics.horizontalAdvance(self._word) + 2 * height + 8, height + 8)

    def minimumSizeHint(self) -> QSize:
        """Qt: the whole word."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint the chip."""
        del event
        colors, height = theme.colors(), self.fontMetrics().height()
        color = QColor(getattr(colors, self._meaning))
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = _STATE_TINTS.get(self._meaning)
        painter.setPen(color)
        painter.setBrush(QColor(getattr(colors, ground) if ground else colors.window))
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(area, area.height() / 2, area.height() / 2)
        side = round(height * 0.9)
        icon_area = QRect(height // 2, (self.height() - side) // 2, side, side)
        draw_icon(painter, icon_area, self._icon, color.name())
        text_area = self.rect().adjusted(icon_area.right() + 5, 0, 0, 0)
        painter.drawText(text_area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self._word)
        painter.end()


class UnitAwareLabel(QLabel):
    """Wrapped, selectable text whose speeds follow the chosen unit."""

    def __init__(self, text: str | Message = "") -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._source: str | Message = ""
        self.say(text)
        SPEED_UNITS.changed.connect(self._show)

    def say(self, text: str | Message) -> None:
        """Set the text or message; its speeds are shown in the chosen unit."""
        self._source = text
        self._show()

    def _show(self) -> None:
        text = self._source
        if isinstance(text, str):
            self.setText(convert_to_chosen_unit(text))
        else:
            self.setText(message_text(text, SPEED_UNITS.unit))


class TintedLabel(QLabel):
    """Label whose text has a color of the theme, also after a change of the theme."""

    def __init__(self, text: str = "", color: str = "text") -> None:
        super().__init__(text)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self._color = color
        self._tint()

    def set_color(self, color: str) -> None:
        """Set the color, a field name of :class:`ui.common.theme.Colors`."""
        self._color = color
        self._tint()

    def _tint(self) -> None:
        color = QColor(getattr(theme.colors(), self._color))
        if self.palette().color(QPalette.ColorRole.WindowText) != color:
            theme.tint(self, color.name())

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change of the palette."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_color"):
            self._tint()


class ProblemLabel(TintedLabel):
    """Problem in the error color; hidden without one."""

    def __init__(self) -> None:
        super().__init__(color="error")
        self.setWordWrap(True)
        self.hide()

    def show_problem(self, text: str) -> None:
        """Show a problem; "" hides the label."""
        self.setText(text)
        self.setVisible(bool(text))

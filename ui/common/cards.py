"""Cards: framed groups with a meaning, headlines, large figures, tiles, bars, and the buttons in them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from ui.common import theme
from ui.common.fonts import TextSize, set_text_size
from ui.common.icons import IconLabel
from ui.common.labels import MutedLabel, TintedLabel, plain_label
from ui.common.speed_units import SPEED_UNITS, convert_to_chosen_unit
from ui.common.style import PRIMARY

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Distances between parts, px.
SPACING_SMALL, SPACING, SPACING_LARGE = 8, 16, 24

_RADIUS = 8.0


class CardKind(StrEnum):
    """Meaning of a card, which decides its color."""

    PLAIN = "plain"
    ACCENT = "accent"
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


#: Fields of :class:`ui.common.theme.Colors` by kind: background, outline, icon.
_KIND_COLORS = {
    CardKind.PLAIN: ("card", "card_border", "text"),
    CardKind.ACCENT: ("accent_tint", "accent", "accent"),
    CardKind.OK: ("ok_tint", "ok", "ok"),
    CardKind.WARNING: ("warn_tint", "warn", "warn"),
    CardKind.ERROR: ("error_tint", "error", "error"),
}


class Card(QFrame):
    """Group of widgets on a background with rounded corners.

    Attributes:
        body: layout of the content.
    """

    def __init__(self, kind: CardKind = CardKind.PLAIN) -> None:
        super().__init__()
        self._kind = kind
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(SPACING, SPACING, SPACING, SPACING)
        self.body.setSpacing(SPACING_SMALL)

    def kind(self) -> CardKind:
        """Return the meaning of the card."""
        return self._kind

    def set_kind(self, kind: CardKind) -> None:
        """Set the meaning of the card."""
        self._kind = kind
        self.update()

    # Qt overrides

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint the background and the hairline around it."""
        del event
        ground, line, _icon = _KIND_COLORS[self._kind]
        colors = theme.colors()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(getattr(colors, line)), 1))
        painter.setBrush(QColor(getattr(colors, ground)))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS)
        painter.end()


class Headline(QWidget):
    """Answer of a page: icon, large title, and one or two sentences below."""

    def __init__(self) -> None:
        super().__init__()
        self._icon = IconLabel()
        self._title = plain_label(wrap=True)
        self._detail = plain_label(wrap=True)
        for label in (self._icon, self._title):
            set_text_size(label, TextSize.HEADLINE, bold=True)
        texts = QVBoxLayout()
        texts.setSpacing(SPACING_SMALL // 2)
        texts.addWidget(self._title)
        texts.addWidget(self._detail)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SPACING_SMALL)
        layout.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(texts, 1)

    def title(self) -> str:
        """Return the title."""
        return self._title.text()

    def set_text(self, icon_name: str, title: str, detail: str = "", kind: CardKind = CardKind.PLAIN) -> None:
        """Show a title and its explanation; speeds in them are converted to the chosen unit.

        Args:
            icon_name: name of the icon.
            title: short sentence.
            detail: one or two sentences, "" for none.
            kind: meaning, which colors the icon.
        """
        self._icon.set_icon(icon_name, _KIND_COLORS[kind][2])
        self._title.setText(convert_to_chosen_unit(title))
        self._detail.setText(convert_to_chosen_unit(detail))
        self._detail.setVisible(bool(detail))
        self.setAccessibleName(f"{title} {detail}".strip())


class Figure(QWidget):
    """Value in large characters with a small caption above and a detail below.

    Args:
        size: size of the value.
    """

    def __init__(self, size: TextSize = TextSize.FIGURE) -> None:
        super().__init__()
        self._caption = MutedLabel()
        self._value = TintedLabel()
        self._detail = MutedLabel(wrap=True)
        self._source = ("", "", "")
        set_text_size(self._caption, TextSize.SMALL)
        set_text_size(self._value, size, bold=True)
        set_text_size(self._detail, TextSize.SMALL)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for label in (self._caption, self._value, self._detail):
            layout.addWidget(label)
        SPEED_UNITS.changed.connect(self._show)

    def value(self) -> str:
        """Return the value as shown."""
        return self._value.text()

    def set_value(self, caption: str, value: str, detail: str = "", color: str | None = None) -> None:
        """Show a value; speeds are converted to the chosen unit.

        Args:
            caption: what the value is.
            value: the value with its unit.
            detail: what belongs to the value, "" for nothing.
            color: field name of :class:`ui.common.theme.Colors`, None for the ordinary text.
        """
        self._source = (caption, value, detail)
        self._value.set_color(color or "text")
        self._show()

    def _show(self) -> None:
        caption, value, detail = (convert_to_chosen_unit(text) for text in self._source)
        self._caption.setText(caption)
        self._caption.setVisible(bool(caption))
        self._value.setText(value)
        self._detail.setText(detail)
        self._detail.setVisible(bool(detail))
        self.setAccessibleName(", ".join(part for part in (caption, value, detail) if part))


class Tile(Card):
    """Card with a figure, an optional sparkline and an optional link-like button.

    Args:
        button_text: text of the button, "" for none.
        size: size of the value.

    Signals:
        clicked: the button was clicked.
    """

    clicked = Signal()

    def __init__(self, button_text: str = "", size: TextSize = TextSize.FIGURE) -> None:
        super().__init__()
        self.figure = Figure(size)
        self._sparkline = Sparkline()
        self._sparkline.hide()
        self.button = text_button(button_text)
        self.button.setVisible(bool(button_text))
        self.button.clicked.connect(self.clicked)
        self.body.addWidget(self.figure)
        self.body.addWidget(self._sparkline)
        self.body.addStretch(1)
        self.body.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)

    def set_value(self, caption: str, value: str, detail: str = "", color: str | None = None) -> None:
        """Show a value, see :meth:`Figure.set_value`."""
        self.figure.set_value(caption, value, detail, color)

    def set_sparkline(self, values: Sequence[float], color: str = "read") -> None:
        """Show the course of the value; an empty sequence hides it."""
        self._sparkline.set_values(values, color)
        self._sparkline.setVisible(bool(values))


class Sparkline(QWidget):
    """Small curve without axes; decoration beside a figure that says the same."""

    def __init__(self) -> None:
        super().__init__()
        self._values: list[float] = []
        self._color = "read"
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_values(self, values: Sequence[float], color: str) -> None:
        """Show values from the oldest to the latest, in a color of the theme."""
        self._values, self._color = list(values), color
        self.update()

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: two lines of text high."""
        return QSize(self.fontMetrics().averageCharWidth() * 12, self.fontMetrics().lineSpacing() * 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint the curve from zero to the largest value."""
        del event
        painter = QPainter(self)
        draw_sparkline(painter, QRectF(self.rect()), self._values, getattr(theme.colors(), self._color))
        painter.end()


def draw_sparkline(painter: QPainter, area: QRectF, values: Sequence[float], color: str) -> None:
    """Draw a curve from zero to its largest value.

    Args:
        painter: active painter.
        area: where.
        values: from the oldest to the latest; fewer than two draw nothing.
        color: color as #rrggbb.
    """
    if len(values) < 2:
        return
    top = max(*values, 1e-12)
    area = area.adjusted(1, 1, -1, -1)
    path = QPainterPath()
    for number, value in enumerate(values):
        x = area.left() + area.width() * number / (len(values) - 1)
        y = area.bottom() - area.height() * max(0.0, value) / top
        if number:
            path.lineTo(x, y)
        else:
            path.moveTo(x, y)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(color), 1.5))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawPath(path)
    painter.restore()


class BarComparison(QWidget):
    """Horizontal bars from a common zero, each with a label at the left and its value at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._bars: list[tuple[str, float, str, str]] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        SPEED_UNITS.changed.connect(self._describe)

    def set_bars(self, bars: Sequence[tuple[str, float, str, str]]) -> None:
        """Show bars.

        Args:
            bars: label, value, text of the value, and field name of :class:`ui.common.theme.Colors` of each.
        """
        self._bars = list(bars)
        self._describe()
        self.updateGeometry()

    def _describe(self) -> None:
        lines = [f"{label}: {convert_to_chosen_unit(text)}" for label, _value, text, _color in self._bars]
        self.setAccessibleDescription("\n".join(lines))
        self.update()

    def _row_height(self) -> int:
        return round(self.fontMetrics().height() * 1.6)

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: one row for each bar."""
        return QSize(self.fontMetrics().averageCharWidth() * 60, self._row_height() * len(self._bars))

    def minimumSizeHint(self) -> QSize:
        """Qt: the same height at a smaller width."""
        return QSize(self.fontMetrics().averageCharWidth() * 30, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint labels, bars and values."""
        del event
        if not self._bars:
            return
        colors, metrics = theme.colors(), self.fontMetrics()
        gap = metrics.averageCharWidth()
        texts = [convert_to_chosen_unit(text) for _label, _value, text, _color in self._bars]
        left = max(metrics.horizontalAdvance(label) for label, *_rest in self._bars) + 2 * gap
        right = max(metrics.horizontalAdvance(text) for text in texts) + gap
        available = max(1, self.width() - left - right)
        top = max(*(value for _label, value, _text, _color in self._bars), 1e-12)
        height, middle = self._row_height(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for number, (label, value, _text, color) in enumerate(self._bars):
            y = number * height
            painter.setPen(QColor(colors.text))
            painter.drawText(0, y, left, height, middle, label)
            length = available * max(0.0, value) / top
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(colors, color)))
            inset = height * 0.22
            painter.drawRoundedRect(QRectF(left, y + inset, max(2.0, length), height - 2 * inset), 3, 3)
            painter.setPen(QColor(colors.text))
            painter.drawText(round(left + length) + gap, y, right, height, middle, texts[number])
        painter.end()


class _ThemedButton(QPushButton):
    """Button whose text has a color of the theme, except while it is disabled."""

    def __init__(self, text: str, color: str) -> None:
        super().__init__(text)
        self._color = color
        self._color_text()

    def _color_text(self) -> None:
        palette = self.palette()
        color = QColor(getattr(theme.colors(), self._color))
        role, group = QPalette.ColorRole.ButtonText, QPalette.ColorGroup
        if palette.color(group.Active, role) != color:
            palette.setColor(group.Active, role, color)
            palette.setColor(group.Inactive, role, color)
            self.setPalette(palette)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change of the palette."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_color"):
            self._color_text()


#: Space beside the text of a link-like button, px: its text stands at the edge of the text around it.
_LINK_MARGIN = 4


class _LinkButton(_ThemedButton):
    """Flat button as wide as its text."""

    def __init__(self, text: str) -> None:
        super().__init__(text, "accent")
        self.setFlat(True)

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: the text, the icon and a small margin."""
        text = self.text().replace("&&", "\0").replace("&", "").replace("\0", "&")
        width = self.fontMetrics().horizontalAdvance(text) + 2 * _LINK_MARGIN
        if not self.icon().isNull():
            width += self.iconSize().width() + _LINK_MARGIN
        return QSize(width, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Qt: the whole text."""
        return self.sizeHint()


def primary_button(text: str) -> QPushButton:
    """Create the accented button of a page; a page has one."""
    button = _ThemedButton(text, "on_accent")
    button.setProperty(PRIMARY, True)  # noqa: FBT003 - Qt's signature
    return button


def text_button(text: str) -> QPushButton:
    """Create a flat button that looks like a link."""
    return _LinkButton(text)

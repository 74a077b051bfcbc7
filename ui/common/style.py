"""Style: flat controls over Qt's Fusion, painted in the colors of the theme.

A proxy style costs about a millisecond of processor time at the start of the program. A style sheet for the
application costs 300 ms, because Qt matches its rules against every widget.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QLineF, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPalette, QPen
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QAbstractSpinBox,
    QComboBox,
    QProxyStyle,
    QPushButton,
    QStyle,
    QStyleOptionButton,
    QStyleOptionComboBox,
    QStyleOptionFrame,
    QStyleOptionProgressBar,
    QStyleOptionSlider,
    QStyleOptionSpinBox,
    QStyleOptionTab,
    QTabBar,
)

from ui.common import theme
from ui.common.theme import Appearance

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QApplication, QStyleOption, QStyleOptionComplex, QWidget

    from ui.common.theme import Colors

#: Dynamic property of the one accented button of a page.
PRIMARY = "primary"

_RADIUS = 6.0
_FOCUS_WIDTH = 2.0
#: Space between the border of a field and its text, beside Fusion's, px.
_FIELD_MARGIN = 4
#: Time in which the piece of a progress bar without an end moves from one end to the other, s.
_BUSY_PERIOD_S = 1.6

_State = QStyle.StateFlag
_Primitive = QStyle.PrimitiveElement
_Control = QStyle.ControlElement
_Complex = QStyle.ComplexControl
_Part = QStyle.SubControl


def apply_appearance(app: QApplication, appearance: Appearance) -> None:
    """Set the flat style, and the palette of the appearance, for the whole application."""
    scheme = {
        Appearance.SYSTEM: Qt.ColorScheme.Unknown,
        Appearance.LIGHT: Qt.ColorScheme.Light,
        Appearance.DARK: Qt.ColorScheme.Dark,
        Appearance.HIGH_CONTRAST: Qt.ColorScheme.Dark,
    }[appearance]
    QGuiApplication.styleHints().setColorScheme(scheme)
    if not isinstance(app.style(), FlatStyle):
        app.setStyle(FlatStyle())
    app.setPalette(theme.make_palette(_table(appearance)))


def _table(appearance: Appearance) -> Colors:
    if appearance is Appearance.SYSTEM:
        hints = QGuiApplication.styleHints()
        accessibility = getattr(hints, "accessibility", None)  # Qt 6.10 and newer
        if accessibility is not None and accessibility().contrastPreference().name == "HighContrast":
            return theme.HIGH_CONTRAST
        return theme.DARK if hints.colorScheme() == Qt.ColorScheme.Dark else theme.LIGHT
    return {
        Appearance.LIGHT: theme.LIGHT,
        Appearance.DARK: theme.DARK,
        Appearance.HIGH_CONTRAST: theme.HIGH_CONTRAST,
    }[appearance]


class FlatStyle(QProxyStyle):
    """Fusion with flat buttons, fields with a visible border, and a focus ring of 2 px."""

    def __init__(self) -> None:
        super().__init__("fusion")
        self._primitives: dict[
            QStyle.PrimitiveElement, Callable[[QStyleOption, QPainter, QWidget | None, Colors], bool]
        ] = {
            _Primitive.PE_PanelButtonCommand: _paint_button,
            _Primitive.PE_PanelButtonTool: _paint_button,
            _Primitive.PE_FrameButtonTool: _paint_button,
            _Primitive.PE_PanelLineEdit: _paint_line_edit,
            _Primitive.PE_FrameLineEdit: _paint_line_edit,
            _Primitive.PE_Frame: _paint_frame,
            _Primitive.PE_FrameFocusRect: _paint_focus,
            _Primitive.PE_IndicatorCheckBox: _paint_check_box,
            _Primitive.PE_IndicatorItemViewItemCheck: _paint_check_box,
            _Primitive.PE_IndicatorRadioButton: _paint_radio_button,
            _Primitive.PE_PanelMenu: _paint_menu,
            _Primitive.PE_FrameMenu: _paint_nothing,
            _Primitive.PE_IndicatorArrowDown: _paint_arrow(0),
            _Primitive.PE_IndicatorArrowLeft: _paint_arrow(90),
            _Primitive.PE_IndicatorArrowUp: _paint_arrow(180),
            _Primitive.PE_IndicatorArrowRight: _paint_arrow(270),
        }

    # Qt overrides

    def drawPrimitive(
        self, element: QStyle.PrimitiveElement, option: QStyleOption, painter: QPainter,
        widget: QWidget | None = None,
    ) -> None:  # fmt: skip
        """Qt: paint frames, panels and indicators."""
        paint = self._primitives.get(element)
        if paint is None or not paint(option, painter, widget, theme.colors()):
            super().drawPrimitive(element, option, painter, widget)

    def drawControl(
        self, element: QStyle.ControlElement, option: QStyleOption, painter: QPainter,
        widget: QWidget | None = None,
    ) -> None:  # fmt: skip
        """Qt: paint tabs, headers and progress bars."""
        if element == _Control.CE_TabBarTabShape and isinstance(option, QStyleOptionTab):
            _paint_tab(option, painter, theme.colors())
        elif element == _Control.CE_HeaderSection:
            _paint_header(option, painter, theme.colors())
        elif element == _Control.CE_ProgressBarGroove:
            _paint_groove(option, painter, theme.colors())
        elif element == _Control.CE_ProgressBarContents and isinstance(option, QStyleOptionProgressBar):
            if option.maximum == option.minimum:
                super().drawControl(
                    element, option, painter, widget
                )  # keeps Fusion's timer of repaints going
                _paint_groove(option, painter, theme.colors())
            _paint_progress(option, painter, theme.colors())
        else:
            super().drawControl(element, option, painter, widget)

    def drawComplexControl(
        self, control: QStyle.ComplexControl, option: QStyleOptionComplex, painter: QPainter,
        widget: Any = None,
    ) -> None:  # fmt: skip
        """Qt: paint combo boxes, spin boxes and scroll bars."""
        if control == _Complex.CC_ComboBox and isinstance(option, QStyleOptionComboBox):
            _paint_field(painter, option.rect, option, theme.colors(), fill=_field_fill(option))
            arrow = self.subControlRect(control, option, _Part.SC_ComboBoxArrow, widget)
            _chevron(painter, QRectF(arrow), _foreground(option), 0)
        elif control == _Complex.CC_SpinBox and isinstance(option, QStyleOptionSpinBox):
            _paint_field(painter, option.rect, option, theme.colors(), fill=_field_fill(option))
            for part, turn, step in (
                (_Part.SC_SpinBoxUp, 180, QAbstractSpinBox.StepEnabledFlag.StepUpEnabled),
                (_Part.SC_SpinBoxDown, 0, QAbstractSpinBox.StepEnabledFlag.StepDownEnabled),
            ):
                able = bool(option.stepEnabled & step) and bool(option.state & _State.State_Enabled)
                color = QColor(theme.colors().text if able else theme.colors().border)
                _chevron(painter, QRectF(self.subControlRect(control, option, part, widget)), color, turn)
        elif control == _Complex.CC_ScrollBar and isinstance(option, QStyleOptionSlider):
            slider = self.subControlRect(control, option, _Part.SC_ScrollBarSlider, widget)
            _paint_scroll_bar(painter, option, slider, theme.colors())
        else:
            super().drawComplexControl(control, option, painter, widget)

    def subElementRect(self, element: QStyle.SubElement, option: QStyleOption, widget: Any = None) -> QRect:
        """Qt: keep the text of a field away from its rounded border."""
        rect = super().subElementRect(element, option, widget)
        if element == QStyle.SubElement.SE_LineEditContents and getattr(option, "lineWidth", 0) > 0:
            rect.adjust(_FIELD_MARGIN, 0, -_FIELD_MARGIN, 0)
        return rect


# Parts


def _rounded(
    painter: QPainter, area: QRectF, fill: QColor | None, line: QPen | None, *, radius: float = _RADIUS
) -> None:
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen if line is None else line)
    painter.setBrush(Qt.BrushStyle.NoBrush if fill is None else fill)
    inset = 0.0 if line is None else line.widthF() / 2
    painter.drawRoundedRect(area.adjusted(inset, inset, -inset, -inset), radius, radius)
    painter.restore()


def _chevron(painter: QPainter, area: QRectF, color: QColor, turn: int) -> None:
    size = min(9.0, area.width() * 0.8, area.height() * 0.8)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(color, 1.5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
    painter.translate(area.center())
    painter.rotate(turn)
    left, tip, right = QPointF(-size / 2, -size / 4), QPointF(0, size / 4), QPointF(size / 2, -size / 4)
    painter.drawPolyline([left, tip, right])
    painter.restore()


def _foreground(option: QStyleOption) -> QColor:
    return QColor(theme.colors().text if option.state & _State.State_Enabled else theme.colors().muted)


def _field_fill(option: QStyleOption) -> QColor:
    """Return the background of a field, which a page may have tinted."""
    return option.palette.color(QPalette.ColorRole.Base)


def _paint_field(
    painter: QPainter, rect: QRect, option: QStyleOption, colors: Colors, *, fill: QColor
) -> None:
    focused = bool(option.state & _State.State_HasFocus)
    enabled = bool(option.state & _State.State_Enabled)
    line = colors.accent if focused else colors.input_border if enabled else colors.border
    _rounded(painter, QRectF(rect), fill, QPen(QColor(line), _FOCUS_WIDTH if focused else 1.0))


def _paint_nothing(
    _option: QStyleOption, _painter: QPainter, _widget: QWidget | None, _colors: Colors
) -> bool:
    return True


def _paint_arrow(turn: int) -> Callable[[QStyleOption, QPainter, QWidget | None, Colors], bool]:
    def paint(option: QStyleOption, painter: QPainter, _widget: QWidget | None, _colors: Colors) -> bool:
        _chevron(painter, QRectF(option.rect), _foreground(option), turn)
        return True

    return paint


def _paint_button(option: QStyleOption, painter: QPainter, widget: QWidget | None, colors: Colors) -> bool:
    state = option.state
    enabled, hovered = bool(state & _State.State_Enabled), bool(state & _State.State_MouseOver)
    pressed, checked = bool(state & _State.State_Sunken), bool(state & _State.State_On)
    primary = widget is not None and bool(widget.property(PRIMARY)) and enabled
    flat = bool(state & _State.State_AutoRaise)
    default = False
    if isinstance(option, QStyleOptionButton):
        feature = QStyleOptionButton.ButtonFeature
        flat = bool(option.features & feature.Flat)
        default = bool(option.features & feature.DefaultButton) and enabled
    ground = colors.accent if primary else colors.accent_tint if checked else colors.raised
    if pressed or hovered:
        ground = theme.blend(
            colors.text if not primary else colors.on_accent, ground, 0.14 if pressed else 0.06
        )
    line = None if flat or primary else colors.accent if default or checked else colors.input_border
    if not enabled:
        ground, line = colors.window, None if flat else colors.border
    focused = bool(state & _State.State_HasFocus) and bool(state & _State.State_KeyboardFocusChange)
    area = QRectF(option.rect)
    if not flat or ((pressed or hovered or checked) and enabled):
        _rounded(painter, area, QColor(ground), QPen(QColor(line), 1.0) if line is not None else None)
    if focused:
        inner = area.adjusted(2, 2, -2, -2) if primary else area
        ring = QColor(colors.on_accent if primary else colors.accent)
        _rounded(painter, inner, None, QPen(ring, _FOCUS_WIDTH))
    return True


def _paint_line_edit(option: QStyleOption, painter: QPainter, widget: QWidget | None, colors: Colors) -> bool:
    if isinstance(option, QStyleOptionFrame) and option.lineWidth > 0:
        _paint_field(painter, option.rect, option, colors, fill=_field_fill(option))
    elif widget is not None and isinstance(widget.parent(), QAbstractSpinBox | QComboBox):
        return True  # inside a field that is painted already
    else:
        painter.fillRect(option.rect, _field_fill(option))
    return True


def _paint_frame(option: QStyleOption, painter: QPainter, widget: QWidget | None, colors: Colors) -> bool:
    focused = bool(option.state & _State.State_HasFocus)
    is_input = isinstance(widget, QAbstractScrollArea)
    line = colors.accent if focused else colors.input_border if is_input else colors.card_border
    pen = QPen(QColor(line), _FOCUS_WIDTH if focused else 1.0)
    _rounded(painter, QRectF(option.rect), None, pen, radius=2.0)
    return True


def _paint_focus(option: QStyleOption, painter: QPainter, widget: QWidget | None, colors: Colors) -> bool:
    if isinstance(widget, QPushButton | QComboBox):
        return True  # they have their ring at their border
    if option.state & _State.State_KeyboardFocusChange or not isinstance(widget, QTabBar):
        _rounded(painter, QRectF(option.rect), None, QPen(QColor(colors.accent), _FOCUS_WIDTH), radius=3.0)
    return True


def _box_colors(option: QStyleOption, colors: Colors, *, on: bool) -> tuple[QColor, QColor]:
    """Return the fill and the outline of a check box or radio button."""
    if not option.state & _State.State_Enabled:
        return QColor(colors.border if on else colors.window), QColor(colors.border)
    return QColor(colors.accent if on else colors.base), QColor(colors.accent if on else colors.input_border)


def _paint_check_box(
    option: QStyleOption, painter: QPainter, _widget: QWidget | None, colors: Colors
) -> bool:
    partly = bool(option.state & _State.State_NoChange)
    on = bool(option.state & _State.State_On)
    fill, line = _box_colors(option, colors, on=on or partly)
    area = _square(option.rect)
    _rounded(painter, area, fill, QPen(line, 1.0), radius=3.0)
    mark = QColor(colors.on_accent if option.state & _State.State_Enabled else colors.muted)
    side = area.width()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(mark, 1.8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
    painter.translate(area.topLeft())
    if partly:
        painter.drawLine(QLineF(side * 0.27, side * 0.5, side * 0.73, side * 0.5))
    elif on:
        places = ((0.24, 0.52), (0.43, 0.71), (0.77, 0.31))
        painter.drawPolyline([QPointF(side * x, side * y) for x, y in places])
    painter.restore()
    return True


def _paint_radio_button(
    option: QStyleOption, painter: QPainter, _widget: QWidget | None, colors: Colors
) -> bool:
    on = bool(option.state & _State.State_On)
    fill, line = _box_colors(option, colors, on=on)
    area = _square(option.rect)
    _rounded(painter, area, fill, QPen(line, 1.5), radius=area.width() / 2)
    if on:
        inset = area.width() * 0.31
        mark = QColor(colors.on_accent if option.state & _State.State_Enabled else colors.muted)
        dot = area.adjusted(inset, inset, -inset, -inset)
        _rounded(painter, dot, mark, None, radius=dot.width() / 2)
    return True


def _square(rect: QRect) -> QRectF:
    side = float(min(rect.width(), rect.height()))
    area = QRectF(0, 0, side, side)
    area.moveCenter(QRectF(rect).center())
    return area


def _paint_menu(option: QStyleOption, painter: QPainter, _widget: QWidget | None, colors: Colors) -> bool:
    painter.fillRect(option.rect, QColor(colors.card))
    _rounded(painter, QRectF(option.rect), None, QPen(QColor(colors.input_border), 1.0), radius=0.0)
    return True


def _paint_tab(option: QStyleOptionTab, painter: QPainter, colors: Colors) -> None:
    rect = QRectF(option.rect)
    selected = bool(option.state & _State.State_Selected)
    if option.state & _State.State_MouseOver and not selected:
        _rounded(
            painter, rect.adjusted(2, 4, -2, -4), QColor(theme.blend(colors.text, colors.window, 0.06)), None
        )
    if selected:
        bar = QRectF(rect.left() + 8, rect.bottom() - 3, rect.width() - 16, 3)
        _rounded(painter, bar, QColor(colors.accent), None, radius=1.5)


def _paint_header(option: QStyleOption, painter: QPainter, colors: Colors) -> None:
    rect = option.rect
    painter.fillRect(rect, QColor(colors.window))
    painter.fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1), QColor(colors.input_border))


def _groove(option: QStyleOption) -> QRectF:
    rect = QRectF(option.rect)
    has_text = bool(getattr(option, "textVisible", False))  # the text stands in the bar
    height = rect.height() if has_text else min(8.0, rect.height())
    return QRectF(rect.left(), rect.center().y() - height / 2, rect.width(), height)


def _paint_groove(option: QStyleOption, painter: QPainter, colors: Colors) -> None:
    area = _groove(option)
    painter.fillRect(option.rect, option.palette.color(QPalette.ColorRole.Window))
    ground = QColor(theme.blend(colors.text, colors.window, 0.15))
    _rounded(painter, area, ground, None, radius=min(4.0, area.height() / 2))


def _paint_progress(option: QStyleOptionProgressBar, painter: QPainter, colors: Colors) -> None:
    area = _groove(option)
    if option.maximum == option.minimum:
        # A piece that moves: a full bar would look like 100 %.
        piece = area.width() / 4
        moved = abs((time.monotonic() / _BUSY_PERIOD_S) % 2 - 1)
        area = QRectF(area.left() + (area.width() - piece) * moved, area.top(), piece, area.height())
    else:
        done = (option.progress - option.minimum) / max(1, option.maximum - option.minimum)
        area.setWidth(area.width() * min(1.0, max(0.0, done)))
    if area.width() > 0:
        _rounded(painter, area, QColor(colors.accent), None, radius=min(4.0, area.height() / 2))


def _paint_scroll_bar(painter: QPainter, option: QStyleOptionSlider, slider: QRect, colors: Colors) -> None:
    painter.fillRect(option.rect, QColor(colors.window))
    if option.maximum == option.minimum:
        return
    inset = 4.0
    area = QRectF(slider)
    if option.orientation == Qt.Orientation.Vertical:
        area = area.adjusted(inset, 1, -inset, -1)
    else:
        area = area.adjusted(1, inset, -1, -inset)
    active = bool(option.state & (_State.State_MouseOver | _State.State_Sunken))
    color = QColor(colors.muted if active else colors.input_border)
    _rounded(painter, area, color, None, radius=min(area.width(), area.height()) / 2)

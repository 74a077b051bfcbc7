"""Delegate of the list of mounts: paints mount point, speed with its sparkline, state, and export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPalette, QPen, QPolygonF
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from ui.common import theme
from ui.common.icons import draw_icon
from ui.common.speed_units import speed_text
from ui.mounts.list_model import SAMPLES_KEPT, BootRole, MountRole, SpeedHistoryRole, StateRole, export_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.mounts.model import Mount
    from ui.mounts.list_model import SpeedHistory


def draw_sparkline(painter: QPainter, area: QRect, values: Sequence[float], color: str) -> None:
    """Draw values as a curve scaled from 0 to their maximum.

    The newest value is at the right edge. SAMPLES_KEPT values fill the width of the area.
    """
    top = max(values, default=0.0)
    if top <= 0:
        return
    step = area.width() / (SAMPLES_KEPT - 1)
    left = area.right() - step * (len(values) - 1)
    base = float(area.bottom())
    points = [
        QPointF(left + number * step, base - (area.height() - 2) * value / top)
        for number, value in enumerate(values)
    ]
    fill = QColor(color)
    fill.setAlphaF(0.18)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(fill)
    painter.drawPolygon(QPolygonF([QPointF(points[0].x(), base), *points, QPointF(points[-1].x(), base)]))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(color), 1))
    painter.drawPolyline(QPolygonF(points))


#: Mount state to the name of its icon.
STATE_ICON = {
    "mounted": "check", "not-mounted": "ring", "not-responding": "error", "stale": "error",
    "differs": "warning",
}  # fmt: skip
#: Mount state to the name of its color, a field of :class:`ui.common.theme.Colors`.
STATE_MEANING = {
    "mounted": "ok", "not-mounted": "muted", "not-responding": "error", "stale": "error", "differs": "warn",
}  # fmt: skip


class MountDelegate(QStyledItemDelegate):
    """Paints servers as headings and mounts in two lines."""

    # Qt overrides

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """Qt: two lines and a margin, the same for server headings and mounts."""
        del index
        line = option.fontMetrics.lineSpacing()
        return QSize(line * 8, int(line * 2.9))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Qt: paint the row."""
        mount: Mount | None = index.data(MountRole)
        painter.save()
        if mount is None:
            _paint_server(painter, option, str(index.data()), str(index.data(StateRole)))
        else:
            state_and_boot = str(index.data(StateRole)), str(index.data(BootRole))
            _paint_mount(painter, option, mount, state_and_boot, index.data(SpeedHistoryRole))
        painter.restore()


def _paint_server(painter: QPainter, option: QStyleOptionViewItem, name: str, count: str) -> None:
    """Paint a server's name, and its number of mounts at the right, in the lower line next to its mounts."""
    rect: QRect = option.rect
    palette: QPalette = option.palette
    heading = QFont(option.font)
    heading.setWeight(QFont.Weight.DemiBold)
    painter.setFont(heading)
    painter.setPen(palette.color(QPalette.ColorRole.PlaceholderText))
    metrics = QFontMetrics(heading)
    area = rect.adjusted(metrics.averageCharWidth(), 0, -metrics.averageCharWidth(), -6)
    bottom = Qt.AlignmentFlag.AlignBottom
    available = (
        area.width() - QFontMetrics(option.font).horizontalAdvance(count) - 2 * metrics.averageCharWidth()
    )
    text = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, available)
    painter.drawText(area, bottom | Qt.AlignmentFlag.AlignLeft, text)
    painter.setFont(option.font)
    painter.drawText(area, bottom | Qt.AlignmentFlag.AlignRight, count)


def _trend_width(option: QStyleOptionViewItem) -> int:
    """Return the width of a speed and its sparkline, px: constant, so that the sparkline does not move."""
    metrics = QFontMetrics(option.font)
    return metrics.horizontalAdvance(speed_text(888e6)) + 10 * metrics.averageCharWidth()


def _paint_trend(
    painter: QPainter, option: QStyleOptionViewItem, colors: theme.Colors, trend: SpeedHistory, top: int
) -> int:
    """Paint the current speed and the sparkline of the last minute at the right; return their width, px."""
    metrics = QFontMetrics(option.font)
    line, unit = metrics.lineSpacing(), metrics.averageCharWidth()
    rect: QRect = option.rect
    text = speed_text(trend.now) if trend.now else ""
    text_width = metrics.horizontalAdvance(speed_text(888e6))
    right = rect.right() - unit
    painter.setPen(QColor(colors.muted))
    painter.drawText(QPoint(right - metrics.horizontalAdvance(text), top + metrics.ascent()), text)
    width = 7 * unit
    area = QRect(right - text_width - unit - width, top + 2, width, line - 4)
    draw_sparkline(painter, area, trend.values, colors.warn if trend.timeouts else colors.accent)
    return _trend_width(option)


def _paint_mount(
    painter: QPainter,
    option: QStyleOptionViewItem,
    mount: Mount,
    state_and_boot: tuple[str, str],
    trend: SpeedHistory | None,
) -> None:
    rect: QRect = option.rect
    font: QFont = option.font
    state: QStyle.StateFlag = option.state
    selected = bool(state & QStyle.StateFlag.State_Selected)
    focused = bool(state & QStyle.StateFlag.State_HasFocus) and selected
    colors = theme.colors()
    color = getattr(colors, STATE_MEANING[mount.state])
    if selected:
        painter.fillRect(rect, QColor(colors.accent_tint))
        painter.fillRect(QRect(rect.topLeft(), QSize(3, rect.height())), QColor(colors.accent))
    metrics = QFontMetrics(font)
    line, unit = metrics.lineSpacing(), metrics.averageCharWidth()
    top = rect.top() + (rect.height() - 2 * line) // 2
    left = rect.left() + 2 * unit + line
    width = rect.right() - left - unit
    draw_icon(
        painter, QRect(rect.left() + unit + 3, top + 1, line - 2, line - 2), STATE_ICON[mount.state], color
    )
    name_font = QFont(font)
    name_font.setWeight(QFont.Weight.Medium)
    # A narrow list shows no sparkline, because the mount point is more important.
    name_width = min(QFontMetrics(name_font).horizontalAdvance(mount.mount_point), width // 2)
    has_room = width - _trend_width(option) >= name_width
    trend_width = _paint_trend(painter, option, colors, trend, top) if trend is not None and has_room else 0
    painter.setFont(name_font)
    painter.setPen(QColor(colors.text))
    name = QFontMetrics(name_font).elidedText(
        mount.mount_point, Qt.TextElideMode.ElideMiddle, width - trend_width
    )
    painter.drawText(QPoint(left, top + metrics.ascent()), name)
    painter.setFont(font)
    painter.setPen(QColor(color))
    state_text, boot = state_and_boot
    painter.drawText(QPoint(left, top + line + metrics.ascent()), state_text)
    used = metrics.horizontalAdvance(state_text + " ")
    painter.setPen(QColor(colors.muted))
    text = f"· {boot}  {export_of(mount.share)}"
    export = metrics.elidedText(text, Qt.TextElideMode.ElideRight, width - used)
    painter.drawText(QPoint(left + used, top + line + metrics.ascent()), export)
    if focused:
        painter.setPen(QPen(QColor(colors.accent), 2))
        painter.drawRect(rect.adjusted(1, 1, -1, -1))

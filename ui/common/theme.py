"""Theme: a light and a dark palette, and a table of colors by meaning for each.

The program ships its palettes, because not every platform follows a color scheme: Qt's xcb and offscreen
plug-ins ignore it without a desktop theme.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


class Appearance(StrEnum):
    """Appearance chosen by the user."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


#: Fields of :class:`Colors` that are used on plots.
ColorName = Literal["write", "read", "trip", "ok", "warn", "error", "text"]


@dataclass(frozen=True, slots=True)
class Colors:
    """Colors by meaning, as #rrggbb.

    Attributes:
        window: background of the window.
        base: background of fields, lists and plots.
        raised: background of buttons.
        text: ordinary text.
        muted: secondary text.
        border: separators and outlines.
        accent: selection, and the most important button.
        on_accent: text on the accent color.
        ok: mounted, good.
        warn: warnings.
        error: failed, not responding.
        info: neutral information.
        write: curve and figures of the direction to the server.
        read: curve and figures of the direction from the server.
        trip: curve of the round-trip time.
    """

    window: str
    base: str
    raised: str
    text: str
    muted: str
    border: str
    accent: str
    on_accent: str
    ok: str
    warn: str
    error: str
    info: str
    write: str
    read: str
    trip: str


LIGHT = Colors(
    window="#f4f5f7", base="#ffffff", raised="#fbfbfc", text="#1c2127", muted="#59626e", border="#d3d8df",
    accent="#1a5fb4", on_accent="#ffffff", ok="#14713a", warn="#875300", error="#b3261e", info="#1a5fb4",
    write="#0067a3", read="#b34700", trip="#7b3fa0",
)  # fmt: skip

DARK = Colors(
    window="#1f2227", base="#17191d", raised="#2b2f36", text="#e7e9ec", muted="#a6aeb9", border="#3b414a",
    accent="#7ab0f5", on_accent="#0d1a2b", ok="#5fcb80", warn="#e8b34b", error="#ff8f85", info="#7ab0f5",
    write="#5bb8ec", read="#f0a53a", trip="#c9a0f0",
)  # fmt: skip


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colors, 1 to 21 (WCAG 2.1, relative luminance)."""
    luminances = sorted((_luminance(QColor(first)), _luminance(QColor(second))))
    return (luminances[1] + 0.05) / (luminances[0] + 0.05)


def _luminance(color: QColor) -> float:
    def channel(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    parts = (channel(color.redF()), channel(color.greenF()), channel(color.blueF()))
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def blend(color: str, ground: str, part: float) -> str:
    """Mix two colors to an opaque one, because opaque colors are painted faster than transparent ones.

    Args:
        color: color as #rrggbb.
        ground: background as #rrggbb.
        part: fraction of ``color``, 0 to 1.
    """
    first, second = QColor(color), QColor(ground)
    mixed = QColor.fromRgbF(
        first.redF() * part + second.redF() * (1 - part),
        first.greenF() * part + second.greenF() * (1 - part),
        first.blueF() * part + second.blueF() * (1 - part),
    )
    return mixed.name()


def make_palette(table: Colors) -> QPalette:
    """Create the Qt palette of a color table."""
    palette = QPalette()
    role = QPalette.ColorRole
    mapping = {
        role.Window: table.window, role.WindowText: table.text, role.Base: table.base,
        role.AlternateBase: table.window, role.Text: table.text, role.Button: table.raised,
        role.ButtonText: table.text, role.BrightText: table.error, role.Highlight: table.accent,
        role.HighlightedText: table.on_accent, role.Link: table.accent, role.LinkVisited: table.accent,
        role.ToolTipBase: table.raised, role.ToolTipText: table.text,
        role.PlaceholderText: table.muted, role.Mid: table.border, role.Accent: table.accent,
    }  # fmt: skip
    for color_role, value in mapping.items():
        palette.setColor(color_role, QColor(value))
    base = QColor(table.raised)
    dark = base.lightness() < 128
    palette.setColor(role.Light, base.lighter(130 if dark else 102))
    palette.setColor(role.Midlight, base.lighter(115 if dark else 101))
    palette.setColor(role.Dark, QColor(table.border).darker(140 if dark else 118))
    palette.setColor(role.Shadow, QColor("#000000") if dark else QColor(table.border).darker(140))
    for color_role in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, color_role, QColor(table.muted))
    palette.setColor(QPalette.ColorGroup.Disabled, role.Base, QColor(table.window))
    palette.setColor(QPalette.ColorGroup.Disabled, role.Highlight, QColor(table.border))
    return palette


def colors() -> Colors:
    """Return the color table in use.

    It follows the palette of the application: the palette of a widget changes later than that of its parent,
    and may contain tints.
    """
    dark = QGuiApplication.palette().color(QPalette.ColorRole.Base).lightness() < 128
    return DARK if dark else LIGHT


def apply_appearance(app: QApplication, appearance: Appearance) -> None:
    """Set the Fusion style, and the palette of the appearance, for the whole application."""
    scheme = {
        Appearance.SYSTEM: Qt.ColorScheme.Unknown,
        Appearance.LIGHT: Qt.ColorScheme.Light,
        Appearance.DARK: Qt.ColorScheme.Dark,
    }[appearance]
    hints = QGuiApplication.styleHints()
    hints.setColorScheme(scheme)
    if app.style().objectName().lower() != "fusion":
        app.setStyle(QStyleFactory.create("Fusion"))
    dark = appearance is Appearance.DARK or (
        appearance is Appearance.SYSTEM and hints.colorScheme() == Qt.ColorScheme.Dark
    )
    app.setPalette(make_palette(DARK if dark else LIGHT))


def tint(widget: QWidget, color: str, *roles: QPalette.ColorRole) -> None:
    """Set the color of palette roles of one widget; without roles, of its text."""
    palette = widget.palette()
    for role in roles or (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text):
        palette.setColor(role, QColor(color))
    widget.setPalette(palette)

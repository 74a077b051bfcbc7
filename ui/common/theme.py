"""Theme: light, dark and high-contrast palettes, and a table of colors by meaning for each.

The program ships its palettes, because not every platform follows a color scheme: Qt's xcb and offscreen
plug-ins ignore it without a desktop theme.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from PySide6.QtGui import QColor, QGuiApplication, QPalette

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


class Appearance(StrEnum):
    """Appearance chosen by the user."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"
    HIGH_CONTRAST = "high-contrast"


#: Fields of :class:`Colors` that are used on plots.
ColorName = Literal["write", "read", "trip", "ok", "warn", "error", "text"]


@dataclass(frozen=True, slots=True)
class Colors:
    """Colors by meaning, as #rrggbb.

    Attributes:
        window: background of the window.
        base: background of fields, lists and plots.
        raised: background of buttons.
        card: background of cards.
        text: ordinary text.
        muted: secondary text.
        border: separators.
        card_border: outline of cards, a hairline that only decorates.
        input_border: outline of fields and buttons, at least 3:1 against every background.
        accent: selection, focus, and the most important button.
        on_accent: text on the accent color.
        accent_tint: background of the card or row that matters most.
        ok: mounted, good.
        warn: warnings.
        error: failed, not responding.
        info: neutral information.
        lab: mark of the lab, which nobody is to take for a real computer.
        ok_tint: background of a card about a success.
        warn_tint: background of a card about a warning.
        error_tint: background of a card about a failure.
        lab_tint: background of the mark of the lab.
        write: curve and figures of the direction to the server.
        read: curve and figures of the direction from the server.
        trip: curve of the round-trip time.
    """

    window: str
    base: str
    raised: str
    card: str
    text: str
    muted: str
    border: str
    card_border: str
    input_border: str
    accent: str
    on_accent: str
    accent_tint: str
    ok: str
    warn: str
    error: str
    info: str
    lab: str
    ok_tint: str
    warn_tint: str
    error_tint: str
    lab_tint: str
    write: str
    read: str
    trip: str


LIGHT = Colors(
    window="#f4f5f7", base="#ffffff", raised="#ffffff", card="#ffffff", text="#1c2127", muted="#555e6a",
    border="#d3d8df", card_border="#dde1e7", input_border="#7d8591", accent="#1a5fb4", on_accent="#ffffff",
    accent_tint="#e9f1fb", ok="#14713a", warn="#7d4c00", error="#b3261e", info="#1a5fb4", lab="#6a3d9a",
    ok_tint="#e8f5ec", warn_tint="#fdf3df", error_tint="#fdecea", lab_tint="#f1eaf8",
    write="#0067a3", read="#ad4400", trip="#7b3fa0",
)  # fmt: skip

DARK = Colors(
    window="#1f2227", base="#17191d", raised="#2b2f36", card="#262a30", text="#e7e9ec", muted="#a9b1bc",
    border="#3b414a", card_border="#363c45", input_border="#7f8894", accent="#7ab0f5", on_accent="#0d1a2b",
    accent_tint="#213043", ok="#5fcb80", warn="#e8b34b", error="#ff8f85", info="#7ab0f5", lab="#c9a6f2",
    ok_tint="#1d3125", warn_tint="#352c1a", error_tint="#3a2422", lab_tint="#31273f",
    write="#5bb8ec", read="#f0a53a", trip="#c9a0f0",
)  # fmt: skip

HIGH_CONTRAST = Colors(
    window="#000000", base="#000000", raised="#000000", card="#000000", text="#ffffff", muted="#e0e0e0",
    border="#ffffff", card_border="#ffffff", input_border="#ffffff", accent="#ffd60a", on_accent="#000000",
    accent_tint="#1f1a00", ok="#5cf08c", warn="#ffc233", error="#ff9a91", info="#8cc8ff", lab="#dcb8ff",
    ok_tint="#001f0c", warn_tint="#211700", error_tint="#290402", lab_tint="#1c0830",
    write="#6cc8ff", read="#ffb347", trip="#dfb3ff",
)  # fmt: skip

_PALETTES = (LIGHT, DARK, HIGH_CONTRAST)


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
    base = QGuiApplication.palette().color(QPalette.ColorRole.Base)
    name = base.name()
    for table in _PALETTES:
        if table.base == name:
            return table
    return DARK if base.lightness() < 128 else LIGHT


def tint(widget: QWidget, color: str, *roles: QPalette.ColorRole) -> None:
    """Set the color of palette roles of one widget; without roles, of its text."""
    palette = widget.palette()
    for role in roles or (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text):
        palette.setColor(role, QColor(color))
    widget.setPalette(palette)

"""Text view: read-only monospace view of files and commands; a unified diff is colored."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QColor, QSyntaxHighlighter, QTextCharFormat, QTextDocument
from PySide6.QtWidgets import QPlainTextEdit

from ui.common import theme
from ui.common.fonts import scale_font


class TextView(QPlainTextEdit):
    """Read-only monospace text that can be selected and copied.

    Args:
        name: accessible name.
        lines: maximum preferred height, in lines.
        diff: whether the text is a unified diff; then it is colored, and the height is fixed to the text.
    """

    def __init__(self, name: str, *, lines: int = 12, diff: bool = False) -> None:
        super().__init__()
        self._lines = lines
        self._fixed = diff
        self.setReadOnly(True)
        self.setAccessibleName(name)
        self.setTabChangesFocus(True)
        scale_font(self, 1.0, fixed_width=True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._colors = _DiffHighlighter(self.document()) if diff else None
        self._update_colors()

    def show_text(self, text: str) -> None:
        """Replace the text and scroll to its beginning."""
        if text != self.toPlainText():
            self.setPlainText(text)
            if self._fixed:
                self.setFixedHeight(self.sizeHint().height())
            self.updateGeometry()

    def _update_colors(self) -> None:
        if self._colors is not None:
            self._colors.set_colors(theme.colors())

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: height of the text, at most the given number of lines."""
        lines = min(self._lines, max(2, self.blockCount()))
        margins = 2 * (int(self.document().documentMargin()) + self.frameWidth())
        bar = self.horizontalScrollBar().sizeHint().height()
        height = self.fontMetrics().lineSpacing() * lines + margins + bar
        return QSize(self.fontMetrics().averageCharWidth() * 76, height)

    def minimumSizeHint(self) -> QSize:
        """Qt: 30 characters wide, four lines high (two lines of text and the scroll bar)."""
        return QSize(self.fontMetrics().averageCharWidth() * 30, self.fontMetrics().lineSpacing() * 4)

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_colors"):
            self._update_colors()


class _DiffHighlighter(QSyntaxHighlighter):
    """Colors the lines of a unified diff by their first character."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._formats: dict[str, QTextCharFormat] = {}

    def set_colors(self, colors: theme.Colors) -> None:
        """Use a color table, and color the text again."""
        self._formats = {
            sign: _format(color)
            for sign, color in (("+", colors.ok), ("-", colors.error), ("@", colors.muted))
        }
        self.rehighlight()

    # Qt overrides

    def highlightBlock(self, text: str) -> None:
        """Qt: color one line."""
        sign = "@" if text.startswith(("+++", "---")) else text[:1]
        if sign in self._formats:
            self.setFormat(0, len(text), self._formats[sign])


def _format(color: str) -> QTextCharFormat:
    text_format = QTextCharFormat()
    text_format.setForeground(QColor(color))
    return text_format

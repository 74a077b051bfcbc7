"""Translation of texts outside of QObject classes, which have their own ``tr`` method."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication


def tr(text: str) -> str:
    """Translate a text to the language of the user."""
    return QCoreApplication.translate("mountwright", text)

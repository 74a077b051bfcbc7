"""Translation of texts outside of classes of Qt, which have a ``tr`` of their own."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication


def tr(text: str) -> str:
    """Return the text in the person's language."""
    return QCoreApplication.translate("mountwright", text)

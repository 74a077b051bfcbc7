"""Translation in the window: Qt's own functions ask the one catalogue of app.text.translate."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QTranslator

from app.text import translate


class CatalogueTranslator(QTranslator):
    """Translator of ``tr()`` and ``QCoreApplication.translate()`` by the gettext catalogue.

    Contexts do not count.
    """

    # Qt overrides

    def isEmpty(self) -> bool:
        """Qt: whether it has no translations."""
        return False

    def translate(
        self,
        context: str,
        source_text: str,
        disambiguation: str | None = None,
        n: int = -1,
    ) -> str:
        """Qt: the translation of a text, "" for Qt's own texts, which the next translator has."""
        text = translate.gettext(source_text)
        return "" if text == source_text else text


def tr(text: str) -> str:
    """Translate a text to the language of the user."""
    return QCoreApplication.translate("mountwright", text)

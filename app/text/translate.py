"""Translation: the one hook for all texts that people read, after gettext.

The language is that of the environment (LANGUAGE, LC_ALL, LC_MESSAGES, LANG), from the catalogues in
``resources/i18n``. ``LANGUAGE=en@pseudo`` selects the pseudo-language: English with accents, a third longer.
It shows texts that are cut off or that miss the hook.
"""

from __future__ import annotations

import gettext as _gettext
import os
import re
from pathlib import Path

import resources

#: Domain of the catalogues: ``resources/i18n/<language>/LC_MESSAGES/mountwright.mo``.
DOMAIN = "mountwright"
PSEUDO_LANGUAGE = "en@pseudo"
#: Additional length of a text in the pseudo-language, as a fraction.
_PSEUDO_EXPANSION = 0.35
_PSEUDO_LETTERS = str.maketrans("AEIOUYaeiouycnsz", "ÅÉÎÖÜÝåéîöüýçñšž")
#: Parts of a text that stay as they are: placeholders, tags and entities of HTML, mnemonics of Qt, numbers.
_FIXED_PARTS = re.compile(r"(\{[^{}]*\}|<[^<>]*>|&[a-z]+;|&[A-Za-z]|%n|%L?\d|%%|%\([a-z_]+\)[a-z])")


class _PseudoTranslations(_gettext.NullTranslations):
    """Translations to the pseudo-language."""

    def gettext(self, message: str) -> str:
        return pseudo_text(message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return pseudo_text(super().ngettext(msgid1, msgid2, n))


_translations: _gettext.NullTranslations = _gettext.NullTranslations()


def install(language: str | None = None) -> None:
    """Select the language of all texts, before data files are read.

    Args:
        language: such as “de”, “pt_BR” or PSEUDO_LANGUAGE; None for the language of the environment.
    """
    global _translations  # noqa: PLW0603 - the language of the process
    first = os.environ.get("LANGUAGE", "").partition(":")[0] if language is None else language
    if first == PSEUDO_LANGUAGE:
        _translations = _PseudoTranslations()
    else:
        _translations = _gettext.translation(
            DOMAIN,
            Path(resources.__file__).parent / "i18n",
            languages=None if language is None else [language],
            fallback=True,
        )
    resources.set_translation(gettext if is_translated() else str)


def is_translated() -> bool:
    """Whether the selected language is another one than plain English."""
    return type(_translations) is not _gettext.NullTranslations


def gettext(text: str) -> str:
    """Return a text in the selected language."""
    return _translations.gettext(text) if text else ""


def ngettext(singular: str, plural: str, count: int) -> str:
    """Return the form of a text for a number in the selected language."""
    return _translations.ngettext(singular, plural, count)


def mark(text: str) -> str:
    """Mark a text of a table for translation, and return it unchanged; it is translated where it is shown."""
    return text


def pseudo_text(text: str) -> str:
    """Return a text in the pseudo-language: accented, longer, with its placeholders and tags.

    Args:
        text: English text, which may have placeholders, HTML tags and mnemonics.
    """
    if not text.strip():
        return text
    parts = _FIXED_PARTS.split(text)
    letters = sum(map(len, parts[::2]))
    accented = "".join(
        part if index % 2 else part.translate(_PSEUDO_LETTERS) for index, part in enumerate(parts)
    )
    added = max(1, round(letters * _PSEUDO_EXPANSION) - 2)
    return f"⟦{accented}{('~~~~~ ' * added)[:added]}⟧"

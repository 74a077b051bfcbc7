"""The texts for people use the field's terms: none has a phrase of tests/data/banned_phrases.txt."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "packaging"))

import translation_template  # noqa: E402


def test_no_text_has_a_banned_phrase() -> None:
    lines = (ROOT / "tests/data/banned_phrases.txt").read_text(encoding="utf-8").splitlines()
    phrases = re.compile("|".join(line for line in lines if line and not line.startswith("#")), re.IGNORECASE)
    entries = translation_template.entries()
    found = [
        f"{entry.file}: {text}"
        for entry in entries
        for text in (entry.text, entry.plural)
        if phrases.search(text)
    ]
    assert len(entries) > 3000
    assert found == []

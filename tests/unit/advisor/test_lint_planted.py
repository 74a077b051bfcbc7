"""List of planted mistakes: the lint detects all of them and flags no correct entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from planted_mistakes import judge, load, report

OWN = Path(__file__).parents[2] / "data" / "planted" / "own.toml"


@pytest.mark.parametrize("item", load(OWN), ids=lambda item: str(item["id"]))
def test_a_mistake_is_told_and_a_right_entry_left_alone(item: dict[str, Any]) -> None:
    result = judge(item)
    assert result.told, result.said


def test_the_report_names_what_is_missed_and_what_is_flagged() -> None:
    missed = {"id": "a", "kind": "options", "text": "hard", "mistake": True, "words": ["x"], "what": "w"}
    flagged = {"id": "b", "kind": "options", "text": "soft", "mistake": False}
    told = {"id": "c", "kind": "fstab", "text": "nas /m nfs rw 0 0", "mistake": True, "words": ["colon"]}
    newer = {**told, "kind": "options", "text": "nconnect=4", "words": ["nconnect"], "context": "kernel 4.19"}
    text = report([judge(item) for item in (missed, flagged, told, newer)])
    assert "MISSED a: w" in text
    assert "FLAGGED b" in text
    assert text.endswith("Mistakes told: 2 of 3. Controls left alone: 0 of 1.\nPrecision: 66.7%.")

"""Sentences about use cases for which a speed is sufficient."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.use_cases import use_case_texts


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (117e6, "about 29 films in 4K in parallel (25 Mbit/s for each)"),
        (4e6, "one film in 4K (25"),
        (2e6, "about 2 films in HD in parallel (5 Mbit/s for each)"),
        (1e5, "too slow for a film in HD"),
    ],
)
def test_video(read: float, words: str) -> None:
    assert words in use_case_texts(read=read)[0]


@pytest.mark.parametrize(("write", "words"), [(117e6, "3.4 TB in a night of 8 hours"), (1e6, "29 GB")])
def test_backup(write: float, words: str) -> None:
    assert words in use_case_texts(write=write)[0]
    assert use_case_texts(write=write)[0].endswith("if the files are large.")
    assert use_case_texts(small_files=write)[0].endswith("hours, of files like these.")


@pytest.mark.parametrize(
    ("flushes", "words"),
    [(3000, "as a simple SSD"), (400, "quiet machines"), (30, "slower than one hard disk")],
)
def test_virtual_disks(flushes: float, words: str) -> None:
    assert words in use_case_texts(flushes=flushes)[0]
    assert words in use_case_texts(small_writes=flushes)[0]


@given(*[st.none() | st.floats(0, 1e12)] * 3)
def test_a_sentence_for_each_figure(read: float | None, write: float | None, flushes: float | None) -> None:
    found = use_case_texts(read=read, write=write, flushes=flushes)
    assert len(found) == sum(value is not None for value in (read, write, flushes))
    assert all(text.endswith(".") for text in found)

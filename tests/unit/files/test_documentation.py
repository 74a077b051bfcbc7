"""Documentation: the pages that the window shows are there, and links between them lead somewhere."""

from __future__ import annotations

import re

import pytest

from app.errors import AppError
from app.files.documentation import documentation_directory, read_document, read_picture


def test_the_pages_are_beside_the_program() -> None:
    assert read_document("user-guide").startswith("# User guide")
    assert read_picture("window.png").startswith(b"\x89PNG")


def test_a_missing_page_is_said_with_its_place() -> None:
    with pytest.raises(AppError) as caught:
        read_document("missing")
    assert str(documentation_directory() / "missing.md") in caught.value.message


def test_a_name_does_not_lead_out_of_the_directory() -> None:
    with pytest.raises(AppError):
        read_document("../README")


def test_links_between_pages_lead_somewhere() -> None:
    folder = documentation_directory()
    for page in folder.glob("*.md"):
        for target in re.findall(r"\]\(([a-z-]+\.md)[)#]", page.read_text(encoding="utf-8")):
            assert (folder / target).exists(), f"{page.name}: {target}"

"""The order of the source code: no circles, and names that mean something in the field."""

import code_structure as structure
import pytest

FILES = structure.read()


def test_files_import_each_other_in_no_circle() -> None:
    assert structure.circles(structure.file_edges(FILES)) == []


def test_folders_import_each_other_in_no_circle() -> None:
    assert structure.circles(structure.folder_edges(FILES)) == []


def test_names_have_no_private_words() -> None:
    assert list(structure.banned_names(FILES, structure.banned_words())) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("MountOptions", ["mount", "options"]),
        ("read_ahead_kb", ["read", "ahead", "kb"]),
        ("TCPInfo", ["tcp", "info"]),
    ],
)
def test_words_of_a_name(name: str, words: list[str]) -> None:
    assert structure.tokens(name) == words


def test_circles_are_found() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}
    assert structure.circles(edges) == [["b", "c"]]

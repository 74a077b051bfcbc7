"""The order of the source code: no circles, and names that mean something in the field."""

import ast

import code_structure as structure
import pytest

FILES = structure.read()


def test_files_import_each_other_in_no_circle() -> None:
    assert structure.circles(structure.file_edges(FILES)) == []


def test_folders_import_each_other_in_no_circle() -> None:
    assert structure.circles(structure.folder_edges(FILES)) == []


def test_logic_decides_on_codes_and_not_on_sentences() -> None:
    assert list(structure.prose_in_logic()) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('"failed" in error.message', True),
        ("error.hint.replace(path, share)", True),
        ('value.note.startswith("Has no effect")', True),
        ('self._running != "A test is being planned"', True),
        ('text in {"Agreed with the server."}', True),
        ("error.code is ErrorCode.MOUNT_IN_USE", False),
        ('error.message == ""', False),
        ('name in {"rsize", "wsize"}', False),
        ('line.split(" ")', False),
    ],
)
def test_prose_in_logic_is_found(source: str, found: bool) -> None:
    assert bool(structure.prose_lines(ast.parse(source))) is found


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

"""Errors as codes with values: sentences, kinds, and the form that goes between processes."""

import ast
import string
from pathlib import Path

import msgspec
import pytest

import app
from app.errors import AppError, CancelledError, ErrorData, ErrorKind
from app.text.errors import ErrorCode
from app.text.translate import PSEUDO_LANGUAGE, install

ROOT = Path(app.__file__).parents[1]


def placeholders(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


def sites() -> list[tuple[str, ErrorCode, set[str], bool]]:
    """Return each place that makes an error with a code: place, code, parameters, whether ** is used."""
    found = []
    for path in (ROOT / "app").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Attribute):
                continue
            first = node.args[0]
            if isinstance(first.value, ast.Name) and first.value.id == "ErrorCode":
                names = {word.arg for word in node.keywords if word.arg}
                more = any(word.arg is None for word in node.keywords) or not isinstance(node.func, ast.Name)
                more = more or node.func.id not in {"AppError", "CancelledError"}
                found.append((f"{path.name}:{node.lineno}", ErrorCode[first.attr], names, more))
    return found


@pytest.mark.parametrize("code", ErrorCode)
def test_a_code_begins_with_its_kind_and_has_full_sentences(code: ErrorCode) -> None:
    assert code.partition(".")[0] in set(ErrorKind)
    assert code.sentence
    placeholders(code.sentence + code.hint)  # parses


def test_each_place_gives_the_values_that_the_sentences_name() -> None:
    found = sites()
    assert len(found) > 150
    wrong = [
        (place, code.name, names)
        for place, code, names, more in found
        if not more and not placeholders(code.sentence + code.hint) <= names
    ]
    assert wrong == []


def test_every_code_is_used() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "app").rglob("*.py"))
    assert [code.name for code in ErrorCode if f"ErrorCode.{code.name}" not in source] == []


def test_an_error_goes_between_processes_as_code_and_values() -> None:
    inner = AppError(ErrorCode.SERVER_TIMEOUT, host="nas", timeout_s=5.0, port=2049)
    error = AppError(ErrorCode.NOTHING_CHANGED, kind=inner.kind, detail="d\udcff", problem=inner)
    error.remains = ("/mnt/a",)
    raw = msgspec.json.encode(error.data())
    assert b"did not answer" not in raw
    back = msgspec.json.decode(raw, type=ErrorData).error()
    assert (back.message, back.hint, back.kind) == (error.message, error.hint, ErrorKind.SERVER_SILENT)
    assert back.message.startswith("The server “nas” did not answer within 5 seconds.")
    assert back.message.endswith("Nothing was changed.")
    assert "ping nas" in back.hint
    assert (back.detail, back.remains) == ("d\\xff", ("/mnt/a",))


def test_an_error_of_the_helper_keeps_its_own_words_within_another_one() -> None:
    inner = AppError(ErrorKind.BUSY, "It is in use.", hint="Close it.")
    error = AppError(ErrorCode.NOTHING_CHANGED, kind=inner.kind, problem=inner).data().error()
    assert (error.message, error.hint) == ("It is in use. Nothing was changed.", "Close it.")


def test_a_cancellation_stays_one() -> None:
    assert isinstance(CancelledError().data().error(), CancelledError)
    assert isinstance(CancelledError(ErrorCode.CHANGE_REVERTED).data().error(), CancelledError)


def test_bugs_are_told_from_faults_of_the_environment() -> None:
    assert AppError(ErrorCode.AGENT_ENDED).is_bug
    assert not AppError(ErrorCode.FIO_MISSING).is_bug


def test_sentences_are_in_the_language_of_the_one_who_reads_them() -> None:
    data = AppError(ErrorCode.PORT_OUT_OF_RANGE, number=70000).data()
    install(PSEUDO_LANGUAGE)
    try:
        assert data.error().message.startswith("⟦70000")
    finally:
        install("en")

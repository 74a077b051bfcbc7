"""Commands "persist" and "forget": fstab is changed only after consent."""

import io
from typing import Any

import msgspec
import pytest

from advisor.facts import ClientFacts, Facts
from advisor.lint import LintContext, prerequisite_findings
from advisor.options import MountOptions
from app.cli.parser import parse_args
from app.cli.persist import report_text, run_persist
from app.errors import AppError, ErrorKind
from app.mounts.change_model import PersistArgs, RemoveArgs
from app.mounts.model import SavedEntryReport

SHOWN = SavedEntryReport(diff="+nas:/a\n", line="nas:/a", sha256="abc")
WRITTEN = SavedEntryReport(
    diff="+nas:/a\n", line="nas:/a", sha256="abc", written=True, backup="/b", warnings=["W."]
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(*argv: str) -> tuple[SavedEntryReport, list[Any]]:
    asked: list[Any] = []

    def ask(verb: str, query: Any) -> SavedEntryReport:
        asked.append((verb, query))
        return SHOWN if query.preview else WRITTEN

    return run_persist(ask, parse_args(argv)), asked


def test_with_yes_the_change_is_shown_and_written() -> None:
    report, asked = run("persist", "--yes", "-o", "ro", "nas:/a", "/mnt/a")
    query = PersistArgs(share="nas:/a", mount_point="/mnt/a", options="ro", expected_sha256="abc")
    assert asked[1] == ("mounts.persist", query)
    assert report_text(report) == "Wrote: nas:/a\nBackup of the old file: /b\nW."


def test_findings_are_printed_before_the_question(capsys: pytest.CaptureFixture[str]) -> None:
    facts = Facts(client=ClientFacts(kernel="6.1.0"))
    found = prerequisite_findings(MountOptions.parse("xprtsec=tls"), context=LintContext(), facts=facts)
    shown = msgspec.structs.replace(SHOWN, findings=found)
    run_persist(lambda _verb, _query: shown, parse_args(["persist", "--dry-run", "nas:/a", "/mnt/a"]))
    assert capsys.readouterr().err.startswith(
        "warning: “xprtsec” came with Linux 6.5, and this computer runs 6.1"
    )


def test_a_dry_run_only_shows() -> None:
    report, asked = run("forget", "--dry-run", "/mnt/a")
    assert asked == [("mounts.forget", RemoveArgs(mount_point="/mnt/a", preview=True))]
    assert report_text(report) == "+nas:/a"


def test_without_a_terminal_it_asks_for_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(AppError) as caught:
        run("forget", "/mnt/a")
    assert caught.value.kind is ErrorKind.USAGE
    assert "--yes" in caught.value.hint


@pytest.mark.parametrize(
    ("answer", "yes"), [("y\n", True), ("Yes\n", True), ("\n", False), ("n\n", False), ("", False)]
)
def test_on_a_terminal_it_asks(monkeypatch: pytest.MonkeyPatch, answer: str, *, yes: bool) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    if yes:
        assert run("persist", "nas:/a", "/mnt/a")[0].written
    else:
        with pytest.raises(AppError) as caught:
            run("persist", "nas:/a", "/mnt/a")
        assert caught.value.kind is ErrorKind.CANCELLED
    assert screen.getvalue() == "+nas:/a\nWrite this? [y/N] "

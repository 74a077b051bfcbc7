"""Command "history", which needs no host."""

import contextlib
import csv
import io
import json
import sqlite3
import sys
from pathlib import Path

import pytest
from sample_experiment import experiment
from sample_results import result

from app.cli import main as cli
from app.cli.history import save_test
from app.history.database import default_path
from app.history.import_export import history_from_json
from app.history.model import Run
from app.history.store import HistoryStore
from app.speedtest.model import Environment

FAST = [100e6, 101e6, 99e6, 100.5e6, 98e6, 102e6]
SLOW = [60e6, 61e6, 59e6, 60.5e6, 58e6, 62e6]


@pytest.fixture(autouse=True)
def three(own_home: Path) -> None:
    with HistoryStore.open() as store:
        environment = Environment(host="desk", rtt_s=0.0004)
        store.add(Run(result=result(FAST, FAST, environment=environment), tags=("old",)))
        store.add(
            Run(result=result(SLOW, FAST, started_at="2026-03-02T10:00:00+00:00"), note="New \x1b[31mcable")
        )
        store.add(Run(result=result(share="den:/x", workload="files", cached=True)))


def run_command(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> str:
    assert cli.main(["history", *argv]) == code
    out, err = capsys.readouterr()
    return err if code else out


def test_the_list_is_the_newest_first_and_safe_to_print(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run_command(capsys).splitlines()
    assert [line.split()[0] for line in lines] == ["ID", "2", "3", "1"]
    assert "60.5 MB/s" in lines[1]
    assert "New \\x1b[31mcable" in lines[1]
    assert "110 MB/s (cached)" in lines[2]
    assert "#old" in lines[3]


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["--share", "den:/x"], [3]),
        (["--tag", "old"], [1]),
        (["--kind", "files"], [3]),
        (["--since", "2026-03-02"], [2]),
        (["--since", "1h"], []),
        (["CABLE"], [2]),
        (["--limit", "1"], [2]),
        (["--host", "desk", "--server", "nas"], [2, 1]),
    ],
)
def test_filters(capsys: pytest.CaptureFixture[str], words: list[str], numbers: list[int]) -> None:
    assert [row["id"] for row in json.loads(run_command(capsys, "list", "--json", *words))] == numbers
    text = run_command(capsys, "list", *words)
    assert ("No saved test matches" in text) == (not numbers)
    assert ("2 older ones" in text) == ("--limit" in words)


def test_show_and_compare(capsys: pytest.CaptureFixture[str]) -> None:
    assert "host" in (text := run_command(capsys, "show", "1"))
    assert "Tags: old" in text
    assert "Requested: rsize=65536\nIn use: vers=4.2,rsize=65536,hard" in text
    assert ["round", "trip", "400", "µs"] in [line.split() for line in text.splitlines()]
    assert json.loads(run_command(capsys, "--json", "show", "1"))["result"]["share"] == "nas:/home"
    text = run_command(capsys, "compare", "1", "2")
    assert "To the server 40 % slower" in text
    assert "From the server no significant difference" in text
    assert (
        json.loads(run_command(capsys, "compare", "--json", "1", "2"))["comparisons"][0]["verdict"]
        == "slower"
    )
    assert "too few repeats" not in text
    assert "copied different kinds" in run_command(capsys, "compare", "1,2", "3", code=2)
    assert "no test 9" in run_command(capsys, "show", "9", code=2)


def test_tags_notes_and_baselines(capsys: pytest.CaptureFixture[str]) -> None:
    run_command(capsys, "tag", "--add", "x", "--remove", "old", "1", "2")
    run_command(capsys, "note", "1", "Here.")
    told = "Test {} is now the baseline for later tests of nas:/home of the same kind."
    assert run_command(capsys, "baseline", "2") == told.format(2) + "\n"
    gone = "It replaces test 2 as the baseline."
    assert run_command(capsys, "baseline", "1") == f"{told.format(1)} {gone}\n"
    assert "1*" in (text := run_command(capsys, "list", "--baselines"))
    assert "#x Here." in text
    run_command(capsys, "baseline", "--clear", "1")
    assert "1*" not in run_command(capsys, "list")
    assert "Which tag?" in run_command(capsys, "tag", "1", code=2)


def test_deleting_needs_consent(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "needs confirmation" in run_command(capsys, "delete", "1", code=2)
    assert run_command(capsys, "delete", "--yes", "1", "2") == "Deleted 2 tests.\n"
    for answer, code, left in (("n\n", 130, 1), ("y\n", 0, 0)):
        monkeypatch.setattr(sys, "stdin", terminal := io.StringIO(answer))
        terminal.isatty = lambda: True  # type: ignore[method-assign]
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        run_command(capsys, "delete", "3", code=code)
        with HistoryStore.open() as store:
            assert store.count() == left


def test_a_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    assert "Wrote 2 tests" in run_command(capsys, "export", "--html", str(file), "--share", "nas:/home")
    assert "Run 2 compared with Run 1" in file.read_text()


def test_experiments(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "No experiment" in run_command(capsys, "experiments")
    with HistoryStore.open() as store:
        store.add_experiment(experiment())
    assert "quick" in (text := run_command(capsys, "experiments"))
    assert "36" in text
    assert json.loads(run_command(capsys, "experiments", "--json"))[0]["done"] == 36
    for name in ("csv", "xlsx", "json", "html"):
        file = tmp_path / f"out.{name}"
        assert "Wrote experiment 1" in run_command(
            capsys, "export", "--experiment", "1", f"--{name}", str(file)
        )
        assert file.stat().st_size > 1000
    assert "Sizes &amp; connections" in (tmp_path / "out.html").read_text()
    assert "1 already saved" in run_command(capsys, "import", str(tmp_path / "out.json"))
    assert "no experiment 7" in run_command(capsys, "export", "--experiment", "7", "--csv", "x", code=2)
    run_command(capsys, "export", "--xlsx", str(tmp_path / "runs.xlsx"))


def test_unreadable_records_are_left_out_of_an_export_and_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with HistoryStore.open() as store:
        store.add_experiment(experiment())
        store.start_experiment(b"{}", "nas:/home", 1)
    with contextlib.closing(sqlite3.connect(default_path())) as connection:
        connection.execute("UPDATE outcomes SET body = '{}' WHERE experiment = 1 AND place = 3")
        connection.execute("UPDATE bodies SET body = x'02' WHERE run = 2")
        connection.commit()
    file = tmp_path / "all.json"
    assert cli.main(["history", "export", "--json", str(file)]) == 0
    out, err = capsys.readouterr()
    assert "Wrote 2 tests" in out
    assert "Left out: The results of experiment 1 cannot be read." in err
    assert "Left out: The results of test 2 cannot be read." in err
    copy = history_from_json(file.read_bytes())
    assert (len(copy.runs), [item.seed for item in copy.experiments]) == (2, [1])
    for what in ["--id", "2"], ["--experiment", "1"]:
        assert "cannot be read" in run_command(
            capsys, "export", "--json", str(tmp_path / "one"), *what, code=1
        )


def test_export_and_import(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, lines = str(tmp_path / "all.json"), tmp_path / "some.csv"
    assert "Wrote 3 tests" in run_command(capsys, "export", "--json", file)
    assert "Wrote 1 test to" in run_command(capsys, "export", "--csv", str(lines), "--tag", "old")
    assert [row["id"] for row in csv.DictReader(lines.read_text().splitlines())] == ["1"]
    run_command(capsys, "export", "--csv", str(tmp_path / "two.csv"), "--id", "1,3")
    assert "could not be written" in run_command(capsys, "export", "--json", file, code=1)
    run_command(capsys, "delete", "--yes", "2")
    assert run_command(capsys, "import", file) == "Added 1 test. 2 already saved.\n"
    assert "cannot be read" in run_command(capsys, "import", str(tmp_path / "none"), code=2)
    assert "not a file that was exported" in run_command(capsys, "import", str(lines), code=2)


@pytest.mark.parametrize(
    "words",
    [["list", "--since", "lately"], ["compare", "a", "b"], ["export"], ["delete"],
     ["export", "--csv", "a", "--json", "b"], ["show", "abc"], ["show", "0"], ["show", "9" * 30],
     ["tag", "--add", "x", "-4"], ["delete", "--yes", "9" * 30], ["compare", "1,", "2"],
     ["export", "--csv", "a", "--id", "9" * 30], ["export", "--csv", "a", "--experiment", "x"],
     ["list", "--limit", "0"], ["list", "--limit=-3"], ["list", "--limit", "9" * 30]],
)  # fmt: skip
def test_wrong_arguments(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["history", *words])
    assert caught.value.code == 2
    assert "invalid" not in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["--lab", "wan", "history"])


@pytest.mark.parametrize(
    "words", [["list", "\udcff"], ["list", "--share", "\udcff"], ["note", "1", "\udcff"]]
)
def test_names_that_are_not_utf_8(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert "is not UTF-8" in run_command(capsys, *words, code=2)


def test_a_run_is_not_compared_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Test 2 is on both sides" in run_command(capsys, "compare", "1,2", "2", code=2)
    assert run_command(capsys, "compare", "1,1", "2") == run_command(capsys, "compare", "1", "2")


def test_a_finished_test_is_saved_and_compared(capsys: pytest.CaptureFixture[str]) -> None:
    run_command(capsys, "baseline", "1")
    slow = result(SLOW, SLOW, started_at="2026-03-03T10:00:00+00:00")
    text = save_test(slow, quiet=False)
    assert "Slower than the baseline of 2026-03-01" in text
    assert "Saved in the history as test 4." in text
    assert save_test(slow, quiet=True) == ""
    assert "Slower than the baseline" in capsys.readouterr().err


def test_an_unusable_history_does_not_fail_the_test(
    capsys: pytest.CaptureFixture[str], own_home: Path
) -> None:
    folder = own_home / ".local/share/mountwright"
    for file in folder.iterdir():
        file.unlink()
    (folder / "history.sqlite").mkdir()
    assert save_test(result(), quiet=False) == ""
    err = capsys.readouterr().err
    assert "The measurement is not lost" in err
    assert len(list(folder.glob("mountwright-unsaved-*.json"))) == 1


def test_a_damaged_history_is_recovered_and_listed(capsys: pytest.CaptureFixture[str]) -> None:
    raw = default_path().read_bytes()
    default_path().write_bytes(raw[:4096] + b"\xa5" * 4096 + raw[8192:])
    assert cli.main(["history"]) == 0
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()] == ["ID", "2", "3", "1"]
    assert "All 3 tests that it tells of are recovered." in err

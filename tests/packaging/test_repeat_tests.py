"""Repetitions of the suite: what failed how often, and the load beside them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

import repeat_tests  # noqa: E402
import run_tests  # noqa: E402
from repeat_tests import Run  # noqa: E402

REPORT = """<testsuites><testsuite tests="4" failures="1" errors="1" skipped="1">
<testcase classname="tests.lab.test_a" name="test_fine"/>
<testcase classname="tests.lab.test_a" name="test_skipped"><skipped message="long"/></testcase>
<testcase classname="tests.lab.test_a" name="test_bad[3]"><failure message="assert 1 == 2&#10;more">
x</failure></testcase>
<testcase classname="tests.lab.test_b" name="test_broken"><error message="failed on setup">x</error>
</testcase>
</testsuite></testsuites>"""


def step(name: str, *, fine: bool, report: str = "") -> dict[str, object]:
    return {"name": name, "fine": fine, "seconds": 2.5, "report": report,
            "passed": 1, "failed": 0 if fine else 2, "skipped": 1}  # fmt: skip


def test_a_run_names_each_test_that_failed(tmp_path: Path) -> None:
    (tmp_path / "lab.xml").write_text(REPORT)
    steps = [step("lab", fine=False, report="lab.xml"), step("mypy", fine=False), step("ruff", fine=True)]
    (tmp_path / "summary.json").write_text(json.dumps({"seed": 7, "steps": steps}))
    run = repeat_tests.read_run(1, 60.0, 1, tmp_path)
    assert run.failures == {
        "lab: tests.lab.test_a::test_bad[3]": "assert 1 == 2",
        "lab: tests.lab.test_b::test_broken": "failed on setup",
        "mypy": "it failed as a whole; its output is in output.txt",
    }
    assert (run.seed, run.groups["lab"], run.counts["passed"]) == ("7", 2.5, 3)


def test_a_group_that_ended_before_it_reported_counts_as_failed(tmp_path: Path) -> None:
    steps = [step("visual", fine=False, report="visual.xml")]
    (tmp_path / "summary.json").write_text(json.dumps({"seed": 7, "steps": steps}))
    assert list(repeat_tests.read_run(1, 1.0, 1, tmp_path).failures) == ["visual"]


def test_a_run_without_a_summary_counts_as_failed(tmp_path: Path) -> None:
    assert repeat_tests.read_run(1, 1.0, 3, tmp_path).failures == {"./test": "exit status 3"}


def test_the_table_counts_over_all_runs_the_most_frequent_first() -> None:
    runs = [
        Run(1, 60, failures={"lab: a": "first"}),
        Run(2, 61, counts={"passed": 9}),
        Run(3, 62, failures={"lab: a": "third", "lab: b": "x"}),
    ]
    rows = repeat_tests.table(runs)["failures"]
    assert [(row["test"], row["times"], row["of"], row["in runs"]) for row in rows] == [
        ("lab: a", 2, 3, [1, 3]),
        ("lab: b", 1, 3, [3]),
    ]
    shown = repeat_tests.show(runs)
    assert "run 2: 9 passed, 0 failed" in shown
    assert "failed 2 of 3 (run 1, 3)  lab: a\n    first\n    third" in shown


@pytest.mark.parametrize("words", [["--repeat"], ["--repeat", "often"], ["--repeat", "0"]])
def test_a_number_is_wanted(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_tests.main(words) == 2
    assert "--repeat 5" in capsys.readouterr().err


def test_each_run_gets_what_the_command_line_asks_for_and_the_status_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[int, list[str]]] = []

    def one_run(number: int, arguments: list[str]) -> Run:
        asked.append((number, arguments))
        return Run(number, 1.0, failures={"lab: a": "bad"} if number == 2 else {})

    monkeypatch.setattr(repeat_tests, "one_run", one_run)
    monkeypatch.setattr(repeat_tests, "KEPT", tmp_path / "repeat")
    assert repeat_tests.main(["-k", "grid", "--repeat", "2", "-x"]) == 1
    assert asked == [(1, ["-k", "grid", "-x"]), (2, ["-k", "grid", "-x"])]
    assert "failed 1 of 2" in capsys.readouterr().out
    kept = json.loads((tmp_path / "repeat" / "table.json").read_text())
    assert kept["failures"][0]["test"] == "lab: a"


def test_the_load_keeps_processors_and_disk_busy_and_is_gone_afterwards(tmp_path: Path) -> None:
    def written(pid: int) -> int:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("wchar")).split()[1])

    with repeat_tests.load(tmp_path) as pids:
        assert len(pids) == repeat_tests.BUSY_PROCESSES + 1
        end = time.monotonic() + 60
        while written(pids[-1]) < 2**20:
            assert time.monotonic() < end, "the disk writer has written nothing within 60 s"
            time.sleep(0.05)
        assert list(tmp_path.iterdir()) == []  # its file has no name
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_the_disk_writer_stays_within_its_limit_and_ends_with_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def look(fd: int) -> None:
        sizes.append(os.fstat(fd).st_size)

    parents = iter([1, 1, 1, 1, 2])
    monkeypatch.setattr(os, "fsync", look)
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    repeat_tests.write_disk(1, tmp_path, limit=32 * 2**20)
    assert sizes == [16 * 2**20, 32 * 2**20, 16 * 2**20, 32 * 2**20]


#: A suite whose first run passes, and whose second run waits, with a test that waits, too.
SUITE = """
import json, os, subprocess, sys, time
folder = sys.argv[0].rpartition("/packaging/")[0]
if not os.path.exists(folder + "/passed"):
    open(folder + "/passed", "w").close()
    step = {"name": "lab", "fine": True, "seconds": 1, "report": "", "passed": 7, "failed": 0, "skipped": 0}
    with open(folder + "/summary.json", "w") as file:
        json.dump({"seed": 1, "steps": [step]}, file)
    sys.exit()
test = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(folder + "/new", "w") as file:
    file.write(f"{os.getpid()} {test.pid}")
os.rename(folder + "/new", folder + "/waits")
time.sleep(600)
"""
RUNNER = """
import signal, sys
from pathlib import Path
import repeat_tests
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background process of a script ignores it
signal.signal(signal.SIGHUP, signal.SIG_DFL)
repeat_tests.ROOT = repeat_tests.RESULTS = Path(sys.argv[1])
repeat_tests.KEPT = repeat_tests.ROOT / "repeat"
sys.exit(repeat_tests.main(["--repeat", "3", "--load"]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_and_the_load_and_the_table_is_printed(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging" / "run_tests.py").write_text(SUITE)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "packaging")}
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(tmp_path)], env=environment, stdout=subprocess.PIPE, text=True,
    ) as runner:  # fmt: skip
        end = time.monotonic() + 60
        while not (tmp_path / "waits").exists():
            assert time.monotonic() < end, "the second run has not begun within 60 s"
            time.sleep(0.05)
        children = Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split()
        runner.send_signal(number)
        printed = runner.communicate(timeout=120)[0]
    assert runner.returncode == 130
    assert "1 of 3 runs beside load:\nrun 1: 7 passed, 0 failed, 0 skipped" in printed
    assert len(children) == repeat_tests.BUSY_PROCESSES + 2
    for pid in {*children, *(tmp_path / "waits").read_text().split()}:
        while runs(pid):
            assert time.monotonic() < end + 120, f"process {pid} runs still"
            time.sleep(0.05)


def runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False

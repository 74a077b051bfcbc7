"""Repeated runs of the test suite, optionally under load: counts how often each test fails.

    ./test --repeat 5 --load          five whole runs under load: four busy processes and a disk writer
    ./test --repeat 3                 three runs without load
    ./test --repeat 9 --load -k grid  other arguments are passed to every run

Each run is a ``./test`` in a new random order. Its output and its JUnit files are stored in
``.cache/repeat/run-N``, the table of all runs in ``.cache/repeat/table.json``. A test that fails once is a
defect of the test or of the program, so no failed test is repeated to make a run pass.

Ctrl-C, SIGTERM and SIGHUP end the present run and the load, and the table of the complete runs is printed.

Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).absolute().parents[1]
RESULTS = ROOT / ".cache" / "tests"
KEPT = ROOT / ".cache" / "repeat"
BUSY_PROCESSES = 4
#: Size at which the disk writer truncates its file and starts again.
DISK_BYTES = 300 * 2**20
_PIECE_BYTES = 2**20
#: Code of a busy process; it ends when its parent, whose process id is its argument, has ended.
_BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n    sum(range(100_000))"
_INTERRUPTED = 130
#: Time for an interrupted run to end its guests, s.
_GRACE_S = 60.0


@dataclass
class Run:
    """Result of one run of the suite.

    Attributes:
        number: number of the run, from 1.
        seconds: duration, s.
        seed: seed of the order of its tests.
        counts: number of tests by result: passed, failed, skipped.
        groups: duration of each group and check by name, s.
        failures: first line of the message by name of each failed test. A group that failed without a report
            has its own name here.
    """

    number: int
    seconds: float
    seed: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    groups: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def failed_tests(report: Path) -> dict[str, str]:
    """Return the failed tests of a JUnit file, each with the first line of its message."""
    found: dict[str, str] = {}
    if not report.exists():
        return found
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 - written by our own pytest
        bad = [*case.iter("failure"), *case.iter("error")]
        if bad:
            message = bad[0].get("message") or bad[0].text or ""
            name = f"{case.get('classname', '')}::{case.get('name', '')}"
            found[name] = message.strip().partition("\n")[0][:200]
    return found


def read_run(number: int, seconds: float, status: int, results: Path) -> Run:
    """Read the result of a run from its directory of results.

    Args:
        number: number of the run.
        seconds: duration of the run, s.
        status: exit status of the run.
        results: directory with ``summary.json`` of run_tests.py and the JUnit files of pytest.
    """
    run = Run(number, seconds)
    summary = results / "summary.json"
    record: dict[str, Any] = json.loads(summary.read_text()) if summary.exists() else {"steps": []}
    run.seed = str(record.get("seed", ""))
    run.counts = {key: sum(step[key] for step in record["steps"]) for key in ("passed", "failed", "skipped")}
    for step in record["steps"]:
        run.groups[step["name"]] = step["seconds"]
        failed = failed_tests(results / step["report"]) if step["report"] else {}
        run.failures |= {f"{step['name']}: {name}": message for name, message in failed.items()}
        if not step["fine"] and not failed:
            run.failures[step["name"]] = "it failed as a whole; its output is in output.txt"
    if status != 0 and not run.failures:
        run.failures["./test"] = f"exit status {status}"
    return run


def table(runs: Sequence[Run]) -> dict[str, Any]:
    """Return all runs, and how often each test failed, most frequent first, as a JSON object."""
    often = Counter(name for run in runs for name in run.failures)
    where = {name: [run.number for run in runs if name in run.failures] for name in often}
    return {
        "runs": [asdict(run) for run in runs],
        "failures": [
            {"test": name, "times": times, "of": len(runs), "in runs": where[name]}
            for name, times in sorted(often.items(), key=lambda item: (-item[1], item[0]))
        ],
    }


def show(runs: Sequence[Run]) -> str:
    """Return the table as text: one line for each run, then the failed tests with their messages."""
    lines = [
        f"run {run.number}: {run.counts.get('passed', 0)} passed, {len(run.failures)} failed, "
        f"{run.counts.get('skipped', 0)} skipped in {run.seconds:.0f} s"
        for run in runs
    ]
    for row in table(runs)["failures"]:
        lines.append(f"failed {row['times']} of {row['of']} (run {_listed(row['in runs'])})  {row['test']}")
        lines += [f"    {run.failures[row['test']]}" for run in runs if row["test"] in run.failures]
    return "\n".join(lines)


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in numbers)


def write_disk(parent: int, folder: Path, limit: int = DISK_BYTES) -> None:
    """Write and fsync a file in a loop until the parent process has ended.

    The file has no name, so the kernel removes it when this process ends.

    Args:
        parent: process id of the parent.
        folder: directory on the disk to write to.
        limit: size at which the file is truncated, bytes.
    """
    piece = os.urandom(_PIECE_BYTES)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        while os.getppid() == parent:
            if file.tell() >= limit:
                file.seek(0)
                file.truncate()
            for _number in range(16):
                file.write(piece)
            os.fsync(file.fileno())


@contextlib.contextmanager
def load(folder: Path) -> Iterator[list[int]]:
    """Keep processors and disk busy within this context; yields the process ids.

    Args:
        folder: directory on the disk that is kept busy.
    """
    parent = str(os.getpid())
    commands = [[sys.executable, "-IS", "-c", _BUSY, parent]] * BUSY_PROCESSES
    commands.append([sys.executable, "-IS", __file__, "--write-disk", parent, str(folder)])
    children: list[subprocess.Popen[bytes]] = []
    try:
        # In sessions of their own, so that Ctrl-C reaches only the runner, which then ends them.
        children += [
            subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
            for command in commands
        ]
        yield [child.pid for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()


def one_run(number: int, arguments: Sequence[str]) -> Run:
    """Run the suite once, and store its output, JUnit files and summary.

    Args:
        number: number of the run.
        arguments: arguments of ``./test``.
    """
    folder = KEPT / f"run-{number}"
    folder.mkdir(parents=True)
    (RESULTS / "summary.json").unlink(missing_ok=True)
    began = time.monotonic()
    with (folder / "output.txt").open("wb") as output:
        command = [sys.executable, "-IS", str(ROOT / "packaging" / "run_tests.py"), *arguments]
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            status = child.wait()
        except BaseException:
            interrupt(child)
            raise
    run = read_run(number, time.monotonic() - began, status, RESULTS)
    for path in [*RESULTS.glob("*.xml"), *RESULTS.glob("summary.json")]:
        shutil.copy(path, folder)
    return run


def interrupt(suite: subprocess.Popen[bytes]) -> None:
    """End a run as Ctrl-C does, so that its tests clean up; kill what is left of it after a grace period."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(suite.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            suite.wait(_GRACE_S)
        os.killpg(suite.pid, signal.SIGKILL)
    suite.wait()


def repeat(times: int, arguments: Sequence[str], *, loaded: bool) -> int:
    """Run the suite several times, and print how often each test failed.

    Args:
        times: number of runs.
        arguments: arguments of each run.
        loaded: whether the runs are made under load.

    Returns:
        0 if no test failed.
    """
    shutil.rmtree(KEPT, ignore_errors=True)
    KEPT.mkdir(parents=True)
    runs: list[Run] = []
    status = 0
    try:
        with load(KEPT) if loaded else contextlib.nullcontext():
            for number in range(1, times + 1):
                runs.append(one_run(number, arguments))
                print(show(runs[-1:]), flush=True)
                (KEPT / "table.json").write_text(json.dumps(table(runs), indent=1))
    except KeyboardInterrupt:
        status = _INTERRUPTED
    print(f"\n{len(runs)} of {times} runs{' beside load' if loaded else ''}:\n{show(runs)}")
    return status or int(any(run.failures for run in runs))


def main(arguments: list[str]) -> int:
    """Run the command ``--repeat N [--load] [arguments of each run]``; return its exit status."""
    if arguments[:1] == ["--write-disk"]:
        write_disk(int(arguments[1]), Path(arguments[2]))
        return 0
    rest = list(arguments)
    place = rest.index("--repeat")
    try:
        times = int(rest[place + 1])
    except (IndexError, ValueError):
        times = 0
    if times < 1:
        print("test: --repeat wants how often, for example --repeat 5", file=sys.stderr)
        return 2
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # SIGHUP under nohup(1)
            signal.signal(number, signal.default_int_handler)
    del rest[place : place + 2]
    loaded = "--load" in rest
    return repeat(times, [word for word in rest if word != "--load"], loaded=loaded)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

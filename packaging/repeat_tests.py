"""Repetitions of the whole suite, with other load beside it if asked: what fails how often.

    ./test --repeat 5 --load          five whole runs beside four busy processes and a disk writer
    ./test --repeat 3                 three quiet ones
    ./test --repeat 9 --load -k grid  what follows reaches every run, as it does without --repeat

Each run is a ``./test`` of its own, with an order of its own. Its output and its JUnit files are kept in
``.cache/repeat/run-N``, the table of all runs in ``.cache/repeat/table.json``. A test that failed once is a
defect of the test or of the program: nothing is tried a second time to make a run pass.

Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
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
#: What the disk writer writes and syncs before it begins again at the start of its file.
DISK_BYTES = 300 * 2**20
_PIECE_BYTES = 2**20
#: It ends with the process that started it, whose id is its argument, however that one ended.
_BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n    sum(range(100_000))"
_INTERRUPTED = 130


@dataclass
class Run:
    """One run of the suite.

    Attributes:
        number: from 1.
        seconds: how long it took.
        seed: of the order of its tests.
        counts: passed, failed, skipped.
        groups: seconds of each group and check.
        failures: identity of each test that failed to the last line of its message. A group that ended
            before it could report stands here under its own name.
    """

    number: int
    seconds: float
    seed: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    groups: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def failed_tests(report: Path) -> dict[str, str]:
    """Return the tests of a JUnit file that failed or broke, with the first line of the message."""
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
    """Return what a run left in its directory of results.

    Args:
        number: of the run.
        seconds: how long it took.
        status: its exit status.
        results: where run_tests.py wrote ``summary.json`` and pytest its JUnit files.
    """
    run = Run(number, seconds)
    summary = results / "summary.json"
    told: dict[str, Any] = json.loads(summary.read_text()) if summary.exists() else {"steps": []}
    run.seed = str(told.get("seed", ""))
    run.counts = {key: sum(step[key] for step in told["steps"]) for key in ("passed", "failed", "skipped")}
    for step in told["steps"]:
        run.groups[step["name"]] = step["seconds"]
        failed = failed_tests(results / step["report"]) if step["report"] else {}
        run.failures |= {f"{step['name']}: {name}": message for name, message in failed.items()}
        if not step["fine"] and not failed:
            run.failures[step["name"]] = "it failed as a whole; its output is in output.txt"
    if status != 0 and not run.failures:
        run.failures["./test"] = f"exit status {status}"
    return run


def table(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the table of all runs: how often each test failed, the most frequent first."""
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
    """Return the table in words: a line for each run, then one for each test that failed."""
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
    """Write and fsync a file in a loop while the parent lives.

    The file has no name, so that the kernel removes it however this process ends.
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
    """Keep processors and disk busy meanwhile; gives the processes' ids.

    Args:
        folder: on the disk that is to be kept busy.
    """
    parent = str(os.getpid())
    commands = [[sys.executable, "-IS", "-c", _BUSY, parent]] * BUSY_PROCESSES
    commands.append([sys.executable, "-IS", __file__, "--write-disk", parent, str(folder)])
    children: list[subprocess.Popen[bytes]] = []
    try:
        # Sessions of their own: Ctrl-C reaches the runner alone, which ends them.
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
    """Run the suite once and keep what it wrote."""
    folder = KEPT / f"run-{number}"
    folder.mkdir(parents=True)
    (RESULTS / "summary.json").unlink(missing_ok=True)
    began = time.monotonic()
    with (folder / "output.txt").open("wb") as output:
        command = [sys.executable, "-IS", str(ROOT / "packaging" / "run_tests.py"), *arguments]
        done = subprocess.run(
            command, check=False, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    run = read_run(number, time.monotonic() - began, done.returncode, RESULTS)
    for path in [*RESULTS.glob("*.xml"), *RESULTS.glob("summary.json")]:
        shutil.copy(path, folder)
    return run


def repeat(times: int, arguments: Sequence[str], *, loaded: bool) -> int:
    """Run the suite so often, print what failed how often; return 0 if nothing did."""
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
    """Carry out ``--repeat N [--load] [what each run is told]``."""
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
    del rest[place : place + 2]
    loaded = "--load" in rest
    return repeat(times, [word for word in rest if word != "--load"], loaded=loaded)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Grid of fio runs: command line, parsing of the output, and whole runs in worker processes."""

from __future__ import annotations

import errno
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import psutil
import pytest
from waiting import DEADLINE_S

from advisor.bottleneck import TransferLoad
from advisor.facts import LinkFacts
from app.cli.parser import parse_args
from app.cli.test import grid_rows, plan_query, plan_text
from app.cli.test import test_spec as spec_of
from app.errors import AppError, CancelledError, ErrorKind
from app.speedtest.model import ACCESS_PATTERNS, Grid, GridCell, GridRun, TestEvent, TestPlanArgs, TestSpec
from app.speedtest.planning import plan_test
from app.speedtest.runner import run_test, wait_for_cleanups
from app.speedtest.worker import fio
from app.speedtest.worker.fio import fio_command, parse_bandwidth_logs, parse_run
from app.tasks import CancelToken

if TYPE_CHECKING:
    from app.speedtest.model import AccessPattern, Preset

pytestmark = pytest.mark.usefixtures("nothing_left")
DATA = Path(__file__).parents[2] / "data/fio"
MIB = 2**20
ONE = Grid(patterns=("randread",), records=(4096,), depths=(1,), cell_s=0.2)


def spec(path: Path, cells: Grid, **changes: Any) -> TestSpec:
    plain = TestSpec(path=str(path), workload="grid", size=4 * MIB, grid=cells)
    return msgspec.structs.replace(plain, **changes)


def test_parsing_output_of_fio() -> None:
    logs = [(DATA / f"randread_bw.{number}.log").read_text() for number in (1, 2)]
    run = parse_run("a warning\n" + (DATA / "randread-2-jobs.json").read_text(), logs)
    assert run.iops == pytest.approx(46864.6, rel=1e-4)
    assert run.bytes_per_s == 191984657
    assert run.latency_s == pytest.approx(170.1e-6, rel=1e-3)
    assert (run.p95_s, run.p99_s) == (309248e-9, 464896e-9)
    assert [moment for moment, _ in run.curve] == [0.25, 0.5, 0.75]
    # The logs of both jobs together match fio's mean of the group.
    assert sum(value for _, value in run.curve) / 3 == pytest.approx(run.bytes_per_s, rel=0.05)


def test_load_is_completed_by_figures_of_fio() -> None:
    sampled = TransferLoad(seconds=0.5, bytes=7, calls=3, rtt_s=0.1, queue_s=0.0, commit_s=0.0, worker=9.0)
    load = parse_run((DATA / "randread-2-jobs.json").read_text(), load=sampled).load
    assert load is not None
    assert (load.bytes, load.calls) == (191984657 // 2, 3)
    assert load.worker is not None
    assert 0 < load.worker <= 1


def test_error_of_a_request_is_raised() -> None:
    with pytest.raises(OSError, match="fio") as caught:
        parse_run((DATA / "no-space.json").read_text())
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize(
    "text", ["", "fio: bad option", "{", '{"jobs": []}', '{"jobs": [3]}', '{"jobs": [{}]}']
)
def test_unusable_output_is_an_error(text: str) -> None:
    with pytest.raises(AppError) as caught:
        parse_run(text)
    assert caught.value.kind is ErrorKind.IO
    assert caught.value.hint


def test_invalid_log_lines_are_skipped() -> None:
    assert parse_bandwidth_logs(["250, 10, 0, 0, 0\nx\n7\n, ,\n501, 5, 0, 0", "249, 10, 0, 0"]) == [
        (0.25, 20480.0), (0.5, 5120.0),
    ]  # fmt: skip


def test_jobs_divide_the_file() -> None:
    cell = GridCell(pattern="seqwrite", record=65536, depth=8, jobs=3)
    words = fio_command("/usr/bin/fio", "data", 4 * MIB, cell, Grid(cell_s=2), direct=True)
    expected = """--rw=write --bs=65536 --size=1376256 --offset_increment=1376256 --numjobs=3 --iodepth=8
        --ioengine=libaio --direct=1 --runtime=2000ms --ramp_time=500ms"""
    assert set(expected.split()) <= set(words)
    alone = msgspec.structs.replace(cell, depth=1)
    assert "--ioengine=psync" in fio_command("fio", "data", MIB, alone, Grid(), direct=False)


@pytest.mark.parametrize(
    ("changes", "size", "words"),
    [
        ({"records": ()}, MIB, "no cells"),
        ({"records": (100,)}, MIB, "512 bytes"),
        ({"depths": (0,)}, MIB, "queue depth"),
        ({"jobs": (65,)}, 2**40, "jobs"),
        ({"cell_s": 0.0}, MIB, "0.2 seconds"),
        ({"cell_s": float("nan")}, MIB, "0.2 seconds"),
        ({"depths": tuple(range(1, 200))}, MIB, "more than 1000"),
        ({"jobs": (2,)}, MIB, "too small"),
    ],
)
def test_problems_of_invalid_grids(changes: dict[str, Any], size: int, words: str) -> None:
    assert words in msgspec.structs.replace(Grid(), **changes).problem(size)
    assert not Grid().problem(MIB)


def test_each_repeat_measures_the_whole_grid(tmp_path: Path) -> None:
    events: list[TestEvent] = []
    cells = msgspec.structs.replace(ONE, patterns=("seqwrite", "randread"), depths=(4,))
    result = run_test(spec(tmp_path, cells, repeats=2), CancelToken(), events.append)
    assert (result.workload, result.write, result.read) == ("grid", None, None)
    assert [(cell.pattern, cell.depth) for cell in result.grid] == [
        ("seqwrite", 4), ("randread", 4),
    ]  # fmt: skip
    for cell in result.grid:
        assert len(cell.runs) == 2
        for run in cell.runs:
            assert run.iops > 0
            assert run.bytes_per_s == pytest.approx(run.iops * 4096, rel=0.2)
            assert run.p99_s
            assert run.latency_s
    assert {event.round for event in events} == {0, 1}
    assert {event.direction for event in events if event.sample} == {"write", "read"}


def fio_below(pid: int) -> list[psutil.Process]:
    children = psutil.Process(pid).children(recursive=True)
    return [child for child in children if child.name() == "fio"]


@pytest.mark.parametrize("stuck", [False, True], ids=["running", "stopped"])
def test_cancelling_ends_fio_too(tmp_path: Path, *, stuck: bool) -> None:
    token = CancelToken()
    found: list[psutil.Process] = []

    def on_event(event: TestEvent) -> None:
        if event.sample is not None and not found:
            found.extend(fio_below(os.getpid()))
            if found:
                if stuck:
                    os.kill(found[0].ppid(), signal.SIGSTOP)
                token.cancel()

    with pytest.raises(CancelledError):
        run_test(spec(tmp_path, msgspec.structs.replace(ONE, cell_s=60)), token, on_event)
    assert wait_for_cleanups(30)
    end = time.monotonic() + DEADLINE_S
    while any(process.is_running() for process in found) and time.monotonic() < end:
        time.sleep(0.02)
    assert found
    assert not any(process.is_running() for process in found)


def test_error_without_fio_names_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from app.speedtest.messages import WorkerJob
    from app.speedtest.sampler import TransferProgress
    from app.speedtest.worker import worker_process

    monkeypatch.setattr(fio, "find_program", lambda _name: None)
    with pytest.raises(AppError) as caught:
        worker_process.execute(
            WorkerJob(spec=spec(tmp_path, ONE), run="none"), TransferProgress(), lambda _: None
        )
    assert caught.value.kind is ErrorKind.UNAVAILABLE
    assert "apt-get install fio" in caught.value.hint


@pytest.mark.parametrize("changes", [{"grid": None}, {"size": 512}, {"cache": "fresh-mount"}])
def test_invalid_grid_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(AppError) as caught:
        run_test(spec(tmp_path, ONE, **changes), CancelToken(), lambda _: None, remount=lambda _: None)
    assert caught.value.kind is ErrorKind.USAGE


def test_grid_arguments_of_the_command_line() -> None:
    words = [
        "test",
        "/m",
        "--grid",
        "--records",
        "4k,1M,4k",
        "--patterns",
        "randread,seqwrite",
        "--jobs",
        "1,4",
    ]
    asked = spec_of(parse_args([*words, "--cell-seconds", "0.5", "--repeats", "3"]), "/m")
    assert (asked.workload, asked.repeats) == ("grid", 3)
    assert asked.grid == Grid(
        records=(4096, MIB), patterns=("randread", "seqwrite"), jobs=(1, 4), depths=(1, 16), cell_s=0.5
    )
    plan = plan_query(parse_args([*words]), "/m", lambda query: plan_test(query, None, None))
    assert plan is not None
    assert "16 cells, each for 2 s" in plan_text(plan)
    assert plan.seconds == pytest.approx(16 * 2.9, rel=0.1)
    assert plan_test(TestPlanArgs(spec=asked), None, None).spec == asked
    args = parse_args([*words[:3], "--quick", "--patterns", "randread"])
    quick = plan_query(args, "/m", lambda query: plan_test(query, None, None))
    assert quick is not None
    assert "fio measures 6 cells" in plan_text(quick)


@pytest.mark.parametrize(("preset", "seconds"), [("quick", 15), ("normal", 60), ("thorough", 240)])
@pytest.mark.parametrize("rate", [10e6, 100e6, 1e9, 10e9, None])
@pytest.mark.parametrize("patterns", [ACCESS_PATTERNS, ("randread",)])
def test_preset_grid_fits_its_duration(
    preset: Preset, seconds: float, rate: float | None, patterns: tuple[AccessPattern, ...]
) -> None:
    asked = TestSpec(path="/m", workload="grid", grid=Grid(patterns=patterns, jobs=(3,), cell_s=1000))
    plan = plan_test(TestPlanArgs(spec=asked, preset=preset), 10**13, LinkFacts(rate_bps=rate, rtt_s=0.001))
    chosen = plan.spec.grid
    assert chosen is not None
    assert not chosen.problem(plan.spec.size)
    assert (chosen.patterns, chosen.jobs) == (patterns, (1,))
    assert chosen.depths == (1, 16) or (preset == "quick" and chosen.depths == (16,))
    assert plan.spec.repeats == (4 if preset == "thorough" else 1)
    assert plan.seconds is not None
    assert 0.9 * seconds < plan.seconds < 1.25 * seconds
    payload = (rate or 1e9) / 8
    assert plan.spec.size < plan.bytes < payload * plan.seconds
    # Requests under way at the end of a cell do not delay the next one for long.
    assert 16 * max(chosen.records) <= payload * 1.01
    assert f"{len(chosen.cells())} cells, each for {chosen.cell_s:g} s" in plan.note
    assert "Requests of 4 KiB" in plan.note


def test_a_preset_measures_fewer_cells_where_each_takes_long() -> None:
    asked = TestPlanArgs(spec=TestSpec(path="/m", workload="grid", grid=Grid()), preset="quick")
    near = plan_test(asked, 10**13, LinkFacts(rate_bps=1e9, rtt_s=0.0004))
    assert near.spec.grid is not None
    assert (near.spec.grid.records, near.spec.grid.depths) == ((4096, MIB), (1, 16))
    far = plan_test(asked, 10**13, LinkFacts(rate_bps=25e6, up_bps=3e6, rtt_s=0.6))
    assert far.spec.grid is not None
    assert (far.spec.grid.records, far.spec.grid.depths) == ((4096,), (16,))
    assert far.spec.grid.cell_s > 4 * 0.6 - 0.1
    assert far.seconds is not None
    assert far.seconds > 30  # the plan shows the longer duration
    lab = plan_test(asked, 10**13, LinkFacts(rate_bps=1e9, rtt_s=0.0004, emulated=True))
    assert lab.spec.grid is not None
    assert lab.spec.grid.depths == (16,)  # fio starts slowly in the lab
    tight = plan_test(asked, 8 * MIB, LinkFacts(rate_bps=1e9))
    assert tight.spec.size == 2 * MIB


def test_large_requests_on_a_slow_link_extend_the_duration() -> None:
    wide = Grid(patterns=("seqread",), records=(MIB,), depths=(16,), cell_s=1)
    spec = TestSpec(path="/m", workload="grid", size=4 * MIB, grid=wide)
    plan = plan_test(TestPlanArgs(spec=spec), None, LinkFacts(rate_bps=10e6, up_bps=100e6, rtt_s=0.01))
    # 16 MiB are under way at the end of the cell, and 10 Mbit/s carry 1.18 MB per second.
    assert plan.seconds == pytest.approx(4 * MIB / 11.8e6 + 1.25 + 0.5 + 16 * MIB / 1.18e6, rel=0.01)


@pytest.mark.parametrize(
    "words",
    ["--records 4k", "--grid --quick --records 4k", "--grid --normal --size 1M",
     "--grid --thorough --cell-seconds 1", "--grid --quick --repeats 2", "--grid --own /x",
     "--grid --patterns sideways",
     "--grid --direction read", "--grid --cell-seconds x", "--grid --depths 0"],
)  # fmt: skip
def test_conflicting_arguments(words: str) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_args(["test", "/m", *words.split()])
    assert caught.value.code == 2


def test_table_shows_the_median_run() -> None:
    runs = [
        GridRun(iops=value, bytes_per_s=value * 4096, latency_s=1 / value) for value in (300.0, 100.0, 200.0)
    ]
    cell = GridCell(pattern="randread", record=4096, depth=1, jobs=2, runs=runs)
    empty = GridCell(pattern="randread", record=4096, depth=1, jobs=1)
    titles, row = grid_rows([cell, empty])
    assert len(titles) == len(row)
    assert row == ["randread", "4 KiB", "2", "1", "200", "819 kB/s", "5 ms", "—", "—", "3: 100 to 300/s", "—"]

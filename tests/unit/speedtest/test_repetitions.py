"""Repeats, small files and presets, in real workers on this computer's own file system."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import msgspec
import pytest

from advisor.facts import LinkFacts
from app.errors import AppError, CancelledError, ErrorKind
from app.speedtest.analysis import (
    cache_report,
    checked_reads,
    figures_of_repeats,
    median_transfer,
    outlier_notes,
    supported_uses,
)
from app.speedtest.messages import RepeatResult, UserFilesSize
from app.speedtest.model import TestEvent, TestPlanArgs, TestResult, TestSpec, Transfer
from app.speedtest.planning import plan_test
from app.speedtest.repetitions import another_repeat_fits, shrink_to_time
from app.speedtest.runner import inspect_target, run_test
from app.speedtest.sampler import CounterReader, TransferCounters, TransferProgress, TransferSampler
from app.speedtest.testdir import PREFIX, TestDirectory, check_space
from app.speedtest.worker.many_files import ManyFilesWorkload, ServerStat
from app.speedtest.worker.workload import DataPool
from app.tasks import CancelToken
from app.text.message import message_text

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_left")
MIB = 2**20
FILES = TestSpec(path="", workload="files", size=5000, count=40, block_size=4096)


def run(directory: Path, spec: TestSpec) -> tuple[TestResult, list[TestEvent]]:
    events: list[TestEvent] = []
    return run_test(msgspec.structs.replace(spec, path=str(directory)), CancelToken(), events.append), events


@pytest.mark.parametrize("direction", ["both", "write", "read"])
@pytest.mark.parametrize("workload", ["file", "files"])
def test_the_warm_up_is_not_counted(tmp_path: Path, direction: str, workload: str) -> None:
    spec = msgspec.structs.replace(FILES, direction=direction, repeats=3, workload=workload)
    if workload == "file":
        spec = msgspec.structs.replace(spec, count=1)
    result, events = run(tmp_path, spec)
    assert {event.round for event in events} == {0, 1, 2, 3}
    names = {name for name in ("write", "read") if direction in {"both", name}}
    if workload == "files":
        names |= {"stat", "delete"} | ({"create"} if direction != "read" else set())
    assert set(result.figures) == names
    for figure in result.figures.values():
        assert len(figure.values) == 3
        assert figure.low <= figure.median <= figure.high
        assert figure.confidence == 0.75
    for name, transfer in (("write", result.write), ("read", result.read)):
        assert (transfer is None) == (name not in names)
        if transfer is not None:
            assert transfer.bytes_per_s == result.figures[name].median
            assert transfer.bytes == spec.total


def test_a_test_that_only_reads_writes_its_file_once(tmp_path: Path) -> None:
    spec = TestSpec(path="", direction="read", size=MIB, repeats=2)
    _, events = run(tmp_path, spec)
    # The first "prepare" event marks the start of a repeat, the second the writing of the file.
    prepared = [event.round for event in events if event.phase == "prepare"]
    assert prepared == [0, 0, 1, 2]


def test_small_files_report_every_phase(tmp_path: Path) -> None:
    result, events = run(tmp_path, FILES)
    phases = [(event.direction, event.phase) for event in events if event.sample is None]
    assert phases == [
        ("write", "prepare"), ("write", "write"), ("read", "drop-cache"), ("read", "read"),
        ("read", "stat"), ("read", "delete"), ("read", "clean-up"),
    ]  # fmt: skip
    assert (result.workload, result.count) == ("files", 40)
    assert result.write is not None
    assert result.write.samples[-1].bytes == 40 * 5000
    assert result.write.fsync_s > 0


@pytest.mark.parametrize("cache", ["direct", "fresh-mount"])
def test_small_files_with_other_cache_methods(tmp_path: Path, cache: str) -> None:
    result, _ = run(tmp_path, msgspec.structs.replace(FILES, cache=cache))
    assert result.read is not None


def small_files(path: Path) -> tuple[ManyFilesWorkload, TestDirectory]:
    directory = TestDirectory(str(path), "run")
    meter = TransferSampler(CounterReader(None), TransferProgress(), lambda _message: None)
    return ManyFilesWorkload(FILES, directory, DataPool(FILES.block_size, "r"), meter), directory


def test_small_files_differ_and_damage_is_detected(tmp_path: Path) -> None:
    workload, directory = small_files(tmp_path)
    with directory:
        workload.write()
        paths = sorted((tmp_path / (PREFIX + "run")).glob("f*"))
        assert len({path.read_bytes() for path in paths}) == 40
        assert {path.stat().st_size for path in paths} == {5000}
        workload.read()
        paths[20].write_bytes(paths[21].read_bytes())
        with pytest.raises(AppError, match="not what was written"):
            workload.read()


def test_note_on_a_stat_rate_from_the_cache(tmp_path: Path) -> None:
    class Counters(CounterReader):
        def look(self) -> TransferCounters:
            return TransferCounters()

    directory = TestDirectory(str(tmp_path), "run")
    probe = Counters(None)
    probe.nfs = True
    meter = TransferSampler(probe, TransferProgress(), lambda _message: None)
    workload = ManyFilesWorkload(FILES, directory, DataPool(FILES.block_size, "r"), meter)
    with directory:
        workload.prepare()
        workload.measure_operations()
    assert "only 0 times for 40 files: the stat rate" in workload.notes[0]


def test_stat_without_the_library_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workload, directory = small_files(tmp_path)
    ask = ServerStat()
    with directory:
        workload.prepare()
        ask(directory.fd, "f000001")
        with pytest.raises(FileNotFoundError):
            ask(directory.fd, "none")
        monkeypatch.setattr(ask, "_statx", None)
        ask(directory.fd, "f000001")
        with pytest.raises(FileNotFoundError):
            ask(directory.fd, "none")


@pytest.mark.parametrize("phase", ["prepare", "write", "read", "stat", "delete"])
def test_cancel_of_small_files_at_any_phase(tmp_path: Path, phase: str) -> None:
    token = CancelToken()
    reached = threading.Event()

    def on_event(event: TestEvent) -> None:
        if event.phase == phase:
            reached.set()
            token.cancel()

    spec = msgspec.structs.replace(FILES, path=str(tmp_path), count=300, size=100)
    with pytest.raises(CancelledError):
        run_test(spec, token, on_event)
    assert reached.is_set()


@pytest.mark.parametrize(
    "changes", [{"count": 0}, {"count": 10**6}, {"workload": "file"}, {"repeats": 0}, {"repeats": 10**6}]
)
def test_numbers_out_of_bounds(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(AppError) as caught:
        run(tmp_path, msgspec.structs.replace(FILES, **changes))
    assert caught.value.kind == ErrorKind.USAGE


def test_small_files_take_blocks_and_inodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        room = os.statvfs_result((4096, 4096, 1000, 500, 500, 100, 50, 50, 0, 255))

        def fstatvfs(_fd: int) -> os.statvfs_result:
            return room

        monkeypatch.setattr(os, "fstatvfs", fstatvfs)
        check_space(fd, 40, "/m", 40)
        for size, count in ((1, 51), (49 * 4096, 10)):
            with pytest.raises(AppError) as caught:
                check_space(fd, size, "/m", count)
            assert caught.value.kind == ErrorKind.NO_SPACE
    finally:
        os.close(fd)


def test_no_repeat_begins_that_would_end_too_late() -> None:
    spec = TestSpec(path="", repeats=6, seconds=10)
    assert another_repeat_fits(spec, [60])  # at least one repeat follows the warm-up
    # 9 s remain after the warm-up, and half of that in addition for the six repeats of an interval.
    assert another_repeat_fits(spec, [1, 6.7])
    assert not another_repeat_fits(spec, [1, 6.8])
    assert another_repeat_fits(spec, [1, *[2.2] * 5])
    assert not another_repeat_fits(spec, [0.1] * 7)
    more = msgspec.structs.replace(spec, repeats=12)
    assert another_repeat_fits(more, [1, *[1.2] * 6])
    assert not another_repeat_fits(more, [1, *[1.4] * 6])
    # After a warm-up that took too long, the repeats get half of the time limit.
    assert another_repeat_fits(spec, [60, 3.7])
    assert not another_repeat_fits(spec, [60, 3.8])
    assert another_repeat_fits(msgspec.structs.replace(spec, seconds=None), [1e6] * 6)
    assert not another_repeat_fits(TestSpec(path=""), [0])


def test_a_slow_warm_up_makes_the_repeats_smaller() -> None:
    spec = TestSpec(path="", repeats=6, seconds=14, size=64 * MIB)
    assert shrink_to_time(spec, 2) == spec
    assert shrink_to_time(spec, 2.2) == spec  # a small slowdown is tolerated
    assert shrink_to_time(spec, 4).size == 64 * MIB * 10 // 24 // 65536 * 65536
    assert shrink_to_time(spec, 1e6).size == 65536
    assert shrink_to_time(msgspec.structs.replace(spec, size=1000), 1e6).size == 1000
    small = msgspec.structs.replace(FILES, repeats=6, seconds=14)
    assert shrink_to_time(small, 4).count == 20
    assert shrink_to_time(msgspec.structs.replace(small, count=240), 4).count == 100
    assert shrink_to_time(msgspec.structs.replace(small, workload="own"), 400).count == 40
    assert shrink_to_time(msgspec.structs.replace(spec, seconds=None), 400).size == 64 * MIB


@pytest.mark.parametrize("direction", ["both", "write", "read"])
def test_result_describes_the_shrunk_repeats(tmp_path: Path, direction: str) -> None:
    spec = {"path": "", "direction": direction, "size": MIB, "repeats": 2, "seconds": 1e-6}
    result, events = run(tmp_path, msgspec.convert(spec, TestSpec))
    for transfer in (result.write, result.read):
        assert transfer is None or transfer.bytes == 65536
    assert any("each repeat copied 64 KiB, not 1 MiB" in note for note in result.notes)
    assert {event.total for event in events if event.total} == {MIB, 65536}
    small, _ = run(tmp_path, msgspec.structs.replace(FILES, repeats=2, seconds=1e-6))
    assert small.count == 20
    assert any("20 files, not 40" in note for note in small.notes)


def test_a_file_is_read_in_the_specified_passes(tmp_path: Path) -> None:
    result, events = run(tmp_path, TestSpec(path="", size=MIB + 7, passes=3))
    assert result.write is not None
    assert result.read is not None
    assert result.write.bytes == MIB + 7
    assert result.read.bytes == result.read.samples[-1].bytes == 3 * (MIB + 7)
    assert [event.total for event in events if event.total] == [MIB + 7, 3 * (MIB + 7)]
    with pytest.raises(AppError, match="Only one file"):
        run(tmp_path, msgspec.structs.replace(FILES, passes=2))


def test_note_on_fewer_repeats(tmp_path: Path) -> None:
    result, _ = run(tmp_path, TestSpec(path="", size=MIB, repeats=50, seconds=1e-6))
    assert len(result.figures["write"].values) == 1
    assert any("1 of 50 repeats" in note for note in result.notes)


def transfer(speed: float, server_bytes: int = 100) -> Transfer:
    return Transfer(
        bytes=100, bytes_per_s=speed, transfer_s=1, fsync_s=0, close_s=0, timeouts=1, retransmissions=2,
        retransmissions_from="tcp_info", rpc_retransmissions=0, tcp_retransmissions=2,
        server_bytes=server_bytes, mean_rtt_s=None, cached=False, samples=[],
    )  # fmt: skip


def test_repeats_are_summed_up() -> None:
    rounds = [RepeatResult(write=transfer(speed), rates={"stat": 2 * speed}) for speed in (3, 1, 2, 4)]
    found = figures_of_repeats(rounds)
    assert (found["write"].median, found["write"].timeouts, found["write"].retransmissions) == (2.5, 4, 8)
    assert found["stat"].values == [6, 2, 4, 8]
    assert found["write"].wide
    chosen = median_transfer([item.write for item in rounds if item.write])
    assert chosen is not None
    assert chosen.bytes_per_s == 2
    assert median_transfer([]) is None


def test_a_single_outlier_is_named() -> None:
    found = figures_of_repeats(
        [RepeatResult(write=transfer(speed), rates={"create": 40.0}) for speed in (100, 101, 99, 55, 100)]
    )
    assert [message_text(one) for one in outlier_notes(found)] == [
        "Outlier: repeat 4 of 5 to the server was 45% below the median (55 B/s, median 100 B/s)."
    ]


def test_one_cached_read_flags_the_result() -> None:
    reads = [transfer(10), transfer(10, server_bytes=40), transfer(10)]
    rounds = [RepeatResult(read=read, cache=cache_report(read, "fadvise", None)) for read in reads]
    judged, report = checked_reads(rounds, None)
    assert [read.cached for read in judged] == [False, True, False]
    assert report is not None
    assert report.cached
    assert checked_reads([RepeatResult(write=transfer(1))], None) == ([], None)


def test_use_cases_depend_on_the_low_end() -> None:
    rounds = [RepeatResult(write=transfer(speed), read=transfer(speed)) for speed in (10e6, 20e6, 30e6)]
    found = figures_of_repeats(rounds)
    spec = TestSpec(path="")
    assert supported_uses(spec, found, cached=False) == []  # the spread is too wide
    found = {name: msgspec.structs.replace(figure, wide=False) for name, figure in found.items()}
    video, backup = supported_uses(spec, found, cached=False)
    assert "about 2 films in 4K" in video
    assert "290 GB" in backup
    assert supported_uses(spec, found, cached=True) == [backup]
    # A copy that is too short is ignored, unless the file is read in several passes.
    short = TestSpec(path="", size=MIB)
    assert supported_uses(short, found, cached=False) == []
    assert supported_uses(msgspec.structs.replace(short, passes=4), found, cached=False) == [video]
    (machines,) = supported_uses(msgspec.structs.replace(FILES, size=4096, count=1000), found, cached=False)
    assert "2441 small files" in machines
    # Files of a megabyte are not compared with a virtual disk's small writes.
    assert supported_uses(msgspec.structs.replace(FILES, size=MIB, count=10), found, cached=False) == [
        video,
        backup,
    ]
    assert supported_uses(FILES, {}, cached=False) == []
    films = UserFilesSize(files=3, bytes=900 * MIB)
    assert supported_uses(spec, found, own=films, cached=False) == [video, backup]
    (papers,) = supported_uses(spec, found, own=msgspec.structs.replace(films, files=5000), cached=False)
    assert "of files like these" in papers


@pytest.mark.parametrize(("preset", "seconds"), [("quick", 15), ("normal", 60), ("thorough", 240)])
@pytest.mark.parametrize("rate", [10e6, 1e9, 100e9])
@pytest.mark.parametrize("workload", ["file", "files"])
@pytest.mark.parametrize("direction", ["both", "write", "read"])
def test_presets_fit_their_duration(
    preset: str, seconds: float, rate: float, workload: str, direction: str
) -> None:
    spec = {"path": "/m", "workload": workload, "direction": direction, "size": 4096}
    args = msgspec.convert({"spec": spec, "preset": preset}, TestPlanArgs)
    plan = plan_test(args, 10**15, LinkFacts(rate_bps=rate, rtt_s=0.001))
    assert plan.seconds is not None
    assert plan.seconds <= seconds
    assert plan.seconds > seconds / 2 or plan.spec.count == 5000 or plan.spec.size == 64 * 2**30
    assert plan.spec.repeats >= 6
    assert plan.bytes >= plan.spec.total * plan.spec.repeats
    assert plan.note


def test_a_preset_leaves_free_space_on_the_server() -> None:
    args = TestPlanArgs(spec=TestSpec(path="/m"), preset="normal")
    fast = LinkFacts(rate_bps=10e9)
    assert plan_test(args, 64 * MIB, fast).spec.size == 16 * MIB
    assert "free space" in plan_test(args, 64 * MIB, fast).note
    assert plan_test(args, None, fast).spec.size > 1000 * MIB
    small = msgspec.structs.replace(args, spec=FILES)
    assert plan_test(small, 4 * MIB, fast).spec.count == MIB // 5000
    assert plan_test(small, 0, fast).spec.count == 1


def test_a_read_leaves_time_for_the_writing_before_it() -> None:
    spec = TestSpec(path="/m", direction="read")
    link = LinkFacts(rate_bps=100e6, rtt_s=0.001)
    plan = plan_test(TestPlanArgs(spec=spec, preset="quick"), None, link)
    assert plan.seconds is not None
    assert 13 < plan.seconds <= 15
    # Written once, and read for the warm-up and six repeats, at the rate of 100 Mbit/s.
    assert plan.bytes == 8 * plan.spec.size
    assert plan.bytes / 11.8e6 < 15 * 0.86


def test_a_faster_read_direction_gets_more_passes() -> None:
    dsl = LinkFacts(rate_bps=50e6, up_bps=10e6, rtt_s=0.02)
    plan = plan_test(TestPlanArgs(spec=TestSpec(path="/m"), preset="quick"), None, dsl)
    assert plan.spec.passes == 5
    assert plan.bytes == 6 * 7 * plan.spec.size
    assert plan.seconds is not None
    assert plan.seconds <= 15
    assert plan.spec.size * 5 / 6e6 > 0.7  # duration of a read at 50 Mbit/s, s
    for changes in ({"direction": "read"}, {"direction": "write"}, {"workload": "files"}):
        spec = msgspec.convert({"path": "/m", **changes}, TestSpec)
        assert plan_test(TestPlanArgs(spec=spec, preset="quick"), None, dsl).spec.passes == 1
    lopsided = LinkFacts(rate_bps=10e6, up_bps=50e6)
    assert plan_test(TestPlanArgs(spec=TestSpec(path="/m"), preset="quick"), None, lopsided).spec.passes == 1


def test_note_on_an_unknown_link_rate() -> None:
    plan = plan_test(TestPlanArgs(spec=TestSpec(path="/m"), preset="quick"), None, None)
    assert "not known" in plan.note
    assert plan.seconds == 15
    plain = plan_test(TestPlanArgs(spec=TestSpec(path="/m", size=MIB)), None, None)
    assert plain.seconds is None
    assert (plain.bytes, plain.note) == (2 * MIB, "")
    assert plan_test(TestPlanArgs(spec=TestSpec(path="/m", direction="read")), None, None).spec.repeats == 1


def test_inspecting_a_target_creates_no_files(tmp_path: Path) -> None:
    looked = inspect_target(TestSpec(path=str(tmp_path)), CancelToken())
    assert looked.free
    assert looked.path == str(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(AppError) as caught:
        inspect_target(TestSpec(path=str(tmp_path / "none")), CancelToken())
    assert caught.value.kind == ErrorKind.PATH_MISSING

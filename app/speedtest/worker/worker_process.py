"""The worker: one process that runs one test as the user and may hang or be killed.

It reads one line (WorkerJob), writes lines (WorkerMessage) and ends. End of its input, SIGTERM and SIGINT
stop the test; the test's files are removed in each case. Started as ``python -P -m app.speedtest.worker.worker_process``, and
kept light: it starts inside the lab's slow guest too.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.transfer_sizes import AS_COPY, SMALL_READ, copy_call_size
from app.bench.data import DataPool
from app.bench.limits import block_problem, count_problem
from app.bench.network import null_round_trip
from app.bench.own import OwnFiles
from app.bench.probe import Probe
from app.bench.problems import explain
from app.bench.records import RandomRecords
from app.bench.verdict import cache_report
from app.errors import AppError, ErrorKind, printable
from app.kernel.mount_of_path import find_mount
from app.speedtest.messages import Round, WorkerError, WorkerJob, WorkerMessage, WorkerResult
from app.speedtest.repetitions import another_fits, counted, cut_note, sized_by, smaller_note
from app.speedtest.sampler import Meter, Progress
from app.speedtest.testdir import TestDirectory, check_space, free_space, left_behind, remove_leftovers
from app.speedtest.worker.fio import GridRuns
from app.speedtest.worker.many_files import SmallFiles
from app.speedtest.worker.single_file import Copier
from app.speedtest.worker.streams import Streams
from app.speedtest.worker.user_files import look_through
from app.speedtest.worker.workload import StoppedError
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.kernel.mount_of_path import Where
    from app.speedtest.messages import Stage
    from app.speedtest.model import TestSpec
    from app.speedtest.sampler import Way
    from app.speedtest.worker.user_files import Source
    from app.speedtest.worker.workload import Workload

#: After the end of its input the worker has this long to tidy up: nobody is left who could kill it.
_LAST_BREATH_S = 20.0
MAX_REPEATS = 1000
MAX_PASSES = 100
_KINDS: dict[str, type[Copier | SmallFiles | Streams]] = {
    "files": SmallFiles,
    "random": RandomRecords,
    "streams": Streams,
}


def main() -> int:
    """Run the test that standard input names; return the exit status, 0 if all files are removed."""
    return 2 if do_test() == "not understood" else 0


def do_test() -> Literal["done", "broken off", "not understood"]:
    """Run the test that standard input names, and return how it ended."""
    output = _Output()
    progress = Progress()

    def stop(_number: int, _frame: object) -> None:
        progress.stopped = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    try:
        job = from_json(_read_line(), WorkerJob)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        output.send(
            _failure(
                AppError(ErrorKind.USAGE, "The test is not described as it should be.", detail=str(error))
            )
        )
        return "not understood"
    over = threading.Event()
    threading.Thread(target=_watch_input, args=(progress, over), name="bench-input", daemon=True).start()
    ending: Literal["done", "broken off"] = "broken off"
    try:
        result = run(job, progress, output.send)
    except StoppedError:
        stopped = AppError(ErrorKind.CANCELLED, "The test was cancelled.")
        output.send(_failure(stopped, left=_left(job)))
    except AppError as error:
        output.send(_failure(error, left=_left(job)))
    else:
        ending = "done"
        output.send(WorkerMessage(ok=_sendable(result)))
    over.set()
    return ending


def run(job: WorkerJob, progress: Progress, send: Callable[[WorkerMessage], None]) -> WorkerResult:
    """Run a test to its end.

    Raises:
        AppError: said to a person.
        StoppedError: if told to end.
    """
    spec = job.spec
    doing = "opening the directory"
    try:
        path = os.path.realpath(spec.path)
        send(WorkerMessage(path=printable(path)))
        check_spec(job)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            where = find_mount(fd)
            source = look_through(spec.source, where, progress) if spec.workload == "own" else None
            doing = "looking at the free space"
            if job.stage == "look":
                own = source.size if source is not None else None
                return WorkerResult(path=path, where=where, rounds=[], notes=[], free=free_space(fd), own=own)
            if spec.block_size == AS_COPY:
                spec = msgspec.structs.replace(spec, block_size=copy_call_size(os.fstatvfs(fd).f_bsize))
                job = msgspec.structs.replace(job, spec=spec)
            leftovers = remove_leftovers(path, job.run)
            if source is not None:
                each = -(-source.total // len(source.files))
                spec = msgspec.structs.replace(spec, count=len(source.files), size=each)
                job = msgspec.structs.replace(job, spec=spec)
            if job.stage != "kept":
                check_space(fd, spec.size, path, spec.count)
        finally:
            os.close(fd)
        doing = "making the test file"
        with TestDirectory(path, job.run, adopt=job.stage == "kept") as directory:
            doing = "copying the test file"
            result = _copy(job, where, Meter(Probe(where), progress, send), directory, source)
            if job.stage == "keep":
                # The agent's process answers for it from here on: the next stage, or its cleaner.
                directory.keep(job.owner)
            doing = "removing the test file"
    except OSError as error:
        raise explain(error, doing, printable(spec.path)) from error
    if leftovers:
        result.notes.append(f"The files of {leftovers} earlier test(s) that had been killed were removed.")
    return result


def check_spec(job: WorkerJob) -> None:
    """See that the test can be run at all.

    Raises:
        AppError: USAGE.
    """
    spec = job.spec
    if spec.size < 1:
        raise AppError(ErrorKind.USAGE, "The size of the test file must be at least one byte.")
    block = "" if spec.block_size == AS_COPY else block_problem(spec.block_size)
    if problem := block or count_problem(spec.workload, spec.count):
        raise AppError(ErrorKind.USAGE, problem)
    if not 1 <= spec.repeats <= MAX_REPEATS:
        raise AppError(ErrorKind.USAGE, f"The number of repeats must be between 1 and {MAX_REPEATS}.")
    if not 1 <= spec.passes <= (MAX_PASSES if spec.workload == "file" else 1):
        raise AppError(
            ErrorKind.USAGE, f"Only one file can be read several times over, at most {MAX_PASSES} times."
        )
    if spec.workload == "grid":
        problem = spec.grid.problem(spec.size) if spec.grid is not None else "The test has no grid."
        if problem or job.stage not in {"whole", "look"}:
            raise AppError(ErrorKind.USAGE, problem or "A grid goes past the cache anyway: choose no method.")
    if not job.run.isalnum():
        raise AppError(ErrorKind.USAGE, "The name of the run is not one.")


def _copy(
    job: WorkerJob,
    where: Where | None,
    meter: Meter,
    directory: TestDirectory,
    source: Source | None,
) -> WorkerResult:
    spec = job.spec
    if job.round_trip and where is not None and where.nfs:
        meter.load.network_s = null_round_trip(where)
    meter.start()
    try:
        if spec.grid is not None:
            runs = GridRuns(spec, spec.grid, directory, DataPool(spec.block_size, job.run), meter)
            cells = runs.run()
            return WorkerResult(
                path=str(Path(directory.path).parent), where=where, rounds=[], notes=runs.notes, grid=cells,
                spec=spec,
            )  # fmt: skip
        pool = DataPool(spec.block_size, job.run)
        if source is not None:
            workload: Workload = OwnFiles(spec, directory, pool, meter, source)
        else:
            workload = _KINDS.get(spec.workload, Copier)(spec, directory, pool, meter)
        rounds = run_rounds(spec, job.stage, workload, meter)
    finally:
        meter.stop()
    notes = workload.notes
    if job.stage == "whole":
        notes += [*smaller_note(spec, workload.spec), *cut_note(spec, len(rounds))]
        rounds = counted(spec, rounds)
    return WorkerResult(
        path=str(Path(directory.path).parent),
        where=where,
        rounds=rounds,
        notes=notes,
        spec=workload.spec,
        own=source.size if source is not None else None,
    )


def run_rounds(spec: TestSpec, stage: Stage, workload: Workload, meter: Meter) -> list[Round]:
    """Run a stage, a whole test as often as it is to be repeated; return all rounds.

    Where the warm-up was too slow, the workload is made smaller for the repeats.

    Raises:
        AppError: IO if what was read is not what was written.
        OSError: from any file operation.
        StoppedError: if told to end.
    """
    rounds: list[Round] = []
    times_s: list[float] = []
    while True:
        meter.round = len(rounds)
        began = time.monotonic()
        rounds.append(_one_round(spec, stage, workload, meter))
        times_s.append(time.monotonic() - began)
        if stage != "whole" or not another_fits(spec, times_s):
            break
        workload.clear()
        if len(rounds) == 1:
            workload.resize(sized_by(spec, times_s[0]))
    if stage != "keep":
        meter.phase("write" if spec.direction == "write" else "read", "clean-up")
    return rounds


def _one_round(spec: TestSpec, stage: Stage, workload: Workload, meter: Meter) -> Round:
    first: Way = "read" if spec.direction == "read" or stage == "kept" else "write"
    meter.phase(first, "prepare")
    workload.rates = {}
    write = read = small = cache = None
    if stage != "kept":
        if spec.direction == "read":
            workload.prepare()
        else:
            write = workload.write()
    if spec.direction != "write" and stage != "keep":
        read, method = workload.read()
        cache = cache_report(read, method, None)
        read = msgspec.structs.replace(read, cached=cache.cached)
        if spec.reads_again:
            small, _method = workload.read(SMALL_READ)
    if stage != "keep":
        workload.measure_operations()
    return Round(write=write, read=read, small_read=small, cache=cache, rates=workload.rates)


class _Output:
    """Standard output, one whole line at a time from either thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._encoder = msgspec.json.Encoder()

    def send(self, message: WorkerMessage) -> None:
        line = memoryview(self._encoder.encode(message) + b"\n")
        with self._lock:
            try:
                while line:
                    line = line[os.write(1, line) :]
            except BrokenPipeError:
                # Nobody listens any more; the end of the input stops the test.
                return


def _sendable(result: WorkerResult) -> WorkerResult:
    """Return what JSON can carry: the name of a folder or of a mount need not be UTF-8."""
    where = result.where.printable() if result.where is not None else None
    return msgspec.structs.replace(result, path=printable(result.path), where=where)


def _failure(error: AppError, *, left: bool = False) -> WorkerMessage:
    error = error.printable()
    return WorkerMessage(
        error=WorkerError(
            kind=error.kind, message=error.message, hint=error.hint, detail=error.detail, left=left
        )
    )


def _left(job: WorkerJob) -> bool:
    return left_behind(os.path.realpath(job.spec.path), job.run)


def _read_line() -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(0, 65536)
        if not part:
            break
        line += part
    return line


def _watch_input(progress: Progress, over: threading.Event) -> None:
    while os.read(0, 65536):
        pass
    progress.stopped = True
    if not over.wait(_LAST_BREATH_S):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    raise SystemExit(main())

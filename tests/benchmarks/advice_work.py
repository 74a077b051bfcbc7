"""One piece of work on a mount inside the lab's guest, timed by itself: the verb ``bench.work``.

The loops are those of our copy engine, in the agent's own process: starting a program takes the guest as long
as some of the work does. What is read was put on the server's disk by the server itself, so that a slow link
carries only what is measured. The mount is made here, too: the helper's start takes the guest as long again.
"""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from app.lab.programs import run_program
from app.lab.syscalls import unmount
from app.speedtest.sampler import TransferProgress
from app.speedtest.worker.single_file import read_blocks, write_blocks
from app.speedtest.worker.workload import DataPool

if TYPE_CHECKING:
    from app.lab.server_host import ServerHost

#: The server's own path of the export.
EXPORT = Path("/srv/lab/export")
POINT = Path("/mnt/benchmark")
SOURCE, TARGET = "advice-source", "advice-target"
SMALL_BYTES = 4096


class WorkArgs(msgspec.Struct, frozen=True, kw_only=True):
    """What to do: place the server's files, or mount and read, write, or copy small files both ways.

    Attributes:
        share: to mount, with ``options`` and ``read_ahead_kb``; None leaves the kernel's.
    """

    kind: Literal["place", "read", "small-read", "write", "small"]
    share: str = ""
    options: str = ""
    read_ahead_kb: int | None = None
    size: int = 0
    files: int = 0
    block_size: int = 2**17


class Worked(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds, how many connections the mount has, and its readahead in KiB."""

    seconds: float
    connections: int
    read_ahead_kb: int


def work(server: ServerHost, args: WorkArgs) -> Worked:
    """Do it."""
    pool = DataPool(args.block_size, "advice")
    try:
        if args.kind == "place":
            server.run(lambda: _place(args, pool))
            return Worked(seconds=0.0, connections=0, read_ahead_kb=0)
        POINT.mkdir(exist_ok=True)
        run_program("mount.nfs", args.share, str(POINT), "-o", args.options or "rw")
        try:
            if args.read_ahead_kb is not None:
                _read_ahead().write_text(str(args.read_ahead_kb), encoding="ascii")
            seconds = _WAYS[args.kind](args, pool)
            return Worked(
                seconds=seconds, connections=_connections(), read_ahead_kb=int(_read_ahead().read_text())
            )
        finally:
            unmount(str(POINT))
    finally:
        pool.close()


def _place(args: WorkArgs, pool: DataPool) -> None:
    if args.files:
        folder = EXPORT / SOURCE
        folder.mkdir(exist_ok=True)
        for number in range(args.files):
            (folder / str(number)).write_bytes(bytes(pool.block(number, SMALL_BYTES)))
        return
    _write(EXPORT / "data", args.size, pool)


def _write(path: Path, size: int, pool: DataPool) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        write_blocks(fd, pool, size, TransferProgress())
        os.fsync(fd)
    finally:
        os.close(fd)


def _timed_write(args: WorkArgs, pool: DataPool) -> float:
    path = POINT / TARGET
    begun = time.monotonic()
    _write(path, args.size, pool)
    seconds = time.monotonic() - begun
    path.unlink()
    return seconds


def _timed_read(args: WorkArgs, pool: DataPool) -> float:
    buffer = mmap.mmap(-1, args.block_size)
    begun = time.monotonic()
    fd = os.open(POINT / "data", os.O_RDONLY)
    try:
        with memoryview(buffer) as view:
            read_blocks(fd, pool, args.size, view, TransferProgress())
    finally:
        os.close(fd)
    seconds = time.monotonic() - begun
    buffer.close()
    return seconds


def _timed_small(args: WorkArgs, pool: DataPool) -> float:
    """Write so many small files into a new directory, then read as many others, one after the other."""
    source, target = POINT / SOURCE, POINT / TARGET
    begun = time.monotonic()
    target.mkdir()
    for number in range(args.files):
        (target / str(number)).write_bytes(bytes(pool.block(number, SMALL_BYTES)))
    for number in range(args.files):
        if len((source / str(number)).read_bytes()) != SMALL_BYTES:
            raise RuntimeError("a small file is not whole")
    return time.monotonic() - begun


def clear(server: ServerHost) -> None:
    """Take away what small files left on the server; over a long way it would take longer than the work."""

    def remove() -> None:
        folder = EXPORT / TARGET
        if folder.is_dir():
            for path in folder.iterdir():
                path.unlink()
            folder.rmdir()

    server.run(remove)


def _connections() -> int:
    """Return how many transports the kernel lists for the mount (mountstats)."""
    text = Path("/proc/self/mountstats").read_text(encoding="ascii", errors="replace")
    block = text.partition(f" mounted on {POINT} ")[2].partition("\ndevice ")[0]
    return block.count("\n\txprt:")


def _read_ahead() -> Path:
    device = POINT.stat().st_dev
    return Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")


_WAYS = {"read": _timed_read, "small-read": _timed_read, "write": _timed_write, "small": _timed_small}

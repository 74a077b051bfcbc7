"""Guest job: commands about real mounts, namely free space, log, export and import.

The commands run in this process, which is root and PID 1 of the guest.
"""

import contextlib
import io
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lab_faults

from app.cli import main as cli
from app.lab import server, syscalls
from app.lab.server_host import ServerHost
from app.process import DEVNULL, find_program, kill_group, run, start, wait

POINT = "/mnt/managed"
#: Timeout of an answer, s.
PATIENCE_S = 240.0
FREE = 1 << 20
SIZE = 40 << 20
JOURNALD = Path("/usr/lib/systemd/systemd-journald")


def command(*argv: str) -> dict[str, Any]:
    """Run a command of the program; return its exit status and its output."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(argv)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


@contextlib.contextmanager
def mounted(version: str, point: str = POINT, more: str = "") -> Iterator[None]:
    done = command("mount", "-o", f"vers={version}{more}", server.SHARE, point)
    if done["code"]:
        raise AssertionError(done["err"])
    try:
        yield
    finally:
        run([_program("umount"), "-f", point], timeout=PATIENCE_S)


def fill_up(host: ServerHost, version: str) -> dict[str, Any]:
    """Fill the share except for a little space, and run the command that shows the space."""
    with mounted(version):
        file = Path(POINT, "big")
        try:
            file.write_bytes(bytes(SIZE))
            host.run(lambda: lab_faults.limit_free_space(FREE))
            return {
                "text": command("list", "--space", POINT),
                "json": command("list", POINT, "--space", "--json"),
            }
        finally:
            file.unlink()
            host.run(lab_faults.restore_size)


def silence(host: ServerHost, version: str) -> dict[str, Any]:
    """Stop the server while a process waits for it, and read the log."""
    with mounted(version, more=",timeo=20,retrans=1"):
        host.run(lab_faults.stop_threads)
        waiting = start([_program("stat"), "-f", POINT])
        try:
            answer = {"silent": _until(lambda: command("log", POINT, "--json"), "not responding")}
            answer["space"] = command("list", "--space", POINT)
        finally:
            host.run(server.start_threads)
            wait(waiting, PATIENCE_S)
            kill_group(waiting)
        answer["back"] = _until(lambda: command("log", POINT, "--json"), " OK")
    return answer


def say(program: str, text: str) -> None:
    """Write a message to the journal by its native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL)."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        words = f"MESSAGE={text}\nPRIORITY=4\nSYSLOG_IDENTIFIER={program}\n"
        line.sendto(words.encode(), "/run/systemd/journal/socket")


def _until(look: Any, word: str) -> dict[str, Any]:
    end = time.monotonic() + PATIENCE_S
    while True:
        answer: dict[str, Any] = look()
        if word in answer["out"] or time.monotonic() > end:
            return answer
        time.sleep(0.5)


def with_journal() -> dict[str, Any]:
    """Start journald, log messages about this mount and about others, and read the log."""
    if not JOURNALD.exists():
        return {}
    for folder in ("/run/systemd/journal", "/run/log/journal"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    syscalls.mount("cgroup2", "/sys/fs/cgroup", "cgroup2")
    Path("/etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    daemon = start([str(JOURNALD)], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
    try:
        end = time.monotonic() + PATIENCE_S
        while not list(Path("/run/log/journal").glob("*/system.journal")):
            if time.monotonic() > end:
                raise AssertionError(f"the journal did not begin; the daemon's end: {wait(daemon, 0)}")
            time.sleep(0.2)
        with mounted("4.2"):
            for name, text in (
                ("mount.nfs", f"Connection timed out for {server.SHARE} on {POINT}"),
                ("mount.nfs", "Connection refused for elsewhere:/x on /mnt/elsewhere"),
                ("sshd", "Accepted password for ann from 10.9.0.1"),
            ):
                say(name, text)
            return _until(lambda: command("log", POINT, "--json"), "Connection timed out")
    finally:
        kill_group(daemon)
        wait(daemon, 5)


def take_along() -> dict[str, Any]:
    """Save mounts in fstab and in units, export all, delete them, and import them again."""
    safe = "_netdev,nofail,nosuid,nodev"
    answer: dict[str, Any] = {}
    with mounted("3", "/mnt/by-hand", ",rsize=65536"), mounted("4.2", "/mnt/live"):
        for point, version, keeper in (("/mnt/old", "3", "fstab"), ("/mnt/live", "4.2", "fstab"),
                                       ("/mnt/unit", "4.2", "systemd")):  # fmt: skip
            options = f"vers={version},{safe}"
            done = command("apply", "--keep-in", keeper, "-o", options, server.SHARE, point)
            answer[f"saved {point}"] = done
            if point != "/mnt/live":
                run([_program("umount"), point], timeout=PATIENCE_S)
        before, units = Path("/etc/fstab").read_text(), _units()
        answer["before"] = {"fstab": before, "units": units}
        answer["export"] = command("export-mounts", "/tmp/mounts.toml")
        answer["again"] = command("export-mounts", "/tmp/mounts.toml")
        answer["file"] = Path("/tmp/mounts.toml").read_text()
        answer["same"] = command("import-mounts", "/tmp/mounts.toml", "--dry-run", "--json")
        for point in ("/mnt/old", "/mnt/live", "/mnt/unit"):
            answer[f"forget {point}"] = command("forget", "--yes", point)
        answer["lost"] = {"fstab": Path("/etc/fstab").read_text(), "units": _units()}
        answer["dry"] = command("import-mounts", "/tmp/mounts.toml", "--dry-run")
        answer["unchanged"] = {"fstab": Path("/etc/fstab").read_text(), "units": _units()}
        answer["import"] = command("import-mounts", "/tmp/mounts.toml", "--yes", "--json")
        answer["after"] = {"fstab": Path("/etc/fstab").read_text(), "units": _units()}
        answer["mounted"] = _points()
    by_hand = ("--save-in", "fstab", "--only", "/mnt/by-hand", "--mount", "--yes")
    answer["by hand"] = command("import-mounts", "/tmp/mounts.toml", *by_hand)
    answer["by hand is mounted"] = "/mnt/by-hand" in _points()
    run([_program("umount"), "-f", "/mnt/by-hand"], timeout=PATIENCE_S)
    return answer


def _units() -> dict[str, str]:
    folder = Path("/etc/systemd/system")
    return {path.name: path.read_text() for path in folder.glob("mnt-*") if path.is_file()}


def _points() -> list[str]:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [line.split()[1] for line in lines if line.split()[2].startswith("nfs")]


def carry_out(host: ServerHost, full: list[str], silent: list[str]) -> dict[str, Any]:
    """Run all commands.

    Args:
        full: NFS versions for the test with a full share.
        silent: NFS versions for the test with a stopped server.
    """
    os.environ["LC_ALL"] = "C.UTF-8"
    answer: dict[str, Any] = {"full": {}, "silent": {}}
    for version in full:
        answer["full"][version] = fill_up(host, version)
    for version in silent:
        answer["silent"][version] = silence(host, version)
    answer["along"] = take_along()
    answer["journal"] = with_journal()
    return answer


def _program(name: str) -> str:
    path = find_program(name)
    if path is None:
        raise FileNotFoundError(name)
    return path


def lines_of(answer: dict[str, Any]) -> list[str]:
    """Return the lines of a log."""
    return [line["text"] for line in json.loads(answer["out"])["lines"]]

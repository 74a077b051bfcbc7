"""`shell` as a person uses it: a command with its streams and exit code, and a shell on a terminal."""

import contextlib
import fcntl
import hashlib
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.errors import AppError
from app.service.protocol import SHELL_WINDOW_BYTES, ShellArgs, ShellControlArgs, ShellEvent, ShellInputArgs

if TYPE_CHECKING:
    from lab_guest import LabGuest

#: Of one command: a guest's boot takes most of it.
DEADLINE_S = 120.0
PROGRAM = [sys.executable, "-P", "-m", "ui.entry", "--lab", "gigabit", "shell"]


def shell(*command: str, stdin: bytes = b"", expect: int = 0) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        [*PROGRAM, *command], input=stdin, capture_output=True, timeout=DEADLINE_S, check=False
    )
    assert done.returncode == expect, done.stderr.decode(errors="replace")
    return done


def test_a_line_of_commands_has_its_output_errors_and_exit_code() -> None:
    done = shell("cat <(id -u); echo wrong > /dev/stderr; exit 7", expect=7)
    assert (done.stdout, done.stderr) == (b"0\n", b"wrong\n")


@pytest.mark.long
def test_words_are_passed_as_they_are_and_a_missing_program_is_127() -> None:
    assert shell("printf", "%s|", "a  b", "$HOME", "-l", "--lab").stdout == b"a  b|$HOME|-l|--lab|"
    assert b"no-such-program" in shell("no-such-program", "-x", expect=127).stderr


@pytest.mark.long
def test_a_command_that_a_signal_ends_has_its_status() -> None:
    shell("kill -KILL $$", expect=137)


@pytest.mark.parametrize("version", [pytest.param("3", marks=pytest.mark.long), "4.2"])
def test_mountwright_mounts_in_a_sequence_of_commands(version: str) -> None:
    done = shell(
        "set -e; mkdir /mnt/a; "
        f"mountwright mount -o vers={version} server:/export /mnt/a; "
        "echo kept > /mnt/a/file; mountwright list; cat /mnt/a/file; mountwright umount /mnt/a; "
        "mountwright umount /mnt/a"
    , expect=1)  # fmt: skip
    text = done.stdout.decode()
    assert "server:/export" in text
    assert "\nkept\n" in text
    assert b"mounted" in done.stderr


def test_input_and_megabytes_of_any_bytes_pass_both_ways() -> None:
    data = os.urandom(2**20)
    done = shell("cat > /run/data; cat /run/data /run/data >&2; sha256sum /run/data", stdin=data)
    assert done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()
    assert done.stderr == 2 * data


def test_a_script_on_standard_input_is_carried_out() -> None:
    assert shell(stdin=b"cd /mnt\npwd\nexit 3\n", expect=3).stdout == b"/mnt\n"


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.long)]
)
def test_a_signal_ends_the_command_and_the_guest(number: signal.Signals, status: int) -> None:
    child = subprocess.Popen(
        [*PROGRAM, "echo started; sleep 1000"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stdout.readline() == b"started\n"
    supervisors = children_of(child.pid)
    child.send_signal(number)
    assert child.wait(DEADLINE_S) == status
    assert b"Traceback" not in child.stderr.read()
    child.stdout.close()
    child.stderr.close()
    assert supervisors
    assert not any(Path(f"/proc/{pid}").exists() for pid in supervisors)


@pytest.mark.long
def test_a_command_that_ignores_the_signal_is_killed() -> None:
    child = subprocess.Popen(
        [*PROGRAM, "trap '' INT TERM; echo started; while :; do sleep 1; done"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == b"started\n"
    child.send_signal(signal.SIGINT)
    assert child.wait(DEADLINE_S) == 137
    child.stdout.close()


@pytest.mark.long
def test_the_end_of_a_reader_ends_the_command() -> None:
    child = subprocess.Popen([*PROGRAM, "yes"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.read(4) == b"y\ny\n"
    child.stdout.close()
    assert child.wait(DEADLINE_S) == 128 + signal.SIGPIPE


def test_it_needs_the_lab() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ui.entry", "shell", "id"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--lab" in done.stderr


def children_of(pid: int) -> list[int]:
    lists = ((task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir())
    return [int(word) for text in lists for word in text.split()]


class Terminal:
    """A person at a terminal in which the shell was started."""

    def __init__(self, *command: str) -> None:
        self.main, side = pty.openpty()
        self.resize(30, 100)
        self.before = termios.tcgetattr(side)
        self.child = subprocess.Popen([*PROGRAM, *command], stdin=side, stdout=side, stderr=side)
        self.side = side
        self.seen = b""

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text: bytes) -> None:
        os.write(self.main, text)

    def wait(self, pattern: bytes) -> bytes:
        """Return what was shown up to this, and forget it."""
        end = time.monotonic() + DEADLINE_S
        while (found := re.search(pattern, self.seen)) is None:
            assert time.monotonic() < end, self.seen
            assert self._read() or self.child.poll() is None, self.seen
        shown, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return shown

    def end(self) -> int:
        """Wait for the end of the program, and return its status."""
        end = time.monotonic() + DEADLINE_S
        while self.child.poll() is None:
            assert time.monotonic() < end, self.seen
            self._read()
        return self.child.wait()

    def is_raw(self) -> bool:
        return not termios.tcgetattr(self.side)[3] & termios.ICANON

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self.main)
        os.close(self.side)

    def _read(self) -> bool:
        if not select.select([self.main], [], [], 0.1)[0]:
            return False
        self.seen += os.read(self.main, 65536)  # this process has the other side open, too: never EIO
        return True


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    used = Terminal()
    with contextlib.closing(used):
        yield used


def test_a_shell_on_a_terminal(terminal: Terminal) -> None:
    terminal.wait(rb"# ")
    assert terminal.is_raw()
    terminal.type(b"stty size; tty; id -un\r")
    shown = terminal.wait(rb"root\r\n")
    assert b"30 100" in shown
    assert b"/dev/pts/" in shown

    terminal.type(b"sh -c 'echo begun; exec sleep 1000'; echo status=$?\r")
    terminal.wait(rb"[\r\n]begun\r\n")  # it is the foreground program
    terminal.type(b"\x03")
    terminal.wait(rb"# ")
    terminal.type(b"echo interrupted=$?\r")
    terminal.wait(rb"interrupted=130")

    terminal.resize(40, 120)
    terminal.child.send_signal(signal.SIGWINCH)
    terminal.type(b"stty size\r")
    terminal.wait(rb"40 120")

    terminal.type(b"exit 5\r")
    assert terminal.end() == 5
    assert termios.tcgetattr(terminal.side) == terminal.before


@pytest.mark.long
def test_a_hang_up_ends_the_shell_and_restores_the_terminal(terminal: Terminal) -> None:
    terminal.wait(rb"# ")
    terminal.child.send_signal(signal.SIGTERM)
    assert terminal.end() > 128
    assert termios.tcgetattr(terminal.side) == terminal.before


def test_output_that_nobody_takes_stops_at_a_bound_and_goes_on(lab: "LabGuest") -> None:
    taken = 0
    behind = threading.Event()
    done = threading.Event()

    def take(event: ShellEvent) -> None:
        nonlocal taken
        taken += len(event.data)
        if taken > SHELL_WINDOW_BYTES - 64 * 1024:
            behind.set()

    call = lab.submit("lab.shell", ShellArgs(command=["head -c 2000000 /dev/zero"]), take)
    lab.wait(behind, "the output that may be under way", call)
    assert call.still_runs_after(1.0)
    assert taken <= SHELL_WINDOW_BYTES
    told = 0
    while not call.future.done():
        now = taken
        lab.ask("lab.shell-control", ShellControlArgs(id=call.id, taken=now - told))
        told = now
        done.wait(0.01)
    assert call.result().code == 0
    assert taken == 2_000_000


def test_input_that_no_program_reads_waits_and_ends_with_it(lab: "LabGuest") -> None:
    begun = threading.Event()
    call = lab.submit("lab.shell", ShellArgs(command=["sleep 1000"]), lambda _event: begun.set())
    lab.wait(begun, "the command to begin", call)
    writing = lab.submit("lab.shell-input", ShellInputArgs(id=call.id, data=b"x" * 200_000))
    assert writing.still_runs_after(1.0)
    call.cancel()
    with pytest.raises(AppError):
        call.result()
    assert writing.result().closed

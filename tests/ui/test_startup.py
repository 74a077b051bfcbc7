"""Start and end of the program process: no tracebacks, correct exit codes, also on interrupts."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = [sys.executable, "-P", "-m", "ui.entry"]
#: One command for each way of printing.
COMMANDS = [
    ["--help"],
    ["--version"],
    ["list"],
    ["list", "--json"],
    ["tunables"],
    ["lint", "hard,timeo=600"],
    ["lint", "--json", "hard,timeo=600"],
    ["convert", "--to", "openbsd", "mount", "-t", "nfs", "nas01:/home", "/mnt/home"],
    ["experiment", "list"],
    ["experiment", "show", "versions"],
    ["history", "list"],
    ["advise", "--adapter", "3c509"],
]


def some(first: int) -> pytest.MarkDecorator:
    """Parametrize with every fourth command; the slow version has all, as each starts the program."""
    return pytest.mark.parametrize(
        "command",
        [pytest.param(command, marks=[] if number % 4 == first else pytest.mark.long)
         for number, command in enumerate(COMMANDS)],
        ids=" ".join,
    )  # fmt: skip


def run(argv: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, stderr=subprocess.PIPE, text=True, timeout=120, check=False, **options  # type: ignore[call-overload]
    )  # fmt: skip


@pytest.fixture
def full() -> Iterator[int]:
    fd = os.open("/dev/full", os.O_WRONLY)
    yield fd
    os.close(fd)


@some(0)
def test_a_full_disk_is_an_error_in_words(command: list[str], full: int) -> None:
    done = run([*PROGRAM, *command], stdout=full)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "mountwright: Could not write the output: No space left on device."
    assert "Traceback" not in done.stderr


@some(1)
def test_a_closed_output_is_an_error_in_words(command: list[str]) -> None:
    done = run(["/bin/sh", "-c", 'exec "$@" >&-', "sh", *PROGRAM, *command])
    assert done.returncode == 1
    assert done.stderr == "mountwright: Could not write the output: standard output is closed.\n"


@some(2)
def test_closed_messages_and_a_closed_input_are_no_error(command: list[str]) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&- 2>&-', "sh", *PROGRAM, *command],
        stdout=subprocess.PIPE, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout


def test_an_error_beside_closed_messages_has_its_code() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *PROGRAM, "convert", "nonsense"],
        stdout=subprocess.PIPE, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode in {1, 2}
    assert done.stdout == b""


@some(3)
def test_ascii_output_shows_what_it_cannot_write(command: list[str]) -> None:
    done = run([*PROGRAM, *command], stdout=subprocess.PIPE, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def at(delay_s: float, send: signal.Signals, argv: list[str]) -> tuple[int, bytes]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [send])  # children inherit the mask, as from ./run
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert child.stderr is not None
    with child.stderr:
        try:
            child.wait(delay_s)
        except subprocess.TimeoutExpired:
            child.send_signal(send)
        return child.wait(60), child.stderr.read()


@pytest.mark.parametrize(
    "command",
    [
        ["list"],
        *[
            pytest.param(each, marks=pytest.mark.long)
            for each in (["lint", "hard"], ["history", "list"], ["--help"])
        ],
    ],
    ids=" ".join,
)
def test_ctrl_c_at_any_moment_is_silent_or_a_message(command: list[str]) -> None:
    chance = random.Random(7)
    for _ in range(12):
        code, told = at(0.6 * chance.random(), signal.SIGINT, [*PROGRAM, *command])
        assert b"Traceback" not in told, told
        assert code in {0, 130, -signal.SIGINT}


def test_ctrl_c_from_the_first_moment_of_run() -> None:
    """A SIGINT that arrives while the interpreter starts is delivered afterwards."""
    script = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"  # a background job of a shell ignores SIGINT
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        f"os.execv({sys.executable!r}, {[*PROGRAM, 'list']!r})\n"
    )
    done = run([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert done.stderr == "mountwright: Cancelled.\n"
    assert done.returncode == 130

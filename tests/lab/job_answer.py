"""Answer of a guest job on the serial line, followed by the power-off of the guest."""

import json
import os
import termios
import traceback
from collections.abc import Callable
from typing import Any

from app.lab import syscalls
from app.lab.serial_line import open_terminal
from app.process import SYSTEM_PATH

#: Timeout of every end that a guest job waits for, s.
PATIENCE_S = 120.0


def answer_and_power_off(work: Callable[[], Any], before: bytes = b"") -> None:
    """Write the result of the job as one line of JSON to the terminal, or its error; then power off.

    Args:
        work: function that does the job and returns its result.
        before: bytes to write first, to end a line that another program may have begun.
    """
    os.environ.update(PATH=SYSTEM_PATH, LC_ALL="C.UTF-8")
    fd = open_terminal()
    try:
        answer = work()
    except BaseException:  # noqa: BLE001 - reported in the answer; PID 1 must power off
        answer = {"failed": traceback.format_exc()}
    data = before + json.dumps(answer).encode() + b"\n"
    while data:
        data = data[os.write(fd, data) :]
    termios.tcdrain(fd)
    syscalls.power_off()

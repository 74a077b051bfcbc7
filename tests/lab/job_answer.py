"""The answer of a job in a guest, and the end of the guest: its process 1 does nothing after that."""

import json
import os
import termios
import traceback
from collections.abc import Callable
from typing import Any

from app.lab import syscalls
from app.lab.serial_line import open_terminal
from app.process import SYSTEM_PATH


def answer_and_power_off(work: Callable[[], Any], before: bytes = b"") -> None:
    """Write what the work returns to the terminal as a line of JSON, or why it failed; power off.

    Args:
        work: of the job.
        before: bytes that end what others may have written there.
    """
    os.environ.update(PATH=SYSTEM_PATH, LC_ALL="C.UTF-8")
    fd = open_terminal()
    try:
        answer = work()
    except BaseException:  # noqa: BLE001 - told on the line; process 1 must power off
        answer = {"failed": traceback.format_exc()}
    data = before + json.dumps(answer).encode() + b"\n"
    while data:
        data = data[os.write(fd, data) :]
    termios.tcdrain(fd)
    syscalls.power_off()

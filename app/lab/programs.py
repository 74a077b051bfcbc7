"""Runs the guest's own programs: what fails during boot must say which program and why."""

from __future__ import annotations

from app.errors import AppError, ErrorKind
from app.lab.server_programs import find_server_program
from app.process import run

_DEADLINE_S = 30.0


def run_program(name: str, *arguments: str, text: str = "") -> str:
    """Run a program of the guest to its end and return its output.

    Raises:
        AppError: LAB_FAILED if it is missing, fails or does not end.
    """
    path = find_server_program(name)
    if path is None:
        raise AppError(ErrorKind.LAB_FAILED, f"The lab's guest has no program {name}.")
    outcome = run([path, *arguments], timeout=_DEADLINE_S, input_text=text)
    if not outcome.ok:
        how = "did not end" if outcome.timed_out else f"failed with status {outcome.code}"
        raise AppError(
            ErrorKind.LAB_FAILED,
            f"The program {name} {how} in the lab's guest.",
            detail=outcome.stderr or outcome.stdout,
        )
    return outcome.stdout

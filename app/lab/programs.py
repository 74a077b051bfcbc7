"""Programs of the guest: finds them, including NFS server programs that are only unpacked, and runs them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from app.errors import AppError
from app.process import find_program, run
from app.text.errors import ErrorCode

_DEADLINE_S = 30.0


def run_program(name: str, *arguments: str, text: str = "") -> str:
    """Run a program of the guest to its end and return its standard output.

    Args:
        name: name of the program.
        arguments: command line arguments.
        text: standard input.

    Raises:
        AppError: LAB_FAILED if the program is missing, fails or does not end in time.
    """
    path = find_server_program(name)
    if path is None:
        raise AppError(ErrorCode.LAB_PROGRAM_MISSING, name=name)
    outcome = run([path, *arguments], timeout=_DEADLINE_S, input_text=text)
    if not outcome.ok:
        how = "did not end" if outcome.timed_out else f"failed with status {outcome.code}"
        raise AppError(
            ErrorCode.LAB_PROGRAM_FAILED, detail=outcome.stderr or outcome.stdout, name=name, how=how
        )
    return outcome.stdout


#: Directory into which ``packaging/system_packages.py`` unpacks nfs-kernel-server.
UNPACKED = Path(__file__).parents[2] / ".cache" / "lab" / "nfs-kernel-server"
#: Directory of the NFS server programs in a package of Mountwright (packaging/package_tree.py).
PACKAGED = Path(__file__).parents[2] / "lab"


def find_server_program(name: str) -> str | None:
    """Return the absolute path of a program, on the system path or among the lab's, None if missing."""
    search_path = os.pathsep.join(map(str, (PACKAGED, UNPACKED / "usr/sbin", UNPACKED / "sbin")))
    return find_program(name) or shutil.which(name, path=search_path)

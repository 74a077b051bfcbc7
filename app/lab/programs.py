"""Programs of the guest: found, the NFS server's also where they are only unpacked, and run.

What fails during boot must say which program and why.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from app.errors import AppError, ErrorKind
from app.process import find_program, run

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


#: Where ``packaging/system_packages.py`` unpacks nfs-kernel-server.
UNPACKED = Path(__file__).parents[2] / ".cache" / "lab" / "nfs-kernel-server"
#: Where a package of this program has them (packaging/package_tree.py).
PACKAGED = Path(__file__).parents[2] / "lab"


def find_server_program(name: str) -> str | None:
    """Return the absolute path of a program: on the system path, else among the lab's own, else None."""
    folders = os.pathsep.join(map(str, (PACKAGED, UNPACKED / "usr/sbin", UNPACKED / "sbin")))
    return find_program(name) or shutil.which(name, path=folders)

"""Workaround for processors with AMX, whose extended state (XSTATE) user-mode Linux 6.1 cannot restore.

There it panics as soon as it starts its init (``ptrace set fp regs failed``). It is linked dynamically, so a
``ptrace`` of our own, which ``xstate.c`` tells of, can be put before the C library's. In a checkout it is
compiled anew for each guest, which takes less than a tenth of a second, so that nothing of it is ever left or
out of date. A package has it compiled.
"""

from __future__ import annotations

from pathlib import Path

from app.errors import AppError, ErrorKind
from app.process import find_program, run

_SOURCE = Path(__file__).with_suffix(".c")
#: Not beside the source: Python would take it for the module.
_COMPILED = Path(__file__).parents[2] / "lab" / "xstate.so"
_TIMEOUT_S = 60.0


def is_needed(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether this computer's processor has AMX."""
    with cpuinfo.open(encoding="utf-8", errors="replace") as lines:
        return any(line.startswith("flags") and "amx_tile" in line.split() for line in lines)


def needs_compiler() -> bool:
    """Whether a C compiler is needed for the guest on this computer."""
    return is_needed() and not _COMPILED.exists()


def environment(folder: Path) -> dict[str, str]:
    """Return what the guest's kernel needs in its environment on this computer, mostly nothing.

    Args:
        folder: private, and there as long as the guest; without a space or a colon in its path.

    Raises:
        AppError: LAB_FAILED if the compiler fails.
    """
    if not is_needed():
        return {}
    return {"LD_PRELOAD": str(_COMPILED if _COMPILED.exists() else build(folder))}


def build(folder: Path) -> Path:
    """Compile the library into a folder and return its path.

    Raises:
        AppError: LAB_FAILED if that fails.
    """
    library = folder / "xstate.so"
    compiler = find_program("cc") or "cc"
    made = run(
        [compiler, "-O2", "-shared", "-fPIC", "-nostdlib", "-o", str(library), str(_SOURCE)],
        timeout=_TIMEOUT_S,
    )
    if not made.ok:
        raise AppError(
            ErrorKind.LAB_FAILED,
            "What user-mode Linux needs on this processor could not be compiled.",
            detail=made.stderr,
        )
    return library

"""Workaround for processors with AMX, whose extended state (XSTATE) user-mode Linux 6.1 cannot restore.

On them it panics when it starts init (``ptrace set fp regs failed``). LD_PRELOAD replaces the C library's
``ptrace`` by that of ``xstate.c``, which explains the fix. In a checkout the library is compiled for each
guest, which takes less than 0.1 s, so that it is never out of date. A package contains it compiled.
"""

from __future__ import annotations

from pathlib import Path

from app.errors import AppError
from app.process import find_program, run
from app.text.errors import ErrorCode

_SOURCE = Path(__file__).with_suffix(".c")
#: Compiled library in a package; next to the source, Python would import it as this module.
_COMPILED = Path(__file__).parents[2] / "lab" / "xstate.so"
_TIMEOUT_S = 60.0


def is_needed(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Return whether this computer's processor has AMX.

    Args:
        cpuinfo: path of /proc/cpuinfo.
    """
    with cpuinfo.open(encoding="utf-8", errors="replace") as lines:
        return any(line.startswith("flags") and "amx_tile" in line.split() for line in lines)


def needs_compiler() -> bool:
    """Return whether booting a guest on this computer needs a C compiler."""
    return is_needed() and not _COMPILED.exists()


def environment(folder: Path) -> dict[str, str]:
    """Return the environment variables for the guest's kernel: LD_PRELOAD with AMX, else none.

    Args:
        folder: private directory that exists as long as the guest; its path has no space or colon.

    Raises:
        AppError: LAB_FAILED if the compiler fails.
    """
    if not is_needed():
        return {}
    return {"LD_PRELOAD": str(_COMPILED if _COMPILED.exists() else build(folder))}


def build(folder: Path) -> Path:
    """Compile the library into a directory and return its path.

    Raises:
        AppError: LAB_FAILED if the compiler fails.
    """
    library = folder / "xstate.so"
    compiler = find_program("cc") or "cc"
    outcome = run(
        [compiler, "-O2", "-shared", "-fPIC", "-nostdlib", "-o", str(library), str(_SOURCE)],
        timeout=_TIMEOUT_S,
    )
    if not outcome.ok:
        raise AppError(ErrorCode.XSTATE_NOT_COMPILED, detail=outcome.stderr)
    return library

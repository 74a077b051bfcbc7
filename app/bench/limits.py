"""What a test may be at most: for the worker that runs it, and for whoever plans one."""

from __future__ import annotations

MIN_BLOCK_SIZE = 512
MAX_BLOCK_SIZE = 256 * 2**20
#: More files than this are not a quick test any more, and removing them after a kill takes too long.
MAX_FILES = 20_000
#: More threads than this say nothing about a mount.
MAX_STREAMS = 64
_MOST = {"files": MAX_FILES, "streams": MAX_STREAMS, "own": MAX_FILES}


def block_problem(block_size: int) -> str:
    """Return why a call cannot have this size, "" if it can."""
    if MIN_BLOCK_SIZE <= block_size <= MAX_BLOCK_SIZE:
        return ""
    return "The block size must be between 512 bytes and 256 MiB."


def count_problem(workload: str, count: int) -> str:
    """Return why a test of this kind cannot have so many files, "" if it can."""
    most = _MOST.get(workload, 1)
    if 1 <= count <= most:
        return ""
    if most == 1:
        return "This test is of one file, not of several."
    return f"The number of files must be between 1 and {most} for this test."

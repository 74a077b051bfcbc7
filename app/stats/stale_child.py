"""Child process of the stale check: calls fstatvfs(3) on mounts, and may block forever.

It writes an empty line when it is ready. Then it reads one mount per line (JSON: mount point and mount ID)
and answers each with one line: 0, or the errno. It ends with its input. The mount point is opened with
O_PATH, which triggers no automount (open(2)). A path with another mount ID is not checked. The parent kills
a child that blocks.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Report readiness, then check mounts until the input ends."""
    sys.stdout.write("\n")
    sys.stdout.flush()
    for line in sys.stdin.buffer:
        mount_point, mount_id = json.loads(line)
        number = 0
        try:
            _ask(mount_point, mount_id)
        except OSError as error:
            number = error.errno or -1
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


def _ask(mount_point: str, mount_id: int) -> None:
    """Request the file system statistics of the mount's root from the server.

    Raises:
        OSError: with the server's error.
    """
    fd = os.open(os.fsencode(mount_point), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:  # noqa: PTH123 - pathlib is slow to load
            fields = file.read().splitlines()
        if f"mnt_id:\t{mount_id}" not in fields:
            return
        os.fstatvfs(fd)
    finally:
        os.close(fd)


if __name__ == "__main__":
    main()

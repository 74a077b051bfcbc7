"""Child process of the stale check: it asks mounts for their file system, and may wait for ever.

It writes an empty line when it is there. Then it reads one mount a line (JSON: mount point and number of the
mount) and answers each with one line: 0, or the errno of the server. It ends with its input. The mount point
is opened with O_PATH, which wakes no automount (open(2)). Another mount than the one that was meant is not
asked. One that waits is ended from outside.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Say that it is there, and answer until the input ends."""
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
    """Ask the server for the file system of the mount's root.

    Raises:
        OSError: as the server answers.
    """
    fd = os.open(os.fsencode(mount_point), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fields = Path(f"/proc/self/fdinfo/{fd}").read_text(encoding="ascii").splitlines()
        if f"mnt_id:\t{mount_id}" not in fields:
            return
        os.fstatvfs(fd)
    finally:
        os.close(fd)


if __name__ == "__main__":
    main()

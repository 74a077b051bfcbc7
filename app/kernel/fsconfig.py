"""Mount options that the kernel knows: fsopen(2) and fsconfig(2) in a child, which prints the answers.

Nothing is mounted: a context of a file system is opened, told the options one by one, and closed. The kernel
asks for CAP_SYS_ADMIN, which an ordinary user has in a user namespace of its own; so a child of its own
asks. Standard library only: it starts in a fifth of the time that the program takes.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import sys

# The same on every architecture but Alpha (include/uapi/asm-generic/unistd.h, linux/mount.h, linux/sched.h).
_SYS_FSOPEN, _SYS_FSCONFIG = 430, 431
_CLOEXEC, _SET_FLAG, _SET_STRING = 1, 0, 1
_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x20000


def known_options(questions: list[tuple[str, str]], fstype: str = "nfs") -> dict[str, bool]:
    """Return name to whether the kernel knows it; empty if it does not say.

    Args:
        questions: name, and a value or "" for a flag.
        fstype: of the kernel.

    Raises:
        OSError: there is no such file system, or the caller may not ask.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    context = libc.syscall(_SYS_FSOPEN, fstype.encode(), _CLOEXEC)
    if context < 0:
        raise OSError(ctypes.get_errno(), "fsopen")

    def known(name: str, value: str) -> bool:
        how, text = (_SET_STRING, value.encode()) if value else (_SET_FLAG, None)
        refused = libc.syscall(_SYS_FSCONFIG, context, how, name.encode(), text, 0) != 0
        # Of a known one the value may be refused for other reasons, such as a key that is not there.
        return not refused or ctypes.get_errno() != errno.EINVAL

    try:
        # What is known for sure has to be, and what cannot be must not: else the answers mean something else.
        if not known("timeo", "600") or known("mountwright", "1"):
            return {}
        return {name: known(name, value) for name, value in questions}
    finally:
        os.close(context)


def main() -> None:
    """Answer the questions of standard input on standard output, as root or in a user namespace."""
    questions = json.load(sys.stdin)
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 and libc.unshare(_NEW_USER | _NEW_MOUNTS) != 0:
        sys.exit(1)
    try:
        answers = known_options(questions)
    except OSError:
        sys.exit(1)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()

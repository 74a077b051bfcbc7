"""Which mount options the running kernel knows, asked of the kernel itself with fsopen(2) and fsconfig(2).

A release says less: distributors bring options to older kernels of theirs. Nothing is mounted: a context of a
file system is opened, told the options one by one, and closed. The kernel asks for CAP_SYS_ADMIN, which an
ordinary user has in a user namespace of its own, so a child of its own asks; where user namespaces are
forbidden, nothing is known.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import sys

import msgspec

from advisor.catalogue import Option, catalogue
from app.process import run
from resources.decoding import from_json

# The same on every architecture but Alpha (include/uapi/asm-generic/unistd.h, linux/mount.h, linux/sched.h).
_SYS_FSOPEN, _SYS_FSCONFIG = 430, 431
_CLOEXEC, _SET_FLAG, _SET_STRING = 1, 0, 1
_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x20000
#: Python takes this long to start on a busy machine at most; the kernel answers at once, or loads its module.
_DEADLINE_S = 5.0
#: Options that the kernel takes as flags of mount(2), not as options of NFS.
_SCOPES = frozenset({"client", "superblock"})


def newer_options(release: str) -> dict[str, bool]:
    """Return the options that came with a later kernel than this release, and whether the kernel has them.

    A value that is younger than its option stands for itself, as its word: softerr, rdirplus=force.

    What it does not tell is left out.

    Args:
        release: of the running kernel.
    """
    questions: dict[str, tuple[str, str]] = {}
    for option in catalogue():
        if option.scope not in _SCOPES:
            continue
        if option.newer_than(release):
            questions[option.name] = _question(option)
        for value in option.newer_values(release):
            word = option.word_for(value) or f"{option.name}={value}"
            name, _, text = word.partition("=")
            questions[word] = (name, text)
    if not questions:
        return {}
    known = dict(_asked(tuple(questions.values())))
    return {word: known[name] for word, (name, _) in questions.items() if name in known}


def _question(option: Option) -> tuple[str, str]:
    """Return the option's name and a value that it takes, "" for a flag."""
    if not option.takes_value:
        return option.name, ""
    return option.name, option.values[0] if option.values else "1"


@functools.cache
def _asked(questions: tuple[tuple[str, str], ...]) -> dict[str, bool]:
    argv = [sys.executable, "-P", "-m", "app.facts.kernel_options"]
    try:
        outcome = run(argv, timeout=_DEADLINE_S, input_data=msgspec.json.encode(questions))
        return from_json(outcome.stdout.encode(), dict[str, bool]) if outcome.ok else {}
    except (OSError, msgspec.DecodeError):
        return {}


def ask(questions: list[tuple[str, str]], fstype: str = "nfs") -> dict[str, bool]:
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
    questions = from_json(sys.stdin.buffer.read(), list[tuple[str, str]])
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 and libc.unshare(_NEW_USER | _NEW_MOUNTS) != 0:
        sys.exit(1)
    try:
        answers = ask(questions)
    except OSError:
        sys.exit(1)
    sys.stdout.write(msgspec.json.encode(answers).decode())


if __name__ == "__main__":
    main()

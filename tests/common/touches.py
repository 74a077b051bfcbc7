"""Recorder of accesses below a path by this process, from Python's audit events and patched functions of os.

stat(2) and similar calls raise no audit event (Python, "Audit events table"), so the functions of os that
make them are replaced. Accesses by Qt itself are not seen; another test forbids Qt's file classes.
"""

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

#: Events of starting a child: its arguments may have the path, except for programs that access it.
_STARTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.exec"})
_WAITING_PROGRAMS = frozenset({"df", "lsof", "mountpoint", "stat", "umount"})
_WITHOUT_EVENT = ("stat", "lstat", "statvfs", "access", "readlink", "pathconf")


class Touches:
    """Record of the accesses to a path and below it, until the end of the test.

    Attributes:
        path: absolute path with a unique name.
        hits: each access with the source line that made it.
    """

    def __init__(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self.hits: list[str] = []
        for name in _WITHOUT_EVENT:
            monkeypatch.setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *args: Any, **named: Any) -> Any:
            self.look(f"os.{name}", (path,))
            return real(path, *args, **named)

        return call

    def look(self, event: str, args: tuple[Any, ...]) -> None:
        """Note an event if one of its arguments is such a path."""
        if event in _STARTS:
            program = str(args[0]).rpartition("/")[2]
            words = args[1] if program in _WAITING_PROGRAMS else ()
            args = tuple(words) if isinstance(words, list | tuple) else ()
        if any(self._is_below(argument) for argument in args):
            by = traceback.extract_stack(limit=4)[0]
            self.hits.append(f"{event}{args} by {by.filename}:{by.lineno}")

    def _is_below(self, argument: object) -> bool:
        if not isinstance(argument, str | bytes | os.PathLike):
            return False
        # Also below the root folder of a test.
        return self.path in os.fsdecode(argument)


_watching: list[Touches] = []


def _hook(event: str, args: tuple[Any, ...]) -> None:
    for touches in _watching:
        touches.look(event, args)


sys.addaudithook(_hook)  # it cannot be removed again


def watch(path: str, monkeypatch: pytest.MonkeyPatch) -> Touches:
    """Start recording accesses to a path, until :func:`unwatch`."""
    touches = Touches(path, monkeypatch)
    _watching.append(touches)
    return touches


def unwatch(touches: Touches) -> None:
    """Stop recording accesses to a path."""
    _watching.remove(touches)

"""Both ends of the lines between a helper's roles and their client, for tests without that client."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import socket
import subprocess
from typing import TYPE_CHECKING, Any

from app.helper.session import PROTOCOL
from app.helper.verbs import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence


def action_of(role: str) -> str:
    """Return the ordinary action that starts a role, or the action itself."""
    return role if role in ACTIONS else next(action for action, roles in ACTIONS.items() if role in roles)


def start_helper(
    command: Sequence[str], role: str, *words: str, action: str = "", **options: Any
) -> subprocess.Popen[bytes]:
    """Start a helper and return its process, with the line to one role as its ``stdin`` and ``stdout``.

    Args:
        command: that starts it, without the action.
        role: to speak with.
        words: behind the action.
        action: that starts the role, by default the ordinary one.
        options: of Popen.
    """
    action = action or action_of(role)
    ours, theirs = socket.socketpair()
    with theirs:
        child = subprocess.Popen([*command, action, *words], stdin=theirs, stdout=theirs, **options)
    with ours:
        lines = receive_lines(ours, action)
    line = lines.pop(role, None)
    for other in lines.values():
        other.close()
    if line is None:  # it has not started; what is read is the end
        line, other = socket.socketpair()
        other.close()
    child.stdin, child.stdout = _Feed(line.dup()), line.makefile("rb")  # type: ignore[assignment]
    line.close()
    return child


class _Feed:
    """The input of a role, as a file. Its end is the end of the input, also while the output is open."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def write(self, data: bytes) -> int:
        self._line.sendall(data)
        return len(data)

    def flush(self) -> None:
        return

    def fileno(self) -> int:
        return self._line.fileno()

    def close(self) -> None:
        with self._line, contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_WR)

    def __enter__(self) -> _Feed:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def receive_lines(start: socket.socket, action: str) -> dict[str, socket.socket]:
    """Return the lines to the roles of an action, which a helper sends when it has started them."""
    roles = ACTIONS.get(action, ())
    with contextlib.suppress(ConnectionResetError):
        data, fds, _flags, _address = socket.recv_fds(start, 4096, len(roles) + 1)
        if data:
            assert json.loads(data) == {"protocol": PROTOCOL, "roles": list(roles)}
            return {role: socket.socket(fileno=fd) for role, fd in zip(roles, fds, strict=True)}
    return {}


def peer(action: str, script: str) -> str:
    """Return a program that stands in for a helper: each of its roles runs the script on its line."""
    start = inspect.getsource(_start_roles)
    return (
        f"import json, os, socket\n\n\n{start}\n\n_start_roles({list(ACTIONS[action])}, {PROTOCOL})\n{script}"
    )


def _start_roles(roles, protocol):  # type: ignore[no-untyped-def]
    start, ours = socket.socket(fileno=os.dup(1)), []
    for _role in roles:
        line, other = socket.socketpair()
        ours.append(other)
        if not os.fork():
            start.close()
            for end in ours:
                end.close()
            os.dup2(line.fileno(), 0)
            os.dup2(line.fileno(), 1)
            line.close()
            return
        line.close()
    told = json.dumps({"protocol": protocol, "roles": roles}).encode()
    socket.send_fds(start, [told], [end.fileno() for end in ours])
    for end in (*ours, start):
        end.close()
    status = 0
    while True:
        try:
            status = max(status, abs(os.waitstatus_to_exitcode(os.wait()[1])))
        except ChildProcessError:
            os._exit(status)

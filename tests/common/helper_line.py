"""Sockets between a helper's roles and a client, for tests that do not use the program's own client."""

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
    """Start a helper; return its process, with the socket of one role as its ``stdin`` and ``stdout``.

    Args:
        command: command of the helper, without the action.
        role: role to talk to.
        words: arguments after the action.
        action: action of the helper; "" for the ordinary action of the role.
        options: options of Popen.
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
    if line is None:  # the helper has not started; reading returns the end of the input
        line, other = socket.socketpair()
        other.close()
    child.stdin, child.stdout = _Feed(line.dup()), line.makefile("rb")  # type: ignore[assignment]
    line.close()
    return child


class _Feed:
    """Input of a role as a file; closing it ends the role's input, while the output stays open."""

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
    """Return the sockets of the roles of an action by role, which the helper sends after its start."""
    roles = ACTIONS.get(action, ())
    with contextlib.suppress(ConnectionResetError):
        data, fds, _flags, _address = socket.recv_fds(start, 4096, len(roles) + 1)
        if data:
            assert json.loads(data) == {"protocol": PROTOCOL, "roles": list(roles)}
            return {role: socket.socket(fileno=fd) for role, fd in zip(roles, fds, strict=True)}
    return {}


def peer(action: str, script: str) -> str:
    """Return the source of a program that replaces a helper; each role runs the script on its socket."""
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
    announcement = json.dumps({"protocol": protocol, "roles": roles}).encode()
    socket.send_fds(start, [announcement], [end.fileno() for end in ours])
    for end in (*ours, start):
        end.close()
    status = 0
    while True:
        try:
            status = max(status, abs(os.waitstatus_to_exitcode(os.wait()[1])))
        except ChildProcessError:
            os._exit(status)

"""Starts the process that asks (app/discovery/child.py), reads its lines as they come, ends it in time."""

from __future__ import annotations

import os
import selectors
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from app import process
from app.discovery.model import Question, Reply
from app.errors import AppError, ErrorKind
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.discovery.model import ServersEvent
    from app.process import Child
    from app.tasks import CancelToken

#: How long Python may take to start and to end, on a slow machine; the server has no part in it.
_START_S = 6.0
#: More than any answer has: a list of ten thousand exports.
_MAX_BYTES = 64 * 2**20
_PIECE = 65536


def run_child(
    question: Question, token: CancelToken, tell: Callable[[ServersEvent], None] = lambda _event: None
) -> Reply:
    """Return the last line of the child's answer.

    Args:
        question: what is asked.
        token: ends it early.
        tell: is told the events before the last line.

    Raises:
        AppError: SERVER_SILENT if the child does not end in time, CANCELLED, INTERNAL if it says nothing.
    """
    child = process.start([sys.executable, "-P", "-m", "app.discovery.child"], stderr=process.PIPE)
    try:
        with token.on_cancel(lambda: process.kill_group(child)):
            reply, errors = _follow(child, question, tell)
    finally:
        process.kill_group(child)  # it has ended, or its time has
        process.wait(child, 1)
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()
    token.check()
    if reply is None:
        raise AppError(
            ErrorKind.INTERNAL,
            "The process that asks servers ended without an answer.",
            hint="This is a bug. Please report it with the details.",
            detail=errors.decode(errors="replace"),
        )
    return reply


def _follow(
    child: Child, question: Question, tell: Callable[[ServersEvent], None]
) -> tuple[Reply | None, bytes]:
    """Return the answer, None if there is none, and what the child said on its standard error."""
    end = time.monotonic() + question.seconds + _START_S
    with suppress(BrokenPipeError):  # it was ended at once
        child.stdin.write(msgspec.json.encode(question))
        child.stdin.close()
    said = {"out": bytearray(), "err": bytearray()}
    reply: Reply | None = None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ, "out")
        selector.register(child.stderr, selectors.EVENT_READ, "err")
        while selector.get_map() and len(said["out"]) <= _MAX_BYTES:
            ready = selector.select(max(0.0, end - time.monotonic()))
            if not ready:
                raise no_answer(question.server)
            for key, _ in ready:
                piece = os.read(key.fd, _PIECE)
                said[key.data] += piece
                if not piece:
                    selector.unregister(key.fileobj)
            *lines, rest = said["out"].split(b"\n")
            said["out"] = rest
            for line in lines:
                reply = _read(line)
                if reply is not None and reply.event is not None:
                    tell(reply.event)
    return (reply if reply is not None and reply.event is None else None), bytes(said["err"])


def _read(line: bytes | bytearray) -> Reply | None:
    try:
        return from_json(bytes(line), Reply)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def no_answer(host: str) -> AppError:
    """Return the error of a child that took too long."""
    about = f"{host}: It" if host else "The network"
    return AppError(
        ErrorKind.SERVER_SILENT,
        f"{about} could not be asked in time.",
        hint="This computer is very busy. Try again.",
    )

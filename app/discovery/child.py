"""The process that asks: a question on its standard input, lines of answers on its standard output.

It is started by :mod:`app.discovery.client`, which kills it at its deadline: whatever a server does, and
wherever a system call gets stuck, only this process waits.
"""

from __future__ import annotations

import os
import sys

import msgspec

from app.discovery.exports import find_exports
from app.discovery.mdns import browse
from app.discovery.model import Problem, Question, Reply, ServersEvent
from app.discovery.query_process import reach
from app.discovery.rpc import Deadline
from app.discovery.scan import scan
from app.discovery.versions import probe_versions
from app.errors import AppError, ErrorKind
from resources.decoding import from_json


def answer(question: Question) -> Reply:
    """Return the answer; a failure is one."""
    if question.kind == "announced":
        return _announced(question.seconds)
    if question.kind == "scan":
        return Reply(announced=scan(question.networks, _tell, port=question.port, seconds=question.seconds))
    deadline = Deadline(question.seconds)
    ports = [question.port, question.rpcbind_port]
    if question.mount_port:
        ports.append(question.mount_port)
    try:
        address = reach(question.addresses, ports, deadline)
        if question.kind == "exports":
            return Reply(exports=find_exports(question, address, deadline))
        return Reply(probe=probe_versions(question, address, deadline))
    except AppError as error:
        return Reply(problem=Problem.of(error))


def _announced(seconds: float) -> Reply:
    try:
        return Reply(announced=browse(seconds, lambda server: _tell(ServersEvent(servers=[server]))))
    except OSError as error:
        return Reply(problem=Problem.of(AppError(
            ErrorKind.UNAVAILABLE,
            "Servers that announce themselves cannot be looked for: there is no network to listen to.",
            detail=error.strerror or str(error),
        )))  # fmt: skip


def _tell(event: ServersEvent) -> None:
    _print(Reply(event=event))


def _print(reply: Reply) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(reply) + b"\n")
    sys.stdout.flush()


def main() -> None:
    """Answer the question and end at once, whatever threads still wait."""
    question = from_json(sys.stdin.buffer.read(), Question)
    _print(answer(question))
    os._exit(0)


if __name__ == "__main__":
    main()

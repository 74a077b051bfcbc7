"""Query process: a query on its standard input, lines of answers on its standard output.

It is started by :mod:`app.discovery.client`, which kills it at its deadline: whatever a server does, and
wherever a system call gets stuck, only this process waits. Of a server's addresses it asks the first one
that answers.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import sys

import msgspec

from app.discovery.exports import find_exports
from app.discovery.mdns import browse
from app.discovery.model import Problem, Query, QueryReply, ServersEvent
from app.discovery.rpc import Deadline, connection_error, socket_address
from app.discovery.scan import scan
from app.discovery.versions import probe_versions
from app.errors import AppError, ErrorKind
from resources.decoding import from_json

_MAX_ADDRESSES = 8


def first_reachable(addresses: list[str], ports: list[int], deadline: Deadline) -> str:
    """Return the first address where one of these TCP ports accepts a connection; all are tried at once.

    Raises:
        AppError: SERVER_SILENT, SERVER_REFUSED or SERVER_UNKNOWN, with what each address said in the detail.
    """
    tries = _Tries()
    try:
        for address in addresses[:_MAX_ADDRESSES]:
            for port in ports:
                found = tries.start(address, port)
                if found:
                    return found
        while tries.open:
            if not deadline.left():
                break
            found = tries.wait(deadline.left())
            if found:
                return found
        raise tries.failure(deadline.seconds)
    finally:
        tries.close()


class _Tries:
    """Connections that are being made."""

    def __init__(self) -> None:
        self.open: dict[int, tuple[socket.socket, str, int]] = {}
        self._poll = select.poll()
        self._failed: list[tuple[str, int, int]] = []
        self._odd: AppError | None = None

    def start(self, address: str, port: int) -> str:
        """Begin one; return the address if it is there at once."""
        try:
            family, where = socket_address(address, port)
            link = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        except AppError as error:
            self._odd = error
            return ""
        except OSError as error:
            self._failed.append((address, port, error.errno or errno.EIO))
            return ""
        self.open[link.fileno()] = (link, address, port)
        self._poll.register(link, select.POLLOUT)
        try:
            number = link.connect_ex(where)
        except OSError as error:  # what connect_ex does not put into its result
            number = error.errno or errno.EIO
        return "" if number == errno.EINPROGRESS else self._done(link.fileno(), number)

    def wait(self, seconds: float) -> str:
        """Wait until one is decided; return the address if it is connected."""
        for number, _ in self._poll.poll(seconds * 1000):
            link = self.open[number][0]
            found = self._done(number, link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
            if found:
                return found
        return ""

    def _done(self, descriptor: int, number: int) -> str:
        self._poll.unregister(descriptor)
        link, address, port = self.open.pop(descriptor)
        link.close()
        if number == 0:
            return address
        self._failed.append((address, port, number))
        return ""

    def failure(self, seconds: float) -> AppError:
        """Return what was wrong; a refusal says more than silence, as the host is up."""
        said = self._failed + [(address, port, errno.ETIMEDOUT) for _, address, port in self.open.values()]
        if not said:
            return self._odd or connection_error(errno.EHOSTUNREACH, seconds)
        numbers = [number for _, _, number in said]
        best = errno.ECONNREFUSED if errno.ECONNREFUSED in numbers else max(numbers, key=_telling)
        error = connection_error(best, seconds)
        message, hint = error.message, error.hint
        if best == errno.ECONNREFUSED:
            ports = " and ".join(str(port) for port in dict.fromkeys(port for _, port, _ in said))
            message = f"The server is up but refuses connections to TCP port {ports}."
            hint = "Start its NFS server (systemctl start nfs-server), or name the port where it listens."
        detail = "\n".join(f"{address} port {port}: {errno.errorcode.get(n, n)}" for address, port, n in said)
        return AppError(ErrorKind(error.kind), message, hint=hint, detail=detail)

    def close(self) -> None:
        """Close what is still open."""
        for link, _, _ in self.open.values():
            link.close()


def _telling(number: int) -> bool:
    return number == errno.ETIMEDOUT


def answer_query(question: Query) -> QueryReply:
    """Return the answer; a failure is one."""
    if question.kind == "announced":
        return _announced_servers(question.seconds)
    if question.kind == "scan":
        return QueryReply(
            announced=scan(question.networks, _send_event, port=question.port, seconds=question.seconds)
        )
    deadline = Deadline(question.seconds)
    ports = [question.port, question.rpcbind_port]
    if question.mount_port:
        ports.append(question.mount_port)
    try:
        address = first_reachable(question.addresses, ports, deadline)
        if question.kind == "exports":
            return QueryReply(exports=find_exports(question, address, deadline))
        return QueryReply(probe=probe_versions(question, address, deadline))
    except AppError as error:
        return QueryReply(problem=Problem.of(error))


def _announced_servers(seconds: float) -> QueryReply:
    try:
        return QueryReply(
            announced=browse(seconds, lambda server: _send_event(ServersEvent(servers=[server])))
        )
    except OSError as error:
        return QueryReply(problem=Problem.of(AppError(
            ErrorKind.UNAVAILABLE,
            "Servers that announce themselves cannot be looked for: there is no network to listen to.",
            detail=error.strerror or str(error),
        )))  # fmt: skip


def _send_event(event: ServersEvent) -> None:
    _write_reply(QueryReply(event=event))


def _write_reply(reply: QueryReply) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(reply) + b"\n")
    sys.stdout.flush()


def main() -> None:
    """Answer the question and end at once, whatever threads still wait."""
    question = from_json(sys.stdin.buffer.read(), Query)
    _write_reply(answer_query(question))
    os._exit(0)


if __name__ == "__main__":
    main()

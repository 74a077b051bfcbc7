"""Query process: reads a query from standard input and writes replies to standard output.

:mod:`app.discovery.client` starts it and kills it at its deadline, so that a stuck system call blocks only
this process. It queries the first address of a server that answers.
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
from app.text.errors import ErrorCode
from resources.decoding import from_json

_MAX_ADDRESSES = 8


def first_reachable(addresses: list[str], ports: list[int], deadline: Deadline) -> str:
    """Return the first address where one of these TCP ports accepts a connection; tries all in parallel.

    Raises:
        AppError: SERVER_SILENT, SERVER_REFUSED or SERVER_UNKNOWN, with each address's error in the detail.
    """
    connects = _Connects()
    try:
        for address in addresses[:_MAX_ADDRESSES]:
            for port in ports:
                found = connects.start(address, port)
                if found:
                    return found
        while connects.open:
            if not deadline.left():
                break
            found = connects.wait(deadline.left())
            if found:
                return found
        raise connects.failure(deadline.seconds)
    finally:
        connects.close()


class _Connects:
    """Parallel connection attempts.

    Attributes:
        open: socket, address and port of each running attempt, by file descriptor.
    """

    def __init__(self) -> None:
        self.open: dict[int, tuple[socket.socket, str, int]] = {}
        self._poll = select.poll()
        self._failed: list[tuple[str, int, int]] = []
        self._invalid_address: AppError | None = None

    def start(self, address: str, port: int) -> str:
        """Start a connection; return the address if it succeeds immediately, else ""."""
        try:
            family, socket_addr = socket_address(address, port)
            connection = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        except AppError as error:
            self._invalid_address = error
            return ""
        except OSError as error:
            self._failed.append((address, port, error.errno or errno.EIO))
            return ""
        self.open[connection.fileno()] = (connection, address, port)
        self._poll.register(connection, select.POLLOUT)
        try:
            number = connection.connect_ex(socket_addr)
        except OSError as error:  # connect_ex raises some errors instead of returning them
            number = error.errno or errno.EIO
        return "" if number == errno.EINPROGRESS else self._finish(connection.fileno(), number)

    def wait(self, seconds: float) -> str:
        """Wait until an attempt ends; return its address if it succeeded, else ""."""
        for number, _ in self._poll.poll(seconds * 1000):
            connection = self.open[number][0]
            found = self._finish(number, connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
            if found:
                return found
        return ""

    def _finish(self, descriptor: int, number: int) -> str:
        self._poll.unregister(descriptor)
        connection, address, port = self.open.pop(descriptor)
        connection.close()
        if number == 0:
            return address
        self._failed.append((address, port, number))
        return ""

    def failure(self, seconds: float) -> AppError:
        """Return the most informative error; a refusal beats a timeout, because it shows that the host is up.

        Args:
            seconds: timeout for the message, s.
        """
        failures = self._failed + [
            (address, port, errno.ETIMEDOUT) for _, address, port in self.open.values()
        ]
        if not failures:
            return self._invalid_address or connection_error(errno.EHOSTUNREACH, seconds)
        numbers = [number for _, _, number in failures]
        best = errno.ECONNREFUSED if errno.ECONNREFUSED in numbers else max(numbers, key=_is_timeout)
        error = connection_error(best, seconds)
        message, hint = error.message, error.hint
        if best == errno.ECONNREFUSED:
            ports = " and ".join(str(port) for port in dict.fromkeys(port for _, port, _ in failures))
            message = f"The server is up but refuses connections to TCP port {ports}."
            hint = "Start its NFS server (systemctl start nfs-server), or name the port where it listens."
        detail = "\n".join(
            f"{address} port {port}: {errno.errorcode.get(n, n)}" for address, port, n in failures
        )
        return AppError(ErrorKind(error.kind), message, hint=hint, detail=detail)

    def close(self) -> None:
        """Close the sockets of running attempts."""
        for connection, _, _ in self.open.values():
            connection.close()


def _is_timeout(number: int) -> bool:
    return number == errno.ETIMEDOUT


def answer_query(query: Query) -> QueryReply:
    """Run a query and return its reply; an AppError becomes the reply's problem."""
    if query.kind == "announced":
        return _announced_servers(query.seconds)
    if query.kind == "scan":
        return QueryReply(announced=scan(query.networks, _send_event, port=query.port, seconds=query.seconds))
    deadline = Deadline(query.seconds)
    ports = [query.port, query.rpcbind_port]
    if query.mount_port:
        ports.append(query.mount_port)
    try:
        address = first_reachable(query.addresses, ports, deadline)
        if query.kind == "exports":
            return QueryReply(exports=find_exports(query, address, deadline))
        return QueryReply(probe=probe_versions(query, address, deadline))
    except AppError as error:
        return QueryReply(problem=Problem.of(error))


def _announced_servers(seconds: float) -> QueryReply:
    try:
        return QueryReply(
            announced=browse(seconds, lambda server: _send_event(ServersEvent(servers=[server])))
        )
    except OSError as error:
        return QueryReply(
            problem=Problem.of(AppError(ErrorCode.NO_NETWORK_TO_LISTEN, detail=error.strerror or str(error)))
        )


def _send_event(event: ServersEvent) -> None:
    _write_reply(QueryReply(event=event))


def _write_reply(reply: QueryReply) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(reply) + b"\n")
    sys.stdout.flush()


def main() -> None:
    """Answer the query and exit without waiting for blocked threads."""
    query = from_json(sys.stdin.buffer.read(), Query)
    _write_reply(answer_query(query))
    os._exit(0)


if __name__ == "__main__":
    main()

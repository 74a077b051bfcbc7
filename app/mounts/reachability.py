"""Reachability of a server: name resolution and a TCP connection before mounting.

mount.nfs(8) takes minutes to fail if the server does not answer; this check takes seconds.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import select
import socket
import sys

from app import process
from app.errors import AppError
from app.text.errors import ErrorCode

NFS_PORT = 2049
#: Prints the addresses of host argv[1], one per line, or the text of the resolver's error. It runs in a
#: child, because getaddrinfo(3) can hang for minutes and cannot be interrupted.
_RESOLVE_SCRIPT = """
import socket, sys
try:
    found = socket.getaddrinfo(sys.argv[1], None, type=socket.SOCK_STREAM)
except socket.gaierror as error:
    print(error.strerror, file=sys.stderr)
    sys.exit(1)
print("\\n".join(dict.fromkeys(entry[4][0] for entry in found)))
"""
#: Longest wait for the name service, seconds.
_RESOLVE_S = 5.0


def resolve_host(host: str, timeout_s: float = _RESOLVE_S) -> list[str]:
    """Return the addresses of a host in the order of the resolver.

    Args:
        host: name or address; an IPv6 address without brackets.
        timeout_s: longest wait for the name service, seconds.

    Raises:
        AppError: SERVER_UNKNOWN if the name does not resolve in time.
    """
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        pass
    done = process.run([sys.executable, "-I", "-S", "-c", _RESOLVE_SCRIPT, host], timeout=timeout_s)
    if done.ok:
        return done.stdout.split()
    if done.timed_out:
        raise AppError(ErrorCode.NAME_SERVICE_TIMEOUT, timeout_s=timeout_s, host=host)
    raise AppError(ErrorCode.SERVER_NAME_UNKNOWN, detail=done.stderr.strip(), host=host)


def probe_server(host: str, port: int = NFS_PORT, timeout_s: float = 3.0) -> AppError | None:
    """Return the error of a TCP connection to a server, None if one of its addresses accepts it.

    An accepted connection does not prove that NFS works, only that a mount may succeed.

    Args:
        host: name or address; an IPv6 address with or without brackets.
        port: TCP port.
        timeout_s: longest wait for each address, seconds.
    """
    try:
        addresses = resolve_host(host.removeprefix("[").removesuffix("]"))
    except AppError as error:
        return error
    worst = 0
    for address in addresses:
        number = connect_tcp(address, port, timeout_s)
        if number == 0:
            return None
        # A refused connection is more informative than a timeout: the host is up.
        worst = number if worst != errno.ECONNREFUSED else worst
    return _explain(host, port, worst, timeout_s)


def connect_tcp(address: str, port: int, timeout_s: float) -> int:
    """Open and close one TCP connection; return 0, or the errno, ETIMEDOUT for no answer."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    bare, _, zone = address.partition("%")
    target = (bare, port) if family == socket.AF_INET else (bare, port, 0, _scope(zone))
    try:
        with socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC) as link:
            number = link.connect_ex(target)
            if number != errno.EINPROGRESS:
                return number
            poll = select.poll()
            poll.register(link, select.POLLOUT)
            if not poll.poll(timeout_s * 1000):
                return errno.ETIMEDOUT
            return link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    except OSError as error:
        return error.errno or errno.EIO


def _scope(zone: str) -> int:
    if not zone:
        return 0
    return int(zone) if zone.isdigit() else socket.if_nametoindex(zone)


def _explain(host: str, port: int, number: int, timeout_s: float) -> AppError:
    detail = f"TCP connection to {host} port {port}: {os.strerror(number)}"
    if number == errno.ECONNREFUSED:
        return AppError(ErrorCode.SERVER_PORT_REFUSED, detail=detail, host=host, port=port)
    if number == errno.ETIMEDOUT:
        return AppError(ErrorCode.SERVER_TIMEOUT, detail=detail, host=host, timeout_s=timeout_s, port=port)
    return AppError(ErrorCode.SERVER_UNREACHABLE, detail=detail, host=host)

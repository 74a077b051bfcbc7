"""Command "discover": finds servers, lists the exports of one, and probes its NFS versions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from app.cli.table import table
from app.discovery.model import NFS_PORT, ExportsArgs, ProbeArgs, ScanArgs, ServersArgs
from app.errors import AppError
from app.service.protocol import Empty
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from app.discovery.model import (
        ExportsResult,
        ProbeResult,
        Problem,
        ServersEvent,
        ServersResult,
        Subnets,
    )

    Ask = Callable[[str, Any, Callable[[Any], None] | None], Any]

_SOURCES = {
    "fstab": "set up here",
    "mounted": "mounted here",
    "mdns": "announces itself",
    "recent": "used recently",
    "scan": "answers on the subnet",
}
_OFFERED = {True: "yes", False: "no", None: "unknown"}
_ANSWERS = {True: "answers", False: "does not answer", None: "not asked"}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of discover."""
    command.add_argument(
        "server",
        nargs="?",
        default="",
        metavar="SERVER",
        help="a name, an address or a share (without one: list servers)",
    )
    command.add_argument(
        "--probe", action="store_true", help="show NFS versions and RPC services instead of exports"
    )
    command.add_argument(
        "--scan",
        action="store_true",
        help="ask every address of the networks that this computer is attached to on TCP port 2049, at most "
        "1022; the addresses are told first",
    )
    command.add_argument("--forget", action="store_true", help="clear the list of recently used servers")
    command.add_argument(
        "--test-mount",
        action="store_true",
        help="list version 4's root by a private test mount if the server does not list it otherwise "
        "(needs root)",
    )
    command.add_argument("--port", type=int, default=0, help="port of its NFS service (default: 2049)")
    command.add_argument("--mount-port", type=int, default=0, help="port of its MOUNT service")


def run_discover(ask: Ask, args: argparse.Namespace) -> Any:
    """Run the command; return the result of its request.

    Args:
        ask: sends a request: verb, arguments, and handler of events or None.
        args: parsed command line.

    Raises:
        AppError: USAGE for --forget or --scan with a server, or the error of the request.
    """
    if args.forget:
        if args.server or args.probe or args.scan:
            raise AppError(ErrorCode.FORGET_TAKES_NO_SERVER)
        return ask("discover.forget", Empty(), None)
    if args.scan:
        if args.server or args.probe:
            raise AppError(ErrorCode.SCAN_TAKES_NO_SERVER)
        return _scan(ask)
    if not args.server:
        return ask("discover.servers", ServersArgs(), None)
    if args.probe:
        return ask("discover.probe", ProbeArgs(server=args.server, port=args.port), None)
    query = ExportsArgs(
        server=args.server, port=args.port, mount_port=args.mount_port, test_mount=args.test_mount
    )
    return ask("discover.exports", query, None)


def _scan(ask: Ask) -> ServersResult:
    """Print the address ranges, then scan them for NFS servers; Ctrl-C cancels the scan."""
    found: Subnets = ask("discover.subnets", Empty(), None)
    for line in subnet_lines(found):
        print(line, file=sys.stderr, flush=True)

    def show(event: ServersEvent) -> None:
        if sys.stderr.isatty():
            end = "\n" if event.asked == event.total else ""
            print(
                f"\r\x1b[K{event.asked} of {event.total} addresses asked",
                end=end,
                file=sys.stderr,
                flush=True,
            )

    networks = [subnet.network for subnet in found.subnets]
    result: ServersResult = ask("discover.scan", ScanArgs(networks=networks), show)
    return result


def subnet_lines(found: Subnets) -> list[str]:
    """Return a sentence for each network that a scan covers or leaves out."""
    lines = [
        f"Asking {subnet.count} addresses on TCP port {NFS_PORT}: {subnet.first} to {subnet.last} "
        f"({subnet.interface})" + (f", a part of {subnet.cut_from}." if subnet.cut_from else ".")
        for subnet in found.subnets
    ]
    return lines + [f"Left out, too many addresses: {network}." for network in found.left_out]


def servers_text(
    result: ServersResult, nothing: str = "No servers are known here, and none announces itself."
) -> str:
    """Return a table of servers with their warnings; ``nothing`` is the text without servers."""
    lines = [nothing]
    if result.servers:
        rows = [["SERVER", "ADDRESS OR NAME", "KNOWN BECAUSE IT", "EXPORTS KNOWN"]]
        rows += [
            [
                server.name,
                server.calls_itself or server.address or "—",
                ", ".join(_SOURCES.get(source, source) for source in server.sources),
                "  ".join(server.exports) or "—",
            ]
            for server in result.servers
        ]
        lines = [table(rows)]
    return "\n".join([*lines, *result.warnings])


def exports_text(result: ExportsResult) -> str:
    """Return the exports of a server: those of the MOUNT service, and the root of NFS version 4."""
    lines = [f"{result.server} ({result.address})", ""]
    if result.exports is None:
        lines += _unknown_lines("The MOUNT service's list", result.exports_problem)
    elif not result.exports:
        lines.append("The MOUNT service lists no exports.")
    else:
        rows = [["EXPORT", "FOR"]]
        rows += [[export.path, " ".join(export.clients) or "everyone"] for export in result.exports]
        lines.append(table(rows))
    lines.append("")
    if result.root is None:
        lines += _unknown_lines("Version 4's root", result.root_problem)
    elif not result.root:
        lines.append("Version 4's root holds no directories.")
    else:
        rows = [["BELOW VERSION 4'S ROOT", "(BY A TEST MOUNT)" if result.root_by_mount else ""]]
        rows += [
            [entry.path, "; ".join(filter(None, ["exported" if entry.export else "", entry.note]))]
            for entry in result.root
        ]
        lines.append(table(rows))
        if not result.root_complete:
            lines.append("The list is not complete.")
    return "\n".join(lines)


def probe_text(result: ProbeResult) -> str:
    """Return the tables of NFS versions by transport, and of RPC services of a server."""
    rows = [["NFS VERSION", "TRANSPORT", "OFFERED", "HOW IT IS KNOWN"]]
    rows += [
        [offer.version, offer.transport, _OFFERED[offer.offered], offer.note] for offer in result.versions
    ]
    lines = [f"{result.server} ({result.address}), port {result.port}", "", table(rows), ""]
    if result.services is None:
        lines += _unknown_lines("The list of RPC services", result.services_problem)
    else:
        rows = [["SERVICE", "VERSION", "TRANSPORT", "PORT", ""]]
        rows += [
            [
                service.name or str(service.program),
                str(service.version),
                service.transport,
                str(service.port),
                service.note or _ANSWERS[service.answers],
            ]
            for service in result.services
        ]
        lines.append(table(rows))
    return "\n".join([*lines, *result.notes])


def _unknown_lines(subject: str, problem: Problem | None) -> list[str]:
    if problem is None:
        return [f"{subject} is not known."]
    return [text for text in (f"{subject} is not known: {problem.message}", problem.hint) if text]

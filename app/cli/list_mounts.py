"""Command "list": the mounts of this computer, and with --space their used and free space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from app.cli.table import table
from app.cli.text import mounts_text, terminal_safe
from app.errors import AppError
from app.mounts.model import Space, SpaceArgs
from app.mounts.space import space_text
from app.mounts.table import plain_path
from app.service.protocol import ListArgs
from app.text.errors import ErrorCode
from app.text.units import format_size

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from app.mounts.model import MountTable
    from app.service.client import Host

    Ask = Callable[[str, Any], Any]


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of "list" to its parser."""
    command.add_argument(
        "mount_point", nargs="?", default="", metavar="MOUNTPOINT", help="list only the mount at this path"
    )
    command.add_argument(
        "--space", action="store_true",
        help="ask the servers how much space is used and free (10 s at most per server)",
    )  # fmt: skip


def run_list(ask: Ask, host: Host, args: argparse.Namespace) -> str:
    """Return the text or JSON to print.

    Args:
        ask: sends one request and waits for the result.
        host: host for parallel requests.
        args: parsed command line.

    Raises:
        AppError: NOT_MOUNTED if the given mount point is neither active nor configured.
    """
    mounts: MountTable = ask("mounts.list", ListArgs())
    if args.mount_point:
        point = plain_path(args.mount_point)
        rows = [row for row in mounts.mounts if row.mount_point == point]
        if not rows:
            raise AppError(ErrorCode.NO_MOUNT_LISTED, mount_point=point)
        mounts = msgspec.structs.replace(mounts, mounts=rows)
    spaces = _ask_spaces(host, mounts) if args.space else {}
    if args.json:
        return _json(mounts, spaces, with_space=args.space)
    return "\n".join([mounts_text(mounts), *(_space_lines(list(spaces.values())) if args.space else [])])


def _ask_spaces(host: Host, mounts: MountTable) -> dict[str, Space]:
    """Return the space of the active mounts by mount point; the requests run in parallel."""
    points = dict.fromkeys(row.mount_point for row in mounts.mounts if row.active is not None)
    calls = {point: host.submit("mounts.space", SpaceArgs(mount_point=point)) for point in points}
    try:
        return {point: call.result() for point, call in calls.items()}
    except KeyboardInterrupt:
        for call in calls.values():
            call.cancel()
        raise


def _space_lines(spaces: list[Space]) -> list[str]:
    if not spaces:
        return ["", "Space is known for active mounts only."]
    rows = [["MOUNT POINT", "SIZE", "USED", "AVAILABLE", "AVAILABLE INODES", ""]]
    rows += [
        [
            space.mount_point,
            format_size(space.total_bytes),
            format_size(space.total_bytes - space.free_bytes),
            format_size(space.available_bytes),
            f"{space.available_files:,}" if space.total_files else "—",
            "",
        ]
        if space.state == "known"
        else [space.mount_point, "—", "—", "—", "—", space_text(space).line]
        for space in spaces
    ]
    warnings = [(space, space_text(space).warning) for space in spaces]
    messages = [f"{space.mount_point}: {warning}" for space, warning in warnings if warning]
    return ["", terminal_safe(table(rows)), *(["", *map(terminal_safe, messages)] if messages else [])]


def _json(mounts: MountTable, spaces: dict[str, Space], *, with_space: bool) -> str:
    document: dict[str, Any] = msgspec.to_builtins(mounts)
    if with_space:
        for row in document["mounts"]:
            space = spaces.get(row["mount_point"]) if row["active"] is not None else None
            row["space"] = msgspec.to_builtins(space)
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()

"""Command "log": lines of the system log about one mount and its server."""

from __future__ import annotations

import argparse
import re
import sys
from datetime import UTC, datetime

from app.mounts.model import LogArgs, MountLog
from app.mounts.system_log import MAX_LINES, MAX_SINCE_S, log_text
from app.mounts.table import plain_path

_AGO = re.compile(r"(\d{1,6})([mhd])")
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86400.0}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of "log" to its parser."""
    command.add_argument("mount_point", metavar="MOUNTPOINT", help="absolute path")
    command.add_argument(
        "--since", type=_ago, default=86400.0, metavar="AGE",
        help="maximum age of the lines: 30m, 24h or 7d, at most 7d (default: 24h)",
    )  # fmt: skip
    command.add_argument(
        "--lines",
        type=_count,
        default=200,
        metavar="N",
        help="at most the newest N lines (default: 200)",
    )


def _ago(text: str) -> float:
    found = _AGO.fullmatch(text)
    seconds = int(found[1]) * _SECONDS[found[2]] if found is not None else 0.0
    if not 0 < seconds <= MAX_SINCE_S:
        raise argparse.ArgumentTypeError(f"“{text}” is not an age of at most 7 days such as 30m, 24h or 7d")
    return seconds


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= MAX_LINES:
        raise argparse.ArgumentTypeError(f"“{text}” is not a number from 1 to {MAX_LINES}")
    return int(text)


def log_query(args: argparse.Namespace) -> LogArgs:
    """Return the arguments of the request for log lines."""
    return LogArgs(mount_point=plain_path(args.mount_point), since_s=args.since, lines=args.lines)


def log_lines(log: MountLog, args: argparse.Namespace) -> str:
    """Return the log lines as text; print notes about them on standard error."""
    for sentence in log_text(log, plain_path(args.mount_point)):
        print(f"mountwright: {sentence}", file=sys.stderr)
    return "\n".join(
        f"{datetime.fromtimestamp(line.time_s, UTC).astimezone():%F %T}  {line.program}: {line.text}"
        for line in log.lines
    )

"""Command "tunables": NFS settings of the client that are not mount options, and how to change them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from advisor.tunables import tunables
from app.facts.tunables import TunablesArgs

if TYPE_CHECKING:
    import argparse

    from advisor.tunables import Tunable
    from app.facts.tunables import TunablesResult, TunableValue

#: Width of wrapped text, characters.
_WIDTH = 100
_TAKES_EFFECT = {"live": "immediately", "mount": "for new mounts"}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of tunables."""
    command.add_argument(
        "mount_point",
        nargs="?",
        default="",
        metavar="MOUNTPOINT",
        help="show the settings of this mount too",
    )


def tunables_query(args: argparse.Namespace) -> TunablesArgs:
    """Return the arguments of the request for tunables."""
    return TunablesArgs(mount_point=args.mount_point)


def tunables_text(result: TunablesResult) -> str:
    """Return the values of the tunables, and how to change them, as text."""
    return "\n".join("\n".join([*_lines(tunables()[now.name], now), ""]) for now in result.values).rstrip()


def _lines(tunable: Tunable, now: TunableValue) -> list[str]:
    value = f"unknown: {now.why}" if now.value is None else f"{now.value} {tunable.unit}".rstrip()
    default = tunable.default_note or ("" if tunable.default is None else str(tunable.default))
    scope = "this mount" if tunable.scope == "mount" else "the whole computer"
    lines = [f"{tunable.label} ({tunable.name}): {value}"]
    lines += textwrap.wrap(tunable.help, _WIDTH, initial_indent="  ", subsequent_indent="  ")
    lines.append(
        f"  Default: {default or 'unknown'}. Scope: {scope}. Takes effect: {_TAKES_EFFECT[tunable.change]}."
    )
    example = now.value if now.value is not None else str(tunable.default or "VALUE")
    lines.append(f"  Now:    echo {example} | sudo tee {now.path}")
    if tunable.keep:
        line = tunable.persistent_line(example).replace("\n", "; ")
        lines.append(f"  At boot: in {tunable.keep}: {line}")
    return lines

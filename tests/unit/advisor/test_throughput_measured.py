"""Throughput model: comparison with lab measurements (tests/data/advice/measured.toml)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from advisor.facts import ClientFacts, Facts, LinkFacts
from advisor.options import MountOptions
from advisor.throughput import CopySpec, predict
from advisor.transfer_sizes import call_size

if TYPE_CHECKING:
    from advisor.prediction import Direction

_CELLS: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parents[2] / "data/advice/measured.toml").read_text(encoding="utf-8")
)["cell"]
_WAYS: dict[str, tuple[Direction, ...]] = {
    "read": ("read",), "small-read": ("read",), "write": ("write",), "small": ("write", "read")
}  # fmt: skip


def _names(cell: dict[str, Any]) -> str:
    return f"{cell['link']} {cell['work']}"


def _predicted(cell: dict[str, Any], measured: dict[str, Any]) -> tuple[float, float]:
    """Return the predicted bytes per second and the stated error."""
    facts = Facts(
        client=ClientFacts(tcp_window_bytes=cell["tcp_window_bytes"]), link=LinkFacts(**cell["facts"])
    )
    ways = _WAYS[cell["work"]]
    found = [
        predict(
            MountOptions.parse(measured["options"]), facts,
            CopySpec(direction=way, length=cell["bytes"] // len(ways), files=cell["files"] or 1,
                 block=call_size(cell["block"], MountOptions.parse(measured["options"]).values())),
            read_ahead=measured["read_ahead_kb"] * 1024,
        )
        for way in ways
    ]  # fmt: skip
    parts = [part for part in found if part is not None]
    assert len(parts) == len(ways)
    return cell["bytes"] / sum(part.seconds for part in parts), max(part.error for part in parts)


@pytest.mark.parametrize("cell", _CELLS, ids=_names)
def test_what_was_measured_lies_within_the_stated_error(cell: dict[str, Any]) -> None:
    for measured in cell["measured"]:
        speed, error = _predicted(cell, measured)
        median = measured["speed"][0]
        assert abs(median - speed) <= error * speed, (measured["options"], median, speed, error)


def test_the_predictions_are_near() -> None:
    """The median error is checked too, since wide error bands would always pass."""
    slow = [cell for cell in _CELLS if cell["facts"]["rate_bps"] < 1e9 and "satellite" not in cell["link"]]
    off = sorted(
        abs(measured["speed"][0] / _predicted(cell, measured)[0] - 1)
        for cell in slow
        for measured in cell["measured"]
    )
    assert off[len(off) // 2] < 0.08
    assert off[int(0.9 * len(off))] < 0.25

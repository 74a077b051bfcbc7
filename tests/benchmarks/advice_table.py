"""What was measured of one link and one kind of work, and the table of all of them."""

from __future__ import annotations

import dataclasses
import statistics
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from advisor.experiment.intervals import MIN_INTERVAL_VALUES, confidence_interval, median
from advisor.facts import Facts  # noqa: TC001 - msgspec reads the annotations at run time
from advisor.options import MountOptions
from advisor.prediction import Direction, Prediction
from advisor.speeds import format_speed
from advisor.throughput import DEFAULT_READAHEAD_BYTES, CopySpec, predict
from advisor.transfer_sizes import call_size

#: The advice may stay behind the best by so much.
GOAL = 0.95
#: Less than this is no difference: so much two runs of one setting differ on a quiet link.
SAME = 0.99
NOTE = (
    "Ratios are medians over the rounds of the ratio within a round, with the interval of the sign test "
    "(at least 95 %). The best is the best other setting of the sweep, chosen before these rounds: above 1 "
    "the advice is faster than all that was swept. “met, within noise” and “noise” mean that the interval "
    "holds 0.95: the cell decides nothing. Client, server and link share the guest's one processor: from "
    "1 Gbit/s on the figures are the guest's rather than the link's."
)
WORKS = ("read", "small-read", "write", "small")


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What the sweep varies; None is the kernel's default: 4.2 here, one connection, 1 MiB, 128 KiB."""

    version: str | None = None
    connections: int | None = None
    size: int | None = None
    read_ahead_kb: int | None = None

    @property
    def options(self) -> str:
        """The option string."""
        words = [f"vers={self.version}"] if self.version else []
        words += [f"nconnect={self.connections}"] if self.connections else []
        words += [f"rsize={self.size}", f"wsize={self.size}"] if self.size else []
        return ",".join(words)

    def canonical(self) -> Setting:
        """Return the same setting with defaults left out, so that equal ones compare equal."""
        return Setting(
            version=None if self.version == "4.2" else self.version,
            connections=None if self.connections == 1 else self.connections,
            size=self.size,
            read_ahead_kb=None if self.read_ahead_kb == 128 else self.read_ahead_kb,
        )

    def __str__(self) -> str:
        """Return the options and the readahead, “defaults” if there are none."""
        words = [self.options] if self.options else []
        words += [f"read_ahead_kb={self.read_ahead_kb}"] if self.read_ahead_kb else []
        return " ".join(words) or "defaults"


class Ratio(NamedTuple):
    """A ratio's median over rounds, and its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return it with its interval."""
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One link and kind of work: bytes per second by setting, round by round, and of the sweep before.

    The block is that of each call, AS_COPY for the one of cp with each setting.
    """

    link: str
    kind: str
    amount: int
    files: int
    block: int
    swept: int
    advised: Setting
    best: Setting
    facts: Facts
    speeds: dict[str, list[float]]
    sweep: dict[str, list[float]]

    def ratio(self, other: Setting) -> Ratio:
        """Return the advised settings' speed over another's."""
        pairs = zip(self.speeds[str(self.advised)], self.speeds[str(other)], strict=True)
        ratios = [ours / theirs for ours, theirs in pairs]
        low, high, _confidence = confidence_interval(ratios)
        return Ratio(median(ratios), low, high)

    def decided(self) -> bool:
        """Whether more rounds would bring nothing."""
        best, defaults = self.ratio(self.best), self.ratio(Setting())
        return not best.low < GOAL <= best.high and (defaults.high < 1 or defaults.low >= SAME)

    def verdict(self) -> str:
        """Return what the cell says of the advice."""
        best, defaults = self.ratio(self.best), self.ratio(Setting())
        if defaults.high < SAME:
            return "slower than the defaults"
        if min(best.value, defaults.value) >= GOAL:
            return "met" if min(best.low, defaults.low) >= GOAL else "met, within noise"
        return "noise" if best.high >= GOAL else "missed"

    def predicted(self, setting: Setting) -> Prediction | None:
        """Return the model's word for this work; for small files what is written and read, one by one."""
        ways = _WAYS[self.kind]
        block = call_size(self.block, MountOptions.parse(setting.options).values())
        read_ahead = (
            DEFAULT_READAHEAD_BYTES if setting.read_ahead_kb is None else setting.read_ahead_kb * 1024
        )
        parts = [
            predict(
                MountOptions.parse(setting.options), self.facts,
                CopySpec(direction=way, length=self.amount // len(ways), files=self.files or 1, block=block),
                read_ahead=read_ahead,
            )
            for way in ways
        ]  # fmt: skip
        known = [part for part in parts if part is not None]
        if len(known) < len(ways):
            return None
        seconds = sum(part.seconds for part in known)
        return Prediction(
            seconds=seconds, bytes_per_s=self.amount / seconds, limit=known[0].limit,
            error=max(part.error for part in known),
            unpredictable=next((part.unpredictable for part in known if part.unpredictable), ""),
        )  # fmt: skip


_WAYS: dict[str, tuple[Direction, ...]] = {
    "read": ("read",), "small-read": ("read",), "write": ("write",), "small": ("write", "read")
}  # fmt: skip
Cells = dict[tuple[str, str], Cell]


def read_cells(out: str) -> Cells:
    """Return the cells of OUT.json, none if there is no such file."""
    path = Path(f"{out}.json")
    found = msgspec.json.decode(path.read_bytes(), type=list[Cell]) if path.exists() else []
    return {(cell.link, cell.kind): cell for cell in found}


def write_cells(cells: Cells, out: str, order: list[str]) -> None:
    """Write OUT.json and OUT.md."""
    found = _ordered(cells, order)
    Path(f"{out}.json").write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    Path(f"{out}.md").write_text(f"{table(found)}\n\n{NOTE}\n", encoding="utf-8")


def table(cells: list[Cell]) -> str:
    """Return the cells as Markdown."""
    titles = (
        "link", "work", "advised", "median", "of the defaults", "of the best other", "which is", "rounds",
        "verdict", "the model's word",
    )  # fmt: skip
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    for cell in cells:
        speeds = cell.speeds[str(cell.advised)]
        words: list[Any] = [
            cell.link, f"{cell.files} small files" if cell.files else f"{cell.kind} {_mebibytes(cell)}",
            cell.advised, format_speed(statistics.median(speeds)),
            "the same" if cell.advised == Setting() else cell.ratio(Setting()), cell.ratio(cell.best),
            f"{cell.best} (of {cell.swept})", len(speeds), cell.verdict(), _prediction(cell, cell.advised),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(str(word) for word in words)} |")
    return "\n".join(lines)


def recorded(cells: Cells, order: list[str]) -> str:
    """Return what was measured in enough rounds, as tests/data/advice/measured.toml has it."""
    lines = [
        "# Speeds that tests/benchmarks/advice_regret.py measured in the lab, to compare the model with: the",
        "# facts of the link, the work, and for each setting the median, lowest and highest of all its runs",
        "# in bytes per second. Written by the benchmark's --record.",
    ]
    for cell in _ordered(cells, order):
        link, client = cell.facts.link, cell.facts.client
        if link is None or len(cell.speeds[str(cell.advised)]) < MIN_INTERVAL_VALUES:
            continue
        known = {
            name: value
            for name, value in dataclasses.asdict(link).items()
            if name in {"rate_bps", "up_bps", "rtt_s", "loss", "jitter_s", "mtu"} and value is not None
        }
        lines += [
            "", "[[cell]]", f'link = "{cell.link}"', f'work = "{cell.kind}"', f"bytes = {cell.amount}",
            f"files = {cell.files}", f"block = {cell.block}",
            f"facts = {{ {', '.join(f'{name} = {_figure(value)}' for name, value in known.items())} }}",
            f"tcp_window_bytes = {client.tcp_window_bytes}", "measured = [",
        ]  # fmt: skip
        settings = dict.fromkeys((Setting(), cell.advised, cell.best))
        for setting in settings:
            runs = cell.speeds[str(setting)]
            figures = ", ".join(f"{value:.0f}" for value in (median(runs), min(runs), max(runs)))
            lines.append(
                f'    {{ options = "{setting.options}", read_ahead_kb = {setting.read_ahead_kb or 128}, '
                f"speed = [{figures}], runs = {len(runs)} }},"
            )
        lines.append("]")
    return "\n".join(lines) + "\n"


def _ordered(cells: Cells, order: list[str]) -> list[Cell]:
    places = {name: place for place, name in enumerate(order)}
    return sorted(
        cells.values(), key=lambda cell: (places.get(cell.link, len(order)), WORKS.index(cell.kind))
    )


def _mebibytes(cell: Cell) -> str:
    return f"{cell.amount / 2**20:.1f} MiB"


def _figure(value: float) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _prediction(cell: Cell, setting: Setting) -> str:
    """Return the predicted speed, and whether the measured one is within its stated error of it."""
    predicted = cell.predicted(setting)
    if predicted is None:
        return "unknown"
    measured = statistics.median(cell.speeds[str(setting)])
    off = predicted.bytes_per_s / measured - 1
    within = "within" if predicted.holds(measured) else "**beyond**"
    return (
        f"{format_speed(predicted.bytes_per_s)}, {off * 100:+.0f} %, {within} {predicted.error * 100:.0f} %"
    )

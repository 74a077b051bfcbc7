"""What was measured of one link and one kind of work, and the table of all of them."""

from __future__ import annotations

import random
import statistics
from typing import Any

import msgspec

from advisor.model import Prediction  # noqa: TC001 - msgspec reads the annotations at run time
from app.units import format_speed

RESAMPLES = 4000
#: The advice may stay behind the best by so much.
GOAL = 0.95
NOISE = (
    "Ratios are of medians over rounds, with a 95 % bootstrap interval. “met, within noise” and “noise” "
    "mean that the interval holds 0.95: these cells decide nothing. The best of several noisy settings is "
    "partly the luckiest, which errs against the advice. Client, server and link share the guest's one "
    "processor: from 1 Gbit/s on its figures are the guest's, and predictions for a link are too high there."
)


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


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One link and kind of work: bytes per second by setting, round by round."""

    link: str
    kind: str
    amount: int
    files: int
    swept: int
    advised: Setting
    best: Setting
    defaults: Setting
    speeds: dict[str, list[float]]
    sweep: dict[str, float]
    predicted: dict[str, Prediction | None]

    def ratio(self, one: Setting, other: Setting) -> tuple[float, float, float]:
        """Return the ratio of medians of two settings and its 95 % bootstrap interval over rounds."""
        pairs = list(zip(self.speeds[str(one)], self.speeds[str(other)], strict=True))
        chance = random.Random(1)
        ratios = sorted(_ratio(chance.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
        return _ratio(pairs), ratios[int(0.025 * RESAMPLES)], ratios[int(0.975 * RESAMPLES) - 1]

    def verdict(self) -> str:
        """Return what the cell says of the advice."""
        ratio, low, high = self.ratio(self.advised, self.best)
        behind, _, at_most = self.ratio(self.advised, self.defaults)
        if self.advised != self.defaults and at_most < 1:
            return f"slower than the defaults ({behind:.2f})"
        if ratio >= GOAL:
            return "met" if low >= GOAL else "met, within noise"
        return "noise" if high >= GOAL else "missed"


def table(cells: list[Cell]) -> str:
    """Return the cells as Markdown."""
    titles = (
        "link", "work", "advised", "median", "of the defaults", "of the best", "best", "verdict",
        "predicted: defaults", "advised",
    )  # fmt: skip
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    for cell in cells:
        speed = statistics.median(cell.speeds[str(cell.advised)])
        words: list[Any] = [
            cell.link, _work(cell), cell.advised, format_speed(speed),
            _interval(cell.ratio(cell.advised, cell.defaults)),
            _interval(cell.ratio(cell.advised, cell.best)), f"{cell.best} (of {cell.swept})", cell.verdict(),
            _prediction(cell, cell.defaults), _prediction(cell, cell.advised),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(str(word) for word in words)} |")
    return "\n".join(lines)


def _work(cell: Cell) -> str:
    return f"{cell.files} small files" if cell.files else f"{cell.kind} {cell.amount / 2**20:.1f} MiB"


def _prediction(cell: Cell, setting: Setting) -> str:
    """Return predicted and measured speed, and whether the one is within its stated error of the other."""
    predicted = cell.predicted[str(setting)]
    measured = statistics.median(cell.speeds[str(setting)])
    if predicted is None:
        return "unknown"
    off = predicted.bytes_per_s / measured - 1
    within = "within" if abs(off) <= predicted.error else "**beyond**"
    return (
        f"{format_speed(predicted.bytes_per_s)}, {off * 100:+.0f} %, {within} {predicted.error * 100:.0f} %"
    )


def _ratio(pairs: list[tuple[float, float]]) -> float:
    return statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs)


def _interval(figures: tuple[float, float, float]) -> str:
    ratio, low, high = figures
    return f"{ratio:.2f} ({low:.2f} to {high:.2f})"

"""Response surfaces from full sweeps that record_sweep.py recorded in the lab (tests/data/search).

What counts is bytes over the time of writing and reading. The true figure of a combination is what all
trials together say of it: one trial of each is mostly noise, and the best of a thousand noisy ones
would be luck. The logarithm is a sum of the mood of each block, of what each level does, and of what
each pair of levels does together, by medians, so that disturbed trials do not count; each table of
pairs is drawn towards nothing as far as it is noise (James and Stein). What is left over is the noise:
a trial of a combination draws from its own and from those of its neighbours, which differ in one
factor.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import math
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

from surface import Surface

from advisor.facts import ClientFacts, Facts
from advisor.model import Work, predict
from advisor.options import MountOptions
from app.lab.links import parse_link

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

DATA = Path(__file__).parents[2] / "data" / "search"
#: What their names begin with among the surfaces.
RECORDED = "recorded: "
#: Rounds of medians; after a few nothing moves any more.
_ROUNDS = 8


class _Trial(NamedTuple):
    """One trial that was measured: its levels, block, logarithm of its figure, and the computer's load."""

    levels: dict[str, str]
    block: str
    logarithm: float
    load: float


def names() -> list[str]:
    """Return the recorded sweeps."""
    return sorted(path.name.removesuffix(".csv.gz") for path in DATA.glob("*.csv.gz"))


def described(name: str) -> str:
    """Return how a sweep was recorded."""
    header, trials = read(DATA / f"{name}.csv.gz")
    _terms, left = smoothed(trials, list(header["factors"]))
    loads = sorted(trial.load for trial in trials)
    combinations = math.prod(map(len, header["factors"].values()))
    surface = recorded(name)
    parts = [each / max(surface.truth) for each in surface.truth]
    near = sum(part >= 0.95 for part in parts)
    return (
        f"{len(trials)} of {combinations} combinations were measured, on the link {header['link']}, with "
        f"{header['size'] / 2**20:.0f} MiB written and read, on a computer with {header['processors']} "
        f"processors and a load of {loads[0]:.0f} to {loads[-1]:.0f} (median {median(loads):.0f}). A single "
        f"trial scatters by {100 * _scatter(left):.0f} %, one in ten by more than "
        f"{100 * sorted(map(abs, left))[len(left) * 9 // 10]:.0f} %. Within 5 % of the best are {near} "
        f"combinations; the default reaches {100 * parts[surface.default]:.0f} %, the model's first "
        f"{100 * parts[surface.hoped[0]]:.0f} %."
    )


@cache
def recorded(name: str) -> Surface:
    """Return a recorded sweep as a surface."""
    header, trials = read(DATA / f"{name}.csv.gz")
    factors: dict[str, list[str]] = header["factors"]
    candidates = [dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())]
    terms, left = smoothed(trials, list(factors))
    truth = [math.exp(sum(table[key(each, table_of)] for table_of, table in terms.items()))
             for each in candidates]  # fmt: skip
    by_set: dict[tuple[str, ...], list[float]] = {}
    for trial, rest in zip(trials, left, strict=True):
        by_set.setdefault(tuple(trial.levels.values()), []).append(rest)
    pools = [_pool(each, factors, by_set) for each in candidates]

    def measure(chance: random.Random, number: int, _when: float) -> float:
        return truth[number] * math.exp(chance.choice(pools[number]))

    return Surface(
        candidates, truth, measure, candidates.index(header["baseline"]),
        _by_the_model(candidates, header["link"], header["size"]),
    )  # fmt: skip


def read(path: Path) -> tuple[dict[str, Any], list[_Trial]]:
    """Return header and good trials of a recording, baselines left out."""
    with gzip.open(path, "rt", newline="", encoding="utf-8") as file:
        header = json.loads(file.readline().removeprefix("# "))
        trials = [
            _Trial(
                {name: row[name] for name in header["factors"]},
                f"{row['pass']} {row['block']}",
                math.log(2 / (1 / float(row["write"]) + 1 / float(row["read"]))),
                float(row["load"]),
            )
            for row in csv.DictReader(file)
            if row["state"] == "ok" and row["baseline"] == "0"
        ]
    return header, trials


def key(levels: Mapping[str, str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the levels of some factors."""
    return tuple(levels[name] for name in names)


def smoothed(
    trials: Sequence[_Trial], factors: Sequence[str]
) -> tuple[dict[tuple[str, ...], dict[tuple[str, ...], float]], list[float]]:
    """Return what single levels and pairs of them do, and what is left of each trial.

    The first table, of no factor, is the middle of all.
    """
    middle = median(trial.logarithm for trial in trials)
    left = [trial.logarithm - middle for trial in trials]
    terms: dict[tuple[str, ...], dict[tuple[str, ...], float]] = {(): {(): middle}}
    singles = [(name,) for name in factors]
    for names_ in ([("block",)], singles, list(itertools.combinations(factors, 2))):
        for _ in range(_ROUNDS):
            for each in names_:
                found = _table(trials, left, each)
                known = terms.setdefault(each, dict.fromkeys(found, 0.0))
                for at, effect in found.items():
                    known[at] += effect
                left = [rest - found[_at(trial, each)] for trial, rest in zip(trials, left, strict=True)]
    del terms["block",]
    for each in itertools.combinations(factors, 2):
        _shrink(trials, left, each, terms[each])
    return terms, left


def _at(trial: _Trial, names: Sequence[str]) -> tuple[str, ...]:
    return (trial.block,) if names == ("block",) else key(trial.levels, names)


def _table(
    trials: Sequence[_Trial], left: Sequence[float], names: Sequence[str]
) -> dict[tuple[str, ...], float]:
    """Return the median of what is left at each combination of some factors."""
    cells: dict[tuple[str, ...], list[float]] = {}
    for trial, rest in zip(trials, left, strict=True):
        cells.setdefault(_at(trial, names), []).append(rest)
    return {at: median(values) for at, values in cells.items()}


def _shrink(
    trials: Sequence[_Trial], left: Sequence[float], names: Sequence[str], table: dict[tuple[str, ...], float]
) -> None:
    """Take that part of a table away that noise makes; of a median it is more than of a mean."""
    noise = 1.57 * _scatter(left) ** 2 * len(table) / len(trials)
    variance = fmean(effect**2 for effect in table.values())
    part = max(0.0, 1 - noise / variance) if variance else 0.0
    for at in table:
        table[at] *= part


def _scatter(left: Sequence[float]) -> float:
    """Return the standard deviation by the middle of what is left: what is far off does not count."""
    return sorted(map(abs, left))[len(left) // 2] / 0.6745


def _pool(
    levels: Mapping[str, str],
    factors: Mapping[str, Sequence[str]],
    by_set: Mapping[tuple[str, ...], Sequence[float]],
) -> list[float]:
    """Return what is left of a combination's trials, and of its neighbours'."""
    near = {tuple({**levels, name: level}.values()) for name in factors for level in factors[name]}
    return [rest for at in sorted(near) for rest in by_set.get(at, ())]


def _by_the_model(candidates: Sequence[Mapping[str, str]], link: str, size: int) -> list[int]:
    """Return the numbers of the candidates, best first by the model, as a search in the program begins."""
    facts = Facts(client=ClientFacts(), link=parse_link(link).facts())

    def seconds(number: int) -> float:
        at = candidates[number]
        options = MountOptions.parse(
            ",".join(f"{name}={at[name]}" for name in ("vers", "nconnect", "rsize", "wsize"))
        )
        ways = (Work(direction=way, length=size, block=2**20) for way in ("write", "read"))
        found = [predict(options, facts, way, read_ahead=1024 * int(at["read_ahead_kb"])) for way in ways]
        return sum(size / each.bytes_per_s for each in found if each is not None)

    return sorted(range(len(candidates)), key=seconds)

"""Response surfaces from full sweeps that record_sweep.py recorded in the lab (tests/data/search).

What counts is bytes over the time of writing and reading. Each combination was run once, some of them again
in later passes. One trial of each is not the truth; the best of a thousand would be luck. So the logarithm is
thought of as a sum of the mood of each block, of what each level does, of what each pair of levels does
together, by medians, so that disturbed trials do not count, and of what is left. Each table of pairs is drawn
towards nothing as far as it is noise (James and Stein), and so is what is left, as far as it does not come
again in the later passes; the sum without moods is the true figure. What differs between the trials of one
combination is the noise, and what a trial draws.
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
from advisor.options import MountOptions
from advisor.throughput import CopySpec, predict
from app.links import parse_link

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence

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
    noise = noise_of(name)
    loads = sorted(trial.load for trial in trials)
    combinations = math.prod(map(len, header["factors"].values()))
    surface = recorded(name)
    parts = [each / max(surface.truth) for each in surface.truth]
    near = sum(part >= 0.95 for part in parts)
    return (
        f"{len(trials)} of {combinations} combinations were measured, on the link {header['link']}, with "
        f"{header['size'] / 2**20:.0f} MiB written and read, on a computer with {header['processors']} "
        f"processors and a load of {loads[0]:.0f} to {loads[-1]:.0f} (median {median(loads):.0f}). A single "
        f"trial scatters by {100 * _scatter(noise):.1f} %, one in ten by more than "
        f"{100 * sorted(map(abs, noise))[len(noise) * 9 // 10]:.1f} %. Within 5 % of the best are {near} "
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
    noise = noise_of(name)
    alone = max(0.0, 1 - (_scatter(noise) / _scatter(left)) ** 2)
    own = {tuple(trial.levels.values()): alone * rest for trial, rest in zip(trials, left, strict=True)}
    truth = [math.exp(_sum(terms, each) + own.get(tuple(each.values()), 0.0)) for each in candidates]

    def measure(chance: random.Random, number: int, _when: float) -> float:
        return truth[number] * math.exp(chance.choice(noise))

    return Surface(
        candidates, truth, measure, candidates.index(header["baseline"]),
        _by_the_model(candidates, header["link"], header["size"]),
    )  # fmt: skip


@cache
def noise_of(name: str) -> list[float]:
    """Return by how much trials of one combination differ in a sweep; logarithms of factors."""
    header, first = read(DATA / f"{name}.csv.gz")
    terms, _left = smoothed(first, list(header["factors"]))
    _header, trials = read(DATA / f"{name}.csv.gz", passes=True)
    left = [trial.logarithm - _sum(terms, trial.levels) for trial in trials]
    moods = _table(trials, left, ("block",))
    by_set: dict[tuple[str, ...], list[float]] = {}
    for trial, rest in zip(trials, left, strict=True):
        by_set.setdefault(tuple(trial.levels.values()), []).append(rest - moods[trial.block,])
    return _away(by_set, fmean, least=2)


def away(path: Path) -> list[float]:
    """Return by how much the trials of a few sets are away from their middle; logarithms of factors."""
    by_set: dict[tuple[str, ...], list[float]] = {}
    for trial in read(path, passes=True, baselines=True)[1]:
        by_set.setdefault(tuple(trial.levels.values()), []).append(trial.logarithm)
    return _away(by_set, median, least=4)


def _away(
    by_set: Mapping[tuple[str, ...], Sequence[float]],
    middle: Callable[[Sequence[float]], float],
    *,
    least: int,
) -> list[float]:
    found: list[float] = []
    for values in by_set.values():
        if (count := len(values)) >= least:
            # About a middle that was made of themselves they scatter less than about the true one.
            found += [math.sqrt(count / (count - 1)) * (value - middle(values)) for value in values]
    return found


def _sum(
    terms: Mapping[tuple[str, ...], Mapping[tuple[str, ...], float]], levels: Mapping[str, str]
) -> float:
    return sum(table[key(levels, names_)] for names_, table in terms.items())


def read(path: Path, *, passes: bool = False, baselines: bool = False) -> tuple[dict[str, Any], list[_Trial]]:
    """Return header and good trials of a recording: first pass or all, with the baselines or without."""
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
            if row["state"] == "ok"
            and (passes or row["pass"] == "0")
            and (baselines or row["baseline"] == "0")
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


def _by_the_model(candidates: Sequence[Mapping[str, str]], link: str, size: int) -> list[int]:
    """Return the numbers of the candidates, best first by the model, as a search in the program begins."""
    facts = Facts(client=ClientFacts(), link=parse_link(link).facts())

    def seconds(number: int) -> float:
        at = candidates[number]
        options = MountOptions.parse(
            ",".join(f"{name}={at[name]}" for name in ("vers", "nconnect", "rsize", "wsize"))
        )
        ways = (CopySpec(direction=way, length=size, block=2**20) for way in ("write", "read"))
        found = [predict(options, facts, way, read_ahead=1024 * int(at["read_ahead_kb"])) for way in ways]
        return sum(size / each.bytes_per_s for each in found if each is not None)

    return sorted(range(len(candidates)), key=seconds)

"""How near to the best a search comes: ``python -P tests/benchmarks/search/find_best.py --out regret``.

On every surface (surfaces.py, sweeps.py), beside random search and successive halving, which have the same
trials. The target is to be within 5 % of the best after 5 % of all combinations, in 95 of 100 runs. The race
has that as its budget, and is asked for its answer on the way, too; beyond that, and for the two others, each
part is a budget of its own.

The runs are those of the program with its arithmetic done by numpy (fast_model.py), which is looked at first:
one race both ways must ask for the same trials.

    --runs      seeded runs on each surface, in twenties; busy ones have 20 at most above the target
    --tuned     runs with seeds that the constants were chosen with, for comparison
    --parts     of the full factorial's trials, in per cent
    --surfaces  names; all if not given
    --jobs      processes
    --out       OUT.json holds every run, OUT.md the page; both are written on the way, and runs that are in
                OUT.json already are not made again
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[3]))

import fast_model
import msgspec
from baselines import random_search, successive_halving
from report import FRESH, REPEATED, TARGET, Run, Runs, near_text, page
from surfaces import BUSY, SURFACES
from sweeps import RECORDED

from advisor.experiment import search

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from surface import Surface

#: Seeds that the constants were chosen with begin here.
TUNED = 1_000
#: Runs on a surface before it is the next one's turn.
TURN = 20
#: Runs of each busy surface with more trials than the target's; they take long.
LONG_RUNS = 20


def race(surface: Surface, trials: int, seed: int, marks: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the numbers of the sets chosen after so many trials, and those that were tried."""
    chance = random.Random(f"trial {seed}")
    racer = search.BayesianSearch(
        surface.candidates, chance=random.Random(f"race {seed}"), budget=trials,
        default=surface.candidates[surface.default],
        prior_order=[surface.candidates[number] for number in surface.hoped],
    )  # fmt: skip
    numbers = {tuple(each.items()): number for number, each in enumerate(surface.candidates)}

    def chosen() -> int:
        return numbers[tuple(racer.answer().winner.levels.items())]

    answers: dict[int, int] = {}
    tried: list[int] = []
    while not racer.done:
        levels = racer.next()
        tried.append(numbers[tuple(levels.items())])
        racer.tell(levels, surface.measure(chance, tried[-1], len(tried) / trials))
        if len(tried) in marks:
            answers[len(tried)] = chosen()
    last = chosen()
    return [answers.get(mark, last) for mark in marks], tried


def run(name: str, parts: Sequence[float], seed: int) -> Run:
    """Return the regrets of one seed on one surface: by which part of the best the chosen sets fall short."""
    surface = SURFACES[name](seed)
    best = max(surface.truth)

    def short(number: int) -> float:
        return 1 - surface.truth[number] / best

    trials = {part: int(len(surface.candidates) * part / 100) for part in parts}
    early = [part for part in parts if part <= TARGET]
    target = int(len(surface.candidates) * TARGET / 100)
    found, tried = race(surface, target, seed, [trials[part] for part in early])
    raced = {f"{part:g}": short(number) for part, number in zip(early, found, strict=True)}
    for part in parts:
        if part > TARGET:
            raced[f"{part:g}"] = short(race(surface, trials[part], seed, [trials[part]])[0][0])
    others = {"random": random_search, "halving": successive_halving}
    regrets = {"race": raced} | {
        method: {f"{part:g}": short(search_(surface, trials[part], seed)) for part in parts}
        for method, search_ in others.items()
    }
    return Run(seed=seed, regrets=regrets, met=min(map(short, tried)), combinations=len(surface.candidates))


def check(name: str) -> None:
    """See that the quick arithmetic gives the race that the program runs.

    Raises:
        RuntimeError: if not.
    """
    surface = SURFACES[name](1)
    slow = race(surface, 40, 1, [40])
    fast_model.use()
    if race(surface, 40, 1, [40]) != slow:
        raise RuntimeError("fast_model.py does not do what advisor/experiment/gaussian_process.py does")


def turns(names: Sequence[str], runs: int, tuned: int) -> Iterator[tuple[int, str]]:
    """Return first seed and surface of each turn: all have their first runs before one has its next."""
    for first in range(FRESH, FRESH + runs, TURN):
        yield from ((first, name) for name in names)
    for first in range(TUNED, TUNED + tuned, TURN):
        yield from ((first, name) for name in names if not name.startswith(RECORDED))


def parts_of(name: str, first: int, parts: Sequence[float]) -> list[float]:
    """Return what is measured in a turn: with the tuning's seeds the target alone."""
    if first < FRESH:
        return [TARGET]
    return [part for part in parts if part <= TARGET or first < FRESH + LONG_RUNS or BUSY not in name]


def main() -> int:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--tuned", type=int, default=40)
    parser.add_argument("--parts", type=float, nargs="+", default=[1, 2, TARGET, REPEATED])
    parser.add_argument("--surfaces", nargs="+", default=list(SURFACES))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("regret"))
    args = parser.parse_args()
    parts = sorted({*args.parts, TARGET})
    check("additive")
    data = args.out.with_suffix(".json")
    runs = msgspec.json.decode(data.read_bytes(), type=Runs) if data.exists() else {}
    with ProcessPoolExecutor(args.jobs, initializer=fast_model.use) as pool:
        for first, name in turns(args.surfaces, args.runs, args.tuned):
            known = runs.setdefault(name, [])
            seen = {one.seed for one in known}
            seeds = [seed for seed in range(first, first + TURN) if seed not in seen]
            known += pool.map(partial(run, name, parts_of(name, first, parts)), seeds)
            data.write_bytes(msgspec.json.format(msgspec.json.encode(runs), indent=0))
            args.out.with_suffix(".md").write_text(page(runs), encoding="utf-8")
            print(near_text(name, known), file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

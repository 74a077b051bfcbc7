"""How near to the best a search comes: ``python tests/benchmarks/search/find_best.py --runs 100``.

On every surface (surfaces.py), beside random search and successive halving, which have the same trials. A
cell is the part of the runs in which the answer's true median is within 5 % of the best one's, and the regret
that 95 of 100 runs stay below. The target is 95 of 100 after 5 % of all combinations.

    --runs      seeded runs on each surface
    --parts     of the full factorial's trials, in per cent
    --surfaces  names; all if not given
    --jobs      processes
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[3]))

from baselines import random_search, successive_halving
from surfaces import SURFACES

from advisor.search import Racer

if TYPE_CHECKING:
    from surfaces import Surface


def race(surface: Surface, trials: int, seed: int) -> int:
    """Return the number of the set that the racer chooses."""
    chance = random.Random(f"trial {seed}")
    racer = Racer(
        surface.candidates, chance=random.Random(f"race {seed}"), budget=trials,
        default=surface.candidates[surface.default],
    )  # fmt: skip
    numbers = {tuple(each.items()): number for number, each in enumerate(surface.candidates)}
    done = 0
    while not racer.done:
        levels = racer.next()
        racer.tell(levels, surface.measure(chance, numbers[tuple(levels.items())], done / trials))
        done += 1
    return numbers[tuple(racer.answer().winner.levels.items())]


METHODS = {"race": race, "random": random_search, "halving": successive_halving}


def regret(name: str, method: str, part: float, seed: int) -> float:
    """Return by which part of the best the chosen set falls short."""
    surface = SURFACES[name](seed)
    chosen = METHODS[method](surface, int(len(surface.candidates) * part / 100), seed)
    return 1 - surface.truth[chosen] / max(surface.truth)


def main() -> int:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--parts", type=float, nargs="+", default=[1, 2, 3, 5])
    parser.add_argument("--surfaces", nargs="+", default=list(SURFACES))
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    print("per cent of runs within 5 % of the best (regret that 95 of 100 runs stay below, per cent)\n")
    print("| surface | method | " + " | ".join(f"{part:g} % of trials" for part in args.parts) + " |")
    print("|---|---|" + "---|" * len(args.parts))
    with ProcessPoolExecutor(args.jobs) as pool:
        for name in args.surfaces:
            for method in args.methods:
                began = time.monotonic()
                cells = [_cell(pool, name, method, part, args.runs) for part in args.parts]
                took = f"{(time.monotonic() - began) * args.jobs / args.runs / len(cells):.2f} s a run"
                print(f"| {name} | {method} | " + " | ".join(cells) + " |", flush=True)
                print(f"{name}, {method}: {took}", file=sys.stderr)
    return 0


def _cell(pool: ProcessPoolExecutor, name: str, method: str, part: float, runs: int) -> str:
    each = [pool.submit(regret, name, method, part, seed) for seed in range(runs)]
    regrets = sorted(future.result() for future in each)
    near = 100 * sum(found <= 0.05 for found in regrets) / runs
    return f"{near:.0f} ({100 * regrets[max(0, round(0.95 * runs) - 1)]:.1f})"


if __name__ == "__main__":
    sys.exit(main())

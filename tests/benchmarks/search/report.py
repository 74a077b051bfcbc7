"""The page that find_best.py writes: docs/SEARCH-REGRET.md."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NEAR = 0.05
TARGET, TARGET_RUNS = 5.0, 0.95
METHODS = ("race", "random", "halving")

_HEAD = """# How near to the best a search comes

“Find the best setting” tries a few of all combinations. This page says how near to the best it comes,
on response surfaces whose best is known: drawn by a rule for each run, made by the throughput model,
and recorded in the lab. The aim is to be within 5 % of the best after 5 % of all combinations' trials,
in 95 of 100 runs, on each surface.

```
.venv-test/bin/python -P tests/benchmarks/search/find_best.py --out docs/SEARCH-REGRET.md
```

The regret is the part by which the chosen set's true median falls short of the best one's. Each run
draws surface, noise and chance anew, with seeds that nothing was chosen with; beside them stand runs
with seeds that the search's constants were chosen with. Random search tries each set once and takes the
best figure; successive halving repeats the better half of what is left. All have the same trials. Of
the surfaces the search knows nothing but the factors and their levels; on the recorded ones it begins,
as in the program, with the order of the throughput model.
"""


class Run(NamedTuple):
    """One seed on one surface.

    Attributes:
        regrets: by method and part of all combinations.
        met: regret of the best set that the race tried within the target.
        combinations: how many there are.
    """

    regrets: dict[str, dict[float, float]]
    met: float
    combinations: int


def page(
    fresh: Mapping[str, Sequence[Run]], tuned: Mapping[str, Sequence[Run]], parts: Sequence[float]
) -> str:
    """Return the page."""
    runs = len(next(iter(fresh.values())))
    reached = sum(_near(_of(each, "race", TARGET)) >= TARGET_RUNS for each in fresh.values())
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return (
        f"{_HEAD}\n{runs} runs on each surface, {datetime.now(UTC):%Y-%m-%d}; load of the computer {load},\n"
        "which changes nothing here: no time is measured.\n"
        f"**{reached} of {len(fresh)} surfaces reach the aim.**\n\n{tables(fresh, tuned, parts)}"
    )


def tables(
    fresh: Mapping[str, Sequence[Run]], tuned: Mapping[str, Sequence[Run]], parts: Sequence[float]
) -> str:
    """Return the tables: what became of the aim, and the regret as a function of the trials."""
    lines = [
        "| surface | combinations | within 5 %, of 100 | seeds of the tuning | tried one within 5 % | aim |",
        "|---|---|---|---|---|---|",
    ]
    for name, runs in fresh.items():
        near = _near(_of(runs, "race", TARGET))
        before = f"{100 * _near(_of(tuned[name], 'race', TARGET)):.0f}" if tuned.get(name) else "-"
        met = _near([run.met for run in runs])
        aim = "reached" if near >= TARGET_RUNS else "**missed**"
        lines.append(
            f"| {name} | {runs[0].combinations} | {100 * near:.0f} | {before} | {100 * met:.0f} | {aim} |"
        )
    lines += ["", "## Regret by trials", "", "Per cent: the median, and what 95 of 100 runs stay below.", ""]
    lines += [
        "| surface | method | " + " | ".join(f"{part:g} % of trials" for part in parts) + " |",
        "|---|---|" + "---|" * len(parts),
    ]
    for name, runs in fresh.items():
        for method in METHODS:
            cells = [_cell(_of(runs, method, part)) for part in parts]
            lines.append(f"| {name} | {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _of(runs: Sequence[Run], method: str, part: float) -> list[float]:
    return sorted(run.regrets[method][part] for run in runs)


def _near(regrets: Sequence[float]) -> float:
    return sum(regret <= NEAR for regret in regrets) / len(regrets)


def _cell(regrets: Sequence[float]) -> str:
    most = regrets[max(0, round(0.95 * len(regrets)) - 1)]
    return f"{100 * regrets[len(regrets) // 2]:.1f} ({100 * most:.1f})"

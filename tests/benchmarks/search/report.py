"""The page that find_best.py writes: docs/SEARCH-REGRET.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from scatter import described as described_scatters
from surfaces import BUSY
from sweeps import RECORDED, described, names

if TYPE_CHECKING:
    from collections.abc import Sequence

NEAR = 0.05
TARGET, TARGET_RUNS = 5.0, 0.95
#: The target where each combination of the full factorial runs three times, as in its recipe.
REPEATED = 15.0
#: Seeds from here on nothing was chosen with.
FRESH = 30_000
METHODS = ("race", "random", "halving")

_HEAD = """# How near to the best a search comes

“Find the best setting” tries a few of all combinations. This page says how near to the best it comes,
on response surfaces whose best is known: drawn by a rule for each run, made by the throughput model,
and recorded in the lab. The aim is to be within 5 % of the best after 5 % of the trials of the full
factorial, in 95 of 100 runs, on each surface. The trials of the full factorial are counted two ways: each
combination once, and three times, as the recipe “Every combination” runs it in its full size; the second
is three times as many.

```
.venv-test/bin/python -P tests/benchmarks/search/find_best.py --jobs 2 --out regret
```

The regret is the part by which the chosen set's true median falls short of the best one's. Each run
draws surface, noise and chance anew, with seeds that nothing was chosen with; beside them stand runs
with seeds that the search's constants were chosen with. Random search tries each set once and takes the
best figure; successive halving repeats the better half of what is left. All have the same trials; the
re-test of the winner, for which the program leaves a part of its time, takes up to twelve more. Of
the surfaces the search knows nothing but the factors and their levels; on the recorded ones it begins,
as in the program, with the order of the throughput model.
"""
_QUIET = """## With the noise that was recorded

On five links of the lab the trials of eight sets and of the baseline were repeated up to eight times on
a quiet computer (`record_sweep.py LINK FILE --sets 8 --repeats 8`), with copies of about 0.7 s each way. On
wan, which is slow, the recording was cut and only the baseline came often enough. A shorter copy scatters
more: the recorded sweeps, with 0.2 s, have noise of their own. Standard deviations of single trials:
{scatters}.

The links take turns as the noise of the drawn surfaces, and one trial in thirty is slowed down by something
else, to 0.3 to 0.8 of its speed; heavy-tailed has noise of the same size that is far off now and then. How
rough a surface is thought to be, and which trials come last, were chosen with the sweep of 1gbit-4ms among
others (other seeds, the same surface).
"""
_BUSY = """## On a busy computer

The same surfaces, with trials that scatter by 5 to 8 %, and one in thirty slowed down. Where a set within
5 % was tried but another chosen, repeats are missing. Longer trials, which scatter less, or more of them are
the way then: the last columns have three times as many.
"""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One seed on one surface.

    Attributes:
        seed: of surface, noise and chance.
        regrets: by method, and by part of all combinations in per cent.
        met: regret of the best set that the race tried within the target.
        combinations: how many there are.
    """

    seed: int
    regrets: dict[str, dict[str, float]]
    met: float
    combinations: int


#: By surface.
Runs = dict[str, list[Run]]


def page(runs: Runs) -> str:
    """Return the page."""
    quiet = {name: each for name, each in runs.items() if not name.endswith(BUSY)}
    noisy = {name: each for name, each in runs.items() if name.endswith(BUSY)}
    parts = [
        _HEAD,
        _QUIET.format(scatters=described_scatters()),
        _reached(quiet),
        _aims(quiet),
        _recorded(runs),
    ]
    if noisy:
        parts += [_BUSY, _reached(noisy), _aims(noisy)]
    fresh = {name: _fresh(each) for name, each in runs.items()}
    return "\n".join([*filter(None, parts), "## Regret by trials\n", _curves(fresh)])


def _reached(runs: Runs) -> str:
    """Return on how many surfaces the aim is reached."""
    once, repeated = (
        sum(_is_reached(_fresh(each), part) for each in runs.values()) for part in (TARGET, REPEATED)
    )
    return (
        f"**{once} of {len(runs)} surfaces reach the aim after 5 % of one trial of each combination, "
        f"{repeated} after 5 % of three.**\n"
    )


def _is_reached(runs: Sequence[Run], part: float) -> bool:
    regrets = _of(runs, "race", f"{part:g}")
    return bool(regrets) and _near(regrets) >= TARGET_RUNS


def _recorded(runs: Runs) -> str:
    """Return how the sweeps were recorded, "" if there is none."""
    of = [name for name in names() if f"{RECORDED}{name}" in runs]
    lines = [f"- {RECORDED}{name}: {described(name)}" for name in of]
    return "\n".join(["### The recorded sweeps", "", *lines, ""]) if lines else ""


def near_text(name: str, runs: Sequence[Run]) -> str:
    """Return the line of one surface."""
    return _aims({name: list(runs)}).splitlines()[-1]


def _aims(runs: Runs) -> str:
    """Return the table that says where the aim is reached."""
    names_ = (
        "surface", "sets", "runs", "within 5 %, of 100", "one so near was tried", "tuning's seeds", "aim",
        "three of each", "aim",
    )  # fmt: skip
    lines = [f"| {' | '.join(names_)} |", "|---" * len(names_) + "|"]
    for name, each in runs.items():
        fresh, tuned = _fresh(each), [run for run in each if run.seed < FRESH]
        before = f"{100 * _near(_of(tuned, 'race', f'{TARGET:g}')):.0f} ({len(tuned)} runs)" if tuned else ""
        cells = [name, f"{fresh[0].combinations}", f"{len(fresh)}"]
        for part in (TARGET, REPEATED):
            regrets = _of(fresh, "race", f"{part:g}")
            runs_of = "" if part == TARGET else f" ({len(regrets)} runs)"
            cells.append(f"{100 * _near(regrets):.0f}{runs_of}" if regrets else "")
            cells += [f"{100 * _near([run.met for run in fresh]):.0f}", before] if part == TARGET else []
            cells.append(("reached" if _is_reached(fresh, part) else "**missed**") if regrets else "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _curves(fresh: Runs) -> str:
    """Return the table of regrets as a function of the trials."""
    seen = {float(part) for runs in fresh.values() for part in runs[0].regrets["race"]}
    parts = [f"{part:g}" for part in sorted(seen)]
    counts = {part: max(len(_of(runs, "race", part)) for runs in fresh.values()) for part in parts}
    lines = [
        "Per cent by part of all combinations' trials: the median, and what 95 of 100 runs stay below. Busy",
        "surfaces have 20 runs of the longest.",
        "",
        "| surface | method | " + " | ".join(f"{part} %, {counts[part]} runs" for part in parts) + " |",
        "|---|---|" + "---|" * len(parts),
    ]
    for name, runs in fresh.items():
        for method in METHODS:
            cells = [_cell(_of(runs, method, part)) for part in parts]
            lines.append(f"| {name} | {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _fresh(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.seed >= FRESH]


def _of(runs: Sequence[Run], method: str, part: str) -> list[float]:
    return sorted(run.regrets[method][part] for run in runs if part in run.regrets[method])


def _near(regrets: Sequence[float]) -> float:
    return sum(regret <= NEAR for regret in regrets) / len(regrets)


def _cell(regrets: Sequence[float]) -> str:
    if not regrets:
        return ""
    most = regrets[max(0, round(0.95 * len(regrets)) - 1)]
    return f"{100 * regrets[len(regrets) // 2]:.1f} ({100 * most:.1f})"

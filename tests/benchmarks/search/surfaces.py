"""Response surfaces whose best setting is known: what a search is measured on.

Each is drawn anew for every seed: the levels' effects, their noise. Those recorded in the lab (sweeps.py) are
what they are; only what the trials give is drawn. The noise is that of a link of the lab, whose turn it is
(scatter.py); "busy" ones have that of a computer and a network that much else goes on upon.
"""

from __future__ import annotations

import itertools
import math
import random
from typing import TYPE_CHECKING, NamedTuple

from scatter import deviation, scatters
from surface import Surface
from sweeps import RECORDED, names, recorded

from advisor.facts import ClientFacts, Facts, LinkFacts
from advisor.options import MountOptions
from advisor.throughput import CopySpec, predict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from surface import Levels


#: Standard deviations of a busy computer's trials; they take turns.
_BUSY = (0.05, 0.06, 0.08)


class Noise(NamedTuple):
    """By which factor a trial is off its set's median.

    Attributes:
        draw: gives one such factor.
        spread: standard deviation of its logarithm.
    """

    draw: Callable[[random.Random], float]
    spread: float


def quiet(seed: int) -> Noise:
    """Return what was recorded on one of the links."""
    away = list(scatters().values())[seed % len(scatters())]
    return Noise(lambda chance: math.exp(chance.choice(away)) * _disturbed(chance), deviation(away))


def busy(seed: int) -> Noise:
    """Return what a computer with much else to do gives: 5 to 8 %."""
    spread = _BUSY[seed % len(_BUSY)]
    return Noise(lambda chance: chance.lognormvariate(0, spread) * _disturbed(chance), spread)


def heavy(spread: float) -> Callable[[random.Random], float]:
    """Return what draws factors of Student's distribution of two degrees of freedom: far off now and then."""

    def draw(chance: random.Random) -> float:
        student = chance.gauss(0, 1) / math.sqrt(chance.expovariate(1))
        return math.exp(max(-1.5, min(1.5, spread * student)))

    return draw


def _disturbed(chance: random.Random) -> float:
    """Return a factor for what else goes on: one trial in thirty is disturbed."""
    return chance.uniform(0.3, 0.8) if chance.random() < 1 / 30 else 1.0


def combinations(factors: Mapping[str, Sequence[str]]) -> list[Levels]:
    """Return all combinations."""
    return [dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())]


def _surface(factors: Mapping[str, Sequence[str]], truth: Callable[[Levels], float], noise: Noise) -> Surface:
    candidates = combinations(factors)
    return _with(noise.draw, candidates, [truth(each) for each in candidates])


def _with(draw: Callable[[random.Random], float], candidates: list[Levels], medians: list[float]) -> Surface:
    """Return a surface whose trials are off their medians by factors that are drawn."""
    return Surface(candidates, medians, lambda chance, number, _: medians[number] * draw(chance))


def _sizes(low: int, high: int) -> list[str]:
    return [str(2**power) for power in range(low, high + 1)]


#: 2 x 2 x 4 x 9 x 8 = 1152.
_MOUNT = {
    "proto": ["tcp", "rdma"],
    "hard": ["hard", "soft"],
    "nconnect": ["1", "2", "4", "8"],
    "rsize": _sizes(12, 20),
    "read_ahead_kb": _sizes(7, 14),
}


def _growth(chance: random.Random, levels: Sequence[str], most: float) -> dict[str, float]:
    """Return effects that rise and fall again over the levels, as sizes do; logarithms of factors."""
    peak, width = chance.uniform(0, len(levels) - 1), chance.uniform(0.4, 1.0) * len(levels)
    return {level: -most * ((place - peak) / width) ** 2 for place, level in enumerate(levels)}


def additive(seed: int, noise: Noise) -> Surface:
    """Every factor acts alone."""
    chance = random.Random(f"additive {seed}")
    effects = {name: _growth(chance, levels, chance.uniform(0.1, 1.5)) for name, levels in _MOUNT.items()}
    return _surface(_MOUNT, lambda at: 1e8 * math.exp(sum(effects[name][at[name]] for name in at)), noise)


def interacting(seed: int, noise: Noise) -> Surface:
    """Pairs of factors act on each other: the best level of one moves with the level of the other."""
    chance = random.Random(f"interacting {seed}")
    effects = {name: _growth(chance, levels, chance.uniform(0.1, 0.8)) for name, levels in _MOUNT.items()}
    pairs = chance.sample(list(itertools.combinations(_MOUNT, 2)), 3)
    twists = {pair: chance.choice([-1, 1]) * chance.uniform(0.2, 0.8) for pair in pairs}

    def place(name: str, at: Levels) -> float:
        return _MOUNT[name].index(at[name]) / (len(_MOUNT[name]) - 1) - 0.5

    def truth(at: Levels) -> float:
        together = sum(
            twist * 4 * place(one, at) * place(other, at) for (one, other), twist in twists.items()
        )
        return 1e8 * math.exp(sum(effects[name][at[name]] for name in at) + together)

    return _surface(_MOUNT, truth, noise)


def rugged(seed: int, noise: Noise) -> Surface:
    """Each level of a factor has a peak of its own in another: three tables without any rule."""
    chance = random.Random(f"rugged {seed}")
    effects = {name: _growth(chance, levels, chance.uniform(0.1, 0.8)) for name, levels in _MOUNT.items()}
    pairs = chance.sample(list(itertools.combinations(_MOUNT, 2)), 3)
    tables = {
        (one, other): {
            level: _growth(chance, _MOUNT[other], chance.uniform(0.2, 1.0)) for level in _MOUNT[one]
        }
        for one, other in pairs
    }

    def truth(at: Levels) -> float:
        alone = sum(effects[name][at[name]] for name in at)
        return 1e8 * math.exp(alone + sum(tables[pair][at[pair[0]]][at[pair[1]]] for pair in pairs))

    return _surface(_MOUNT, truth, noise)


def plateau(seed: int, noise: Noise) -> Surface:
    """The smallest of several bounds counts: most of the surface is flat at one of them."""
    chance = random.Random(f"plateau {seed}")
    caps = {
        name: {
            level: chance.uniform(0.2, 0.8) * 2.0 ** (place * chance.uniform(0.5, 1.0))
            for place, level in enumerate(levels)
        }
        for name, levels in _MOUNT.items()
    }  # fmt: skip
    return _surface(_MOUNT, lambda at: 1e8 * min(1.5, *(caps[name][at[name]] for name in at)), noise)


def irrelevant(seed: int, noise: Noise) -> Surface:
    """Eight factors, of which two or three matter: 1152 combinations."""
    factors = {
        "rsize": _sizes(14, 20)[::2], "nconnect": ["1", "4", "8"], "read_ahead_kb": ["128", "1024", "4096"],
        "hard": ["hard", "soft"], "lookupcache": ["all", "none"], "actimeo": ["3", "60"],
        "nocto": ["cto", "nocto"], "timeo": ["70", "600"],
    }  # fmt: skip
    chance = random.Random(f"irrelevant {seed}")
    matter = chance.sample(list(factors), chance.choice([2, 3]))
    effects = {name: {level: chance.uniform(-0.6, 0.6) for level in factors[name]} for name in matter}
    return _surface(
        factors, lambda at: 1e8 * math.exp(sum(effects[name][at[name]] for name in matter)), noise
    )


def needle(seed: int, noise: Noise) -> Surface:
    """A gentle slope, and a narrow peak of half as much again at one pair of levels of two factors."""
    chance = random.Random(f"needle {seed}")
    effects = {name: _growth(chance, levels, chance.uniform(0.05, 0.3)) for name, levels in _MOUNT.items()}
    first, second = chance.sample(["nconnect", "rsize", "read_ahead_kb"], 2)
    spot = {name: chance.randrange(len(_MOUNT[name])) for name in (first, second)}

    def truth(at: Levels) -> float:
        away = sum(abs(_MOUNT[name].index(at[name]) - place) for name, place in spot.items())
        return 1e8 * math.exp(sum(effects[name][at[name]] for name in at) + 0.4 * math.exp(-away))

    return _surface(_MOUNT, truth, noise)


def drifting(seed: int, noise: Noise) -> Surface:
    """As the additive one, while the server slows down by a third and stumbles for a tenth of the run."""
    still = additive(seed + 1000, noise)
    chance = random.Random(f"drifting {seed}")
    stumble, down = chance.uniform(0, 0.9), chance.uniform(0.2, 0.4)

    def measure(each: random.Random, number: int, when: float) -> float:
        mood = math.exp(-down * when) * (0.7 if stumble < when < stumble + 0.1 else 1.0)
        return still.truth[number] * mood * noise.draw(each)

    return still._replace(measure=measure)


def heavy_tailed(seed: int, noise: Noise) -> Surface:
    """As the interacting one, with noise that is far off now and then, both ways."""
    still = interacting(seed + 1000, noise)
    return _with(heavy(noise.spread), still.candidates, still.truth)


def physics(link: LinkFacts, kind: str) -> Callable[[int, Noise], Surface]:
    """Return surfaces by the model of a copy over a link: 1344 combinations."""
    factors = {
        "vers": ["3", "4.1", "4.2"], "hard": ["hard", "soft"], "nconnect": ["1", "2", "4", "8"],
        "rsize": _sizes(14, 20), "read_ahead_kb": _sizes(7, 14),
    }  # fmt: skip
    work = CopySpec(direction="write" if kind == "write" else "read", length=2**28, block=2**17)

    def truth(at: Levels) -> float:
        size = at["rsize"]
        options = MountOptions.parse(
            f"vers={at['vers']},{at['hard']},nconnect={at['nconnect']},rsize={size},wsize={size}"
        )
        found = predict(
            options, Facts(client=ClientFacts(), link=link), work, read_ahead=1024 * int(at["read_ahead_kb"])
        )
        assert found is not None
        # Each connection more costs a little, and so does the state of version 4.
        less = 1 - 0.01 * math.log2(int(at["nconnect"])) - 0.01 * (at["vers"] != "3")
        return found.bytes_per_s * less

    candidates = combinations(factors)
    medians = [truth(each) for each in candidates]
    return lambda _seed, noise: _with(noise.draw, candidates, medians)


_DRAWN: dict[str, Callable[[int, Noise], Surface]] = {
    "additive": additive,
    "interacting": interacting,
    "rugged": rugged,
    "plateau": plateau,
    "irrelevant": irrelevant,
    "needle": needle,
    "drifting": drifting,
    "heavy-tailed": heavy_tailed,
    "read, 40 ms, 1 Gbit/s": physics(LinkFacts(rate_bps=1e9, rtt_s=0.04), "read"),
    "read, 1 ms, 10 Gbit/s": physics(LinkFacts(rate_bps=1e10, rtt_s=1e-3), "read"),
    "read, 10 ms, 0.1 % loss": physics(LinkFacts(rate_bps=1e9, rtt_s=0.01, loss=1e-3), "read"),
    "write, 80 ms, 10 Gbit/s": physics(LinkFacts(rate_bps=1e10, rtt_s=0.08), "write"),
}
#: What busy ones are called.
BUSY = ", busy"
SURFACES: dict[str, Callable[[int], Surface]] = {
    **{name: lambda seed, draw=draw: draw(seed, quiet(seed)) for name, draw in _DRAWN.items()},
    **{f"{RECORDED}{name}": lambda _seed, name=name: recorded(name) for name in names()},
    **{f"{name}{BUSY}": lambda seed, draw=draw: draw(seed, busy(seed)) for name, draw in _DRAWN.items()},
}

"""Which levels and option sets can be measured here: the others are struck out, each with its reason."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from advisor.transfer_sizes import AS_COPY
from app.bench.limits import block_problem, count_problem
from app.experiment.factors import ELSEWHERE, GONE, OF_THE_TEST, impossible, label, spec_of
from app.experiment.model import Struck

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.facts import Facts
    from app.experiment.model import Experiment, Factor, Work

Levels = dict[str, str]


def possible_factors(experiment: Experiment, facts: Facts) -> tuple[list[Factor], list[Struck]]:
    """Return the factors with the levels that may work here, and those struck out without trying.

    Args:
        experiment: its factors.
        facts: of client and server; what they do not tell is found out by trying.
    """
    factors: list[Factor] = []
    struck: list[Struck] = []
    for factor in experiment.factors:
        levels: list[str] = []
        spelled_out = [row[factor.name] for row in experiment.rows if factor.name in row]
        for level in dict.fromkeys([*factor.levels, *spelled_out]):
            reason = _reason(factor.name, level, facts)
            if reason:
                struck.append(Struck(levels={factor.name: level}, reason=reason))
            else:
                levels.append(level)
        if levels:
            base = factor.base if factor.base in levels else ""
            factors.append(msgspec.structs.replace(factor, levels=levels, base=base))
    return factors, struck


def without_impossible(sets: Sequence[Levels]) -> tuple[list[Levels], list[Struck]]:
    """Return the sets whose levels can be together, and the pairs that cannot."""
    bad = [pair for levels in sets if (pair := impossible(levels))]
    struck = [
        Struck(levels=dict(pair), reason="A record cannot be larger than its file.")
        for pair in dict.fromkeys(tuple(pair.items()) for pair in bad)
    ]
    return [levels for levels in sets if not impossible(levels)], struck


def without_refused(sets: Sequence[Levels], works: Sequence[Work]) -> tuple[list[Levels], list[Struck]]:
    """Return the sets that make tests of these workloads as they can be run, and what makes others.

    Args:
        sets: of an experiment.
        works: its workloads.
    """
    tests = [dict(pairs) for pairs in dict.fromkeys(tuple(of_test(levels).items()) for levels in sets)]
    dead = {
        number: Dead(problem)
        for number, levels in enumerate(tests)
        if (problem := next((found for work in works if (found := _refused(work, levels))), ""))
    }
    bad = [tests[number] for number in dead]
    return [levels for levels in sets if of_test(levels) not in bad], reasons(tests, dead)


class Dead(NamedTuple):
    """Why a set is not measured.

    Attributes:
        reason: in one or two sentences.
        same_as: where another set comes out the same, its levels that are others.
    """

    reason: str
    same_as: Levels = {}  # noqa: RUF012 - never changed


def reasons(sets: Sequence[Levels], dead: dict[int, Dead]) -> list[Struck]:
    """Return what is struck out because these sets cannot be measured, in as few words as possible.

    A level none of whose sets is left is struck out alone, two levels that are never left together as a
    pair, and what remains set by set.

    Args:
        sets: all.
        dead: index of each set that cannot be measured, with the reason.
    """
    alive = [levels for number, levels in enumerate(sets) if number not in dead]
    struck: dict[tuple[tuple[str, str], ...], Dead] = {}
    # Sets with least that could be the cause come first: their reasons are the most to the point.
    for number in sorted(dead, key=lambda number: _strangers(sets[number], alive)):
        cause = _cause(sets[number], alive)
        struck.setdefault(cause, dead[number])
    return [
        Struck(levels=dict(cause), reason=why.reason, same_as=why.same_as) for cause, why in struck.items()
    ]


def levels_text(levels: Levels) -> str:
    """Return levels for people."""
    return ", ".join(f"{label(name)} {level}" for name, level in levels.items())


def _reason(name: str, level: str, facts: Facts) -> str:
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    if (name, level) in GONE:
        return GONE[name, level]
    if name == "proto" and level.startswith("udp") and facts.client.udp is False:
        return "This kernel's NFS client is built without UDP (CONFIG_NFS_DISABLE_UDP_SUPPORT)."
    offered = facts.server.tcp_versions if facts.server is not None else None
    if name == "vers" and offered and level.startswith(("3", "4.")) and level not in offered:
        return f"The server does not offer version {level} over TCP; it offers {', '.join(offered)}."
    return ""


def of_test(levels: Levels) -> Levels:
    """Return the levels that are of the test, not of the mount."""
    return {name: level for name, level in levels.items() if name in OF_THE_TEST}


def _refused(work: Work, levels: Levels) -> str:
    spec = spec_of(work, levels)
    block = "" if spec.block_size == AS_COPY else block_problem(spec.block_size)
    return block or count_problem(spec.workload, spec.count)


def _strangers(levels: Levels, alive: Sequence[Levels]) -> int:
    return sum(not any(other.get(name) == level for other in alive) for name, level in levels.items())


def _cause(levels: Levels, alive: Sequence[Levels]) -> tuple[tuple[str, str], ...]:
    """Return the smallest part of a set's levels that no set that is left has."""
    for size in (1, 2):
        for part in itertools.combinations(levels.items(), size):
            if not any(_has(part, other) for other in alive):
                return part
    return tuple(levels.items())


def _has(part: Sequence[tuple[str, str]], levels: Levels) -> bool:
    return all(levels.get(name) == level for name, level in part)

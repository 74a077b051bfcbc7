"""Recipes: experiments written as data, those of the five studies and the person's own.

A recipe is a TOML file: ``title``, ``text``, ``options``, ``strategy``, ``axes``, ``[[factor]]`` (name,
levels, quick, base), ``[[row]]``, ``[[workload]]`` (name, kind, size, count, block_size, direction,
quick_size, quick_count), ``[full]`` and ``[quick]`` (repeats), and ``[study]`` with what was measured and
concluded then.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from advisor.transfer_sizes import AS_COPY
from app.experiment.factors import normal
from app.experiment.model import SEARCH, Experiment, Factor, Strategy, Work
from app.speedtest.model import Direction, Workload
from app.units import parse_size

Size = Literal["quick", "full"]
#: The block size that cp takes on the mount, as it is written in a recipe.
CP = "cp"


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a recipe comes from.

    Attributes:
        name: of the study.
        by: who, where and when.
        measured: its figures, in plain text.
        concluded: what was concluded then.
        today: what is to be kept in mind when comparing with it.
    """

    name: str
    by: str
    measured: str
    concluded: str
    today: str = ""


class RecipeFactor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A factor with the levels of both sizes; ``quick`` empty means all."""

    name: str
    levels: list[str]
    quick: list[str] = []
    base: str = ""


class RecipeWork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workload with the amounts of both sizes, written as 64k or 1G; those not given are the same.

    The block size may also be "cp": what cp takes on the mount.
    """

    name: str
    kind: Workload = "file"
    size: str
    quick_size: str = ""
    count: int = 1
    quick_count: int = 0
    block_size: str = CP
    direction: Direction = "both"


class Extent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a size repeats."""

    repeats: int = 3


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An experiment for any share.

    Attributes:
        title: a few words.
        text: what it compares, and what for.
        options: option string that all sets have in common.
        strategy: how the levels are combined.
        axes: factors of the study's own table: down, across, and those whose levels have tables of their own.
        factor: what is varied.
        row: of the strategy "rows".
        workload: what each set copies.
        full: of the study's size.
        quick: of the same in minutes.
        study: where it comes from, None for a person's own.
        name: its file's name without ending; not in the file.
        own: whether it is the person's.
    """

    title: str
    text: str = ""
    options: str = ""
    strategy: Strategy = "full"
    axes: list[str] = []
    factor: list[RecipeFactor]
    row: list[dict[str, str]] = []
    workload: list[RecipeWork]
    full: Extent = Extent()
    quick: Extent = Extent()
    study: Study | None = None
    name: str = ""
    own: bool = False

    def experiment(self, share: str, size: Size = "full", *, seed: int = 0) -> Experiment:
        """Return the experiment on a share.

        Args:
            share: server:/export.
            size: that of the study, or the quick one.
            seed: of the random order.
        """
        quick = size == "quick"
        return Experiment(
            share=share,
            # One that was called so before that was refused is no search.
            recipe=self.name if self.name != SEARCH else "",
            title=self.title,
            options=self.options,
            strategy=self.strategy,
            axes=self.axes,
            factors=[_factor(factor, quick=quick) for factor in self.factor],
            rows=[{name: normal(name, level) for name, level in row.items()} for row in self.row],
            workloads=[_work(work, quick=quick) for work in self.workload],
            repeats=(self.quick if quick else self.full).repeats,
            seed=seed,
        )


def parse_block_size(text: str) -> int:
    """Return the bytes of a call, AS_COPY for those of cp.

    Raises:
        ValueError: if it is neither a size nor "cp".
    """
    return AS_COPY if text == CP else parse_size(text)


def _factor(factor: RecipeFactor, *, quick: bool) -> Factor:
    levels = [normal(factor.name, level) for level in (factor.quick if quick else ()) or factor.levels]
    base = normal(factor.name, factor.base) if factor.base else ""
    if base and base not in levels:
        levels.insert(0, base)
    return Factor(name=factor.name, levels=list(dict.fromkeys(levels)), base=base)


def _work(work: RecipeWork, *, quick: bool) -> Work:
    size = parse_size((work.quick_size if quick else "") or work.size)
    count = (work.quick_count if quick else 0) or work.count
    whole = Work(
        name=work.name,
        kind=work.kind,
        size=parse_size(work.size),
        count=work.count,
        block_size=parse_block_size(work.block_size),
        direction=work.direction,
    )
    return whole if (size, count) == (whole.size, whole.count) else whole.cut_to(size=size, count=count)

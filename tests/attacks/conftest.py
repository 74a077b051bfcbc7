"""Fixtures of the attacks: rigs (rig.py). Without root, or without the programs, the tests are skipped."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from path_races import LONG, QUICK, Least
from rig import EVERYTHING, MISSING, NamespacesError, Rig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def can_attack(mount_point_at_root: None) -> None:
    problem = ""
    if os.geteuid() != 0:
        problem = "they need root, for namespaces."
    elif MISSING:
        problem = f"not installed: {', '.join(MISSING)}."
    if problem:
        give_up(problem)


def give_up(problem: str) -> None:
    message = f"THE ATTACKS ON THE HELPER ARE NOT TRIED: {problem}"
    if os.environ.get("CI", "") not in {"", "0", "false"}:
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


@pytest.fixture
def make_rig(can_attack: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Rig]]:
    """Function that makes rigs; they end with the test."""
    made: list[Rig] = []

    def make(**options: object) -> Rig:
        try:
            made.append(Rig(tmp_path_factory.mktemp("stage"), **options))  # type: ignore[arg-type]
        except NamespacesError as error:
            give_up(str(error))
        return made[-1]

    yield make
    for rig in made:
        rig.close()


@pytest.fixture
def least(request: pytest.FixtureRequest) -> Least:
    """Least numbers of exchanges and requests of a race: more with --long."""
    return LONG if request.config.getoption("--long") else QUICK


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    """Rig in which polkit permits the ordinary actions and refuses the system actions."""
    return make_rig()


@pytest.fixture
def open_rig(make_rig: Callable[..., Rig]) -> Rig:
    """Rig in which polkit permits the system actions, too."""
    return make_rig(answers=EVERYTHING)

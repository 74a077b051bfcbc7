"""Collected rules: each one has exactly one outcome, and the rules listed as shipped exist."""

from __future__ import annotations

import tomllib
from pathlib import Path

from advisor.lint_rules import lint_rules
from advisor.rules import advice_rules

_ROOT = Path(__file__).parents[3]
_FATE: dict[str, dict[str, str]] = tomllib.loads(
    (_ROOT / "tests/data/advice/rules_fate.toml").read_text(encoding="utf-8")
)
#: Number of collected rules.
_COLLECTED = 222


def test_every_collected_rule_has_one_fate() -> None:
    assert set(_FATE) == {"shipped", "lint", "elsewhere", "dropped"}
    names = [name for fates in _FATE.values() for name in fates]
    assert len(names) == len(set(names)) == _COLLECTED
    assert all(text for fates in _FATE.values() for text in fates.values())


def test_what_is_said_to_be_shipped_is() -> None:
    assert set(_FATE["shipped"].values()) <= set(advice_rules())
    assert set(_FATE["lint"].values()) <= set(lint_rules())


def test_files_that_are_named_exist() -> None:
    for text in _FATE["elsewhere"].values():
        path = text.split(",", maxsplit=1)[0].split()[0]
        if path.startswith(("advisor/", "app/")):
            assert (_ROOT / path).exists(), path

"""Advice for a corpus of hosts, reviewed manually (tests/data/advice/hosts.toml)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
from advisor.lint import lint
from advisor.lint_rules import LintContext
from advisor.options import MountOptions
from advisor.recommend import Advice, recommend
from advisor.tunables import tunables

_HOSTS: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parents[2] / "data/advice/hosts.toml").read_text(encoding="utf-8")
)["host"]


def _part(host: dict[str, Any], name: str) -> dict[str, Any]:
    values: dict[str, Any] = host.get(name, {})
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


def _advise(host: dict[str, Any], options: MountOptions) -> Advice:
    facts = Facts(
        client=ClientFacts(**_part(host, "client")),
        link=LinkFacts(**_part(host, "link")),
        server=ServerFacts(**_part(host, "server")),
    )
    context = LintContext(fstab=host.get("fstab", False))
    return recommend(options, facts, host.get("workload", "general"), context=context)


def test_the_corpus_is_large() -> None:
    assert len(_HOSTS) >= 60
    assert len({host["name"] for host in _HOSTS}) == len(_HOSTS)


@pytest.mark.parametrize("host", _HOSTS, ids=lambda host: host["name"])
def test_the_advice(host: dict[str, Any]) -> None:
    advice = _advise(host, MountOptions.parse(host.get("options", "")))
    proposed = {
        item.option: item.proposed or ("-" if item.proposed is None else "")
        for item in advice.recommendations
    }
    assert proposed == host["advice"]
    warned = {f"{item.option}={'-' if item.value is None else item.value}" for item in advice.not_recommended}
    assert warned == set(host.get("not", []))


@pytest.mark.parametrize("host", _HOSTS, ids=lambda host: host["name"])
def test_taken_advice_leaves_nothing_to_change_and_no_new_error(host: dict[str, Any]) -> None:
    options = MountOptions.parse(host.get("options", ""))
    context = LintContext(fstab=host.get("fstab", False))
    taken = _advise(host, options).options
    again = _advise(host, taken).recommendations
    assert [item.option for item in again if item.option not in tunables()] == []
    before = {finding.rule for finding in lint(options, context=context) if finding.severity == "error"}
    after = {finding.rule for finding in lint(taken, context=context) if finding.severity == "error"}
    assert after <= before

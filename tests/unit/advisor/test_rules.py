"""Advice rules: each one applies exactly under its conditions, and has texts, a source and valid values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
from advisor.identify import network_cards, server_kinds
from advisor.lint_rules import LintConditions, LintContext, LintInput
from advisor.options import MountOptions, catalogue, check_item
from advisor.rules import AdviceRule, FactConditions, advice_rules, compute_value, rule_evidence
from advisor.tunables import tunables
from advisor.use_conditions import UseConditions

#: Tunables that rules can recommend like options.
_TUNABLES = set(tunables())
#: Conditions on answers of the user.


def _facts_for(given: FactConditions) -> Facts:
    """Return facts that satisfy the conditions."""
    link = LinkFacts(
        card=given.cards[0] if given.cards else None,
        kind=given.kinds[0] if given.kinds else "ethernet",
        via=given.via[:1],
        rate_bps=given.rate_from_bps or (given.rate_below_bps or 2e9) / 2,
        rtt_s=given.rtt_from_s or (given.rtt_below_s or 0.002) / 2,
        loss=given.loss_from,
        duplex=given.duplex or "full",
        mtu=given.mtu_from or 1500,
        path_mtu=(given.path_mtu_below or 1501) - 1,
        members=given.members_from or 1,
    )
    server = ServerFacts(
        card=given.server_cards[0] if given.server_cards else None,
        kind=given.servers[0] if given.servers else None,
        tcp_versions=given.offers or tuple({"3", "4.0", "4.1", "4.2"} - set(given.lacks)),
    )
    client = ClientFacts(
        kernel="{}.{}".format(*(given.kernel_from or (6, 12))),
        udp=given.udp,
        sharing=("/srv",) if given.shared else (),
        nfsmount_conf=tuple(f"{item} (/etc/nfsmount.conf, line 2)" for item in given.nfsmount_conf[:1]),
    )
    return Facts(client=client, link=link, server=server)


def _situation_for(rule: AdviceRule, facts: Facts) -> LintInput:
    """Return options and a context that satisfy the rule's conditions on options."""
    items = (*rule.when.any[:1], *rule.when.all)
    text = ",".join(f"{item}2" if item.endswith("=") else item for item in items)
    if rule.when.versions and "vers" not in text:
        text = f"{text},vers={rule.when.versions[0]}".strip(",")
    if rule.when.start_up is False:
        text = f"{text},noauto".strip(",")
    context = LintContext(
        fstab=rule.when.fstab is True or rule.when.start_up is not None,
        planned=rule.given.at_boot is True,
        conditions=UseConditions(
            **{name: getattr(rule.given, name) is True for name in UseConditions.__struct_fields__}
        ),
    )
    return LintInput(MountOptions.parse(text), context, facts)


@pytest.mark.parametrize("name", advice_rules())
def test_it_fires_on_its_facts_and_says_which(name: str) -> None:
    rule = advice_rules()[name]
    facts = _facts_for(rule.given)
    workload = rule.given.workloads[0] if rule.given.workloads else "general"
    found = rule_evidence(rule, facts, _situation_for(rule, facts), workload)
    assert found is not None
    assert all(": " in phrase for phrase in found)
    for text in rule.set.values():
        assert compute_value(text, facts) or text in {"", "@read-ahead", "@connections-read-ahead", "@needed"}


@pytest.mark.parametrize("name", advice_rules())
def test_it_does_not_fire_without_its_facts(name: str) -> None:
    rule = advice_rules()[name]
    facts = Facts(client=ClientFacts())
    place = _situation_for(rule, facts)
    if any(getattr(rule.given, name) for name in ("at_boot", *UseConditions.__struct_fields__)):
        place = LintInput(place.options, LintContext(), facts)
    found = rule_evidence(rule, facts, place, "general")
    wanted = rule.given not in (FactConditions(), FactConditions(udp_possible=True))
    if wanted and rule.given.workloads[:1] != ("general",):
        assert found is None
    else:
        assert rule.when != LintConditions(), "a rule without any condition would always fire"


@pytest.mark.parametrize("name", advice_rules())
def test_each_fact_counts(name: str) -> None:
    """A rule does not apply if any single fact of its conditions is unknown."""
    rule = advice_rules()[name]
    facts = _facts_for(rule.given)
    workload = rule.given.workloads[0] if rule.given.workloads else "general"
    situation = _situation_for(rule, facts)
    for part in ("link", "server"):
        for field in _asked_fields(rule.given, part):
            assert rule_evidence(rule, _without(facts, part, field), situation, workload) is None


def _without(facts: Facts, part: str, field: str) -> Facts:
    """Return the facts with one field set to unknown."""
    unknown: dict[str, Any] = {field: None}
    poorer: dict[str, Any] = {part: replace(getattr(facts, part), **unknown)}
    return replace(facts, **poorer)


def _asked_fields(given: FactConditions, part: str) -> set[str]:
    of = {
        "link": {"cards": "card", "kinds": "kind", "via": "via", "rate_from_bps": "rate_bps",
                 "rate_below_bps": "rate_bps", "rtt_from_s": "rtt_s", "rtt_below_s": "rtt_s",
                 "loss_from": "loss", "duplex": "duplex", "mtu_from": "mtu", "path_mtu_below": "path_mtu",
                 "members_from": "members"},
        "server": {"server_cards": "card", "servers": "kind", "offers": "tcp_versions",
                   "lacks": "tcp_versions"},
    }[part]  # fmt: skip
    return {field for key, field in of.items() if getattr(given, key) not in (None, ())}


@pytest.mark.parametrize("name", advice_rules())
def test_its_texts_and_values_are_whole(name: str) -> None:
    rule = advice_rules()[name]
    assert rule.source
    assert rule.link.startswith(("https://", "seed 00")) or rule.source.startswith("Computed:")
    for text in (rule.reason, rule.effect, rule.risk, rule.attention):
        assert not text or text.endswith("."), text
    assert rule.set or rule.unset or rule.keep or rule.avoid or rule.attention
    assert not rule.set or rule.effect, "say what to expect"
    for option in (*rule.set, *rule.unset, *rule.keep, *rule.avoid):
        assert option in _TUNABLES or catalogue().find(option) is not None, option
    for option, value in (rule.set | rule.avoid).items():
        if option not in _TUNABLES and not value.startswith("@"):
            options = MountOptions()
            options.set(option, value)
            assert [check_item(item, catalogue()) for item in options] == [None]
    for option, value in rule.set.items():
        if option in _TUNABLES and not value.startswith("@"):
            tunable = tunables()[option]
            assert not tunable.problem(value)
            assert tunable.scope == "mount" or rule.scope == "host"
    for server in rule.given.servers:
        assert server in server_kinds()
    for card in (*rule.given.cards, *rule.given.server_cards):
        assert card in network_cards()

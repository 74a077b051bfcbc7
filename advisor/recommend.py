"""What to change on a mount, and why: the rules' advice, with conflicts resolved in a stated order.

The order is: a measurement of one's own, the server, the workload, the link, seed. Where two rules name
the same option, the stronger layer's value is proposed and the other one is listed as not recommended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from advisor.fact_names import unknown_facts
from advisor.formulas import compute
from advisor.lint_situation import LintContext, Situation
from advisor.options import catalogue, implied_values
from advisor.rules import LAYERS, Confidence, Layer, Rule, Scope, evidence, rules
from advisor.tunables import tunables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from advisor.facts import Facts
    from advisor.options import MountOptions
    from advisor.rules import Workload

Status = Literal["untested", "confirmed", "refuted"]

#: Proposed instead of a value: take the option out, and client and server negotiate.
NEGOTIATE = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a test on this mount found of one option.

    Attributes:
        option: its name.
        value: canonical, None for “not given”.
        status: whether it was found better (confirmed) or not (refuted) than what was there.
        text: the finding, one sentence with its figures.
    """

    option: str
    value: str | None
    status: Status
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """One proposed change.

    Attributes:
        option: canonical name, or a tunable's (resources/tunables.toml).
        current: value in force, None if it is not given.
        proposed: value to set, None to take the option out.
        rule: id of the rule, "" for a measurement.
        layer: whose word it is.
        reason: why, one or two sentences.
        effect: what to expect, or "".
        evidence: the facts that it rests on, one phrase each.
        source: title of what says so.
        link: its address.
        scope: mount, server or host. What is host-wide is never part of “Use recommended”.
        risk: what may go wrong, or "".
        undo: how to go back, one sentence.
        how_to: for what no mount option does: the exact steps to do it and to undo it, line by line.
        confidence: high, medium or low.
        status: untested, confirmed or refuted by a measurement of one's own.
        replaces_own: whether the person has asked for the current value.
    """

    option: str
    current: str | None
    proposed: str | None
    rule: str
    layer: Layer
    reason: str
    effect: str
    evidence: tuple[str, ...]
    source: str
    link: str
    scope: Scope
    risk: str
    undo: str
    confidence: Confidence
    how_to: tuple[str, ...] = ()
    status: Status = "untested"
    replaces_own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRecommended:
    """A value that one might expect here, and why it is not proposed."""

    option: str
    value: str | None
    reason: str
    source: str
    link: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Something that is wrong beside the mount: no option mends it; ``how_to`` may."""

    text: str
    reason: str
    evidence: tuple[str, ...]
    source: str
    link: str
    how_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The whole answer.

    Attributes:
        attention: what no mount option mends.
        recommendations: changes, in the catalogue's order.
        agreed: options that are right as they are: name to reason.
        not_recommended: values that lost, or that a rule warns of.
        unknown: facts that would have mattered: part and field, as in link.rtt_s, to why it is not known.
    """

    recommendations: tuple[Recommendation, ...]
    agreed: Mapping[str, str] = field(default_factory=dict[str, str])
    not_recommended: tuple[NotRecommended, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict[str, str])
    attention: tuple[Attention, ...] = ()


@dataclass(frozen=True, slots=True)
class _Vote:
    """What one rule says of one option."""

    name: str
    rule: Rule
    option: str
    value: str | None
    evidence: tuple[str, ...]
    keep: bool = False


def recommend(
    options: MountOptions,
    facts: Facts,
    workload: Workload = "general",
    *,
    context: LintContext | None = None,
    tunables: Mapping[str, str] | None = None,
    measured: Iterable[Measured] = (),
) -> Advice:
    """Return what to change.

    Args:
        options: as asked for.
        facts: what was observed, or chosen by hand.
        workload: what the mount is for.
        context: where the options stand.
        tunables: name to value of what stands beside the mount, for example its readahead.
        measured: findings of tests on this mount.
    """
    situation = Situation(options, context or LintContext(), facts)
    tested = {finding.option: finding for finding in measured}
    votes: dict[str, list[_Vote]] = {}
    warned: list[NotRecommended] = []
    attention: list[Attention] = []
    for name, rule in rules().items():
        found = evidence(rule, facts, situation, workload)
        if found is None:
            continue
        for vote in _votes(name, rule, facts, tuple(found)):
            votes.setdefault(vote.option, []).append(vote)
        warned += [_warning(name, rule, option, value) for option, value in rule.avoid.items()]
        if rule.attention:
            attention.append(_attention(rule, facts, tuple(found)))
    for own in tested.values():
        if own.status == "confirmed":
            votes.setdefault(own.option, []).append(_own(own))
    winners: list[_Vote] = []
    for option in sorted(votes, key=_place):
        winner, *losers = sorted(votes[option], key=lambda vote: LAYERS.index(vote.rule.layer))
        warned += [_lost(vote, winner) for vote in losers if vote.value != winner.value and not vote.keep]
        finding = tested.get(option)
        if finding is not None and finding.status == "refuted" and finding.value == winner.value:
            warned.append(_refuted(winner, finding))
        else:
            winners.append(winner)
    current = options.values() | dict(tunables or {})
    left = _left(options, winners) | dict(tunables or {})
    changes = [vote for vote in winners if not _is_so(vote, current, left)]
    return Advice(
        recommendations=tuple(
            _recommendation(vote, current.get(vote.option), options, tested.get(vote.option))
            for vote in changes
        ),
        agreed={vote.option: vote.rule.reason for vote in winners if vote not in changes},
        not_recommended=tuple(warned),
        unknown=_unknown(facts),
        attention=tuple(attention),
    )


def _left(options: MountOptions, winners: list[_Vote]) -> dict[str, str]:
    """Return what is in force once the options that are to go are gone: noac implies others, for example."""
    remaining = options.copy()
    for vote in winners:
        if vote.value is None and not vote.keep:
            remaining.remove(vote.option)
    return implied_values(remaining)


def _is_so(vote: _Vote, current: Mapping[str, str], left: Mapping[str, str]) -> bool:
    """Whether nothing needs to change for a vote."""
    if vote.keep:
        return True
    if vote.value is None:
        return vote.option not in current
    known = catalogue().find(vote.option)
    if vote.option in left or known is None:
        return left.get(vote.option) == vote.value
    return known.default_for(left.get("vers", ""), left.get("proto", "")) == vote.value


def use_recommended(options: MountOptions, advice: Advice) -> MountOptions:
    """Return the options with every recommendation for the mount itself carried out; the others stay."""
    changed = options.copy()
    for item in advice.recommendations:
        if item.scope == "host" or catalogue().find(item.option) is None:
            continue
        if item.proposed is None:
            changed.remove(item.option)
        else:
            changed.set(item.option, item.proposed)
    return changed


def _warning(name: str, rule: Rule, option: str, value: str) -> NotRecommended:
    return NotRecommended(
        option=option, value=value, reason=rule.reason, source=rule.source, link=rule.link, rule=name
    )


def _attention(rule: Rule, facts: Facts, found: tuple[str, ...]) -> Attention:
    link, server = facts.link, facts.server
    words = {
        "{interface}": (link.interface if link is not None else None) or "INTERFACE",
        "{server}": (server.name if server is not None else "") or "SERVER",
        "{mtu}": str((link.mtu if link is not None else None) or 9000),
    }
    steps = "\n".join(rule.how_to)
    for name, value in words.items():
        steps = steps.replace(name, value)
    return Attention(
        text=rule.attention,
        reason=rule.reason,
        evidence=found,
        source=rule.source,
        link=rule.link,
        how_to=tuple(steps.splitlines()),
    )


def _votes(name: str, rule: Rule, facts: Facts, found: tuple[str, ...]) -> list[_Vote]:
    votes = [_Vote(name, rule, option, NEGOTIATE, found) for option in rule.unset]
    votes += [_Vote(name, rule, option, None, found, keep=True) for option in rule.keep]
    for option, text in rule.set.items():
        value = compute(text, facts)
        if value is not None:
            votes.append(_Vote(name, rule, option, value, found))
    return votes


def _own(finding: Measured) -> _Vote:
    """Return a measurement of the person's own as a vote: it outranks every rule."""
    rule = Rule(
        layer="measured", reason=finding.text, source="Your own measurement", link="", confidence="high"
    )
    return _Vote("", rule, finding.option, finding.value, ())


def _recommendation(
    vote: _Vote, current: str | None, options: MountOptions, finding: Measured | None
) -> Recommendation:
    rule = vote.rule
    tunable = tunables().get(vote.option)
    return Recommendation(
        option=vote.option,
        current=current,
        proposed=vote.value,
        rule=vote.name,
        layer=rule.layer,
        reason=rule.reason,
        effect=rule.effect,
        evidence=(*vote.evidence, *([finding.text] if finding is not None and vote.name else [])),
        source=rule.source,
        link=rule.link,
        scope=rule.scope,
        risk=rule.risk,
        undo=_undo(vote, current),
        confidence=rule.confidence,
        how_to=(tunable.steps(vote.value, current) if tunable is not None and vote.value is not None else ()),
        status=finding.status if finding is not None and finding.value == vote.value else "untested",
        replaces_own=vote.option in options,
    )


def _undo(vote: _Vote, current: str | None) -> str:
    if vote.rule.scope == "host":
        return "The steps end with the way back."
    if current is not None:
        before = f"Set it back to {current or 'on'}"
    elif vote.option in tunables():
        return "Unmount the share: the next mount begins with the kernel's own value."
    else:
        before = "Take the option out again"
    if vote.rule.scope == "server":
        return f"{before}, unmount all shares of the server, and mount again."
    return f"{before} and mount again."


def grouped(items: Iterable[Recommendation]) -> list[list[Recommendation]]:
    """Return recommendations that are told together: those of one rule, where the first of them stands."""
    groups: dict[tuple[str, str], list[Recommendation]] = {}
    for item in items:
        groups.setdefault((item.rule, item.reason), []).append(item)
    return list(groups.values())


def undo_of(items: Sequence[Recommendation], name: Callable[[str], str]) -> str:
    """Return the way back of recommendations that are told together.

    Args:
        items: of one rule.
        name: returns what to call an option where each has a way back of its own.
    """
    ways = dict.fromkeys(item.undo for item in items)
    if len(ways) == 1:
        return items[0].undo
    return " ".join(f"{name(item.option)}: {item.undo}" for item in items)


def _lost(vote: _Vote, winner: _Vote) -> NotRecommended:
    return _turned_down(vote, f"The {winner.rule.layer} outranks that: {winner.rule.reason}")


def _refuted(vote: _Vote, finding: Measured) -> NotRecommended:
    return _turned_down(vote, f"Your own measurement says otherwise: {finding.text}")


def _turned_down(vote: _Vote, why: str) -> NotRecommended:
    return NotRecommended(
        option=vote.option,
        value=vote.value,
        reason=f"{vote.rule.reason} {why}",
        source=vote.rule.source,
        link=vote.rule.link,
        rule=vote.name,
    )


def _place(option: str) -> tuple[int, str]:
    return (catalogue().order(option), option)


def _unknown(facts: Facts) -> dict[str, str]:
    """Return why facts are unknown."""
    return {f"{part}.{name}": why for part, name, why in unknown_facts(facts)}

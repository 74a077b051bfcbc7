"""What to change on a mount, and why: what rules and lint say, with conflicts resolved in a stated order.

The order is: an error of lint, a measurement of one's own, the server, the workload, the link, seed, and a
warning of lint. Where two of them name the same option, the stronger one's value is proposed and the other
one is listed as not recommended. Rules and lint are asked again about the options as advised, until nothing
changes: a mount that goes over to TCP, for example, needs no sizes for UDP any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from advisor.fact_names import unknown_facts
from advisor.facts import LinkFacts, ServerFacts
from advisor.formulas import compute
from advisor.lint import Finding, apply_fix, lint
from advisor.lint_rules import lint_rules
from advisor.lint_situation import LintContext, Situation
from advisor.options import MountOptions, catalogue, implied_values
from advisor.rules import LAYERS, Confidence, Layer, Rule, Scope, evidence, rules
from advisor.tunables import tunables as known_tunables

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from advisor.facts import Facts
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
        included: whether it is part of the advised options; the person can leave each one out.
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
    included: bool = True


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
    """Something that is wrong beside the mount: no option mends it; ``how_to`` may.

    ``rule`` is the id of the rule, of the advice or of lint.
    """

    rule: str
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
        options: with every recommendation for the mount itself carried out that is not left out.
        agreed: options that are right as they are: name to reason.
        not_recommended: values that lost, or that a rule warns of.
        unknown: facts that would have mattered: part and field, as in link.rtt_s, to why it is not known.
        lacking: those of them without which “nothing to change” cannot be said, likewise spelled.
    """

    recommendations: tuple[Recommendation, ...]
    options: MountOptions
    agreed: Mapping[str, str] = field(default_factory=dict[str, str])
    not_recommended: tuple[NotRecommended, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict[str, str])
    attention: tuple[Attention, ...] = ()
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Vote:
    """What one rule, finding of lint or measurement says of one option.

    Attributes:
        name: id of the rule.
        rule: what it says; made up for lint and for measurements.
        option: canonical name.
        value: wanted, None to take the option out.
        evidence: what it rests on, one phrase each.
        keep: whether the option is right as it is, whatever its value.
        finding: of lint; its fix is made whole or not at all.
    """

    name: str
    rule: Rule
    option: str
    value: str | None
    evidence: tuple[str, ...]
    keep: bool = False
    finding: Finding | None = None

    @property
    def strength(self) -> int:
        """Whose word counts: a smaller number is stronger."""
        return LAYERS.index(self.rule.layer)


@dataclass(slots=True)
class _Ballot:
    """What is said of one state of the options."""

    votes: dict[str, list[_Vote]] = field(default_factory=dict[str, list[_Vote]])
    warned: list[NotRecommended] = field(default_factory=list[NotRecommended])
    attention: list[Attention] = field(default_factory=list[Attention])
    findings: list[Finding] = field(default_factory=list[Finding])

    def add(self, *votes: _Vote) -> None:
        for vote in votes:
            self.votes.setdefault(vote.option, []).append(vote)

    def winners(self) -> list[_Vote]:
        """Return the strongest vote for each option, the first of equals; the others are turned down.

        A finding's fix is made whole or not at all, so it has to win for each of its options.
        """
        votes = self.votes
        while True:
            best = {
                option: min(said, key=lambda vote: vote.strength) for option, said in votes.items() if said
            }
            beaten = [
                vote.finding
                for option, said in votes.items()
                for vote in said
                if vote.finding is not None and best[option].finding is not vote.finding
            ]
            self.warned += [
                _lost(vote, best[option])
                for option, said in votes.items()
                for vote in said
                if (vote.finding in beaten or not beaten)
                and vote.value != best[option].value
                and not vote.keep
            ]
            if not beaten:
                return [best[option] for option in sorted(best, key=_place)]
            votes = {
                option: [vote for vote in said if vote.finding is None or vote.finding not in beaten]
                for option, said in votes.items()
            }


def recommend(
    options: MountOptions,
    facts: Facts,
    workload: Workload = "general",
    *,
    context: LintContext | None = None,
    tunables: Mapping[str, str] | None = None,
    measured: Iterable[Measured] = (),
    without: Collection[str] = (),
) -> Advice:
    """Return what to change.

    Args:
        options: as asked for.
        facts: what was observed, or chosen by hand.
        workload: what the mount is for.
        context: where the options stand.
        tunables: name to value of what stands beside the mount, for example its readahead.
        measured: findings of tests on this mount.
        without: options and tunables whose recommendations the person leaves out.
    """
    names = {option.name if (option := catalogue().find(name)) else name for name in without}
    question = _Question(options, facts, workload, context or LintContext(), dict(tunables or {}), names)
    return _Recommender(question, measured).answer()


def lacking_facts(facts: Facts, *, share: str) -> tuple[str, ...]:
    """Return the facts without which nobody can say that there is nothing to change.

    They are the rate of the link and its round trip, on which most rules rest, and the address of a server
    that is named.

    Args:
        facts: what was observed, or chosen by hand.
        share: server:/export, "" if none was named.
    """
    link, server = facts.link or LinkFacts(), facts.server or ServerFacts()
    lacking = [] if server.address or not share else ["server.address"]
    if link.kind != "loopback":
        lacking += [f"link.{name}" for name in ("rate_bps", "rtt_s") if getattr(link, name) is None]
    return tuple(lacking)


#: So often rules and lint are asked again at most; three times are usual.
_ROUNDS = 12


class _Question(NamedTuple):
    """What is to be advised on; ``without`` are the options whose recommendations are left out."""

    options: MountOptions
    facts: Facts
    workload: Workload
    context: LintContext
    tunables: Mapping[str, str]
    without: Collection[str]


class _Recommender:
    """The state of one question: the options and tunables as advised so far, and who has changed what."""

    def __init__(self, question: _Question, measured: Iterable[Measured]) -> None:
        self._question = question
        self._tested = {finding.option: finding for finding in measured}
        self._advised, self._tuned = question.options.copy(), dict(question.tunables)
        #: Option to the vote that has changed it last, and to the states that it has had.
        self._decided: dict[str, _Vote] = {}
        self._seen: dict[str, list[tuple[str, ...]]] = {}
        self._left_out: dict[str, _Vote] = {}
        self._warned: list[NotRecommended] = []

    def answer(self) -> Advice:
        """Ask rules and lint about the options, change them, and ask again until nothing changes."""
        ballot, winners = self._ask()
        for _ in range(_ROUNDS):
            if not self._change(winners):
                break
            ballot, winners = self._ask()
        changed = {option: vote for option, vote in self._decided.items() if self._differs(option)}
        left_out = {option: vote for option, vote in self._left_out.items() if option not in changed}
        items = {option: self._recommendation(option, vote) for option, vote in changed.items()}
        items |= {option: self._not_taken(vote) for option, vote in left_out.items()}
        turned_down = self._not_recommended(ballot)
        return Advice(
            recommendations=tuple(items[option] for option in sorted(items, key=_place)),
            options=self._advised,
            agreed={
                vote.option: vote.rule.reason
                for vote in winners
                if vote.option not in items and vote.finding is None and self._is_so(vote)
            },
            not_recommended=turned_down,
            unknown=_unknown(self._question.facts),
            attention=(*ballot.attention, *self._open(ballot, {item.rule for item in turned_down})),
            lacking=lacking_facts(self._question.facts, share=self._question.context.share),
        )

    def _open(self, ballot: _Ballot, turned_down: Collection[str]) -> list[Attention]:
        """Return what lint still finds in the options as advised, and that nothing else tells of."""
        return [
            _told(finding, self._advised)
            for finding in ballot.findings
            if finding.rule not in turned_down
            # The person knows of what is left out, whoever has said it.
            and not any(vote.option in self._left_out for vote in _of_finding(finding, self._advised))
        ]

    def _ask(self) -> tuple[_Ballot, list[_Vote]]:
        """Return what rules, lint and measurements say of the options as they are now."""
        ballot = _Ballot()
        self._ask_rules(ballot)
        for finding in lint(self._advised, context=self._question.context, facts=self._question.facts):
            if finding.severity != "info" or lint_rules()[finding.rule].advised:
                ballot.findings.append(finding)
                ballot.add(*_of_finding(finding, self._advised))
        ballot.add(*(_own(own) for own in self._tested.values() if own.status == "confirmed"))
        winners = [vote for vote in ballot.winners() if not self._refutes(vote, ballot)]
        if not self._warned:
            self._warned = ballot.warned
        return ballot, winners

    def _ask_rules(self, ballot: _Ballot) -> None:
        facts = self._question.facts
        situation = Situation(self._advised, self._question.context, facts)
        for name, rule in rules().items():
            found = evidence(rule, facts, situation, self._question.workload)
            if found is None:
                continue
            ballot.add(*_votes(name, rule, facts, tuple(found)))
            for option, value in rule.avoid.items():
                if situation.values.get(option) == value:
                    ballot.add(_Vote(name, rule, option, NEGOTIATE, tuple(found)))
                else:
                    ballot.warned.append(_warning(name, rule, option, value))
            if rule.attention:
                ballot.attention.append(_attention(name, rule, facts, tuple(found)))

    def _refutes(self, vote: _Vote, ballot: _Ballot) -> bool:
        """Whether a measurement speaks against a vote; what is an error is no matter of measurements."""
        finding = self._tested.get(vote.option)
        if finding is None or finding.status != "refuted" or vote.rule.layer == "error":
            return False
        if finding.value != vote.value:
            return False
        ballot.warned.append(_refuted(vote, finding))
        return True

    def _change(self, winners: list[_Vote]) -> bool:
        """Carry the votes out, the strongest first; return whether anything has changed.

        What lint mends comes alone: the rules are asked about options that are right in themselves.
        """
        left = self._left(winners)
        by_strength = sorted(winners, key=lambda vote: vote.strength)
        return self._carry_out_all([vote for vote in by_strength if vote.finding is not None], left) or (
            self._carry_out_all([vote for vote in by_strength if vote.finding is None], left)
        )

    def _carry_out_all(self, votes: list[_Vote], left: Mapping[str, str]) -> bool:
        changed = False
        for vote in votes:
            if self._is_so(vote, left):
                continue
            if self._is_left_out(vote):
                self._left_out[vote.option] = vote
            elif self._carry_out(vote):
                changed = True
        return changed

    def _is_left_out(self, vote: _Vote) -> bool:
        options = {vote.option}
        if vote.finding is not None:
            options |= {other.option for other in _of_finding(vote.finding, self._advised)}
        return not options.isdisjoint(self._question.without)

    def _carry_out(self, vote: _Vote) -> bool:
        """Make one change, unless it would go round in circles; return whether it was made."""
        before, tuned = self._advised, dict(self._tuned)
        try:
            after = _with(before, vote, tuned)
        except ValueError:  # an open quotation mark, say, that would swallow the new item
            return False
        touched = [
            name
            for name in dict.fromkeys([*_names(before), *_names(after), vote.option])
            if _state(before, self._tuned, name) != _state(after, tuned, name)
        ]
        for name in touched:
            state = _state(after, tuned, name)
            # A way back to what was there at first is gone once, so that two rules cannot disagree for ever.
            seen = self._seen.get(name, [])
            decided = self._decided.get(name)
            if decided is not None and (
                state in seen[1:]
                or seen.count(state) > 1
                or (state in seen and decided.rule.layer == "error")
            ):
                self._warned.append(_lost(vote, decided))
                return False
        for name in touched:
            self._seen.setdefault(name, [_state(before, self._tuned, name)]).append(
                _state(after, tuned, name)
            )
            self._decided[name] = vote
        self._advised, self._tuned = after, tuned
        return bool(touched)

    def _left(self, winners: list[_Vote]) -> dict[str, str]:
        """Return what is in force once the options that are to go are gone: noac implies others."""
        remaining = self._advised.copy()
        for vote in winners:
            if vote.value is None and not vote.keep and not self._is_left_out(vote):
                remaining.remove(vote.option)
        return implied_values(remaining) | self._tuned

    def _is_so(self, vote: _Vote, left: Mapping[str, str] | None = None) -> bool:
        """Whether nothing needs to change for a vote."""
        if vote.keep:
            return True
        if vote.finding is not None:
            return apply_fix(self._advised, vote.finding) == self._advised
        if vote.value is None:
            return vote.option not in self._advised.values() | self._tuned
        left = implied_values(self._advised) | self._tuned if left is None else left
        return _in_force(vote.option, vote.value, left)

    def _differs(self, option: str) -> bool:
        return _state(self._question.options, self._question.tunables, option) != _state(
            self._advised, self._tuned, option
        )

    def _not_recommended(self, ballot: _Ballot) -> tuple[NotRecommended, ...]:
        """Return what lost or is warned of, at first or in the end, without what is proposed in the end."""
        left = implied_values(self._advised) | self._tuned
        found = {
            (item.option, item.value, item.rule): item
            for item in (*self._warned, *ballot.warned)
            if not _in_force(item.option, item.value, left)
        }
        return tuple(found.values())

    def _recommendation(self, option: str, vote: _Vote) -> Recommendation:
        """Return a change that is part of the advised options."""
        proposed = (self._advised.values() | self._tuned).get(option)
        return self._told_of(replace(vote, option=option, value=proposed))

    def _not_taken(self, vote: _Vote) -> Recommendation:
        return replace(self._told_of(vote), included=False)

    def _told_of(self, vote: _Vote) -> Recommendation:
        current = _current(self._question.options, vote.option, vote.value)
        if vote.option in known_tunables():
            current = self._question.tunables.get(vote.option)
        return _recommendation(vote, current, self._question.options, self._tested.get(vote.option))


def _warning(name: str, rule: Rule, option: str, value: str) -> NotRecommended:
    return NotRecommended(
        option=option, value=value, reason=rule.reason, source=rule.source, link=rule.link, rule=name
    )


def _attention(name: str, rule: Rule, facts: Facts, found: tuple[str, ...]) -> Attention:
    link, server = facts.link, facts.server
    words = {
        "{interface}": (link.interface if link is not None else None) or "INTERFACE",
        "{server}": (server.name if server is not None else "") or "SERVER",
        "{mtu}": str((link.mtu if link is not None else None) or 9000),
    }
    steps = "\n".join(rule.how_to)
    for place, value in words.items():
        steps = steps.replace(place, value)
    return Attention(
        rule=name,
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


#: Of lint the severity, as a layer.
_OF_LINT: dict[str, tuple[Layer, Confidence]] = {
    "error": ("error", "high"),
    "warning": ("warning", "medium"),
    "info": ("warning", "high"),
}


def _of_finding(finding: Finding, options: MountOptions) -> list[_Vote]:
    """Return a finding of lint as votes, one for each option that its fix changes; none if it has no fix."""
    fixed = apply_fix(options, finding)
    layer, confidence = _OF_LINT[finding.severity]
    values = fixed.values()
    votes: list[_Vote] = []
    for option in dict.fromkeys([*_names(options), *_names(fixed)]):
        if _state(options, {}, option) == _state(fixed, {}, option):
            continue
        known = catalogue().find(option)
        rule = Rule(
            layer=layer,
            reason=f"{finding.title} {finding.why}",
            source=finding.source,
            link="",
            confidence=confidence,
            scope="server" if known is not None and known.scope == "client" else "mount",
        )
        evidence = _found_in(finding, options)
        votes.append(_Vote(finding.rule, rule, option, values.get(option), evidence, finding=finding))
    return votes


def _told(finding: Finding, options: MountOptions) -> Attention:
    """Return a finding of lint that no change of options takes away."""
    return Attention(
        rule=finding.rule,
        text=finding.title,
        reason=finding.why,
        evidence=_found_in(finding, options),
        source=finding.source,
        link="",
        how_to=finding.mend,
    )


def _found_in(finding: Finding, options: MountOptions) -> tuple[str, ...]:
    items = [item for name in finding.options for item in _state(options, {}, name)]
    return (f"in the options: {', '.join(items)}",) if items else ()


def _names(options: MountOptions) -> list[str]:
    return [catalogue().read_item(item)[1] for item in options if item]


def _state(options: MountOptions, tunables: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return the items that write an option, or the value of a tunable."""
    if name in tunables:
        return (tunables[name],)
    return tuple(item for item in options if item and catalogue().read_item(item)[1] == name)


def _current(options: MountOptions, name: str, proposed: str | None) -> str | None:
    """Return an option's value in force; its items as written where only the spelling is to change."""
    value = options.values().get(name)
    return ",".join(_state(options, {}, name)) if value is not None and value == proposed else value


def _in_force(option: str, value: str | None, values: Mapping[str, str]) -> bool:
    """Whether a value is in force, given or by default; None is “not given”."""
    known = catalogue().find(option)
    if option in values or known is None or value is None:
        return values.get(option) == value
    return known.default_for(values.get("vers", ""), values.get("proto", "")) == value


def _with(options: MountOptions, vote: _Vote, tunables: dict[str, str]) -> MountOptions:
    """Return the options after a change; one of a tunable is written into the mapping.

    Raises:
        ValueError: if the value cannot be written.
    """
    if vote.finding is not None:
        return apply_fix(options, vote.finding)
    if vote.option in known_tunables():
        if vote.value is not None:
            tunables[vote.option] = vote.value
        return options
    changed = options.copy()
    if vote.value is None:
        changed.remove(vote.option)
    else:
        changed.set(vote.option, vote.value)
    return changed


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
    tunable = known_tunables().get(vote.option)
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


def written_value(option: str, value: str) -> str:
    """Return a value as it is written: the word that has it, as in nolock, or the value itself."""
    known = catalogue().find(option)
    return (known.word_for(value) if known is not None else None) or value


def _undo(vote: _Vote, current: str | None) -> str:
    if vote.rule.scope == "host":
        return "The steps end with the way back."
    if current is not None:
        before = f"Set it back to {written_value(vote.option, current) or 'on'}"
    elif vote.option in known_tunables():
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


#: Whose word overrides another one, as a sentence's beginning.
_WHO: dict[Layer, str] = {
    "error": "It would be an error",
    "measured": "Your own measurement overrides that",
    "server": "What this server needs overrides that",
    "workload": "What the mount is for overrides that",
    "link": "The link overrides that",
    "seed": "What was measured elsewhere overrides that",
    "warning": "Lint warns of that",
}


def _lost(vote: _Vote, winner: _Vote) -> NotRecommended:
    return _turned_down(vote, f"{_WHO[winner.rule.layer]}: {winner.rule.reason}")


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

"""Recommendations: what to change on a mount, and why, from rules, lint and measurements.

Conflicts are resolved in this order: an error of lint, a measurement of the user, the server, the workload,
the link, seed, and a warning of lint. Where two of them name the same option, the value of the stronger one
is proposed and the other one is listed as not recommended. Rules and lint are evaluated again on the options
as advised until nothing changes: a mount that changes to TCP, for example, needs no sizes for UDP any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from advisor.facts import LinkFacts, ServerFacts, unknown_facts
from advisor.lint import Finding, apply_fix, lint
from advisor.lint_rules import LintContext, LintInput, lint_rules
from advisor.options import MountOptions, catalogue, implied_values
from advisor.rules import (
    LAYERS,
    AdviceRule,
    AdviceScope,
    Confidence,
    Layer,
    advice_rules,
    compute_value,
    rule_evidence,
)
from advisor.tunables import tunables as known_tunables

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from advisor.facts import Facts
    from advisor.rules import Workload

MeasurementStatus = Literal["untested", "confirmed", "refuted"]

#: Proposed instead of a value: take the option out, and client and server negotiate.
NEGOTIATE = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredOption:
    """What a test on this mount found of one option.

    Attributes:
        option: its name.
        value: canonical, None for “not given”.
        status: whether it was found better (confirmed) or not (refuted) than what was there.
        text: the finding, one sentence with its figures.
    """

    option: str
    value: str | None
    status: MeasurementStatus
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
    scope: AdviceScope
    risk: str
    undo: str
    confidence: Confidence
    how_to: tuple[str, ...] = ()
    status: MeasurementStatus = "untested"
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
class SystemWarning:
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
    attention: tuple[SystemWarning, ...] = ()
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _RuleHit:
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
    rule: AdviceRule
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
class _Evaluation:
    """What is said of one state of the options."""

    hits: dict[str, list[_RuleHit]] = field(default_factory=dict[str, list[_RuleHit]])
    warned: list[NotRecommended] = field(default_factory=list[NotRecommended])
    attention: list[SystemWarning] = field(default_factory=list[SystemWarning])
    findings: list[Finding] = field(default_factory=list[Finding])

    def add(self, *hits: _RuleHit) -> None:
        for hit in hits:
            self.hits.setdefault(hit.option, []).append(hit)

    def strongest(self) -> list[_RuleHit]:
        """Return the strongest hit for each option, the first of equals; the others are turned down.

        A finding's fix is made whole or not at all, so it has to win for each of its options.
        """
        hits = self.hits
        while True:
            best = {option: min(said, key=lambda hit: hit.strength) for option, said in hits.items() if said}
            beaten = [
                hit.finding
                for option, said in hits.items()
                for hit in said
                if hit.finding is not None and best[option].finding is not hit.finding
            ]
            self.warned += [
                _overridden_value(hit, best[option])
                for option, said in hits.items()
                for hit in said
                if (hit.finding in beaten or not beaten) and hit.value != best[option].value and not hit.keep
            ]
            if not beaten:
                return [best[option] for option in sorted(best, key=_sort_key)]
            hits = {
                option: [hit for hit in said if hit.finding is None or hit.finding not in beaten]
                for option, said in hits.items()
            }


def recommend(
    options: MountOptions,
    facts: Facts,
    workload: Workload = "general",
    *,
    context: LintContext | None = None,
    tunables: Mapping[str, str] | None = None,
    measured: Iterable[MeasuredOption] = (),
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
    question = _AdviceRequest(options, facts, workload, context or LintContext(), dict(tunables or {}), names)
    return _Recommender(question, measured).answer()


def missing_facts(facts: Facts, *, share: str) -> tuple[str, ...]:
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
_MAX_ROUNDS = 12


class _AdviceRequest(NamedTuple):
    """What is to be advised on; ``without`` are the options whose recommendations are left out."""

    options: MountOptions
    facts: Facts
    workload: Workload
    context: LintContext
    tunables: Mapping[str, str]
    without: Collection[str]


class _Recommender:
    """The state of one question: the options and tunables as advised so far, and who has changed what."""

    def __init__(self, question: _AdviceRequest, measured: Iterable[MeasuredOption]) -> None:
        self._question = question
        self._measured = {finding.option: finding for finding in measured}
        self._advised, self._advised_tunables = question.options.copy(), dict(question.tunables)
        #: Option to the hit that has changed it last, and to the states that it has had.
        self._decided: dict[str, _RuleHit] = {}
        self._seen: dict[str, list[tuple[str, ...]]] = {}
        self._left_out: dict[str, _RuleHit] = {}
        self._warned: list[NotRecommended] = []

    def answer(self) -> Advice:
        """Ask rules and lint about the options, change them, and ask again until nothing changes."""
        evaluation, winners = self._ask()
        for _ in range(_MAX_ROUNDS):
            if not self._change(winners):
                break
            evaluation, winners = self._ask()
        changed = {option: hit for option, hit in self._decided.items() if self._differs(option)}
        left_out = {option: hit for option, hit in self._left_out.items() if option not in changed}
        items = {option: self._recommendation(option, hit) for option, hit in changed.items()}
        items |= {option: self._excluded_recommendation(hit) for option, hit in left_out.items()}
        turned_down = self._not_recommended(evaluation)
        return Advice(
            recommendations=tuple(items[option] for option in sorted(items, key=_sort_key)),
            options=self._advised,
            agreed={
                hit.option: hit.rule.reason
                for hit in winners
                if hit.option not in items and hit.finding is None and self._is_satisfied(hit)
            },
            not_recommended=turned_down,
            unknown=_unknown_reasons(self._question.facts),
            attention=(*evaluation.attention, *self._open(evaluation, {item.rule for item in turned_down})),
            lacking=missing_facts(self._question.facts, share=self._question.context.share),
        )

    def _open(self, evaluation: _Evaluation, turned_down: Collection[str]) -> list[SystemWarning]:
        """Return what lint still finds in the options as advised, and that nothing else tells of."""
        return [
            _warning_of_finding(finding, self._advised)
            for finding in evaluation.findings
            if finding.rule not in turned_down
            # The person knows of what is left out, whoever has said it.
            and not any(hit.option in self._left_out for hit in _hits_of_finding(finding, self._advised))
        ]

    def _ask(self) -> tuple[_Evaluation, list[_RuleHit]]:
        """Return what rules, lint and measurements say of the options as they are now."""
        evaluation = _Evaluation()
        self._evaluate_rules(evaluation)
        for finding in lint(self._advised, context=self._question.context, facts=self._question.facts):
            if finding.severity != "info" or lint_rules()[finding.rule].advised:
                evaluation.findings.append(finding)
                evaluation.add(*_hits_of_finding(finding, self._advised))
        evaluation.add(
            *(_hit_of_measurement(own) for own in self._measured.values() if own.status == "confirmed")
        )
        winners = [hit for hit in evaluation.strongest() if not self._is_refuted(hit, evaluation)]
        if not self._warned:
            self._warned = evaluation.warned
        return evaluation, winners

    def _evaluate_rules(self, evaluation: _Evaluation) -> None:
        facts = self._question.facts
        situation = LintInput(self._advised, self._question.context, facts)
        for name, rule in advice_rules().items():
            found = rule_evidence(rule, facts, situation, self._question.workload)
            if found is None:
                continue
            evaluation.add(*_hits_of_rule(name, rule, facts, tuple(found)))
            for option, value in rule.avoid.items():
                if situation.values.get(option) == value:
                    evaluation.add(_RuleHit(name, rule, option, NEGOTIATE, tuple(found)))
                else:
                    evaluation.warned.append(_warned_value(name, rule, option, value))
            if rule.attention:
                evaluation.attention.append(_system_warning(name, rule, facts, tuple(found)))

    def _is_refuted(self, hit: _RuleHit, evaluation: _Evaluation) -> bool:
        """Whether a measurement speaks against a hit; what is an error is no matter of measurements."""
        finding = self._measured.get(hit.option)
        if finding is None or finding.status != "refuted" or hit.rule.layer == "error":
            return False
        if finding.value != hit.value:
            return False
        evaluation.warned.append(_refuted_value(hit, finding))
        return True

    def _change(self, winners: list[_RuleHit]) -> bool:
        """Carry the hits out, the strongest first; return whether anything has changed.

        What lint mends comes alone: the rules are asked about options that are right in themselves.
        """
        left = self._left(winners)
        by_strength = sorted(winners, key=lambda hit: hit.strength)
        return self._apply_all([hit for hit in by_strength if hit.finding is not None], left) or (
            self._apply_all([hit for hit in by_strength if hit.finding is None], left)
        )

    def _apply_all(self, hits: list[_RuleHit], left: Mapping[str, str]) -> bool:
        changed = False
        for hit in hits:
            if self._is_satisfied(hit, left):
                continue
            if self._is_left_out(hit):
                self._left_out[hit.option] = hit
            elif self._carry_out(hit):
                changed = True
        return changed

    def _is_left_out(self, hit: _RuleHit) -> bool:
        options = {hit.option}
        if hit.finding is not None:
            options |= {other.option for other in _hits_of_finding(hit.finding, self._advised)}
        return not options.isdisjoint(self._question.without)

    def _carry_out(self, hit: _RuleHit) -> bool:
        """Make one change, unless it would go round in circles; return whether it was made."""
        before, tuned = self._advised, dict(self._advised_tunables)
        try:
            after = _apply_hit(before, hit, tuned)
        except ValueError:  # an open quotation mark, say, that would swallow the new item
            return False
        touched = [
            name
            for name in dict.fromkeys([*_option_names(before), *_option_names(after), hit.option])
            if _current_items(before, self._advised_tunables, name) != _current_items(after, tuned, name)
        ]
        for name in touched:
            state = _current_items(after, tuned, name)
            # A way back to what was there at first is gone once, so that two rules cannot disagree for ever.
            seen = self._seen.get(name, [])
            decided = self._decided.get(name)
            if decided is not None and (
                state in seen[1:]
                or seen.count(state) > 1
                or (state in seen and decided.rule.layer == "error")
            ):
                self._warned.append(_overridden_value(hit, decided))
                return False
        for name in touched:
            self._seen.setdefault(name, [_current_items(before, self._advised_tunables, name)]).append(
                _current_items(after, tuned, name)
            )
            self._decided[name] = hit
        self._advised, self._advised_tunables = after, tuned
        return bool(touched)

    def _left(self, winners: list[_RuleHit]) -> dict[str, str]:
        """Return what is in force once the options that are to go are gone: noac implies others."""
        remaining = self._advised.copy()
        for hit in winners:
            if hit.value is None and not hit.keep and not self._is_left_out(hit):
                remaining.remove(hit.option)
        return implied_values(remaining) | self._advised_tunables

    def _is_satisfied(self, hit: _RuleHit, left: Mapping[str, str] | None = None) -> bool:
        """Whether nothing needs to change for a hit."""
        if hit.keep:
            return True
        if hit.finding is not None:
            return apply_fix(self._advised, hit.finding) == self._advised
        if hit.value is None:
            return hit.option not in self._advised.values() | self._advised_tunables
        left = implied_values(self._advised) | self._advised_tunables if left is None else left
        return _is_in_force(hit.option, hit.value, left)

    def _differs(self, option: str) -> bool:
        return _current_items(self._question.options, self._question.tunables, option) != _current_items(
            self._advised, self._advised_tunables, option
        )

    def _not_recommended(self, evaluation: _Evaluation) -> tuple[NotRecommended, ...]:
        """Return what lost or is warned of, at first or in the end, without what is proposed in the end."""
        left = implied_values(self._advised) | self._advised_tunables
        found = {
            (item.option, item.value, item.rule): item
            for item in (*self._warned, *evaluation.warned)
            if not _is_in_force(item.option, item.value, left)
        }
        return tuple(found.values())

    def _recommendation(self, option: str, hit: _RuleHit) -> Recommendation:
        """Return a change that is part of the advised options."""
        proposed = (self._advised.values() | self._advised_tunables).get(option)
        return self._full_recommendation(replace(hit, option=option, value=proposed))

    def _excluded_recommendation(self, hit: _RuleHit) -> Recommendation:
        return replace(self._full_recommendation(hit), included=False)

    def _full_recommendation(self, hit: _RuleHit) -> Recommendation:
        current = _current_value(self._question.options, hit.option, hit.value)
        if hit.option in known_tunables():
            current = self._question.tunables.get(hit.option)
        return _recommendation(hit, current, self._question.options, self._measured.get(hit.option))


def _warned_value(name: str, rule: AdviceRule, option: str, value: str) -> NotRecommended:
    return NotRecommended(
        option=option, value=value, reason=rule.reason, source=rule.source, link=rule.link, rule=name
    )


def _system_warning(name: str, rule: AdviceRule, facts: Facts, found: tuple[str, ...]) -> SystemWarning:
    link, server = facts.link, facts.server
    words = {
        "{interface}": (link.interface if link is not None else None) or "INTERFACE",
        "{server}": (server.name if server is not None else "") or "SERVER",
        "{mtu}": str((link.mtu if link is not None else None) or 9000),
    }
    steps = "\n".join(rule.how_to)
    for place, value in words.items():
        steps = steps.replace(place, value)
    return SystemWarning(
        rule=name,
        text=rule.attention,
        reason=rule.reason,
        evidence=found,
        source=rule.source,
        link=rule.link,
        how_to=tuple(steps.splitlines()),
    )


def _hits_of_rule(name: str, rule: AdviceRule, facts: Facts, found: tuple[str, ...]) -> list[_RuleHit]:
    hits = [_RuleHit(name, rule, option, NEGOTIATE, found) for option in rule.unset]
    hits += [_RuleHit(name, rule, option, None, found, keep=True) for option in rule.keep]
    for option, text in rule.set.items():
        value = compute_value(text, facts)
        if value is not None:
            hits.append(_RuleHit(name, rule, option, value, found))
    return hits


#: Of lint the severity, as a layer.
_LINT_LAYERS: dict[str, tuple[Layer, Confidence]] = {
    "error": ("error", "high"),
    "warning": ("warning", "medium"),
    "info": ("warning", "high"),
}


def _hits_of_finding(finding: Finding, options: MountOptions) -> list[_RuleHit]:
    """Return a finding of lint as hits, one for each option that its fix changes; none if it has no fix."""
    fixed = apply_fix(options, finding)
    layer, confidence = _LINT_LAYERS[finding.severity]
    values = fixed.values()
    hits: list[_RuleHit] = []
    for option in dict.fromkeys([*_option_names(options), *_option_names(fixed)]):
        if _current_items(options, {}, option) == _current_items(fixed, {}, option):
            continue
        known = catalogue().find(option)
        rule = AdviceRule(
            layer=layer,
            reason=f"{finding.title} {finding.why}",
            source=finding.source,
            link="",
            confidence=confidence,
            scope="server" if known is not None and known.scope == "client" else "mount",
        )
        evidence = _evidence_of_finding(finding, options)
        hits.append(_RuleHit(finding.rule, rule, option, values.get(option), evidence, finding=finding))
    return hits


def _warning_of_finding(finding: Finding, options: MountOptions) -> SystemWarning:
    """Return a finding of lint that no change of options takes away."""
    return SystemWarning(
        rule=finding.rule,
        text=finding.title,
        reason=finding.why,
        evidence=_evidence_of_finding(finding, options),
        source=finding.source,
        link="",
        how_to=finding.mend,
    )


def _evidence_of_finding(finding: Finding, options: MountOptions) -> tuple[str, ...]:
    items = [item for name in finding.options for item in _current_items(options, {}, name)]
    return (f"in the options: {', '.join(items)}",) if items else ()


def _option_names(options: MountOptions) -> list[str]:
    return [catalogue().read_item(item)[1] for item in options if item]


def _current_items(options: MountOptions, tunables: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return the items that write an option, or the value of a tunable."""
    if name in tunables:
        return (tunables[name],)
    return tuple(item for item in options if item and catalogue().read_item(item)[1] == name)


def _current_value(options: MountOptions, name: str, proposed: str | None) -> str | None:
    """Return an option's value in force; its items as written where only the spelling is to change."""
    value = options.values().get(name)
    return ",".join(_current_items(options, {}, name)) if value is not None and value == proposed else value


def _is_in_force(option: str, value: str | None, values: Mapping[str, str]) -> bool:
    """Whether a value is in force, given or by default; None is “not given”."""
    known = catalogue().find(option)
    if option in values or known is None or value is None:
        return values.get(option) == value
    return known.default_for(values.get("vers", ""), values.get("proto", "")) == value


def _apply_hit(options: MountOptions, hit: _RuleHit, tunables: dict[str, str]) -> MountOptions:
    """Return the options after a change; one of a tunable is written into the mapping.

    Raises:
        ValueError: if the value cannot be written.
    """
    if hit.finding is not None:
        return apply_fix(options, hit.finding)
    if hit.option in known_tunables():
        if hit.value is not None:
            tunables[hit.option] = hit.value
        return options
    changed = options.copy()
    if hit.value is None:
        changed.remove(hit.option)
    else:
        changed.set(hit.option, hit.value)
    return changed


def _hit_of_measurement(finding: MeasuredOption) -> _RuleHit:
    """Return a measurement of the person's own as a hit: it outranks every rule."""
    rule = AdviceRule(
        layer="measured", reason=finding.text, source="Your own measurement", link="", confidence="high"
    )
    return _RuleHit("", rule, finding.option, finding.value, ())


def _recommendation(
    hit: _RuleHit, current: str | None, options: MountOptions, finding: MeasuredOption | None
) -> Recommendation:
    rule = hit.rule
    tunable = known_tunables().get(hit.option)
    return Recommendation(
        option=hit.option,
        current=current,
        proposed=hit.value,
        rule=hit.name,
        layer=rule.layer,
        reason=rule.reason,
        effect=rule.effect,
        evidence=(*hit.evidence, *([finding.text] if finding is not None and hit.name else [])),
        source=rule.source,
        link=rule.link,
        scope=rule.scope,
        risk=rule.risk,
        undo=_undo_sentence(hit, current),
        confidence=rule.confidence,
        how_to=(tunable.steps(hit.value, current) if tunable is not None and hit.value is not None else ()),
        status=finding.status if finding is not None and finding.value == hit.value else "untested",
        replaces_own=hit.option in options,
    )


def spelled_value(option: str, value: str) -> str:
    """Return a value as it is written: the word that has it, as in nolock, or the value itself."""
    known = catalogue().find(option)
    return (known.word_for(value) if known is not None else None) or value


def _undo_sentence(hit: _RuleHit, current: str | None) -> str:
    if hit.rule.scope == "host":
        return "The steps end with the way back."
    if current is not None:
        before = f"Set it back to {spelled_value(hit.option, current) or 'on'}"
    elif hit.option in known_tunables():
        return "Unmount the share: the next mount begins with the kernel's own value."
    else:
        before = "Take the option out again"
    if hit.rule.scope == "server":
        return f"{before}, unmount all shares of the server, and mount again."
    return f"{before} and mount again."


def group_recommendations(items: Iterable[Recommendation]) -> list[list[Recommendation]]:
    """Return recommendations that are told together: those of one rule, where the first of them stands."""
    groups: dict[tuple[str, str], list[Recommendation]] = {}
    for item in items:
        groups.setdefault((item.rule, item.reason), []).append(item)
    return list(groups.values())


def undo_text(items: Sequence[Recommendation], name: Callable[[str], str]) -> str:
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
_OVERRIDE_PHRASES: dict[Layer, str] = {
    "error": "It would be an error",
    "measured": "Your own measurement overrides that",
    "server": "What this server needs overrides that",
    "workload": "What the mount is for overrides that",
    "link": "The link overrides that",
    "seed": "What was measured elsewhere overrides that",
    "warning": "Lint warns of that",
}


def _overridden_value(hit: _RuleHit, winner: _RuleHit) -> NotRecommended:
    return _rejected_value(hit, f"{_OVERRIDE_PHRASES[winner.rule.layer]}: {winner.rule.reason}")


def _refuted_value(hit: _RuleHit, finding: MeasuredOption) -> NotRecommended:
    return _rejected_value(hit, f"Your own measurement says otherwise: {finding.text}")


def _rejected_value(hit: _RuleHit, why: str) -> NotRecommended:
    return NotRecommended(
        option=hit.option,
        value=hit.value,
        reason=f"{hit.rule.reason} {why}",
        source=hit.rule.source,
        link=hit.rule.link,
        rule=hit.name,
    )


def _sort_key(option: str) -> tuple[int, str]:
    return (catalogue().order(option), option)


def _unknown_reasons(facts: Facts) -> dict[str, str]:
    """Return why facts are unknown."""
    return {f"{part}.{name}": why for part, name, why in unknown_facts(facts)}

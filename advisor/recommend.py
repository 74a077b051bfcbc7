"""Recommendations: proposed changes of a mount and their reasons, from rules, lint and measurements.

Each rule belongs to a layer. From strongest to weakest: a lint error, a measurement by the user, the server,
the workload, the link, a published study (seed), a lint warning. Where two layers name the same option, the
value of the stronger one is proposed and the other value is listed as not recommended. Rules and lint are
evaluated again on the changed options until nothing changes: a mount that changes to TCP, for example, no
longer needs sizes for UDP.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from advisor.facts import LinkFacts, ServerFacts, unknown_facts
from advisor.finding import Finding
from advisor.lint import apply_fix, lint
from advisor.lint_rules import LintContext, LintInput, lint_rules
from advisor.options import MountOptions, catalogue, implied_values
from advisor.recommendation import (
    LAYERS,
    Confidence,
    Layer,
    MeasuredOption,
    NotRecommended,
    Recommendation,
    SystemWarning,
)
from advisor.rules import AdviceRule, advice_rules, compute_value, rule_evidence
from advisor.tunables import tunables as known_tunables

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from advisor.facts import Facts
    from advisor.recommendation import Workload


#: Proposed instead of a value: remove the option, so that client and server negotiate the value.
NEGOTIATE = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The result of :func:`recommend`.

    Attributes:
        attention: problems that no mount option solves.
        recommendations: proposed changes, in the catalogue's order.
        options: mount options after all included recommendations with scope mount or server.
        agreed: options whose value needs no change: name to reason.
        not_recommended: values that a stronger rule overrides, or that a rule warns against.
        unknown: unknown facts: part and field, as in link.rtt_s, to the reason.
        lacking: unknown facts without which “nothing to change” cannot be said, spelled as in unknown.
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
    """A “hit”: the value that one rule, lint finding or measurement proposes for one option.

    Attributes:
        name: id of the rule.
        rule: the rule; synthesized for lint findings and measurements.
        option: canonical name of the option or tunable.
        value: proposed value, None to remove the option.
        evidence: observed facts behind the rule, one phrase each.
        keep: whether the rule only states that the option needs no change, whatever its value.
        finding: the lint finding; its fix is applied completely or not at all. None for rules.
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
        """Position of the rule's layer; a smaller number is stronger."""
        return LAYERS.index(self.rule.layer)


@dataclass(slots=True)
class _Evaluation:
    """Hits, warnings and lint findings for one state of the options."""

    hits: dict[str, list[_RuleHit]] = field(default_factory=dict[str, list[_RuleHit]])
    warned: list[NotRecommended] = field(default_factory=list[NotRecommended])
    attention: list[SystemWarning] = field(default_factory=list[SystemWarning])
    findings: list[Finding] = field(default_factory=list[Finding])

    def add(self, *hits: _RuleHit) -> None:
        for hit in hits:
            self.hits.setdefault(hit.option, []).append(hit)

    def strongest(self) -> list[_RuleHit]:
        """Return the strongest hit for each option; of equally strong hits the first.

        The values of the other hits are added to ``warned``. A lint fix is applied completely or not at all,
        so its finding has to win for each of its options.
        """
        hits = self.hits
        while True:
            best = {
                option: min(candidates, key=lambda hit: hit.strength)
                for option, candidates in hits.items()
                if candidates
            }
            overridden = [
                hit.finding
                for option, candidates in hits.items()
                for hit in candidates
                if hit.finding is not None and best[option].finding is not hit.finding
            ]
            self.warned += [
                _overridden_value(hit, best[option])
                for option, candidates in hits.items()
                for hit in candidates
                if (hit.finding in overridden or not overridden)
                and hit.value != best[option].value
                and not hit.keep
            ]
            if not overridden:
                return [best[option] for option in sorted(best, key=_sort_key)]
            hits = {
                option: [hit for hit in candidates if hit.finding is None or hit.finding not in overridden]
                for option, candidates in hits.items()
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
    """Return recommendations for the options of one mount.

    Args:
        options: requested mount options.
        facts: observed facts, or facts that the user set manually.
        workload: main use of the mount.
        context: the entry that the options belong to; None for a mount without an entry.
        tunables: current values of kernel tunables, for example of the readahead: name to value.
        measured: results of tests on this mount.
        without: options and tunables whose recommendations the user excludes.
    """
    names = {option.name if (option := catalogue().find(name)) else name for name in without}
    request = _AdviceRequest(options, facts, workload, context or LintContext(), dict(tunables or {}), names)
    return _Recommender(request, measured).answer()


def missing_facts(facts: Facts, *, share: str) -> tuple[str, ...]:
    """Return the unknown facts without which “nothing to change” cannot be said.

    These are the link's rate and round-trip time, which most rules need, and the address of a given server.

    Args:
        facts: observed facts, or facts that the user set manually.
        share: server:/export, "" if unknown.
    """
    link, server = facts.link or LinkFacts(), facts.server or ServerFacts()
    lacking = [] if server.address or not share else ["server.address"]
    if link.kind != "loopback":
        lacking += [f"link.{name}" for name in ("rate_bps", "rtt_s") if getattr(link, name) is None]
    return tuple(lacking)


#: Upper limit for evaluations of rules and lint; three are usual.
_MAX_ROUNDS = 12


class _AdviceRequest(NamedTuple):
    """Arguments of :func:`recommend`; ``without`` has the options whose recommendations are excluded."""

    options: MountOptions
    facts: Facts
    workload: Workload
    context: LintContext
    tunables: Mapping[str, str]
    without: Collection[str]


class _Recommender:
    """Computes the advice for one request.

    It holds the advised options and tunables so far, and the hit behind each change.
    """

    def __init__(self, request: _AdviceRequest, measured: Iterable[MeasuredOption]) -> None:
        self._request = request
        self._measured = {finding.option: finding for finding in measured}
        self._advised, self._advised_tunables = request.options.copy(), dict(request.tunables)
        #: Option to the hit that changed it last.
        self._decided: dict[str, _RuleHit] = {}
        #: Option to its successive states, each as the items that write it.
        self._seen: dict[str, list[tuple[str, ...]]] = {}
        self._excluded: dict[str, _RuleHit] = {}
        self._warned: list[NotRecommended] = []

    def answer(self) -> Advice:
        """Evaluate rules and lint and apply the winning hits, until nothing changes."""
        evaluation, winners = self._evaluate()
        for _ in range(_MAX_ROUNDS):
            if not self._apply_winners(winners):
                break
            evaluation, winners = self._evaluate()
        changed = {option: hit for option, hit in self._decided.items() if self._differs(option)}
        excluded = {option: hit for option, hit in self._excluded.items() if option not in changed}
        items = {option: self._recommendation(option, hit) for option, hit in changed.items()}
        items |= {option: self._excluded_recommendation(hit) for option, hit in excluded.items()}
        rejected = self._not_recommended(evaluation)
        return Advice(
            recommendations=tuple(items[option] for option in sorted(items, key=_sort_key)),
            options=self._advised,
            agreed={
                hit.option: hit.rule.reason
                for hit in winners
                if hit.option not in items and hit.finding is None and self._is_satisfied(hit)
            },
            not_recommended=rejected,
            unknown=_unknown_reasons(self._request.facts),
            attention=(
                *evaluation.attention,
                *self._unresolved_findings(evaluation, {item.rule for item in rejected}),
            ),
            lacking=missing_facts(self._request.facts, share=self._request.context.share),
        )

    def _unresolved_findings(self, evaluation: _Evaluation, rejected: Collection[str]) -> list[SystemWarning]:
        """Return the lint findings on the advised options that no other part of the advice reports."""
        return [
            _warning_of_finding(finding, self._advised)
            for finding in evaluation.findings
            if finding.rule not in rejected
            # The advice already lists excluded recommendations.
            and not any(hit.option in self._excluded for hit in _hits_of_finding(finding, self._advised))
        ]

    def _evaluate(self) -> tuple[_Evaluation, list[_RuleHit]]:
        """Evaluate rules, lint and measurements on the options as advised so far; return the winning hits."""
        evaluation = _Evaluation()
        self._evaluate_rules(evaluation)
        for finding in lint(self._advised, context=self._request.context, facts=self._request.facts):
            if finding.severity != "info" or lint_rules()[finding.rule].advised:
                evaluation.findings.append(finding)
                evaluation.add(*_hits_of_finding(finding, self._advised))
        evaluation.add(
            *(
                _hit_of_measurement(result)
                for result in self._measured.values()
                if result.status == "confirmed"
            )
        )
        winners = [hit for hit in evaluation.strongest() if not self._is_refuted(hit, evaluation)]
        if not self._warned:
            self._warned = evaluation.warned
        return evaluation, winners

    def _evaluate_rules(self, evaluation: _Evaluation) -> None:
        facts = self._request.facts
        situation = LintInput(self._advised, self._request.context, facts)
        for name, rule in advice_rules().items():
            evidence = rule_evidence(rule, facts, situation, self._request.workload)
            if evidence is None:
                continue
            evaluation.add(*_hits_of_rule(name, rule, facts, tuple(evidence)))
            for option, value in rule.avoid.items():
                if situation.values.get(option) == value:
                    evaluation.add(_RuleHit(name, rule, option, NEGOTIATE, tuple(evidence)))
                else:
                    evaluation.warned.append(_warned_value(name, rule, option, value))
            if rule.attention:
                evaluation.attention.append(_system_warning(name, rule, facts, tuple(evidence)))

    def _is_refuted(self, hit: _RuleHit, evaluation: _Evaluation) -> bool:
        """Whether a measurement refutes the hit's value; a lint error cannot be refuted."""
        finding = self._measured.get(hit.option)
        if finding is None or finding.status != "refuted" or hit.rule.layer == "error":
            return False
        if finding.value != hit.value:
            return False
        evaluation.warned.append(_refuted_value(hit, finding))
        return True

    def _apply_winners(self, winners: list[_RuleHit]) -> bool:
        """Apply the hits, the strongest first; return whether anything has changed.

        Lint fixes are applied first, so that the rules are evaluated on valid options.
        """
        in_force = self._values_after_removals(winners)
        by_strength = sorted(winners, key=lambda hit: hit.strength)
        return self._apply_all([hit for hit in by_strength if hit.finding is not None], in_force) or (
            self._apply_all([hit for hit in by_strength if hit.finding is None], in_force)
        )

    def _apply_all(self, hits: list[_RuleHit], in_force: Mapping[str, str]) -> bool:
        changed = False
        for hit in hits:
            if self._is_satisfied(hit, in_force):
                continue
            if self._is_excluded(hit):
                self._excluded[hit.option] = hit
            elif self._apply_unless_repeated(hit):
                changed = True
        return changed

    def _is_excluded(self, hit: _RuleHit) -> bool:
        options = {hit.option}
        if hit.finding is not None:
            options |= {other.option for other in _hits_of_finding(hit.finding, self._advised)}
        return not options.isdisjoint(self._request.without)

    def _apply_unless_repeated(self, hit: _RuleHit) -> bool:
        """Apply one hit unless that would repeat an earlier state; return whether anything changed."""
        before, tuned = self._advised, dict(self._advised_tunables)
        try:
            after = _apply_hit(before, hit, tuned)
        except ValueError:  # for example an unclosed quotation mark, which would include the new item
            return False
        touched = [
            name
            for name in dict.fromkeys([*_option_names(before), *_option_names(after), hit.option])
            if _current_items(before, self._advised_tunables, name) != _current_items(after, tuned, name)
        ]
        for name in touched:
            state = _current_items(after, tuned, name)
            # An option may return to its first state once, so that two rules cannot alternate endlessly.
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

    def _values_after_removals(self, winners: list[_RuleHit]) -> dict[str, str]:
        """Return the values in force after all proposed removals, since noac, for example, implies others."""
        remaining = self._advised.copy()
        for hit in winners:
            if hit.value is None and not hit.keep and not self._is_excluded(hit):
                remaining.remove(hit.option)
        return implied_values(remaining) | self._advised_tunables

    def _is_satisfied(self, hit: _RuleHit, in_force: Mapping[str, str] | None = None) -> bool:
        """Whether the options already agree with a hit."""
        if hit.keep:
            return True
        if hit.finding is not None:
            return apply_fix(self._advised, hit.finding) == self._advised
        if hit.value is None:
            return hit.option not in self._advised.values() | self._advised_tunables
        in_force = implied_values(self._advised) | self._advised_tunables if in_force is None else in_force
        return _is_in_force(hit.option, hit.value, in_force)

    def _differs(self, option: str) -> bool:
        return _current_items(self._request.options, self._request.tunables, option) != _current_items(
            self._advised, self._advised_tunables, option
        )

    def _not_recommended(self, evaluation: _Evaluation) -> tuple[NotRecommended, ...]:
        """Return the values rejected in the first or last evaluation, except those finally in force."""
        in_force = implied_values(self._advised) | self._advised_tunables
        rejected = {
            (item.option, item.value, item.rule): item
            for item in (*self._warned, *evaluation.warned)
            if not _is_in_force(item.option, item.value, in_force)
        }
        return tuple(rejected.values())

    def _recommendation(self, option: str, hit: _RuleHit) -> Recommendation:
        """Return a recommendation that is part of the advised options."""
        proposed = (self._advised.values() | self._advised_tunables).get(option)
        return self._full_recommendation(replace(hit, option=option, value=proposed))

    def _excluded_recommendation(self, hit: _RuleHit) -> Recommendation:
        return replace(self._full_recommendation(hit), included=False)

    def _full_recommendation(self, hit: _RuleHit) -> Recommendation:
        current = _current_value(self._request.options, hit.option, hit.value)
        if hit.option in known_tunables():
            current = self._request.tunables.get(hit.option)
        return _recommendation(hit, current, self._request.options, self._measured.get(hit.option))


def _warned_value(name: str, rule: AdviceRule, option: str, value: str) -> NotRecommended:
    return NotRecommended(
        option=option, value=value, reason=rule.reason, source=rule.source, link=rule.link, rule=name
    )


def _system_warning(name: str, rule: AdviceRule, facts: Facts, evidence: tuple[str, ...]) -> SystemWarning:
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
        evidence=evidence,
        source=rule.source,
        link=rule.link,
        how_to=tuple(steps.splitlines()),
    )


def _hits_of_rule(name: str, rule: AdviceRule, facts: Facts, evidence: tuple[str, ...]) -> list[_RuleHit]:
    hits = [_RuleHit(name, rule, option, NEGOTIATE, evidence) for option in rule.unset]
    hits += [_RuleHit(name, rule, option, None, evidence, keep=True) for option in rule.keep]
    for option, text in rule.set.items():
        value = compute_value(text, facts)
        if value is not None:
            hits.append(_RuleHit(name, rule, option, value, evidence))
    return hits


#: Lint severity to layer and confidence.
_LINT_LAYERS: dict[str, tuple[Layer, Confidence]] = {
    "error": ("error", "high"),
    "warning": ("warning", "medium"),
    "info": ("warning", "high"),
}


def _hits_of_finding(finding: Finding, options: MountOptions) -> list[_RuleHit]:
    """Return a lint finding as hits, one for each option that its fix changes; none if it has no fix."""
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
    """Return the warning for a lint finding that no change of options resolves."""
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
    """Return an option's value in force; its items as written where only the spelling changes."""
    value = options.values().get(name)
    return ",".join(_current_items(options, {}, name)) if value is not None and value == proposed else value


def _is_in_force(option: str, value: str | None, values: Mapping[str, str]) -> bool:
    """Whether a value is in force, explicitly or by default; None means that the option is absent."""
    known = catalogue().find(option)
    if option in values or known is None or value is None:
        return values.get(option) == value
    return known.default_for(values.get("vers", ""), values.get("proto", "")) == value


def _apply_hit(options: MountOptions, hit: _RuleHit, tunables: dict[str, str]) -> MountOptions:
    """Return the options after a change; a change of a tunable is stored in ``tunables`` instead.

    Raises:
        ValueError: if the option string cannot contain the value.
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
    """Return a confirmed measurement of the user as a hit, which is stronger than every rule."""
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
    """Return a value as an option string spells it: a word such as ``nolock``, or the value itself."""
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
    """Return recommendations in groups of the same rule and reason, in the order of each first member."""
    groups: dict[tuple[str, str], list[Recommendation]] = {}
    for item in items:
        groups.setdefault((item.rule, item.reason), []).append(item)
    return list(groups.values())


def undo_text(items: Sequence[Recommendation], name: Callable[[str], str]) -> str:
    """Return how to undo a group of recommendations.

    Args:
        items: recommendations of one rule.
        name: returns an option's label, used where the members have different undo texts.
    """
    undo_texts = dict.fromkeys(item.undo for item in items)
    if len(undo_texts) == 1:
        return items[0].undo
    return " ".join(f"{name(item.option)}: {item.undo}" for item in items)


#: Layer of the winning rule to the beginning of the sentence that explains the override.
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
    """Return why facts are unknown: part and field, as in link.rtt_s, to the reason."""
    return {f"{part}.{name}": why for part, name, why in unknown_facts(facts)}

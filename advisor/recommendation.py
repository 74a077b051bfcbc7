"""Recommendation: one proposed change of a mount, with its reason and its layer of precedence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Layers of precedence, the strongest first: a lint error, a measurement by the user, the four layers of
#: advice rules, and a lint warning.
Layer = Literal["error", "measured", "server", "workload", "link", "seed", "warning"]
LAYERS: tuple[Layer, ...] = ("error", "measured", "server", "workload", "link", "seed", "warning")
AdviceScope = Literal["mount", "server", "host"]
Confidence = Literal["high", "medium", "low"]
Workload = Literal["general", "home", "media", "builds", "database", "sap", "oracle", "backup", "software",
                   "virtual-machines", "mail", "shared-writing"]  # fmt: skip
WORKLOADS: tuple[Workload, ...] = (
    "general", "home", "media", "builds", "database", "sap", "oracle", "backup", "software",
    "virtual-machines", "mail", "shared-writing",
)  # fmt: skip
MeasurementStatus = Literal["untested", "confirmed", "refuted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredOption:
    """Result of a test on this mount for one value of one option.

    Attributes:
        option: canonical name of the option.
        value: tested value in canonical spelling, None if the option was absent.
        status: confirmed if the value was better than the previous one, refuted if it was not.
        text: the result as one sentence with its figures.
    """

    option: str
    value: str | None
    status: MeasurementStatus
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """One proposed change.

    Attributes:
        option: canonical name of a mount option, or name of a tunable (resources/tunables.toml).
        current: value in force, None if the option is absent.
        proposed: value to set, None to remove the option.
        rule: id of the rule, "" for a measurement.
        layer: layer of the rule, which decides between conflicting rules.
        reason: why to change it, one or two sentences.
        effect: expected effect, or "".
        evidence: observed facts behind the recommendation, one phrase each.
        source: title of the document behind the rule.
        link: URL of the source.
        scope: mount, server or host. Changes with scope host are never part of “Use recommended”.
        risk: possible harm, or "".
        undo: how to restore the previous value, one sentence.
        how_to: for a tunable: the commands that set it and that restore it, line by line.
        confidence: high, medium or low.
        status: untested, or confirmed or refuted by a measurement of the user.
        replaces_own: whether the user requested the current value.
        included: whether the change is part of the advised options; the user can exclude each one.
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
    """A value that is not proposed although a rule names it, and the reason."""

    option: str
    value: str | None
    reason: str
    source: str
    link: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemWarning:
    """A problem that no mount option solves; ``how_to`` has the steps that may solve it.

    ``rule`` is the id of the advice rule or lint rule.
    """

    rule: str
    text: str
    reason: str
    evidence: tuple[str, ...]
    source: str
    link: str
    how_to: tuple[str, ...] = ()

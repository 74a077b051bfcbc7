"""The lint's rules, read from the files lint*.toml and prerequisites.toml of resources/rules."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from resources import read_toml
from resources.decoding import converted

if TYPE_CHECKING:
    from collections.abc import Mapping

Severity = Literal["error", "warning", "info"]
BeforeMount = Literal["", "tell", "refuse"]
_FILES = ("lint-entry", "lint", "lint-combinations", "prerequisites")
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Fix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of options that takes a finding away.

    Attributes:
        remove: names of the options to take out.
        set: items to put in, each in the place of what the option was before.
    """

    remove: tuple[str, ...] = ()
    set: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [f"remove {name}" for name in self.remove] + [f"set {item}" for item in self.set]
        return ", ".join(parts)


class Match(NamedTuple):
    """One place where a rule applies, as a finder yields it.

    Attributes:
        options: canonical names.
        words: for the places of the rule's texts and fix.
        fix: its own fix, where the rule's is not enough.
        fields: what else of the entry to change: "share", "mount point", "type", "dump", "pass", "file", or a
            setting of a unit, to its new text.
    """

    options: tuple[str, ...]
    words: dict[str, str]
    fix: Fix | None = None
    fields: Mapping[str, str] = {}


class When(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Conditions, all of which must hold; a fact that is not known never lets one hold.

    Attributes:
        any: one of these items is in force at least; ``rsize=`` means the option with any value.
        all: all of these items are in force.
        one_of: one of these items is in force too, for a rule that has ``any`` already.
        none: none of these items is in force.
        versions: the version is surely one of these.
        maybe: the version may be one of these.
        places: the options stand in one of these (LintContext.place).
        fstab: the options stand in fstab.
        start_up: mounted at start-up, neither by hand nor on demand.
        fstype: the third field of fstab.
        at: mount points that it is about.
        not_at: mount points that are left alone.
        servers: the server is one of these by its name, or is known to be (resources/servers.toml).
        not_servers: it is none of these.
        udp: whether the kernel's client speaks NFS over UDP.
        kerberos: every security flavor of ``sec`` is one of Kerberos.
        missing: facts of PrerequisiteFacts that are known to be false.
        link_from_bps: the link is at least this fast, bits per second.
        link_not_below_bps: the link is not known to be slower than this, bits per second.
        link_below_bps: the link is known to be slower than this, bits per second.
    """

    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    maybe: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    fstab: bool | None = None
    start_up: bool | None = None
    fstype: str | None = None
    at: tuple[str, ...] = ()
    not_at: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    not_servers: tuple[str, ...] = ()
    udp: bool | None = None
    kerberos: bool | None = None
    missing: tuple[str, ...] = ()
    link_from_bps: float | None = None
    link_not_below_bps: float | None = None
    link_below_bps: float | None = None


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule.

    Attributes:
        severity: error (data at risk, or it will not mount), warning, info.
        title: what is wrong, one sentence; with {places} that the finder fills.
        why: the reason, with figures where a source has them.
        source: where that is written or how it was measured.
        options: the options that it is about.
        when: the conditions.
        find: name of the finder that looks closer (advisor/lint.py, FINDERS).
        min: least number that a finder reports.
        max: greatest number that a finder reports.
        ignore: names or items that a finder passes over.
        unless: rules that say the same better: if one of them has fired, this one is left out.
        advised: whether the advice takes it in although it is only a note.
        before_mount: what becomes of a mount that it fires on: "" nothing, tell (it is said before the mount
            is tried), refuse (it is not tried: the kernel is sure to refuse it).
        mend: commands that mend it or show more, the distributions of a package behind "#".
        fix: the change that one click makes, None where none is safe.
    """

    severity: Severity
    title: str
    why: str
    source: str
    options: tuple[str, ...] = ()
    when: When = When()
    find: str = "whole"
    min: int = 0
    max: int = 2**64
    ignore: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    advised: bool = False
    before_mount: BeforeMount = ""
    mend: tuple[str, ...] = ()
    fix: Fix | None = None


@cache
def lint_rules() -> dict[str, Rule]:
    """Return all rules by their ids, in the order in which they are tried."""
    tables: dict[str, Any] = {}
    for name in _FILES:
        tables |= read_toml(f"rules/{name}.toml")["rule"]
    return converted(tables, dict[str, Rule])

"""Lint rules: data, conditions, and the input that they are evaluated on (options, entry, facts).

The rules are read from lint*.toml and prerequisites.toml in resources/rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from advisor.finding import BeforeMount, Fix, Severity  # noqa: TC001 - msgspec reads them at run time
from advisor.identify import identify_server
from advisor.options import NO, MountOptions, catalogue, check_options, implied_values
from advisor.share import Share, ShareError
from advisor.use_conditions import UseConditions
from resources import read_toml
from resources.decoding import converted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from advisor.facts import Facts

_LINT_FILES = ("lint-entry", "lint", "lint-combinations", "prerequisites")


class LintMatch(NamedTuple):
    """One match of a rule, as a check yields it.

    Attributes:
        options: canonical names of the options concerned.
        words: values for the placeholders in the rule's texts and fix, by name.
        fix: replaces the fix of the rule; None to use the rule's.
        fields: other fields of the entry to change, with their new text: "share", "mount point", "type",
            "dump", "pass", "file", or a setting of a unit.
    """

    options: tuple[str, ...]
    words: dict[str, str]
    fix: Fix | None = None
    fields: Mapping[str, str] = {}


class LintConditions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Conditions of a lint rule, all of which must hold.

    A condition on an unknown fact does not hold, except for ``not_servers`` and ``link_not_below_bps``.

    Attributes:
        any: at least one of these items is in force; ``rsize=`` means the option with any value.
        all: all of these items are in force.
        one_of: at least one of these items is in force, in addition to ``any``.
        none: none of these items is in force.
        versions: every possible NFS version of the mount is in this list.
        maybe: at least one possible NFS version of the mount is in this list.
        places: the options come from one of these sources (LintContext.place).
        fstab: whether the options come from fstab.
        start_up: whether the share is mounted at boot, neither manually nor on demand.
        fstype: the file system type, third field of fstab.
        at: the mount point is in this list.
        not_at: the mount point is not in this list.
        not_below: the mount point is neither in this list nor below a directory of it.
        servers: the kind of server is in this list (ids of resources/servers.toml).
        not_servers: the kind of server is not in this list.
        udp: whether the kernel's NFS client supports UDP.
        kerberos: whether every security flavor of ``sec`` is a Kerberos flavor.
        missing: fields of PrerequisiteFacts that are known to be false.
        link_from_bps: the link is known to have at least this rate, bits per second.
        link_not_below_bps: the link has at least this rate or an unknown one, bits per second.
        link_below_bps: the link is known to be slower than this rate, bits per second.
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
    not_below: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    not_servers: tuple[str, ...] = ()
    udp: bool | None = None
    kerberos: bool | None = None
    missing: tuple[str, ...] = ()
    link_from_bps: float | None = None
    link_not_below_bps: float | None = None
    link_below_bps: float | None = None


class LintRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One lint rule.

    Attributes:
        severity: error (data at risk, or the mount will fail), warning, info.
        title: the problem, one sentence, with {placeholders} that the check fills in.
        why: the reason, with figures where a source has them.
        source: document or measurement behind the rule.
        options: the options concerned.
        when: the conditions.
        find: name of the check (advisor/lint_checks.py, LINT_CHECKS).
        min: least number that a check reports.
        max: greatest number that a check reports.
        ignore: names or items that a check skips.
        unless: ids of more specific rules; a finding of one of them suppresses this rule.
        advised: whether the advice includes the finding although its severity is info.
        before_mount: consequence for a mount: "" none, tell (shown before mounting), refuse (not mounted,
            because the kernel would certainly reject it).
        mend: shell commands that solve the problem or show more; "#" precedes the distributions of a package.
        fix: change of options, None where none is safe.
    """

    severity: Severity
    title: str
    why: str
    source: str
    options: tuple[str, ...] = ()
    when: LintConditions = LintConditions()
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
def lint_rules() -> dict[str, LintRule]:
    """Return all rules by their ids, in the order in which they are evaluated."""
    tables: dict[str, Any] = {}
    for name in _LINT_FILES:
        tables |= read_toml(f"rules/{name}.toml")["rule"]
    return converted(tables, dict[str, LintRule])


_V4_VERSIONS = frozenset({"4.0", "4.1", "4.2"})
_ALL_VERSIONS = _V4_VERSIONS | {"3"}
_KERBEROS_FLAVORS = frozenset({"krb5", "krb5i", "krb5p"})


#: Source of options: "" for a mount requested now, fstab, a systemd unit, an autofs map, a mount command,
#: nfsmount.conf.
EntrySource = Literal["", "fstab", "unit", "autofs", "command", "nfsmount.conf"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighborEntry:
    """Another entry of the same file.

    Attributes:
        line: line number, from 1.
        share: server:/export, or the device of another file system.
        mount_point: absolute path; in an autofs map the key.
        options: option string as written.
        fstype: file system type, for example nfs or nfs4.
    """

    line: int
    share: str
    mount_point: str
    options: str
    fstype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LintContext:
    """The entry that contains the options, and answers of the user about the mount.

    Attributes:
        place: source of the options, "" for a mount requested now.
        fstab: whether the options come from fstab, where mounting at boot is the default.
        share: server:/export, or "" if unknown.
        mount_point: absolute path, or "" if unknown.
        fstype: file system type, nfs or nfs4.
        connections: NFS version ("4.2") to the number of connections that active mounts of the server
            already use; empty if there are none, or if unknown.
        point_written: mount point as written in the file.
        freq: fifth field of fstab.
        passno: sixth field of fstab.
        unit_file: file name of the unit without its directory, "" if unknown.
        drop_in: whether the file is a drop-in, which adds to the settings of a unit.
        settings: section, key and value of every assignment in the unit.
        map_flags: options of automount itself in a line of a master map of autofs, as written.
        before: earlier entries of the same file, in their order.
        planned: whether the mount does not exist yet, so that its entry is still undecided.
        conditions: answers of the user about the mount.
    """

    place: EntrySource = ""
    fstab: bool = False
    share: str = ""
    mount_point: str = ""
    fstype: str = "nfs"
    connections: Mapping[str, int] = field(default_factory=dict[str, int])
    point_written: str = ""
    freq: int = 0
    passno: int = 0
    unit_file: str = ""
    drop_in: bool = False
    settings: tuple[tuple[str, str, str], ...] = ()
    map_flags: tuple[str, ...] = ()
    before: tuple[NeighborEntry, ...] = ()
    planned: bool = False
    conditions: UseConditions = field(default_factory=UseConditions)


class LintInput:
    """Input of lint rules: mount options with derived values, the entry that contains them, and facts.

    Attributes:
        options: mount options as written.
        values: canonical name to value in force, without implied values.
        implied: canonical name to value in force, including values implied by other options.
        written: canonical name to the items that write the option, in their order; known options only.
        problems: errors of single items.
        versions: NFS versions that the mount may negotiate.
        context: the entry that contains the options.
        facts: observed facts, or None.
        host: server of the share, "" if unknown.
        server: kind of server, observed or derived from its name (resources/servers.toml), "" if unknown.
    """

    def __init__(self, options: MountOptions, context: LintContext, facts: Facts | None) -> None:
        self.options = options
        self.context = context
        self.facts = facts
        self.values = options.values()
        self.implied = implied_values(options)
        self.problems = check_options(options)
        self.written: dict[str, list[str]] = {}
        for item in options:
            option, name, _ = catalogue().read_item(item)
            if item and option is not None:
                self.written.setdefault(name, []).append(item)
        self.versions = _possible_versions(self.implied.get("vers"), context.fstype)
        self.host = _share_host(context.share)
        found = identify_server(host=self.host) if self.host else None
        kind = facts.server.kind if facts is not None and facts.server is not None else None
        self.server = kind or (found[0] if found is not None else "")

    @property
    def start_up(self) -> bool:
        """Whether the share is mounted at boot, neither manually nor on demand."""
        by_hand = self.values.get("auto") == NO
        return self.context.fstab and not by_hand and "x-systemd.automount" not in self.values

    @property
    def kerberos(self) -> bool:
        """Whether every security flavor in ``sec`` is a Kerberos flavor."""
        flavors = self.values.get("sec", "").split(":")
        return all(flavor in _KERBEROS_FLAVORS for flavor in flavors)

    @property
    def rate_bps(self) -> float | None:
        """The link's line rate, bits per second, or None if unknown."""
        return self.facts.link.rate_bps if self.facts is not None and self.facts.link is not None else None

    def in_force(self, pattern: str) -> bool:
        """Whether an item is in force; ``name=`` means the option with any value."""
        if pattern.endswith("="):
            return pattern[:-1] in self.values
        _, name, value = catalogue().read_item(pattern)
        return self.values.get(name) == value

    def holds(self, when: LintConditions) -> bool:
        """Whether all conditions of a rule hold for this input."""
        return self._options_hold(when) and self._place_holds(when) and self._facts_hold(when)

    def _options_hold(self, when: LintConditions) -> bool:
        for group in (when.any, when.one_of):
            if group and not any(map(self.in_force, group)):
                return False
        if not all(map(self.in_force, when.all)) or any(map(self.in_force, when.none)):
            return False
        if when.kerberos is not None and when.kerberos is not self.kerberos:
            return False
        if when.maybe and self.versions.isdisjoint(when.maybe):
            return False
        return not when.versions or self.versions <= set(when.versions)

    def _place_holds(self, when: LintConditions) -> bool:
        return (
            when.fstab in {None, self.context.fstab}
            and when.start_up in {None, self.start_up}
            and when.fstype in {None, self.context.fstype}
            and (not when.places or self.context.place in when.places)
            and (not when.at or self.context.mount_point in when.at)
            and self.context.mount_point not in when.not_at
            and not f"{self.context.mount_point}/".startswith(tuple(f"{path}/" for path in when.not_below))
            and (not when.servers or self.server in when.servers)
            and not (when.not_servers and self.server in when.not_servers)
        )

    def _facts_hold(self, when: LintConditions) -> bool:
        client = self.facts.client if self.facts is not None else None
        if when.udp is not None and (client is None or client.udp is not when.udp):
            return False
        known = self.facts.prerequisites if self.facts is not None else None
        if when.missing and not all(getattr(known, name, None) is False for name in when.missing):
            return False
        rate = self.rate_bps
        if when.link_from_bps is not None and (rate is None or rate < when.link_from_bps):
            return False
        if when.link_below_bps is not None and (rate is None or rate >= when.link_below_bps):
            return False
        return when.link_not_below_bps is None or rate is None or rate >= when.link_not_below_bps


def _possible_versions(version: str | None, fstype: str) -> frozenset[str]:
    """Return the possible NFS versions: 4 leaves the minor version open, None leaves every version open."""
    if version in _ALL_VERSIONS:
        return frozenset({version or ""})
    if version == "4" or (version is None and fstype == "nfs4"):
        return _V4_VERSIONS
    # Another rule reports a version that does not exist.
    return _ALL_VERSIONS


def _share_host(share: str) -> str:
    try:
        return Share.parse(share).host
    except ShareError:
        return ""

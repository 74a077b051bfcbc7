"""Lint rules: their data, their conditions, and the options and entry that they are evaluated on.

The rules are read from the files lint*.toml and prerequisites.toml of resources/rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from advisor.identify import identify_server
from advisor.options import NO, MountOptions, catalogue, check_options, implied_values
from advisor.share import Share, ShareError
from resources import read_toml
from resources.decoding import converted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from advisor.facts import Facts

Severity = Literal["error", "warning", "info"]
BeforeMount = Literal["", "tell", "refuse"]
_LINT_FILES = ("lint-entry", "lint", "lint-combinations", "prerequisites")
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


class LintMatch(NamedTuple):
    """One place where a rule applies, as a check yields it.

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


class LintConditions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


class LintRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule.

    Attributes:
        severity: error (data at risk, or it will not mount), warning, info.
        title: what is wrong, one sentence; with {places} that the check fills.
        why: the reason, with figures where a source has them.
        source: where that is written or how it was measured.
        options: the options that it is about.
        when: the conditions.
        find: name of the check (advisor/lint_checks.py, LINT_CHECKS).
        min: least number that a check reports.
        max: greatest number that a check reports.
        ignore: names or items that a check skips.
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
    """Return all rules by their ids, in the order in which they are tried."""
    tables: dict[str, Any] = {}
    for name in _LINT_FILES:
        tables |= read_toml(f"rules/{name}.toml")["rule"]
    return converted(tables, dict[str, LintRule])


_V4_VERSIONS = frozenset({"4.0", "4.1", "4.2"})
_ALL_VERSIONS = _V4_VERSIONS | {"3"}
_KERBEROS_FLAVORS = frozenset({"krb5", "krb5i", "krb5p"})


#: Where options stand: nowhere yet (a mount made now), fstab, a systemd unit, a map of autofs, a command,
#: nfsmount.conf.
EntrySource = Literal["", "fstab", "unit", "autofs", "command", "nfsmount.conf"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighborEntry:
    """Another entry of the same file.

    Attributes:
        line: from 1.
        share: server:/export, or the device of another file system.
        mount_point: absolute path; in a map of autofs the key.
        options: as written.
        fstype: nfs, nfs4, or another file system's type.
    """

    line: int
    share: str
    mount_point: str
    options: str
    fstype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LintContext:
    """Where options stand.

    Attributes:
        place: "" for a mount made now.
        fstab: whether in fstab, where "at start-up" is the rule; else they are for a mount made now.
        share: server:/export, or "" if it is not known.
        mount_point: or "" if it is not known.
        fstype: nfs or nfs4.
        connections: version ("4.2") to the number of connections that other mounts of the server in use have
            fixed for it; empty if there are none, or none is known.
        point_written: mount point as it stands in the file.
        freq: fifth field of fstab.
        passno: sixth field of fstab.
        unit_file: name of the unit's file without its directory, "" if it is not known.
        settings: section, key and value of every assignment of the unit.
        before: entries that stand before this one in the same file, in their order.
        planned: whether the mount does not exist yet: where it will stand is open.
        needed_at_boot: whether the person says that the computer cannot work without the mount.
        encrypted: whether the person says that nobody on the network may read the data.
        travels: whether the person says that the computer sleeps or changes its network.
        server_sleeps: whether the person says that the server is off or asleep at times.
        firewall: whether the person says that only port 2049 of the server can be reached.
        rdma: whether the person says that both ends speak RDMA.
        kerberos: whether the person says that Kerberos is set up here, or it was seen to be.
        alone: whether the person says that no other computer uses the files.
        no_waiting: whether the person says that programs must get an error rather than wait.
        many_mounts: whether the person says that this computer mounts hundreds of shares.
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
    settings: tuple[tuple[str, str, str], ...] = ()
    before: tuple[NeighborEntry, ...] = ()
    planned: bool = False
    needed_at_boot: bool = False
    encrypted: bool = False
    travels: bool = False
    server_sleeps: bool = False
    firewall: bool = False
    rdma: bool = False
    kerberos: bool = False
    alone: bool = False
    no_waiting: bool = False
    many_mounts: bool = False


class LintInput:
    """A set of options with all that conditions and checks need of it.

    Attributes:
        options: as written.
        values: canonical name to value in force.
        implied: likewise, with what options imply for others.
        written: canonical name to the items that write it, in their order; known options only.
        problems: what is wrong with single items.
        versions: the NFS versions that the mount may turn out to have.
        context: where the options stand.
        facts: what was observed, or None.
        host: the server of the share, "" if it is not known.
        server: what it is known to be, or what the host's name says (resources/servers.toml), "" if nothing
            tells.
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
        """Whether it is mounted at start-up, neither by hand nor on demand."""
        by_hand = self.values.get("auto") == NO
        return self.context.fstab and not by_hand and "x-systemd.automount" not in self.values

    @property
    def kerberos(self) -> bool:
        """Whether every security flavor that the mount may take is one of Kerberos."""
        flavors = self.values.get("sec", "").split(":")
        return all(flavor in _KERBEROS_FLAVORS for flavor in flavors)

    @property
    def rate_bps(self) -> float | None:
        """The link's line rate, bits per second, or None if it is not known."""
        return self.facts.link.rate_bps if self.facts is not None and self.facts.link is not None else None

    def in_force(self, pattern: str) -> bool:
        """Whether an item is in force; ``name=`` means the option with any value."""
        if pattern.endswith("="):
            return pattern[:-1] in self.values
        _, name, value = catalogue().read_item(pattern)
        return self.values.get(name) == value

    def holds(self, when: LintConditions) -> bool:
        """Whether all conditions hold."""
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
    """Return the versions that may come of it: 4 leaves the minor version open, none leaves all open."""
    if version in _ALL_VERSIONS:
        return frozenset({version or ""})
    if version == "4" or (version is None and fstype == "nfs4"):
        return _V4_VERSIONS
    # A version that does not exist is another rule's business.
    return _ALL_VERSIONS


def _share_host(share: str) -> str:
    try:
        return Share.parse(share).host
    except ShareError:
        return ""

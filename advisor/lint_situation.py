"""What the lint looks at: a set of options, where it stands, and what is known; and the rules' conditions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from advisor.identify import identify_server
from advisor.options import NO, MountOptions, catalogue, check, implied_values
from advisor.share import Share, ShareError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from advisor.facts import Facts
    from advisor.lint_rules import When

_V4 = frozenset({"4.0", "4.1", "4.2"})
_ALL = _V4 | {"3"}
_KERBEROS = frozenset({"krb5", "krb5i", "krb5p"})


#: Where options stand: nowhere yet (a mount made now), fstab, a systemd unit, a map of autofs, a command,
#: nfsmount.conf.
Place = Literal["", "fstab", "unit", "autofs", "command", "nfsmount.conf"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbor:
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

    place: Place = ""
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
    before: tuple[Neighbor, ...] = ()
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


class Situation:
    """A set of options with all that conditions and finders ask about it.

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
        self.problems = check(options)
        self.written: dict[str, list[str]] = {}
        for item in options:
            option, name, _ = catalogue().read_item(item)
            if item and option is not None:
                self.written.setdefault(name, []).append(item)
        self.versions = _versions(self.implied.get("vers"), context.fstype)
        self.host = _host(context.share)
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
        return all(flavor in _KERBEROS for flavor in flavors)

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

    def holds(self, when: When) -> bool:
        """Whether all conditions hold."""
        return self._options_hold(when) and self._place_holds(when) and self._facts_hold(when)

    def _options_hold(self, when: When) -> bool:
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

    def _place_holds(self, when: When) -> bool:
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

    def _facts_hold(self, when: When) -> bool:
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


def _versions(version: str | None, fstype: str) -> frozenset[str]:
    """Return the versions that may come of it: 4 leaves the minor version open, none leaves all open."""
    if version in _ALL:
        return frozenset({version or ""})
    if version == "4" or (version is None and fstype == "nfs4"):
        return _V4
    # A version that does not exist is another rule's business.
    return _ALL


def _host(share: str) -> str:
    try:
        return Share.parse(share).host
    except ShareError:
        return ""

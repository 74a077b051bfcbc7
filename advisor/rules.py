"""The advisor's rules, read from resources/rules/advice-*.toml, and when they apply.

A rule says what is to be done (``set``, ``unset``), what is to be left alone (``keep``), or what is not to be
done although one might think so (``avoid``), given facts and the options as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.cards import cards
from advisor.facts import ClientFacts, LinkFacts, ServerFacts
from advisor.identify import server_kinds
from advisor.lint_rules import When
from advisor.speeds import format_rate
from resources import read_toml
from resources.decoding import converted

if TYPE_CHECKING:
    from advisor.facts import Facts
    from advisor.lint_situation import Situation

#: Whose word counts, the strongest first: an error of lint, a measurement of one's own, rules, which are of
#: the four layers in the middle, and a warning of lint.
Layer = Literal["error", "measured", "server", "workload", "link", "seed", "warning"]
LAYERS: tuple[Layer, ...] = ("error", "measured", "server", "workload", "link", "seed", "warning")
Scope = Literal["mount", "server", "host"]
Confidence = Literal["high", "medium", "low"]
Workload = Literal["general", "home", "media", "builds", "database", "sap", "oracle", "backup", "software",
                   "virtual-machines", "mail", "shared-writing"]  # fmt: skip
WORKLOADS: tuple[Workload, ...] = (
    "general", "home", "media", "builds", "database", "sap", "oracle", "backup", "software",
    "virtual-machines", "mail", "shared-writing",
)  # fmt: skip

#: Mount points without which a computer does not boot.
_SYSTEM_PLACES = frozenset({"/", "/usr", "/var"})
_FILES = ("cards", "links", "servers", "workloads")


class Given(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Facts that must hold, all of them; one that is not known never does.

    Attributes:
        cards: the client's adapter is one of these (resources/cards.toml).
        server_cards: the server's is.
        kinds: the link is of one of these kinds.
        via: one of these lies between the interface and its port.
        rate_from_bps: the link is at least this fast, bits per second.
        rate_below_bps: the link is slower than this.
        rtt_from_s: the round trip takes at least this, seconds.
        rtt_below_s: the round trip takes less than this.
        loss_from: at least this fraction of packets is lost.
        duplex: half or full.
        mtu_from: bytes.
        path_mtu_below: a packet of this many bytes is known not to reach the server whole.
        members_from: physical ports in use together.
        servers: the server is one of these (resources/servers.toml).
        offers: the server offers all of these NFS versions over TCP.
        lacks: the server offers none of these.
        workloads: what the mount is for is one of these.
        not_workloads: it is for none of these.
        udp: whether the kernel's client speaks NFS over UDP.
        udp_possible: the kernel is not known to be without NFS over UDP.
        kernel_from: the kernel is at least this; that of another machine, which is not known, is taken to be.
        shared: whether other mounts use the server's connections already.
        nfsmount_conf: nfsmount.conf of the client has one of these items.
        at_boot: it is mounted at boot, neither by hand nor on demand, or it may be: the mount is planned.
        needed_at_boot: the computer cannot work without the mount: the person says so, or it is /, /usr or
            /var.
        encrypted: the person says that nobody on the network may read the data.
        travels: the computer sleeps or changes its network: the person says so, or its link is wireless.
        server_sleeps: the person says that the server is off or asleep at times.
        firewall: the person says that only port 2049 of the server can be reached.
        rdma: the person says that both ends speak RDMA.
        kerberos: whether Kerberos is set up here: the person says so, or it was seen.
        alone: whether the person says that no other computer uses the files.
        no_waiting: the person says that programs must get an error rather than wait.
        many_mounts: the person says that this computer mounts hundreds of shares.
    """

    cards: tuple[str, ...] = ()
    server_cards: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    rate_from_bps: float | None = None
    rate_below_bps: float | None = None
    rtt_from_s: float | None = None
    rtt_below_s: float | None = None
    loss_from: float | None = None
    duplex: str | None = None
    mtu_from: int | None = None
    path_mtu_below: int | None = None
    members_from: int | None = None
    servers: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    workloads: tuple[Workload, ...] = ()
    not_workloads: tuple[Workload, ...] = ()
    udp: bool | None = None
    udp_possible: Literal[True] | None = None
    kernel_from: tuple[int, int] | None = None
    shared: bool | None = None
    nfsmount_conf: tuple[str, ...] = ()
    at_boot: Literal[True] | None = None
    needed_at_boot: Literal[True] | None = None
    encrypted: Literal[True] | None = None
    travels: Literal[True] | None = None
    server_sleeps: Literal[True] | None = None
    firewall: Literal[True] | None = None
    rdma: Literal[True] | None = None
    kerberos: bool | None = None
    alone: bool | None = None
    no_waiting: Literal[True] | None = None
    many_mounts: Literal[True] | None = None


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule.

    Attributes:
        layer: whose word it is, for conflicts.
        reason: why, one or two sentences, with figures where the source has them.
        source: title of what says so.
        link: its address, or "seed 000" and the like.
        given: facts that must hold.
        when: options that must be in force.
        set: option or tunable to value, as in the option string; ``@name`` is computed (advisor/formulas.py).
        unset: options to take out, so that client and server negotiate.
        keep: options that are right as they are.
        avoid: option to value that is not to be set, for ``reason``.
        attention: what no mount option mends, one sentence.
        how_to: for what no mount option mends: steps, with the way back; {interface}, {mtu} and {server} are
            put in.
        effect: what to expect.
        risk: what may go wrong, or "".
        scope: mount; server (all mounts of that server); host.
        confidence: high: the source says just this; medium: it follows; low: it is a guess worth a test.
    """

    layer: Layer
    reason: str
    source: str
    link: str
    given: Given = Given()
    when: When = When()
    set: dict[str, str] = {}
    unset: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    avoid: dict[str, str] = {}
    attention: str = ""
    how_to: tuple[str, ...] = ()
    effect: str = ""
    risk: str = ""
    scope: Scope = "mount"
    confidence: Confidence = "medium"


@cache
def rules() -> dict[str, Rule]:
    """Return all rules by their ids, in the files' order."""
    found: dict[str, Rule] = {}
    for name in _FILES:
        found |= converted(read_toml(f"rules/advice-{name}.toml")["rule"], dict[str, Rule])
    return found


def evidence(rule: Rule, facts: Facts, situation: Situation, workload: Workload) -> list[str] | None:
    """Return the facts that a rule rests on, one phrase each, or None if it does not apply."""
    if not situation.holds(rule.when):
        return None
    checks = [
        *_of_link(rule.given, facts.link or LinkFacts()),
        *_of_path(rule.given, facts.link or LinkFacts()),
        *_of_server(rule.given, facts.server or ServerFacts()),
        *_of_client(rule.given, facts.client, workload),
        *_of_files(rule.given, facts.client),
        *_of_place(rule.given, situation),
        *_of_needs(rule.given, facts.link or LinkFacts(), situation),
    ]
    if not all(holds for holds, _ in checks):
        return None
    return [phrase for _, phrase in checks]


#: Whether a condition that is asked for holds, and the fact as a phrase.
_Checks = Iterator[tuple[bool, str]]


def _of_link(given: Given, link: LinkFacts) -> _Checks:
    if given.cards:
        yield link.card in given.cards, f"this computer's adapter: {_title(link.card)}"
    if given.kinds:
        yield link.kind in given.kinds, f"kind of link: {link.kind}"
    if given.via:
        between = [name for name in link.via or () if name in given.via]
        yield bool(between), f"between the interface and its port: {', '.join(between)}"
    if given.duplex is not None:
        yield link.duplex == given.duplex, f"duplex: {link.duplex}"
    if given.members_from is not None:
        yield _within(link.members, given.members_from, None), f"ports in use together: {link.members}"


def _of_path(given: Given, link: LinkFacts) -> _Checks:
    if given.rate_from_bps is not None or given.rate_below_bps is not None:
        holds = _within(link.rate_bps, given.rate_from_bps, given.rate_below_bps)
        yield holds, f"link rate: {format_rate(link.rate_bps or 0)}"
    if given.rtt_from_s is not None or given.rtt_below_s is not None:
        holds = _within(link.rtt_s, given.rtt_from_s, given.rtt_below_s)
        yield holds, f"round trip: {(link.rtt_s or 0) * 1e3:.3g} ms"
    if given.loss_from is not None:
        yield _within(link.loss, given.loss_from, None), f"packets lost: {(link.loss or 0) * 100:g} %"
    if given.mtu_from is not None:
        yield _within(link.mtu, given.mtu_from, None), f"MTU: {link.mtu}"
    if given.path_mtu_below is not None:
        holds = _within(link.path_mtu, None, given.path_mtu_below)
        yield holds, f"largest packet on the way: {link.path_mtu}"


def _of_server(given: Given, server: ServerFacts) -> _Checks:
    if given.server_cards:
        yield server.card in given.server_cards, f"the server's adapter: {_title(server.card)}"
    if given.servers:
        yield server.kind in given.servers, f"server: {_server_title(server.kind)}"
    offered = server.tcp_versions
    if given.offers:
        holds = offered is not None and set(given.offers) <= set(offered)
        yield holds, f"versions that the server offers: {', '.join(offered or ())}"
    if given.lacks:
        holds = offered is not None and not set(given.lacks) & set(offered)
        yield holds, f"versions that the server offers: {', '.join(offered or ())}"


def _of_client(given: Given, client: ClientFacts, workload: Workload) -> _Checks:
    if given.workloads:
        yield workload in given.workloads, f"used for: {workload}"
    if given.not_workloads and workload in given.not_workloads:
        yield False, f"used for: {workload}"
    if given.udp is not None:
        yield client.udp is given.udp, f"NFS over UDP in the kernel: {'yes' if client.udp else 'no'}"
    if given.udp_possible is not None:
        known = "not known" if client.udp is None else "yes"
        yield client.udp is not False, f"NFS over UDP in the kernel: {known}"
    if given.kernel_from is not None and not client.kernel:
        yield True, "kernel: not known, it must be {}.{} or newer".format(*given.kernel_from)
    elif given.kernel_from is not None:
        match = re.match(r"([0-9]{1,6})\.([0-9]{1,6})", client.kernel)
        holds = match is not None and (int(match[1]), int(match[2])) >= given.kernel_from
        yield holds, f"kernel: {client.kernel}"
    if given.shared is not None:
        holds = client.sharing is not None and bool(client.sharing) is given.shared
        yield holds, f"other mounts of the server: {', '.join(client.sharing or ()) or 'none'}"


def _of_files(given: Given, client: ClientFacts) -> _Checks:
    if given.nfsmount_conf:
        # Each stands there with its place behind it.
        found = [text for text in client.nfsmount_conf or () if text.split(" (")[0] in given.nfsmount_conf]
        yield bool(found), f"nfsmount.conf: {', '.join(found)}"


def _of_place(given: Given, situation: Situation) -> _Checks:
    context = situation.context
    if given.at_boot is not None:
        by_hand = situation.in_force("noauto") or situation.in_force("x-systemd.automount")
        holds = situation.start_up or (context.planned and not by_hand)
        yield holds, f"mounted: {'at boot' if situation.start_up else 'at boot, if it is saved'}"
    if given.needed_at_boot is not None:
        holds = context.needed_at_boot or context.mount_point in _SYSTEM_PLACES
        place = f"mount point: {context.mount_point}" if context.mount_point in _SYSTEM_PLACES else ""
        yield holds, place or "needed at boot: yes"


def _of_needs(given: Given, link: LinkFacts, situation: Situation) -> _Checks:
    context = situation.context
    if given.encrypted is not None:
        yield context.encrypted, "to be encrypted: yes"
    if given.travels is not None:
        wireless = link.kind == "wifi"
        told = f"kind of link: {link.kind}" if wireless else "sleeps or changes its network: yes"
        yield context.travels or wireless, told
    for name, text in _TOLD.items():
        wanted, told_so = getattr(given, name), getattr(context, name)
        if wanted is not None:
            yield told_so is wanted, f"{text}: {'yes' if told_so else 'not said'}"


#: What only a person knows, as a phrase.
_TOLD = {
    "server_sleeps": "server is off or asleep at times",
    "firewall": "only port 2049 can be reached",
    "rdma": "RDMA at both ends",
    "kerberos": "Kerberos is set up",
    "alone": "no other computer uses the files",
    "no_waiting": "programs must not wait",
    "many_mounts": "hundreds of mounts",
}


def _within(value: float | None, least: float | None, below: float | None) -> bool:
    return value is not None and (least is None or value >= least) and (below is None or value < below)


def _server_title(kind: str | None) -> str:
    known = server_kinds().get(kind or "")
    return known.title if known is not None else "unknown"


def _title(card: str | None) -> str:
    known = cards().get(card or "")
    return known.title if known is not None else "unknown"

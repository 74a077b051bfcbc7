"""Advice rules: their data (resources/rules/advice-*.toml), conditions, evidence and computed values.

A rule says what to do (``set``, ``unset``), what to leave as it is (``keep``), or what not to do although it
seems right (``avoid``), given facts and the current options. A value ``@name`` is computed from facts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.facts import ClientFacts, LinkFacts, ServerFacts, payload_rate_bps
from advisor.identify import network_cards, server_kinds
from advisor.lint_rules import LintConditions
from advisor.speeds import format_rate
from advisor.throughput import cubic_throughput
from resources import read_toml
from resources.decoding import converted

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.facts import Facts
    from advisor.lint_rules import LintInput

#: Whose word counts, the strongest first: an error of lint, a measurement of one's own, rules, which are of
#: the four layers in the middle, and a warning of lint.
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

#: Mount points without which a computer does not boot.
_SYSTEM_MOUNT_POINTS = frozenset({"/", "/usr", "/var"})
_RULE_FILES = ("cards", "links", "servers", "workloads")


class FactConditions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


class AdviceRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule.

    Attributes:
        layer: whose word it is, for conflicts.
        reason: why, one or two sentences, with figures where the source has them.
        source: title of what says so.
        link: its address, or "seed 000" and the like.
        given: facts that must hold.
        when: options that must be in force.
        set: option or tunable to value, as in the option string; ``@name`` is computed (advisor/rules.py).
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
    given: FactConditions = FactConditions()
    when: LintConditions = LintConditions()
    set: dict[str, str] = {}
    unset: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    avoid: dict[str, str] = {}
    attention: str = ""
    how_to: tuple[str, ...] = ()
    effect: str = ""
    risk: str = ""
    scope: AdviceScope = "mount"
    confidence: Confidence = "medium"


@cache
def advice_rules() -> dict[str, AdviceRule]:
    """Return all rules by their ids, in the files' order."""
    found: dict[str, AdviceRule] = {}
    for name in _RULE_FILES:
        found |= converted(read_toml(f"rules/advice-{name}.toml")["rule"], dict[str, AdviceRule])
    return found


def rule_evidence(
    rule: AdviceRule, facts: Facts, situation: LintInput, workload: Workload
) -> list[str] | None:
    """Return the facts that a rule rests on, one phrase each, or None if it does not apply."""
    if not situation.holds(rule.when):
        return None
    checks = [
        *_link_checks(rule.given, facts.link or LinkFacts()),
        *_path_checks(rule.given, facts.link or LinkFacts()),
        *_server_checks(rule.given, facts.server or ServerFacts()),
        *_client_checks(rule.given, facts.client, workload),
        *_conf_checks(rule.given, facts.client),
        *_boot_checks(rule.given, situation),
        *_need_checks(rule.given, facts.link or LinkFacts(), situation),
    ]
    if not all(holds for holds, _ in checks):
        return None
    return [phrase for _, phrase in checks]


#: Whether a condition that is asked for holds, and the fact as a phrase.
_Checks = Iterator[tuple[bool, str]]


def _link_checks(given: FactConditions, link: LinkFacts) -> _Checks:
    if given.cards:
        yield link.card in given.cards, f"this computer's adapter: {_card_title(link.card)}"
    if given.kinds:
        yield link.kind in given.kinds, f"kind of link: {link.kind}"
    if given.via:
        between = [name for name in link.via or () if name in given.via]
        yield bool(between), f"between the interface and its port: {', '.join(between)}"
    if given.duplex is not None:
        yield link.duplex == given.duplex, f"duplex: {link.duplex}"
    if given.members_from is not None:
        yield _in_range(link.members, given.members_from, None), f"ports in use together: {link.members}"


def _path_checks(given: FactConditions, link: LinkFacts) -> _Checks:
    if given.rate_from_bps is not None or given.rate_below_bps is not None:
        holds = _in_range(link.rate_bps, given.rate_from_bps, given.rate_below_bps)
        yield holds, f"link rate: {format_rate(link.rate_bps or 0)}"
    if given.rtt_from_s is not None or given.rtt_below_s is not None:
        holds = _in_range(link.rtt_s, given.rtt_from_s, given.rtt_below_s)
        yield holds, f"round trip: {(link.rtt_s or 0) * 1e3:.3g} ms"
    if given.loss_from is not None:
        yield _in_range(link.loss, given.loss_from, None), f"packets lost: {(link.loss or 0) * 100:g} %"
    if given.mtu_from is not None:
        yield _in_range(link.mtu, given.mtu_from, None), f"MTU: {link.mtu}"
    if given.path_mtu_below is not None:
        holds = _in_range(link.path_mtu, None, given.path_mtu_below)
        yield holds, f"largest packet on the way: {link.path_mtu}"


def _server_checks(given: FactConditions, server: ServerFacts) -> _Checks:
    if given.server_cards:
        yield server.card in given.server_cards, f"the server's adapter: {_card_title(server.card)}"
    if given.servers:
        yield server.kind in given.servers, f"server: {_server_title(server.kind)}"
    offered = server.tcp_versions
    if given.offers:
        holds = offered is not None and set(given.offers) <= set(offered)
        yield holds, f"versions that the server offers: {', '.join(offered or ())}"
    if given.lacks:
        holds = offered is not None and not set(given.lacks) & set(offered)
        yield holds, f"versions that the server offers: {', '.join(offered or ())}"


def _client_checks(given: FactConditions, client: ClientFacts, workload: Workload) -> _Checks:
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


def _conf_checks(given: FactConditions, client: ClientFacts) -> _Checks:
    if given.nfsmount_conf:
        # Each stands there with its place behind it.
        found = [text for text in client.nfsmount_conf or () if text.split(" (")[0] in given.nfsmount_conf]
        yield bool(found), f"nfsmount.conf: {', '.join(found)}"


def _boot_checks(given: FactConditions, situation: LintInput) -> _Checks:
    context = situation.context
    if given.at_boot is not None:
        by_hand = situation.in_force("noauto") or situation.in_force("x-systemd.automount")
        holds = situation.start_up or (context.planned and not by_hand)
        yield holds, f"mounted: {'at boot' if situation.start_up else 'at boot, if it is saved'}"
    if given.needed_at_boot is not None:
        holds = context.needed_at_boot or context.mount_point in _SYSTEM_MOUNT_POINTS
        place = f"mount point: {context.mount_point}" if context.mount_point in _SYSTEM_MOUNT_POINTS else ""
        yield holds, place or "needed at boot: yes"


def _need_checks(given: FactConditions, link: LinkFacts, situation: LintInput) -> _Checks:
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


def _in_range(value: float | None, least: float | None, below: float | None) -> bool:
    return value is not None and (least is None or value >= least) and (below is None or value < below)


def _server_title(kind: str | None) -> str:
    known = server_kinds().get(kind or "")
    return known.title if known is not None else "unknown"


def _card_title(card: str | None) -> str:
    known = network_cards().get(card or "")
    return known.title if known is not None else "unknown"


#: The kernel's default readahead, and the 15 times rsize that kernels before 5.4 gave (fs/nfs/super.c), KiB.
_READAHEAD_LIMITS_KIB = (128, 15360)
#: A reading program waits for this much besides the round trip: the server's own time for a request, seconds.
_SERVICE_S = 0.2e-3
#: A readahead window is one request as long as it is no larger than a request may be, and two are under way.
#: With less than this for each connection they had nothing to carry in turn: over 1 % loss the lab read
#: 6.2 MB/s with two connections and 128 KiB, 10.4 with 1 MiB, and 6.8 with one connection and either.
_CONNECTION_READAHEAD_KIB = 512
#: Less than what client and server agree on for a request, on most systems of today, cuts requests short.
_REQUEST_READAHEAD_KIB = 1024
#: Up to this shortage one connection still does as well as several, which begin slowly one by one: the mean
#: window is no surer than that.
_ONE_CONNECTION_SHORTAGE = 1.25
#: So many times as many connections as the mean window asks for, because a reader waits for the slowest of
#: them: over 1 % loss, where 1.5 are asked for, the lab read 8.6, 9.5 and 11.3 MB/s with two, four and eight.
_CONNECTION_FACTOR = 4
#: Less loss than this does not count: a window that has begun by filling queues comes down by three tenths
#: a loss (RFC 9438, 4.6), and for as long as some hundred megabytes it is larger than its mean. Over 18 ms at
#: 200 Mbit/s and 0.005 % loss, where the mean is half of the link's rate, the lab read 110 MiB at 22.6 MB/s
#: with one connection, at 18.8 with four and at 19.5 with eight.
_MIN_RELEVANT_LOSS = 5e-4
#: More connections than this have not been found to help one mount.
_MAX_CONNECTIONS = 8
#: A single request should not keep a slow wire to itself for longer, seconds.
_MAX_REQUEST_S = 0.1


def compute_value(value: str, facts: Facts) -> str | None:
    """Return the value of a rule for these facts, or None if a fact that it needs is unknown.

    Raises:
        KeyError: if there is no such formula.
    """
    return _FORMULAS[value[1:]](facts) if value.startswith("@") else value


def _readahead_kib(facts: Facts) -> str | None:
    """Twice what the link carries in a round trip, as a power of two; None if the kernel's default will do.

    Two windows of readahead are under way at once, so once would do for a server that answers at once.
    Connections that loss makes necessary want a share each.
    """
    link = facts.link
    if link is None or link.rate_bps is None or link.rtt_s is None:
        return None
    rate = payload_rate_bps(link.rate_bps, link.mtu or 1500) / 8
    wanted_kb = max(
        2 * rate * (link.rtt_s + _SERVICE_S) / 1024,
        _CONNECTION_READAHEAD_KIB * (_connections_needed(facts) or 0),
    )
    default, most = _READAHEAD_LIMITS_KIB
    if wanted_kb <= default:
        return None
    return str(min(most, max(_REQUEST_READAHEAD_KIB, 2 ** math.ceil(math.log2(wanted_kb)))))


def _fast_link_connections(facts: Facts) -> str | None:
    """Eight connections for 100 Gbit/s, as VAST's client guide counts them; at least two above 5 Gbit/s."""
    link = facts.link
    if link is None or link.rate_bps is None:
        return None
    return str(min(16, max(2, math.ceil(8 * link.rate_bps / 100e9))))


def _connections_needed(facts: Facts) -> int | None:
    """How many connections carry the link's rate where one cannot, a power of two; None if one will do.

    What bounds one is the mean window at the link's loss (RFC 9438), and half of its greatest receive buffer
    a round trip. Each connection begins slowly and anew, so more than that cost: over 40 ms without loss the
    lab read 10.1 MB/s with one and 8.3 with four.
    """
    link = facts.link
    if link is None or link.rate_bps is None or not link.rtt_s:
        return None
    window = facts.client.tcp_window_bytes
    lossy = cubic_throughput(link) if (link.loss or 0.0) >= _MIN_RELEVANT_LOSS else math.inf
    one = min(lossy, math.inf if window is None else window / 2 / link.rtt_s)
    needed = payload_rate_bps(link.rate_bps, link.mtu or 1500) / 8 / one
    if needed <= _ONE_CONNECTION_SHORTAGE:
        return None
    return min(_MAX_CONNECTIONS, 1 << math.ceil(math.log2(_CONNECTION_FACTOR * needed)))


def _connections_for_loss(facts: Facts) -> str | None:
    needed = _connections_needed(facts)
    return None if needed is None else str(needed)


def _bond_connections(facts: Facts) -> str | None:
    """One connection for each port of a bond (nfs(5), nconnect)."""
    link = facts.link
    return str(min(16, link.members)) if link is not None and link.members is not None else None


def _request_size(facts: Facts) -> str | None:
    """The largest power of two that the wire carries within a tenth of a second."""
    link = facts.link
    if link is None or link.rate_bps is None:
        return None
    return str(min(2**20, max(1024, 2 ** int(math.log2(link.rate_bps / 8 * _MAX_REQUEST_S)))))


_FORMULAS: dict[str, Callable[[Facts], str | None]] = {
    "read-ahead": _readahead_kib,
    "connections": _fast_link_connections,
    "members": _bond_connections,
    "needed": _connections_for_loss,
    "request-size": _request_size,
}

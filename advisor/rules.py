"""Advice rules: their data (resources/rules/advice-*.toml), conditions, evidence and computed values.

Given facts and the current options, a rule proposes changes (``set``, ``unset``), confirms options
(``keep``), or warns against values (``avoid``). A value ``@name`` is computed from facts by a formula here.
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
from advisor.recommendation import AdviceScope, Confidence, Layer, Workload  # noqa: TC001 - for msgspec
from advisor.speeds import format_rate
from advisor.throughput import cubic_throughput
from resources import read_toml
from resources.decoding import converted

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.facts import Facts
    from advisor.lint_rules import LintInput


#: Mount points that a computer needs to boot.
_SYSTEM_MOUNT_POINTS = frozenset({"/", "/usr", "/var"})
_RULE_FILES = ("cards", "links", "servers", "workloads")


class FactConditions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Conditions of an advice rule, all of which must hold.

    A condition on an unknown fact does not hold, except for ``kernel_from`` and ``udp_possible``.

    Attributes:
        cards: the client's network adapter is one of these (resources/cards.toml).
        server_cards: the server's network adapter is one of these (resources/cards.toml).
        kinds: the kind of link is one of these.
        via: at least one of these lies between the interface and its physical port.
        rate_from_bps: the link has at least this rate, bits per second.
        rate_below_bps: the link has less than this rate, bits per second.
        rtt_from_s: the round-trip time is at least this, seconds.
        rtt_below_s: the round-trip time is below this, seconds.
        loss_from: at least this fraction of packets is lost.
        duplex: duplex of the link, half or full.
        mtu_from: the MTU is at least this, bytes.
        path_mtu_below: the MTU of the path to the server is below this, bytes.
        members_from: the link has at least this number of bonded ports.
        servers: the kind of server is one of these (resources/servers.toml).
        offers: the server offers all of these NFS versions over TCP.
        lacks: the server offers none of these NFS versions over TCP.
        workloads: the workload of the mount is one of these.
        not_workloads: the workload of the mount is none of these.
        udp: whether the kernel's NFS client supports UDP.
        udp_possible: the kernel's NFS client supports UDP, or that is unknown.
        kernel_from: the kernel release is at least this (major, minor), or unknown.
        shared: whether other mounts already use the server's connections.
        nfsmount_conf: nfsmount.conf of the client has at least one of these items.
        at_boot: the share is mounted at boot, neither manually nor on demand, or a planned mount may be.
        needed_at_boot: the computer needs the mount to work: user's answer, or it is /, /usr or /var.
        encrypted: user's answer: the data must be encrypted on the network.
        travels: the computer sleeps or changes its network: user's answer, or the link is wireless.
        server_sleeps: user's answer: the server is sometimes off or asleep.
        firewall: user's answer: only port 2049 of the server can be reached.
        rdma: user's answer: client and server support RDMA.
        kerberos: whether Kerberos is configured on this computer: user's answer, or observed.
        alone: user's answer: whether no other computer uses the files.
        no_waiting: user's answer: programs must get an error instead of waiting.
        many_mounts: user's answer: this computer mounts hundreds of shares.
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
    """One advice rule.

    Attributes:
        layer: layer of precedence, for conflicts between rules.
        reason: why, one or two sentences, with figures where the source has them.
        source: title of the source document.
        link: URL of the source, or the name of a study, such as "seed 000".
        given: conditions on facts.
        when: conditions on options in force.
        set: option or tunable to value, as in the option string; ``@name`` is computed (advisor/rules.py).
        unset: options to remove, so that client and server negotiate the values.
        keep: options that need no change.
        avoid: option to a value that should not be set; ``reason`` says why.
        attention: a problem that no mount option solves, one sentence.
        how_to: commands that solve such a problem and that undo the change, with the placeholders
            {interface}, {mtu} and {server}.
        effect: expected effect.
        risk: possible harm, or "".
        scope: mount, server (all mounts of that server), or host.
        confidence: high: stated by the source; medium: derived from it; low: to be confirmed by a test.
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
    """Return the facts that satisfy a rule, one phrase each, or None if the rule does not apply.

    Args:
        rule: the rule.
        facts: observed facts.
        situation: mount options and the entry that contains them.
        workload: main use of the mount.
    """
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


#: For each condition that a rule has: whether it holds, and the fact as a phrase.
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
        # Each text is an item with its file and line in parentheses.
        found = [text for text in client.nfsmount_conf or () if text.split(" (")[0] in given.nfsmount_conf]
        yield bool(found), f"nfsmount.conf: {', '.join(found)}"


def _boot_checks(given: FactConditions, situation: LintInput) -> _Checks:
    context = situation.context
    if given.at_boot is not None:
        manual = situation.in_force("noauto") or situation.in_force("x-systemd.automount")
        holds = situation.start_up or (context.planned and not manual)
        yield holds, f"mounted: {'at boot' if situation.start_up else 'at boot, if it is saved'}"
    if given.needed_at_boot is not None:
        holds = context.conditions.needed_at_boot or context.mount_point in _SYSTEM_MOUNT_POINTS
        place = f"mount point: {context.mount_point}" if context.mount_point in _SYSTEM_MOUNT_POINTS else ""
        yield holds, place or "needed at boot: yes"


def _need_checks(given: FactConditions, link: LinkFacts, situation: LintInput) -> _Checks:
    conditions = situation.context.conditions
    if given.encrypted is not None:
        yield conditions.encrypted, "to be encrypted: yes"
    if given.travels is not None:
        wireless = link.kind == "wifi"
        phrase = f"kind of link: {link.kind}" if wireless else "sleeps or changes its network: yes"
        yield conditions.travels or wireless, phrase
    for name, text in _USER_ANSWERS.items():
        required, answer = getattr(given, name), getattr(conditions, name)
        if required is not None:
            yield answer is required, f"{text}: {'yes' if answer else 'not said'}"


#: Answers of the user (fields of FactConditions and UseConditions) to their phrase.
_USER_ANSWERS = {
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


#: Default readahead of the kernel, and 15 times rsize, the default before Linux 5.4 (fs/nfs/super.c), KiB.
_READAHEAD_LIMITS_KIB = (128, 15360)
#: Assumed service time of the server for a read request, seconds.
_SERVICE_S = 0.2e-3
#: Least readahead per connection, KiB. With less, the connections have too few requests: at 1 % loss the lab
#: read 6.2 MB/s with two connections and 128 KiB, 10.4 MB/s with 1 MiB, and 6.8 MB/s with one connection.
_CONNECTION_READAHEAD_KIB = 512
#: Usual negotiated rsize, KiB; a smaller readahead would shorten the requests.
_REQUEST_READAHEAD_KIB = 1024
#: Ratio of link rate to the throughput of one connection up to which one connection is enough; the estimate
#: is not more accurate, and further connections add slow starts.
_ONE_CONNECTION_SHORTAGE = 1.25
#: Factor on the computed number of connections, since a reader waits for the slowest one. At 1 % loss, where
#: 1.5 are computed, the lab read 8.6, 9.5 and 11.3 MB/s with two, four and eight connections.
_CONNECTION_FACTOR = 4
#: Least loss, as a fraction, that justifies more connections. The window starts large, and each loss
#: multiplies it by 0.7 (RFC 9438, 4.6), so that it exceeds its mean for some hundred megabytes. At 18 ms RTT,
#: 200 Mbit/s and 0.005 % loss, where the mean is half of the link's rate, the lab read 110 MiB at 22.6 MB/s
#: with one connection, at 18.8 MB/s with four and at 19.5 MB/s with eight.
_MIN_RELEVANT_LOSS = 5e-4
#: Greatest recommended number of connections; no measurement showed a gain from more.
_MAX_CONNECTIONS = 8
#: Longest time that one request should occupy a slow link, seconds.
_MAX_REQUEST_S = 0.1


def compute_value(value: str, facts: Facts) -> str | None:
    """Return a rule's value for these facts, or None if a required fact is unknown.

    Args:
        value: a literal value, or ``@name`` for a formula.
        facts: observed facts.

    Raises:
        KeyError: if the formula does not exist.
    """
    return _FORMULAS[value[1:]](facts) if value.startswith("@") else value


def _readahead_kib(facts: Facts) -> str | None:
    """Return twice the bandwidth-delay product in KiB, as a power of two; None if the default is enough.

    The round-trip time includes an assumed service time. Each connection that packet loss makes necessary
    gets at least _CONNECTION_READAHEAD_KIB.
    """
    needed_kib = _link_readahead_kib(facts)
    if needed_kib is None or needed_kib <= _READAHEAD_LIMITS_KIB[0]:
        return None
    return _rounded_readahead(max(needed_kib, _connections_readahead_kib(facts)))


def _readahead_of_connections(facts: Facts) -> str | None:
    """Return the readahead that the connections need, KiB; None if the link alone exceeds the default."""
    needed_kib, default = _connections_readahead_kib(facts), _READAHEAD_LIMITS_KIB[0]
    if needed_kib <= default or (_link_readahead_kib(facts) or 0) > default:
        return None
    return _rounded_readahead(needed_kib)


def _link_readahead_kib(facts: Facts) -> float | None:
    link = facts.link
    if link is None or link.rate_bps is None or link.rtt_s is None:
        return None
    rate = payload_rate_bps(link.rate_bps, link.mtu or 1500) / 8
    return 2 * rate * (link.rtt_s + _SERVICE_S) / 1024


def _connections_readahead_kib(facts: Facts) -> float:
    return _CONNECTION_READAHEAD_KIB * (_connections_needed(facts) or 0)


def _rounded_readahead(kib: float) -> str:
    """Return a readahead as a power of two between one request and the limit, KiB."""
    return str(min(_READAHEAD_LIMITS_KIB[1], max(_REQUEST_READAHEAD_KIB, 2 ** math.ceil(math.log2(kib)))))


def _fast_link_connections(facts: Facts) -> str | None:
    """Return eight connections per 100 Gbit/s (VAST's client guide), from 2 to 16."""
    link = facts.link
    if link is None or link.rate_bps is None:
        return None
    return str(min(16, max(2, math.ceil(8 * link.rate_bps / 100e9))))


def _connections_needed(facts: Facts) -> int | None:
    """Return the connections needed to reach the link's rate, a power of two; None if one is enough.

    The mean window at the link's loss (RFC 9438) and half of the receive buffer per round trip limit a
    single connection. Unneeded connections cost a slow start each: at 40 ms RTT without loss the lab read
    10.1 MB/s with one and 8.3 MB/s with four.
    """
    link = facts.link
    if link is None or link.rate_bps is None or not link.rtt_s:
        return None
    window = facts.client.tcp_window_bytes
    lossy = cubic_throughput(link) if (link.loss or 0.0) >= _MIN_RELEVANT_LOSS else math.inf
    single = min(lossy, math.inf if window is None else window / 2 / link.rtt_s)
    needed = payload_rate_bps(link.rate_bps, link.mtu or 1500) / 8 / single
    if needed <= _ONE_CONNECTION_SHORTAGE:
        return None
    return min(_MAX_CONNECTIONS, 1 << math.ceil(math.log2(_CONNECTION_FACTOR * needed)))


def _connections_for_loss(facts: Facts) -> str | None:
    needed = _connections_needed(facts)
    return None if needed is None else str(needed)


def _bond_connections(facts: Facts) -> str | None:
    """Return one connection for each port of a bond, at most 16 (nfs(5), nconnect)."""
    link = facts.link
    return str(min(16, link.members)) if link is not None and link.members is not None else None


def _request_size(facts: Facts) -> str | None:
    """Return the largest power of two that the link transfers within a tenth of a second, 1 KiB to 1 MiB."""
    link = facts.link
    if link is None or link.rate_bps is None:
        return None
    return str(min(2**20, max(1024, 2 ** int(math.log2(link.rate_bps / 8 * _MAX_REQUEST_S)))))


_FORMULAS: dict[str, Callable[[Facts], str | None]] = {
    "read-ahead": _readahead_kib,
    "connections-read-ahead": _readahead_of_connections,
    "connections": _fast_link_connections,
    "members": _bond_connections,
    "needed": _connections_for_loss,
    "request-size": _request_size,
}

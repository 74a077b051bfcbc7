"""Advice for a mount of this computer, or for a mount described by the user (the verb ``advice.get``)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast, get_args

import msgspec

from advisor.confidence import limit_confidence
from advisor.facts import FACT_LABELS, ClientFacts, FactGroup, Facts, LinkFacts, ServerFacts
from advisor.identify import find_card, network_cards, server_kinds
from advisor.lint_rules import LintContext
from advisor.options import MountOptions, catalogue, implied_values
from advisor.recommend import Advice, group_recommendations, recommend
from advisor.recommendation import (
    WORKLOADS,
    Workload,
)
from advisor.throughput import CopySpec, predict
from advisor.throughput_curve import COPY_BYTES, predicted_curve
from advisor.transfer_sizes import CP_CALL_SIZE, SMALL_READ_SIZE, call_size
from app.errors import AppError
from app.links import parse_link
from app.mounts.findings import connections_by_version
from app.mounts.saved_readahead import KERNEL_READ_AHEAD_KB
from app.service.model import AdviceArgs, AdviceResult, Expected, ExpectedFigure
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from advisor.prediction import Direction, Prediction
    from app.mounts.model import Mount


_CHOSEN_BY_HAND = "chosen by hand"
_OTHER_MACHINE = "it is another machine, which was not asked"
#: Direction and call size (bytes) of each predicted speed: large files copied by cp, and small reads.
_FIGURES: dict[ExpectedFigure, tuple[Direction, int]] = {
    "write": ("write", CP_CALL_SIZE),
    "read": ("read", CP_CALL_SIZE),
    "small-read": ("read", SMALL_READ_SIZE),
}


def headline(result: AdviceResult) -> str:
    """Return a one-line summary: the number of changes, or a sentence why there are none."""
    server = result.facts.server
    count = len([item for item in result.recommendations if item.included])
    if "server.address" in result.lacking and server is not None and not count:
        return f"No advice yet: “{server.name}” has no address."
    if count:
        return "One thing to change" if count == 1 else f"{count} things to change"
    if result.recommendations:
        return "Nothing is changed: all recommendations are left out."
    if result.attention:
        return "No option to change, but something else to look at."
    if result.lacking:
        return f"Nothing to change was found, but not all is known: {missing_facts_text(result)}."
    return "Nothing to change."


def missing_facts_text(result: AdviceResult) -> str:
    """Return the labels of the facts in ``lacking``, separated by commas."""
    names = [FACT_LABELS[cast("FactGroup", part)][name] for part, _, name in map(_fact_part, result.lacking)]
    return ", ".join(name[:1].lower() + name[1:] for name in names)


def missing_facts_hint(result: AdviceResult) -> str:
    """Return how the user can supply the facts in ``lacking``, "" if none is lacking."""
    if "server.address" in result.lacking:
        return "Check the name of the server, or describe the link and the kind of server by hand."
    return "Describe the link by hand to have it taken into account." if result.lacking else ""


def _fact_part(fact: str) -> tuple[str, str, str]:
    return fact.partition(".")


def advise(
    args: AdviceArgs,
    gather: Callable[[str], Facts],
    mount: Mount | None,
    mounts: Iterable[Mount] = (),
) -> AdviceResult:
    """Return recommendations for a mount.

    Args:
        args: arguments of the verb ``advice.get``.
        gather: function that returns the facts about a share.
        mount: mount at ``args.mount_point``, which supplies share, options and readahead; None without one.
        mounts: all mounts of this host, because mounts of one server share their connections.

    Raises:
        AppError: USAGE for an unknown adapter, server kind or workload; LINK_INVALID for a bad link.
    """
    if args.workload not in get_args(Workload):
        raise AppError(ErrorCode.WORKLOAD_UNKNOWN, workload=args.workload, workloads=WORKLOADS)
    workload = cast("Workload", args.workload)
    options = MountOptions.parse(_requested_options(args, mount))
    if args.transport in {"tcp", "udp"}:
        options.set("proto", args.transport)
    facts = _with_user_facts(args, gather(mount.share if mount is not None else args.share))
    tunables = _tunables(args, mount, facts.client)
    context = _context(args, facts, mount, mounts)
    advice = recommend(
        options, facts, workload,
        context=context, tunables=tunables, measured=args.measured, without=_left_out(args, facts),
    )  # fmt: skip
    advised = advice.options
    read_ahead, advised_read_ahead = _read_aheads(tunables, advice)
    expected = {
        figure: _expected(figure, facts, (options, read_ahead), (advised, advised_read_ahead))
        for figure in _FIGURES
    }
    return AdviceResult(
        facts=facts,
        options=str(options),
        advised_options=str(advised),
        workload=workload,
        recommendations=limit_confidence(
            advice.recommendations,
            (expected["read"].now, expected["read"].advised),
            (expected["small-read"].now, expected["small-read"].advised),
        ),
        agreed=dict(advice.agreed),
        not_recommended=advice.not_recommended,
        unknown=dict(advice.unknown),
        expected=list(expected.values()),
        attention=advice.attention,
        curve=predicted_curve(
            options, advised, facts, read_ahead=read_ahead, advised_read_ahead=advised_read_ahead
        ),
        read_ahead_state=mount.active.read_ahead_state
        if mount is not None and mount.active is not None
        else "",
        lacking=advice.lacking,
        gains=_single_gains(facts, advice, options, read_ahead),
        tried=tuple(
            item.option
            for item in advice.recommendations
            if any(
                (result.option, result.value, result.status) == (item.option, item.proposed, "untested")
                for result in args.measured
            )
        ),
    )


def _expected(
    figure: ExpectedFigure, facts: Facts, now: tuple[MountOptions, int], then: tuple[MountOptions, int]
) -> Expected:
    """Return the predictions of one figure for two pairs of options and readahead (bytes)."""
    direction, size = _FIGURES[figure]
    before, after = (
        _predict(options, facts, _copy_spec(direction, size, options), read_ahead)
        for options, read_ahead in (now, then)
    )
    return Expected(figure=figure, call_size=call_size(size, then[0].values()), now=before, advised=after)


def _single_gains(
    facts: Facts, advice: Advice, options: MountOptions, read_ahead: int
) -> dict[str, Expected]:
    """Return the largest predicted gain of each group of recommendations that gains anything alone."""
    found: dict[str, Expected] = {}
    for group in group_recommendations(advice.recommendations):
        changed, changed_read_ahead = options.copy(), read_ahead
        for item in group:
            if item.option == "read_ahead_kb":
                changed_read_ahead = int(item.proposed or 0) * 1024
            elif item.proposed is None:
                changed.remove(item.option)
            elif catalogue().find(item.option) is not None:
                changed.set(item.option, item.proposed)
        if changed == options and changed_read_ahead == read_ahead:
            continue
        figures = [
            _expected(figure, facts, (options, read_ahead), (changed, changed_read_ahead))
            for figure in _FIGURES
        ]
        best = max(figures, key=predicted_ratio)
        if predicted_ratio(best) > 1:
            found[group[0].option] = best
    return found


def predicted_ratio(expected: Expected) -> float:
    """Return the predicted speed with the recommendations divided by the present one, 0 if unknown."""
    now, advised = expected.now, expected.advised
    if now is None or advised is None or now.unpredictable or advised.unpredictable:
        return 0.0
    return advised.bytes_per_s / now.bytes_per_s


def _left_out(args: AdviceArgs, facts: Facts) -> tuple[str, ...]:
    """Return the options whose recommendations are left out.

    UDP that the user states is a property of the other computer, and is kept below 1 Gbit/s, where fragments
    are hardly ever joined to wrong packets (nfs(5), Using NFS over UDP on high-speed links).
    """
    rate = facts.link.rate_bps if facts.link is not None else None
    stated = args.transport == "udp" and rate is not None and rate < _UDP_UNSAFE_BPS
    return (*args.without, "proto") if stated else args.without


#: Rate from which NFS over UDP can corrupt data, bits per second.
_UDP_UNSAFE_BPS = 1e9


def _context(args: AdviceArgs, facts: Facts, mount: Mount | None, mounts: Iterable[Mount]) -> LintContext:
    configured = mount.configured if mount is not None else None
    share = mount.share if mount is not None else args.share
    return LintContext(
        fstab=configured is not None,
        share=share,
        mount_point=args.mount_point,
        fstype=configured.fstype if configured is not None else "nfs",
        connections=connections_by_version(mounts, share, args.mount_point),
        planned=mount is None,
        conditions=msgspec.structs.replace(
            args.conditions, kerberos=args.conditions.kerberos or _kerberos_seen(facts)
        ),
    )


def _kerberos_seen(facts: Facts) -> bool:
    """Whether this computer has a keytab and a running rpc.gssd, which Kerberos mounts need."""
    known = facts.prerequisites
    return known is not None and known.keytab is True and known.gssd_running is True


def _requested_options(args: AdviceArgs, mount: Mount | None) -> str:
    if args.options is not None or mount is None:
        return args.options or ""
    return mount.requested


def _tunables(args: AdviceArgs, mount: Mount | None, client: ClientFacts) -> dict[str, str]:
    read_ahead_kb = args.read_ahead_kb
    if read_ahead_kb is None and mount is not None and mount.active is not None:
        read_ahead_kb = mount.active.read_ahead_kb
    found = {
        "read_ahead_kb": read_ahead_kb,
        "tcp_max_slot_table_entries": client.tcp_slots,
        "max_session_slots": client.session_slots,
    }
    return {name: str(value) for name, value in found.items() if value is not None}


def _with_user_facts(args: AdviceArgs, facts: Facts) -> Facts:
    """Return the facts with the observed values replaced by those that the user described.

    An adapter, link or server kind without a share describes another computer, so this client's facts are
    dropped.
    """
    if (args.adapter or args.link or args.server) and not args.share and not args.mount_point:
        facts = Facts(client=ClientFacts(sources=dict.fromkeys(("udp", "kernel"), _OTHER_MACHINE)))
    if args.kernel:
        sources = facts.client.sources | {"kernel": _CHOSEN_BY_HAND}
        facts = replace(facts, client=replace(facts.client, kernel=args.kernel, sources=sources))
    if args.link:
        facts = replace(facts, link=_described_link(args.link))
    if args.adapter:
        facts = replace(facts, link=_with_adapter(facts.link, _card_id(args.adapter), keep=bool(args.link)))
    facts = replace(facts, link=_with_mtus(facts.link, args))
    if args.server:
        facts = replace(facts, server=_described_server(facts.server, args.server))
    if args.server_adapter:
        server = facts.server or ServerFacts()
        sources = {**server.sources, "card": _CHOSEN_BY_HAND}
        facts = replace(facts, server=replace(server, card=_card_id(args.server_adapter), sources=sources))
    return facts


def _described_server(server: ServerFacts | None, kind: str) -> ServerFacts:
    if kind not in server_kinds():
        raise AppError(ErrorCode.SERVER_KIND_UNKNOWN, server=kind, server_kinds=list(server_kinds()))
    server = server or ServerFacts()
    return replace(server, kind=kind, sources={**server.sources, "kind": _CHOSEN_BY_HAND})


def _described_link(text: str) -> LinkFacts:
    link = parse_link(text).facts()
    sources = dict.fromkeys(link.sources, _CHOSEN_BY_HAND)
    # The lab's profiles name the hardware they model, which the described computer may not have.
    unknown = dict.fromkeys(("driver", "bus", "bus_id", "interface"), _OTHER_MACHINE)
    return replace(
        link, interface=None, adapter="as described", driver=None, bus=None, bus_id=None, emulated=False,
        sources=sources | unknown,
    )  # fmt: skip


def _with_adapter(link: LinkFacts | None, card: str, *, keep: bool) -> LinkFacts:
    """Return the link with this adapter; every adapter in resources/cards.toml is 10 Mbit/s Ethernet."""
    title = network_cards()[card].title
    if link is not None and keep:
        return replace(link, card=card, adapter=title, sources={**link.sources, "card": _CHOSEN_BY_HAND})
    named = dict.fromkeys(("card", "adapter", "rate_bps", "kind"), _CHOSEN_BY_HAND)
    return LinkFacts(
        name=title, kind="ethernet", adapter=title, card=card, rate_bps=1e7, mtu=1500,
        sources={**named, "rtt_s": _OTHER_MACHINE, "driver": _OTHER_MACHINE},
    )  # fmt: skip


def _with_mtus(link: LinkFacts | None, args: AdviceArgs) -> LinkFacts | None:
    """Return the link with the MTU and path MTU that the user described."""
    if args.mtu is None and args.path_mtu is None:
        return link
    link = link or LinkFacts()
    if args.mtu is not None:
        link = replace(link, mtu=args.mtu, sources=link.sources | {"mtu": _CHOSEN_BY_HAND})
    if args.path_mtu is not None:
        link = replace(link, path_mtu=args.path_mtu, sources=link.sources | {"path_mtu": _CHOSEN_BY_HAND})
    return link


def _card_id(text: str) -> str:
    found = find_card(text)
    if found is None:
        names = ", ".join(f"{card.names[0]} ({card.title})" for card in network_cards().values())
        raise AppError(ErrorCode.ADAPTER_UNKNOWN, text=text, names=names)
    return found


def _read_aheads(tunables: Mapping[str, str], advice: Advice) -> tuple[int, int]:
    """Return the present and the recommended readahead, bytes."""
    now = int(tunables.get("read_ahead_kb", KERNEL_READ_AHEAD_KB))
    advised = {item.option: item.proposed for item in advice.recommendations if item.included}
    return now * 1024, int(advised.get("read_ahead_kb") or now) * 1024


def _copy_spec(direction: Direction, program_call_size: int, options: MountOptions) -> CopySpec:
    block = call_size(program_call_size, options.values())
    return CopySpec(direction=direction, length=COPY_BYTES, block=block)


def _predict(options: MountOptions, facts: Facts, work: CopySpec, read_ahead: int) -> Prediction | None:
    """Predict the speed over TCP; return None for UDP and RDMA, which the model does not cover."""
    if implied_values(options).get("proto", "").startswith(("udp", "rdma")):
        return None
    return predict(options, facts, work, read_ahead=read_ahead)

"""Advice for a mount of this computer, or for one that a person describes (the verb ``advice.get``)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast, get_args

import msgspec

from advisor.confidence import limit_confidence
from advisor.facts import FACT_LABELS, ClientFacts, FactGroup, Facts, LinkFacts, ServerFacts
from advisor.identify import find_card, network_cards, server_kinds
from advisor.lint_rules import LintContext
from advisor.options import MountOptions, implied_values
from advisor.recommend import Advice, MeasuredOption, NotRecommended, Recommendation, SystemWarning, recommend
from advisor.rules import WORKLOADS, Workload
from advisor.throughput import DEFAULT_READAHEAD_BYTES, CopySpec, Direction, Prediction, predict
from advisor.throughput_curve import COPY_BYTES, PredictedCurve, predicted_curve
from advisor.transfer_sizes import CP_CALL_SIZE, SMALL_READ_SIZE, call_size
from app.errors import AppError, ErrorKind
from app.links import parse_link
from app.mounts.findings import connections_by_version
from app.mounts.model import ReadAheadState  # noqa: TC001 - msgspec reads it at run time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from app.mounts.model import Mount

ExpectedFigure = Literal["write", "read", "small-read"]

_CHOSEN_BY_HAND = "chosen by hand"
_OTHER_MACHINE = "it is another machine, which was not asked"
#: What is expected is told of large files, as cp copies them, and of small reads: direction and call size.
_FIGURES: dict[ExpectedFigure, tuple[Direction, int]] = {
    "write": ("write", CP_CALL_SIZE),
    "read": ("read", CP_CALL_SIZE),
    "small-read": ("read", SMALL_READ_SIZE),
}


class AdviceArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``advice.get``: for a share, a mount point, or another machine described by hand.

    Attributes:
        share: server:/export; its link and server are looked at.
        mount_point: of a mount whose options, share and readahead are taken.
        options: instead of the mount's own.
        workload: what it is for.
        adapter: the client's network adapter, as a person calls it.
        server_adapter: the server's.
        server: what kind of server it is, an id of resources/servers.toml, instead of what was found.
        transport: "tcp" or "udp", "" for what the options say.
        link: a link profile or a link spelled out, as the lab takes it.
        read_ahead_kb: instead of the mount's own.
        measured: what tests on the mount have found.
        without: options and tunables whose recommendations are left out.
        needed_at_boot: whether the computer cannot work without the mount.
        encrypted: whether nobody on the network may read the data.
        travels: whether the computer sleeps or changes its network.
        server_sleeps: whether the server is off or asleep at times.
        firewall: whether only port 2049 of the server can be reached.
        rdma: whether both ends speak RDMA.
        kerberos: whether Kerberos is set up.
        alone: whether no other computer uses the files.
        no_waiting: whether programs must get an error rather than wait.
        many_mounts: whether this computer mounts hundreds of shares.
        kernel: release of the other machine's kernel, "" for what was found.
        mtu: largest frame of the link by hand, bytes; None for what was found.
        path_mtu: largest packet that reaches the server whole, likewise.
    """

    share: str = ""
    mount_point: str = ""
    options: str | None = None
    workload: str = "general"
    adapter: str = ""
    server_adapter: str = ""
    server: str = ""
    transport: str = ""
    link: str = ""
    read_ahead_kb: int | None = None
    measured: tuple[MeasuredOption, ...] = ()
    without: tuple[str, ...] = ()
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
    kernel: str = ""
    mtu: int | None = None
    path_mtu: int | None = None


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What the throughput model expects, bytes per second; None where the link is not known.

    Attributes:
        figure: copying to the server or from it as cp does, or reading with small calls.
        call_size: bytes of each call as advised.
        now: with the options as they are.
        advised: with the recommendations.
    """

    figure: ExpectedFigure
    call_size: int
    now: Prediction | None
    advised: Prediction | None


class AdviceResult(msgspec.Struct, frozen=True, kw_only=True):
    """The answer.

    Attributes:
        facts: on which it rests.
        options: as they are asked for now.
        advised_options: with the recommendations for the mount itself carried out.
        workload: what it was asked for.
        recommendations: changes, in the catalogue's order.
        agreed: what is right as it is: name to reason.
        not_recommended: values that one might expect, and why not.
        unknown: facts that are not known: part and field, as in link.rtt_s, to why.
        expected: speeds of large files.
        attention: what no mount option mends.
        curve: the expected speed over what decides it, None where the link is not known.
        read_ahead_state: what becomes of the mount's readahead with the next mount; "" if there is none.
        lacking: facts without which “nothing to change” cannot be said: part and field, as in link.rtt_s.
    """

    facts: Facts
    options: str
    advised_options: str
    workload: Workload
    recommendations: tuple[Recommendation, ...]
    agreed: dict[str, str]
    not_recommended: tuple[NotRecommended, ...]
    unknown: dict[str, str]
    expected: list[Expected]
    attention: tuple[SystemWarning, ...] = ()
    curve: PredictedCurve | None = None
    read_ahead_state: ReadAheadState = ""
    lacking: tuple[str, ...] = ()


def headline(result: AdviceResult) -> str:
    """Return the answer as one sentence, or as a heading of how many changes there are."""
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
    """Return what the facts are called without which “nothing to change” cannot be said."""
    names = [FACT_LABELS[cast("FactGroup", part)][name] for part, _, name in map(_fact_part, result.lacking)]
    return ", ".join(name[:1].lower() + name[1:] for name in names)


def missing_facts_hint(result: AdviceResult) -> str:
    """Return how to make up for facts that are lacking, "" if none is."""
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
    """Return advice.

    Args:
        args: the question; with ``mount_point``, ``mount`` is the mount there.
        gather: returns the facts of a share.
        mount: whose options are taken.
        mounts: of this host; those of the same server have opened its connections.

    Raises:
        AppError: USAGE for an adapter, a server or a workload that is not known, LINK_INVALID.
    """
    if args.workload not in get_args(Workload):
        raise AppError(
            ErrorKind.USAGE,
            f"There is no workload “{args.workload}”.",
            hint=f"Choose one of {', '.join(WORKLOADS)}.",
        )
    workload = cast("Workload", args.workload)
    options = MountOptions.parse(_requested_options(args, mount))
    if args.transport in {"tcp", "udp"}:
        options.set("proto", args.transport)
    facts = _described(args, gather(mount.share if mount is not None else args.share))
    tunables = _tunables(args, mount, facts.client)
    context = _context(args, facts, mount, mounts)
    advice = recommend(
        options, facts, workload,
        context=context, tunables=tunables, measured=args.measured, without=args.without,
    )  # fmt: skip
    advised = advice.options
    read_ahead, wanted = _read_aheads(tunables, advice)
    expected = {
        figure: Expected(
            figure=figure,
            call_size=call_size(asked, advised.values()),
            now=_predict(options, facts, _work(direction, asked, options), read_ahead),
            advised=_predict(advised, facts, _work(direction, asked, advised), wanted),
        )
        for figure, (direction, asked) in _FIGURES.items()
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
        curve=predicted_curve(options, advised, facts, read_ahead=read_ahead, advised_read_ahead=wanted),
        read_ahead_state=mount.active.read_ahead_state
        if mount is not None and mount.active is not None
        else "",
        lacking=advice.lacking,
    )


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
        needed_at_boot=args.needed_at_boot,
        encrypted=args.encrypted,
        travels=args.travels,
        server_sleeps=args.server_sleeps,
        firewall=args.firewall,
        rdma=args.rdma,
        kerberos=args.kerberos or _kerberos_seen(facts),
        alone=args.alone,
        no_waiting=args.no_waiting,
        many_mounts=args.many_mounts,
    )


def _kerberos_seen(facts: Facts) -> bool:
    """Whether this computer is known to have what a mount with Kerberos needs."""
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


def _described(args: AdviceArgs, facts: Facts) -> Facts:
    """Return the facts with what the person chose in the place of what was observed.

    Another machine's kernel is not this one's: with an adapter or a link by hand and no share, nothing is
    said of the client.
    """
    if (args.adapter or args.link or args.server) and not args.share and not args.mount_point:
        facts = Facts(client=ClientFacts(sources=dict.fromkeys(("udp", "kernel"), _OTHER_MACHINE)))
    if args.kernel:
        sources = facts.client.sources | {"kernel": _CHOSEN_BY_HAND}
        facts = replace(facts, client=replace(facts.client, kernel=args.kernel, sources=sources))
    if args.link:
        facts = replace(facts, link=_described_link(args.link))
    if args.adapter:
        facts = replace(facts, link=_with_adapter(facts.link, _card(args.adapter), keep=bool(args.link)))
    facts = replace(facts, link=_with_packets(facts.link, args))
    if args.server:
        facts = replace(facts, server=_described_server(facts.server, args.server))
    if args.server_adapter:
        server = facts.server or ServerFacts()
        sources = {**server.sources, "card": _CHOSEN_BY_HAND}
        facts = replace(facts, server=replace(server, card=_card(args.server_adapter), sources=sources))
    return facts


def _described_server(server: ServerFacts | None, kind: str) -> ServerFacts:
    if kind not in server_kinds():
        raise AppError(
            ErrorKind.USAGE,
            f"There is no kind of server “{kind}”.",
            hint=f"Choose one of {', '.join(server_kinds())}.",
        )
    server = server or ServerFacts()
    return replace(server, kind=kind, sources={**server.sources, "kind": _CHOSEN_BY_HAND})


def _described_link(text: str) -> LinkFacts:
    link = parse_link(text).facts()
    sources = dict.fromkeys(link.sources, _CHOSEN_BY_HAND)
    # The lab's profiles name the hardware that they stand for, which another machine need not have.
    unknown = dict.fromkeys(("driver", "bus", "bus_id", "interface"), _OTHER_MACHINE)
    return replace(
        link, interface=None, adapter="as described", driver=None, bus=None, bus_id=None, emulated=False,
        sources=sources | unknown,
    )  # fmt: skip


def _with_adapter(link: LinkFacts | None, card: str, *, keep: bool) -> LinkFacts:
    """Return the link with this adapter: all of them are for 10 Mbit/s Ethernet."""
    title = network_cards()[card].title
    if link is not None and keep:
        return replace(link, card=card, adapter=title, sources={**link.sources, "card": _CHOSEN_BY_HAND})
    named = dict.fromkeys(("card", "adapter", "rate_bps", "kind"), _CHOSEN_BY_HAND)
    return LinkFacts(
        name=title, kind="ethernet", adapter=title, card=card, rate_bps=1e7, mtu=1500,
        sources={**named, "rtt_s": _OTHER_MACHINE, "driver": _OTHER_MACHINE},
    )  # fmt: skip


def _with_packets(link: LinkFacts | None, args: AdviceArgs) -> LinkFacts | None:
    """Return the link with the sizes of frames and packets that the person describes."""
    if args.mtu is None and args.path_mtu is None:
        return link
    link = link or LinkFacts()
    if args.mtu is not None:
        link = replace(link, mtu=args.mtu, sources=link.sources | {"mtu": _CHOSEN_BY_HAND})
    if args.path_mtu is not None:
        link = replace(link, path_mtu=args.path_mtu, sources=link.sources | {"path_mtu": _CHOSEN_BY_HAND})
    return link


def _card(text: str) -> str:
    found = find_card(text)
    if found is None:
        names = ", ".join(f"{card.names[0]} ({card.title})" for card in network_cards().values())
        raise AppError(
            ErrorKind.USAGE,
            f"The adapter “{text}” needs no values of its own, or it is not known here.",
            hint=f"Adapters with values of their own: {names}. For another one describe its link (--link).",
        )
    return found


def _read_aheads(tunables: Mapping[str, str], advice: Advice) -> tuple[int, int]:
    """Return the readahead in force and the recommended one, bytes."""
    now = int(tunables.get("read_ahead_kb", DEFAULT_READAHEAD_BYTES // 1024))
    advised = {item.option: item.proposed for item in advice.recommendations if item.included}
    return now * 1024, int(advised.get("read_ahead_kb") or now) * 1024


def _work(direction: Direction, asked: int, options: MountOptions) -> CopySpec:
    return CopySpec(direction=direction, length=COPY_BYTES, block=call_size(asked, options.values()))


def _predict(options: MountOptions, facts: Facts, work: CopySpec, read_ahead: int) -> Prediction | None:
    """Return what the model of TCP expects; over UDP and RDMA it does not hold."""
    if implied_values(options).get("proto", "").startswith(("udp", "rdma")):
        return None
    return predict(options, facts, work, read_ahead=read_ahead)

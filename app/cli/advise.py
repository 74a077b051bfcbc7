"""Command "advise": recommended options for a mount, with reasons, also for another computer."""

from __future__ import annotations

import argparse
import re
import textwrap
from typing import TYPE_CHECKING

from advisor.facts import FACT_LABELS, unknown_facts
from advisor.identify import network_cards, server_kinds
from advisor.options import MountOptions, catalogue
from advisor.recommend import group_recommendations, spelled_value, undo_text
from advisor.recommendation import WORKLOADS
from advisor.speeds import format_speed
from advisor.use_conditions import UseConditions
from app.cli.text import link_text
from app.errors import AppError, ErrorKind
from app.service.advice import headline, missing_facts_hint
from app.service.model import AdviceArgs
from app.text.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from advisor.prediction import PredictedCurve
    from advisor.recommendation import Recommendation
    from app.service.model import AdviceResult, Expected

#: Width of wrapped text, characters.
_WIDTH = 100
#: Smallest MTU of IPv4 (RFC 791) and largest MTU of a Linux interface, bytes.
_MTU = (68, 65536)
_FIGURES = {"write": "copying to the server", "read": "copying from it", "small-read": "small reads"}
_SCOPE_TEXTS = {"mount": "", "server": " [all mounts of the server]", "host": " [the whole computer]"}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of advise."""
    command.add_argument(
        "where", nargs="?", default="", metavar="SHARE|MOUNTPOINT", help="a share, or where one is mounted"
    )
    command.add_argument(
        "-o", dest="options", default=None, metavar="OPTIONS", help="instead of the mount's own"
    )
    command.add_argument("--workload", choices=WORKLOADS, default="general", help="what the mount is for")
    command.add_argument(
        "--adapter",
        default="",
        metavar="NAME",
        help="the network adapter of another computer, for example "
        + ", ".join(card.names[0] for card in network_cards().values()),
    )
    command.add_argument("--server-adapter", default="", metavar="NAME", help="the adapter of its server")
    command.add_argument(
        "--server",
        choices=tuple(server_kinds()),
        default="",
        help="what kind of server it has, instead of the one found",
    )
    command.add_argument("--transport", choices=("tcp", "udp"), default="")
    command.add_argument(
        "--link",
        default="",
        help="the link of another computer: a profile such as wan, or rate=10gbit,delay=0.1ms",
    )
    command.add_argument(
        "--mtu", type=_packet_size, default=None, metavar="BYTES", help="largest frame that the adapter sends"
    )
    command.add_argument(
        "--path-mtu",
        type=_packet_size,
        default=None,
        metavar="BYTES",
        help="largest packet that reaches the server whole",
    )
    command.add_argument(
        "--kernel",
        type=_release,
        default=None,
        metavar="RELEASE",
        help="the kernel of another computer, for example 4.18",
    )
    command.add_argument(
        "--needed-at-boot", action="store_true", help="the computer cannot work without the mount"
    )
    command.add_argument("--encrypted", action="store_true", help="the data must be encrypted on the network")
    command.add_argument("--travels", action="store_true", help="the computer sleeps, or changes its network")
    command.add_argument(
        "--server-sleeps", action="store_true", help="the server is switched off or asleep at times"
    )
    command.add_argument(
        "--firewall", action="store_true", help="only port 2049 of the server can be reached"
    )
    command.add_argument(
        "--rdma",
        action="store_true",
        help="both ends have RDMA adapters, and the server exports over RDMA",
    )
    command.add_argument(
        "--kerberos", action="store_true", help="Kerberos is set up: realm, keytab and rpc.gssd"
    )
    command.add_argument("--alone", action="store_true", help="no other computer uses these files")
    command.add_argument(
        "--no-waiting",
        action="store_true",
        help="programs must get an error rather than wait for a server that is away",
    )
    command.add_argument("--many-mounts", action="store_true", help="this computer mounts hundreds of shares")
    command.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="OPTION[,OPTION…]",
        help="recommendations to leave out of the advised options",
    )


def _packet_size(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not _MTU[0] <= int(text[:9]) <= _MTU[1]:
        raise argparse.ArgumentTypeError(
            f"“{text}” is not a packet size. Enter bytes from {_MTU[0]} to {_MTU[1]}, for example 9000."
        )
    return int(text)


def _release(text: str) -> str:
    if re.match(r"[0-9]{1,4}\.[0-9]{1,4}(?:[.-]|\Z)", text, re.ASCII) is None:
        raise argparse.ArgumentTypeError(
            f"“{text}” is not a kernel release. Enter what “uname -r” shows, for example 5.14 or 6.1.0-18."
        )
    return text


def advice_query(args: argparse.Namespace) -> AdviceArgs:
    """Return the arguments of the request for advice."""
    is_mount_point = args.where.startswith("/")
    return AdviceArgs(
        share="" if is_mount_point else args.where,
        mount_point=args.where if is_mount_point else "",
        options=args.options,
        workload=args.workload,
        adapter=args.adapter,
        server_adapter=args.server_adapter,
        server=args.server,
        transport=args.transport,
        link=args.link,
        without=tuple(name for names in args.without for name in names.split(",") if name),
        conditions=UseConditions(**{name: getattr(args, name) for name in UseConditions.__struct_fields__}),
        kernel=args.kernel or "",
        mtu=args.mtu,
        path_mtu=args.path_mtu,
    )


def check_left_out(args: AdviceArgs, result: AdviceResult) -> None:
    """Check that each option of ``--without`` has a recommendation.

    Raises:
        AppError: USAGE if an option has none; its hint lists the recommendations.
    """
    recommended = [item.option for item in result.recommendations]
    for name in args.without:
        option = catalogue().find(name)
        if (option.name if option is not None else name) not in recommended:
            named = ", ".join(recommended) or "Nothing is recommended"
            raise AppError(
                ErrorKind.USAGE,
                f"There is no recommendation for “{name}” to leave out.",
                hint=f"Name one of these after --without: {named}." if recommended else f"{named}.",
            )


def advice_text(result: AdviceResult) -> str:
    """Return the advice as text."""
    lines = [*_link_lines(result), *_attention_lines(result), *_change_lines(result)]
    if result.agreed:
        lines += ["No change needed:", *_by_reason(result.agreed.items()), ""]
    if result.not_recommended:
        lines += [
            "Not recommended:",
            *_by_reason(
                (_change(other.option, other.value), other.reason) for other in result.not_recommended
            ),
            "",
        ]
    lines += _expected_lines(result.expected) + _udp_lines(result.curve)
    unknown = [(FACT_LABELS[part][name], why) for part, name, why in unknown_facts(result.facts)]
    if unknown:
        lines += ["Unknown, so not taken into account:", *_by_reason(unknown)]
    return "\n".join(lines).rstrip()


def _link_lines(result: AdviceResult) -> Iterator[str]:
    """Return the link of the advice, and a line if the server does not answer."""
    if result.facts.link is not None:
        yield from (f"Link: {link_text(result.facts.link)}", "")
    server = result.facts.server
    if server is not None and server.reachable is False:
        yield from (f"The server does not respond now ({server.sources['reachable']}).", "")


def _attention_lines(result: AdviceResult) -> Iterator[str]:
    for warning in result.attention:
        yield from _wrapped(f"{warning.text} {warning.reason}", "")
        if warning.evidence:
            yield from _wrapped(f"Because of {'; '.join(warning.evidence)}.", "  ")
        yield from (*_steps(warning.how_to), "")


def _change_lines(result: AdviceResult) -> Iterator[str]:
    """Return the recommended changes, or the reason why there are none."""
    included = any(item.included for item in result.recommendations)
    if not included:
        has_results = result.agreed or result.attention or result.lacking or result.recommendations
        yield headline(result) + ("" if has_results else " Rules and lint agree with these options.")
        yield from (*_wrapped(missing_facts_hint(result), ""), "")
    for group in group_recommendations(result.recommendations):
        yield from (*_recommendations(group), "")
    if included:
        yield from (f"Advised options: {result.advised_options or 'none'}", "")
    if result.read_ahead_state == "until-unmounted":
        note = "The readahead of this mount is lost at unmount. “apply --save-readahead” saves it."
        yield from (*_wrapped(note, ""), "")


def _by_reason(entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Return a paragraph for each reason, after the names of all entries that have it."""
    names: dict[str, list[str]] = {}
    for name, reason in entries:
        names.setdefault(reason, []).append(name)
    for reason, group in names.items():
        yield from _wrapped(f"{'; '.join(group)}: {reason}", "  ")


def _recommendations(items: list[Recommendation]) -> Iterator[str]:
    """Return the changes of a group of recommendations, then the reason and evidence that they share."""
    item = items[0]
    for each in items:
        absent = "not given" if catalogue().find(each.option) is not None else "not known"
        now = absent if each.current is None else spelled_value(each.option, each.current) or "on"
        requested = " (requested by you)" if each.replaces_own else ""
        omitted = "" if each.included else " [left out]"
        notes = f"{requested}{_SCOPE_TEXTS[each.scope]}{omitted}"
        yield f"{_change(each.option, each.proposed)}   now: {now}{notes}"
    yield from _wrapped(item.reason, "  ")
    for name, text in (("Effect", item.effect), ("Risk", item.risk), ("Undo", undo_text(items, str))):
        if text:
            yield from _wrapped(f"{name}: {text}", "  ")
    if item.evidence:
        yield from _wrapped(f"Because of {'; '.join(item.evidence)}.", "  ")
    yield from _steps(item.how_to)
    yield from _wrapped(f"Source: {item.source}" + (f" <{item.link}>" if item.link else ""), "  ")
    yield f"  Confidence: {item.confidence}; {item.status}."


def _steps(lines: Iterable[str]) -> list[str]:
    steps = [f"    {line}" for line in lines]
    return ["  How to:", *steps] if steps else []


def _change(option: str, value: str | None) -> str:
    if value is None:
        return f"{option}: leave it out"
    if catalogue().find(option) is None:
        return f"{option}={value}"
    options = MountOptions()
    options.set(option, value)
    return str(options)


def _expected_lines(expected: list[Expected]) -> list[str]:
    lines: list[str] = []
    for entry in expected:
        now, advised = entry.now, entry.advised
        if now is None or advised is None:
            continue
        if not lines:
            lines.append("Expected speed of large files (from a model, not measured):")
        text = f"  {_FIGURES[entry.figure]} in calls of {format_size(entry.call_size)}: "
        if now.unpredictable or advised.unpredictable:
            lines.append(f"{text}cannot be predicted: it depends on the processors. Run a test")
            continue
        text += format_speed(now.bytes_per_s)
        if format_speed(now.bytes_per_s) != format_speed(advised.bytes_per_s):
            text += f" now, {format_speed(advised.bytes_per_s)} as advised"
        lines.append(f"{text}, ±{advised.error:.0%}, limited by {advised.limit}")
    return [*lines, ""] if lines else []


def _udp_lines(curve: PredictedCurve | None) -> list[str]:
    if curve is None or curve.over == "read_ahead_kb":
        return []
    (now, slow), (best, fast) = curve.now, curve.advised
    speeds = f"{format_speed(slow)} now, with {now} bytes at a time"
    if now != best or format_speed(slow) != format_speed(fast):
        speeds += f"; {format_speed(fast)} as advised, with {best}"
    heading = "Expected speed of a copy over UDP (from a model, not measured):"
    return [heading, f"  {speeds}, ±{curve.errors[0]:.0%}", ""]


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip

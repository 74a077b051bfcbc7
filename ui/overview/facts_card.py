"""Facts in words: what each is called, its value, and how it was learned or why it is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from advisor.cards import cards
from advisor.fact_names import FACT_NAMES, unknown_facts
from advisor.identify import server_kinds
from advisor.speeds import format_rate
from app.units import format_duration
from ui.common.translation import tr

if TYPE_CHECKING:
    from advisor.fact_names import Part
    from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts


class FactText(NamedTuple):
    """One fact: its name, its value ("" if it is not known), and how it was learned or why not."""

    label: str
    value: str
    how: str


def fact_rows(facts: Facts) -> list[FactText]:
    """Return what a person wants to see first of the way to the server."""
    rows: list[FactText] = []
    if facts.link is not None:
        rows += _link_rows(facts.link)
    if facts.server is not None:
        rows += _server_rows(facts.server, facts.client)
    return rows


def unknown_reasons(facts: Facts) -> dict[str, list[str]]:
    """Return why facts are not known, with the names of the facts."""
    reasons: dict[str, list[str]] = {}
    for part, name, why in unknown_facts(facts):
        reasons.setdefault(why, []).append(_labels(part)[name])
    return reasons


def _link_rows(link: LinkFacts) -> list[FactText]:
    duplex = {"half": tr("half"), "full": tr("full")}
    card = cards().get(link.card or "")
    loss = tr("{percent} %").format(percent=f"{link.loss * 100:.3g}") if link.loss else ""
    values = {
        "interface": link.interface or "",
        "adapter": link.adapter or (card.title if card is not None else ""),
        "driver": link.driver or "",
        "rate_bps": "" if link.rate_bps is None else format_rate(link.rate_bps),
        "duplex": duplex.get(link.duplex or "", link.duplex or ""),
        "mtu": "" if link.mtu is None else tr("{count} bytes").format(count=link.mtu),
        "rtt_s": "" if link.rtt_s is None else format_duration(link.rtt_s),
    }
    via = ", ".join(link.via or ())
    # Only where it is another one.
    up = "" if link.up_bps is None or link.up_bps == link.rate_bps else format_rate(link.up_bps)
    values |= {name: text for name, text in (("up_bps", up), ("loss", loss), ("via", via)) if text}
    rows = _texts(values, _labels("link"), link.sources)
    if link.emulated:
        rows.insert(0, FactText(tr("Link"), tr("{name}, emulated").format(name=link.name), tr("the lab")))
    return rows


def _server_rows(server: ServerFacts, client: ClientFacts | None) -> list[FactText]:
    kind = server_kinds().get(server.kind or "")
    udp = tr("UDP, which this kernel cannot mount") if client is not None and client.udp is False else "UDP"
    versions = [
        f"{', '.join(found)} ({name})"
        for name, found in (("TCP", server.tcp_versions), (udp, server.udp_versions))
        if found
    ]
    asked = server.tcp_versions is not None or server.udp_versions is not None
    values = {
        "kind": kind.title if kind is not None else server.implementation or server.kind or "",
        "tcp_versions": "; ".join(versions) or (tr("none that it tells of") if asked else ""),
    }
    return _texts(values, _labels("server"), server.sources)


def _texts(values: dict[str, str], labels: dict[str, str], sources: dict[str, str]) -> list[FactText]:
    return [FactText(labels[name], value, sources.get(name, "")) for name, value in values.items()]


def _labels(part: Part) -> dict[str, str]:
    return {name: tr(text) for name, text in FACT_NAMES[part].items()}

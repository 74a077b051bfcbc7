"""Sentences about facts: what is known of a link, in words; what is not known says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from app.units import format_duration, format_rate

if TYPE_CHECKING:
    from advisor.facts import Facts, LinkFacts


def _tr(text: str) -> str:
    return QCoreApplication.translate("words", text)


def link_line(facts: Facts | None) -> str:
    """Return the link in one line: adapter, rate, duplex, round trip."""
    if facts is None or facts.link is None:
        return _tr("Link: not known yet")
    return "  ·  ".join([_name(facts.link), *link_figures(facts.link)])


def link_figures(link: LinkFacts) -> list[str]:
    """Return what is known of a link in figures: rate, round trip, loss."""
    parts: list[str] = []
    if link.rate_bps is None:
        parts.append(_tr("speed unknown"))
    else:
        parts.append(format_rate(link.rate_bps) + (f" {link.duplex} duplex" if link.duplex else ""))
    if link.rtt_s is None:
        parts.append(_tr("round trip unknown"))
    else:
        parts.append(_tr("round trip {time}").format(time=format_duration(link.rtt_s)))
    if link.loss:
        parts.append(_tr("{percent} % lost").format(percent=f"{link.loss * 100:.3g}"))
    return parts


def _name(link: LinkFacts) -> str:
    if link.emulated:
        return _tr("Emulated link {name}").format(name=link.name)
    names = [part for part in (link.interface or link.name, link.adapter) if part]
    return _tr("Link: {name}").format(name=", ".join(names) or _tr("interface unknown"))

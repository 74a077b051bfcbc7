"""Texts of measured figures: values with units, confidence intervals, rates of small files, bottlenecks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from app.speedtest.analysis import link_share
from app.text.units import format_figure
from ui.common.speed_units import SPEED_UNITS, speed_text
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.bottleneck import Bottleneck
    from app.speedtest.model import Figure, TestResult


def with_unit(figure: str, number: float) -> str:
    """Format a value of a figure (a name of advisor.experiment.measurements) with its unit."""
    return format_figure(figure, number, SPEED_UNITS.unit)


def interval_with_unit(figure: str, low: float, high: float) -> str:
    """Format an interval of a figure; the unit appears once if both ends have the same."""
    first, last = with_unit(figure, low), with_unit(figure, high)
    return f"{without_unit(first, last)} – {last}"  # noqa: RUF001 - the sign


def without_unit(first: str, last: str) -> str:
    """Return the first formatted value, without its unit if the last value has the same unit."""
    number, _, unit = first.rpartition(" ")
    return number if number and last.endswith(f" {unit}") else first


#: Confidence level from which on an interval is called a 95% interval.
_CONFIDENCE = 0.95


def interval_title(figure: Figure) -> str:
    """Return the title of a figure's interval: fewer than six repeats give only their range."""
    return tr("95% CI") if figure.confidence >= _CONFIDENCE else tr("Range")


def interval_text(figure: Figure, form: Callable[[float], str] = speed_text) -> str:
    """Format the interval of a figure; ``form`` formats one end."""
    low, high = form(figure.low), form(figure.high)
    return tr("{low} to {high}").format(low=without_unit(low, high), high=high)


def rates_texts(result: TestResult) -> list[str]:
    """Return one sentence for each measured rate of small files (create, stat, delete)."""
    titles = {"create": tr("Create"), "stat": tr("Look up (stat)"), "delete": tr("Delete")}
    texts: list[str] = []
    for name, title in titles.items():
        figure = result.figures.get(name)
        if figure is None:
            continue
        text = tr("{title}: {rate} files/s").format(title=title, rate=_rate(figure.median))
        if len(figure.values) > 1:
            text = tr("{rate} ({interval} {values})").format(
                rate=text, interval=interval_title(figure), values=interval_text(figure, _rate)
            )
        texts.append(text)
    return texts


def wide_text(result: TestResult) -> str:
    """Return a warning that names the figures with a wide spread between repeats, "" without any."""
    names = {
        "write": tr("speed to the server"), "read": tr("speed from the server"),
        "small-read": tr("small reads"),
        "create": tr("creating files"), "stat": tr("looking up files"), "delete": tr("deleting files"),
    }  # fmt: skip
    wide = [names.get(name, name) for name, figure in result.figures.items() if figure.wide]
    if not wide:
        return ""
    text = tr(
        "The repeats differ too much for a conclusion: {names}. Probably something else used the network, "
        "the server or this computer. Repeat the test when it is quiet, or with more repeats."
    )
    return text.format(names=", ".join(wide))


def kind_text(bottleneck: Bottleneck) -> str:
    """Return the name of a bottleneck's kind."""
    return {
        "network": tr("the network"), "server": tr("the server"),
        "round-trips": tr("the wait per request"), "client": tr("this computer"),
        "unclear": tr("unclear"),
    }[bottleneck.kind]  # fmt: skip


def bottleneck_title(bottleneck: Bottleneck) -> str:
    """Return a title with the direction, the bottleneck and its confidence."""
    confidence = {
        "high": tr("high confidence"), "medium": tr("medium confidence"), "low": tr("low confidence")
    }  # fmt: skip
    direction = tr("To the server") if bottleneck.way == "write" else tr("From the server")
    if bottleneck.kind == "unclear":
        return tr("{way}: the limit is unclear").format(way=direction)
    title = tr("{way}: limited by {kind} ({sure})")
    return title.format(way=direction, kind=kind_text(bottleneck), sure=confidence[bottleneck.confidence])


class Verdict(NamedTuple):
    """Answer of a test in one sentence.

    Attributes:
        icon: name of the icon.
        good: whether nothing can be gained.
        text: the sentence.
    """

    icon: str
    good: bool
    text: str


#: Fraction of the link from which the network counts as full (see advisor.bottleneck).
_FULL_LINK = 0.8


def verdict(result: TestResult) -> Verdict | None:
    """Return what limited a test, None if the agent did not find it out."""
    bottleneck = result.bottleneck
    if bottleneck is None:
        return None
    share = link_share(result, bottleneck.way)
    if bottleneck.kind == "network" and share is not None and share >= _FULL_LINK:
        text = tr("{percent}% of the link. The network is the limit.")
        return Verdict("check", True, text.format(percent=round(100 * share)))  # noqa: FBT003 - a field
    certain = {
        "network": tr("The network is the limit."), "server": tr("The server is the limit."),
        "round-trips": tr("The wait per request is the limit."),
        "client": tr("This computer is the limit."), "unclear": tr("The limit is unclear."),
    }  # fmt: skip
    uncertain = {
        "network": tr("The network is probably the limit."),
        "server": tr("The server is probably the limit."),
        "round-trips": tr("The wait per request is probably the limit."),
        "client": tr("This computer is probably the limit."), "unclear": tr("The limit is unclear."),
    }  # fmt: skip
    text = (certain if bottleneck.confidence == "high" else uncertain)[bottleneck.kind]
    if share is not None and share < _FULL_LINK:
        text = tr("{percent}% of the link. {limit}").format(percent=round(100 * share), limit=text)
    return Verdict("question" if bottleneck.kind == "unclear" else "info", False, text)  # noqa: FBT003


def _rate(value: float) -> str:
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"

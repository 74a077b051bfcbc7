"""Texts of measured figures: values with units, confidence intervals, rates of small files, bottlenecks."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    return tr("95 % interval") if figure.confidence >= _CONFIDENCE else tr("Slowest to fastest")


def interval_text(figure: Figure, form: Callable[[float], str] = speed_text) -> str:
    """Format the interval of a figure; ``form`` formats one end."""
    low, high = form(figure.low), form(figure.high)
    return tr("{low} to {high}").format(low=without_unit(low, high), high=high)


def rates_texts(result: TestResult) -> list[str]:
    """Return one sentence for each measured rate of small files (create, stat, delete)."""
    titles = {"create": tr("Made"), "stat": tr("Looked up (stat)"), "delete": tr("Deleted")}
    texts: list[str] = []
    for name, title in titles.items():
        figure = result.figures.get(name)
        if figure is None:
            continue
        text = tr("{title}: {rate} files a second").format(title=title, rate=_rate(figure.median))
        if len(figure.values) > 1:
            span = interval_title(figure)
            text += f" ({span[:1].lower()}{span[1:]}: {interval_text(figure, _rate)})"
        texts.append(f"{text}.")
    return texts


def wide_text(result: TestResult) -> str:
    """Return a warning that names the figures with a wide spread between repeats, "" without any."""
    names = {
        "write": tr("the speed to the server"), "read": tr("the speed from the server"),
        "small-read": tr("the small reads"),
        "create": tr("making files"), "stat": tr("looking files up"), "delete": tr("deleting files"),
    }  # fmt: skip
    wide = [names.get(name, name) for name, figure in result.figures.items() if figure.wide]
    if not wide:
        return ""
    text = tr(
        "The repeats are too far apart to conclude from them: {names}. Something else used the network, the "
        "server or this computer meanwhile; repeat the test when it is quiet, or more often."
    )
    return text.format(names=", ".join(wide))


def kind_text(bottleneck: Bottleneck) -> str:
    """Return the name of a bottleneck's kind."""
    return {
        "network": tr("the network"), "server": tr("the server"),
        "round-trips": tr("the round trips to the server"), "client": tr("this computer"),
        "unclear": tr("what is not clear"),
    }[bottleneck.kind]  # fmt: skip


def bottleneck_title(bottleneck: Bottleneck) -> str:
    """Return a title with the direction, the bottleneck and its confidence."""
    confidence = {"high": tr("sure"), "medium": tr("likely"), "low": tr("a guess")}
    direction = tr("To the server") if bottleneck.way == "write" else tr("From the server")
    if bottleneck.kind == "unclear":
        return tr("{way}: what held it back is not clear").format(way=direction)
    title = tr("{way}: held back by {kind} ({sure})")
    return title.format(way=direction, kind=kind_text(bottleneck), sure=confidence[bottleneck.confidence])


def _rate(value: float) -> str:
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"

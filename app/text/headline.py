"""Sentences of a mount's headline, and of the result of a before-and-after test."""

# ruff: noqa: D102 - the attributes are described in the class of app.speedtest

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from advisor.options import catalogue
from advisor.speeds import format_rate, format_speed
from advisor.tunables import tunables
from app.text.mounts import trouble_text
from app.text.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from advisor.bottleneck import BottleneckKind
    from advisor.facts import LinkFacts
    from advisor.headline import Headline, PossibleGain, SettingChange, SpeedFigure
    from app.text.mounts import MountStatus, Waiting

#: Factors from which a gain is called "twice", and from which it is given in whole times.
_TWICE, _WHOLE_TIMES = (1.75, 2.4), 2.4
#: Factor up to which a gain is given in percent.
_PERCENT_BELOW = 1.75


class FigureComparison(Protocol):
    """Part of :class:`app.speedtest.result_comparison.FigureComparison` that the texts need."""

    @property
    def figure(self) -> str: ...
    @property
    def change(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def confidence(self) -> float: ...
    @property
    def verdict(self) -> str: ...


class HeadlineText(NamedTuple):
    """A title, and sentences below it."""

    title: str
    lines: tuple[str, ...] = ()


def headline_text(
    headline: Headline, mount: MountStatus, now: float, waiting: Waiting | None = None
) -> HeadlineText:
    """Return the headline of a mount in words.

    Args:
        headline: the headline.
        mount: the mount.
        now: Unix time by the clock of the mount's host, seconds.
        waiting: processes that wait for the mount, None if unknown.
    """
    if headline.code in {"not-responding", "stale"}:
        trouble = trouble_text(mount, now, waiting)
        title, _, rest = (trouble.message if trouble is not None else "").partition(". ")
        return HeadlineText(title.rstrip("."), (rest,) if rest else ())
    if headline.gain is not None:
        return HeadlineText(gain_title(headline.gain), _gain_lines(headline, headline.gain))
    if headline.code in {"full-link", "held-back"}:
        return _measured_text(headline)
    return _unmeasured_text(headline)


def _unmeasured_text(headline: Headline) -> HeadlineText:
    situation = headline.situation
    if headline.code == "no-address":
        title = f"Can't advise yet: {situation.server} has no address"
        return HeadlineText(
            title, ("Check the name of the server, and whether this computer's name service knows it.",)
        )
    if headline.code == "recommended":
        count = len(situation.changes)
        title = "One setting should change" if count == 1 else f"{count} settings should change"
        return HeadlineText(title, (changes_text(situation.changes), _interruption_text(headline)))
    if headline.code == "ends-at-boot":
        return HeadlineText(
            "This mount ends at the next restart",
            (f"{situation.mount_point} is not saved in fstab or systemd.",),
        )
    if situation.other_settings:
        return HeadlineText(
            "Not measured yet with these settings", ("The last test ran with other settings.",)
        )
    return HeadlineText("Not measured yet", ("No setting needs a change, as far as is known.",))


def gain_title(gain: PossibleGain) -> str:
    """Return the possible gain as a title: “Reading can be about twice as fast”."""
    ratio = gain.ratio
    form = "twice" if _TWICE[0] <= ratio < _TWICE[1] else "times" if ratio >= _WHOLE_TIMES else "percent"
    templates: dict[tuple[SpeedFigure, str], str] = {
        ("write", "twice"): "Writing can be about twice as fast",
        ("write", "times"): "Writing can be about {factor} times as fast",
        ("write", "percent"): "Writing can be about {percent}% faster",
        ("read", "twice"): "Reading can be about twice as fast",
        ("read", "times"): "Reading can be about {factor} times as fast",
        ("read", "percent"): "Reading can be about {percent}% faster",
        ("small-read", "twice"): "Small reads can be about twice as fast",
        ("small-read", "times"): "Small reads can be about {factor} times as fast",
        ("small-read", "percent"): "Small reads can be about {percent}% faster",
    }
    percent = round((ratio - 1) * 100, -1) or round((ratio - 1) * 100)
    return templates[gain.figure, form].format(factor=round(ratio), percent=f"{percent:.0f}")


def _gain_lines(headline: Headline, gain: PossibleGain) -> tuple[str, ...]:
    template = (
        "{now} measured now, about {advised} predicted."
        if gain.measured
        else "About {now} now, about {advised} predicted."
    )
    speeds = template.format(now=_rounded_speed(gain.now), advised=_rounded_speed(gain.advised))
    lines = [f"{speeds} {changes_text(headline.situation.changes)}", _interruption_text(headline)]
    if gain.figure == "small-read":
        lines.append("Copies of large files stay as fast as they are.")
    return tuple(lines)


def _rounded_speed(bytes_per_s: float) -> str:
    """Return a speed with two digits, as a prediction is no more exact."""
    digits = 10 ** (len(str(int(bytes_per_s))) - 2)
    return format_speed(round(bytes_per_s / digits) * digits if digits >= 1 else bytes_per_s)


def changes_text(changes: Iterable[SettingChange]) -> str:
    """Return the recommended changes as a sentence; three or more are listed by name only."""
    items = list(changes)
    if len(items) == 1:
        return f"One setting: {change_text(items[0])}."
    if len(items) == 2:
        return f"Two settings: {change_text(items[0])}, {change_text(items[1])}."
    names = ", ".join(setting_label(item.option) for item in items)
    return f"{len(items)} settings: {names}."


def change_text(change: SettingChange) -> str:
    """Return one change: “Readahead 128 KiB → 1 MiB”."""
    current, proposed = (_value_text(change.option, value) for value in (change.current, change.proposed))
    return f"{setting_label(change.option)} {current} → {proposed}"


def setting_label(name: str) -> str:
    """Return the label of a mount option or of a kernel tunable."""
    option, tunable = catalogue().find(name), tunables().get(name)
    if option is not None:
        return option.label
    return tunable.label if tunable is not None else name


def _value_text(name: str, value: str | None) -> str:
    if name == "read_ahead_kb":
        return format_size(int(value) * 1024) if value is not None and value.isdigit() else "unknown"
    option = catalogue().find(name)
    if value is None or option is None:
        return "default" if value is None else value
    if option.kind == "size" and value.isdigit():
        return format_size(int(value))
    return option.word_for(value) or value


def _interruption_text(headline: Headline) -> str:
    situation = headline.situation
    if not situation.is_mounted:
        return "It takes effect at the next mount."
    if situation.interrupts:
        return f"Interrupts {situation.mount_point} for about 1 s. You can undo it at any time."
    return "Nothing is interrupted. You can undo it at any time."


_LIMITS: dict[BottleneckKind, str] = {
    "network": "The network link is the limit.",
    "server": "The server is the limit.",
    "round-trips": "The round trips to the server are the limit.",
    "client": "This computer is the limit.",
    "unclear": "",
}


def _measured_text(headline: Headline) -> HeadlineText:
    situation, shares = headline.situation, headline.shares
    limit = _LIMITS[situation.bottleneck] if situation.bottleneck is not None else ""
    if not shares:
        speed = format_speed(min(situation.measured.values()))
        return HeadlineText("No known setting is faster", tuple(_full(f"{speed} measured.", limit)))
    lowest = shares[0]
    speeds = f"{format_speed(lowest.measured)} of {format_speed(lowest.limit)} measured."
    if headline.code == "full-link":
        return HeadlineText(
            "As fast as this link allows", tuple(_full(speeds, "The network link is the limit."))
        )
    percent = round(lowest.share * 100)
    template = {
        "write": "Writing uses {percent}% of the link.",
        "read": "Reading uses {percent}% of the link.",
        "small-read": "Small reads use {percent}% of the link.",
    }[lowest.figure]
    used = template.format(percent=percent)
    return HeadlineText("No known setting is faster", tuple(_full(f"{speeds} {used}", limit)))


def _full(*sentences: str) -> list[str]:
    return [sentence for sentence in sentences if sentence]


def link_text(link: LinkFacts) -> str:
    """Return the rate of a link, "" if it is unknown."""
    return format_rate(link.rate_bps) if link.rate_bps is not None else ""


def verdict_text(verdict: str, comparisons: Iterable[FigureComparison]) -> HeadlineText:
    """Return the result of a before-and-after test as a title and one sentence on what was done.

    Args:
        verdict: one of app.speedtest.result_comparison.ChangeVerdict.
        comparisons: the compared figures.
    """
    items = list(comparisons)
    if verdict == "faster":
        best = max((item for item in items if item.verdict == "faster"), key=lambda item: item.change)
        return HeadlineText(faster_title(best), ("Until the next unmount, unless you keep it.",))
    restored = "The old settings are back."
    titles = {
        "slower": "Slower with the new settings",
        "mixed": "Partly faster, partly slower",
        "same": "No difference",
        "unknown": "The tests cannot be compared",
    }
    return HeadlineText(titles[verdict], (restored,))


def faster_title(item: FigureComparison) -> str:
    """Return a proven gain as a title: “Reading is 2.2 times as fast”."""
    templates = {
        "write": "Writing is {factor} times as fast",
        "read": "Reading is {factor} times as fast",
        "small-read": "Small reads are {factor} times as fast",
    }
    template = templates.get(item.figure, "It is {factor} times as fast")
    factor = 1 + item.change
    return template.format(factor=f"{factor:.0f}" if factor >= 10 else f"{factor:.2g}")


def interval_text(item: FigureComparison) -> str:
    """Return the confidence interval of a comparison as a factor: “95% CI: 2.1 to 2.4 times”."""
    return "{confidence}% CI: {low} to {high} times as fast".format(
        confidence=f"{100 * item.confidence:.0f}", low=f"{1 + item.low:.3g}", high=f"{1 + item.high:.3g}"
    )

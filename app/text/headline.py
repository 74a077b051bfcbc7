"""Sentences of a mount's headline, and of the result of a before-and-after test."""

# ruff: noqa: D102 - the attributes are described in the class of app.speedtest

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from advisor.options import catalogue
from advisor.speeds import format_speed
from advisor.tunables import tunables
from app.text.mounts import trouble_text
from app.text.translate import gettext as _
from app.text.translate import ngettext
from app.text.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from advisor.bottleneck import BottleneckKind
    from advisor.headline import Headline, PossibleGain, SettingChange, SpeedFigure
    from advisor.recommendation import Recommendation
    from app.text.mounts import MountStatus, Waiting

#: Factor up to which a gain is given in percent, and factor from which it is given in whole times.
_PERCENT_BELOW, _WHOLE_TIMES = 1.75, 2.4


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
        title, _separator, rest = (trouble.message if trouble is not None else "").partition(". ")
        # The first choice is to wait.
        waits = trouble.choices[0].meaning if trouble is not None and trouble.choices else ""
        return HeadlineText(title.rstrip("."), _present(rest, waits))
    if headline.gain is not None:
        return HeadlineText(gain_title(headline.gain), _gain_lines(headline, headline.gain))
    if headline.code in {"full-link", "held-back"}:
        return _measured_text(headline)
    return _unmeasured_text(headline)


def _unmeasured_text(headline: Headline) -> HeadlineText:
    situation = headline.situation
    if headline.code == "no-address":
        title = _("Can't advise yet: {server} has no address").format(server=situation.server)
        return HeadlineText(title, (_("Check the server's name."),))
    if headline.code == "not-mounted":
        return HeadlineText(_("Not mounted"), (changes_text(situation.changes),) if situation.changes else ())
    if headline.code == "recommended":
        count = len(situation.changes)
        title = ngettext("One setting should change", "{count} settings should change", count)
        changes = _("{change}.").format(change=change_text(situation.changes[0]))
        changes = changes if count == 1 else changes_text(situation.changes)
        return HeadlineText(title.format(count=count), (changes, _interruption_text(headline)))
    if headline.code == "ends-at-boot":
        text = _("{path} is not saved in fstab or systemd.").format(path=situation.mount_point)
        return HeadlineText(_("This mount ends at the next restart"), (text,))
    if situation.other_settings:
        return HeadlineText(
            _("Not measured yet with these settings"), (_("The last test ran with other settings."),)
        )
    return HeadlineText(_("Not measured yet"), (_("No known setting needs a change."),))


def gain_title(gain: PossibleGain) -> str:
    """Return the possible gain as a title: “Reading can be about twice as fast”."""
    ratio = gain.ratio
    form = "percent" if ratio < _PERCENT_BELOW else "times" if ratio >= _WHOLE_TIMES else "twice"
    templates: dict[tuple[SpeedFigure, str], str] = {
        ("write", "twice"): _("Writing can be about twice as fast"),
        ("write", "times"): _("Writing can be about {factor} times as fast"),
        ("write", "percent"): _("Writing can be about {percent}% faster"),
        ("read", "twice"): _("Reading can be about twice as fast"),
        ("read", "times"): _("Reading can be about {factor} times as fast"),
        ("read", "percent"): _("Reading can be about {percent}% faster"),
        ("small-read", "twice"): _("Small reads can be about twice as fast"),
        ("small-read", "times"): _("Small reads can be about {factor} times as fast"),
        ("small-read", "percent"): _("Small reads can be about {percent}% faster"),
    }
    percent = round((ratio - 1) * 100, -1) or round((ratio - 1) * 100)
    return templates[gain.figure, form].format(factor=round(ratio), percent=f"{percent:.0f}")


def _gain_lines(headline: Headline, gain: PossibleGain) -> tuple[str, ...]:
    changes = changes_text(headline.situation.changes)
    template = (
        _("{now} measured, about {advised} predicted. {changes}")
        if gain.measured
        else _("About {now} now, about {advised} predicted. {changes}")
    )
    speeds = template.format(
        now=_rounded_speed(gain.now), advised=_rounded_speed(gain.advised), changes=changes
    )
    lines = [speeds, _interruption_text(headline)]
    if gain.figure == "small-read":
        lines.append(_("Copies of large files stay as fast as they are."))
    return tuple(lines)


def _rounded_speed(bytes_per_s: float) -> str:
    """Return a speed with two digits, as a prediction is no more exact."""
    digits = 10 ** (len(str(int(bytes_per_s))) - 2)
    return format_speed(round(bytes_per_s / digits) * digits if digits >= 1 else bytes_per_s)


def changes_text(changes: Iterable[SettingChange | Recommendation]) -> str:
    """Return the recommended changes as a sentence; three or more are listed by name only."""
    items = list(changes)
    if len(items) == 1:
        return _("One setting: {change}.").format(change=change_text(items[0]))
    if len(items) == 2:
        return _("Two settings: {change}, {other}.").format(
            change=change_text(items[0]), other=change_text(items[1])
        )
    names = ", ".join(setting_label(item.option) for item in items)
    return _("{count} settings: {names}.").format(count=len(items), names=names)


def change_text(change: SettingChange | Recommendation) -> str:
    """Return one change: “Readahead 128 KiB → 1 MiB”."""
    return _("{label} {current} → {proposed}").format(
        label=setting_label(change.option),
        current=_value_text(change.option, change.current),
        proposed=_value_text(change.option, change.proposed),
    )


def setting_label(name: str) -> str:
    """Return the label of a mount option or of a kernel tunable."""
    option, tunable = catalogue().find(name), tunables().get(name)
    if option is not None:
        return _(option.label)
    return _(tunable.label) if tunable is not None else name


def _value_text(name: str, value: str | None) -> str:
    if name == "read_ahead_kb":
        return format_size(int(value) * 1024) if value is not None and value.isdigit() else _("unknown")
    option = catalogue().find(name)
    if value is None or option is None:
        return _("default") if value is None else value
    if option.kind == "size" and value.isdigit():
        return format_size(int(value))
    return option.word_for(value) or value


def _interruption_text(headline: Headline) -> str:
    situation = headline.situation
    if situation.interrupts:
        text = _("Interrupts {path} for about 1 s. You can undo it at any time.")
        return text.format(path=situation.mount_point)
    return _("Nothing is interrupted. You can undo it at any time.")


def _limit_text(bottleneck: BottleneckKind | None) -> str:
    texts: dict[BottleneckKind, str] = {
        "network": _("The network link is the limit."),
        "server": _("The server is the limit."),
        "round-trips": _("The round trips to the server are the limit."),
        "client": _("This computer is the limit."),
        "unclear": "",
    }
    return texts[bottleneck] if bottleneck is not None else ""


def _measured_text(headline: Headline) -> HeadlineText:
    situation, shares = headline.situation, headline.shares
    limit = _limit_text(situation.bottleneck)
    if not shares:
        measured = _("{speed} measured.").format(speed=format_speed(min(situation.measured.values())))
        return HeadlineText(_("No known setting is faster"), _present(measured, limit))
    lowest = shares[0]
    speeds = {"measured": format_speed(lowest.measured), "limit": format_speed(lowest.limit)}
    if headline.code == "full-link":
        return HeadlineText(
            _("As fast as this link allows"),
            (_("{measured} of {limit} measured.").format(**speeds), _limit_text("network")),
        )
    template = {
        "write": _("{measured} of {limit} measured. Writing uses {percent}% of the link."),
        "read": _("{measured} of {limit} measured. Reading uses {percent}% of the link."),
        "small-read": _("{measured} of {limit} measured. Small reads use {percent}% of the link."),
    }[lowest.figure]
    used = template.format(**speeds, percent=round(lowest.share * 100))
    return HeadlineText(_("No known setting is faster"), _present(used, limit))


def _present(*sentences: str) -> tuple[str, ...]:
    return tuple(sentence for sentence in sentences if sentence)


def verdict_text(verdict: str, comparisons: Iterable[FigureComparison]) -> HeadlineText:
    """Return the result of a before-and-after test as a title and one sentence on what was done.

    Args:
        verdict: one of app.speedtest.result_comparison.ChangeVerdict.
        comparisons: the compared figures.
    """
    items = list(comparisons)
    if verdict == "faster":
        best = max((item for item in items if item.verdict == "faster"), key=lambda item: item.change)
        return HeadlineText(faster_title(best), (_("It is lost at unmount unless you save it."),))
    titles = {
        "slower": _("Slower with the new settings"),
        "mixed": _("Partly faster, partly slower"),
        "same": _("No difference"),
        "unknown": _("The tests cannot be compared"),
    }
    return HeadlineText(titles[verdict], (_("The old settings are back."),))


def faster_title(item: FigureComparison) -> str:
    """Return a proven gain as a title: “Reading is 2.2 times as fast”."""
    templates = {
        "write": _("Writing is {factor} times as fast"),
        "read": _("Reading is {factor} times as fast"),
        "small-read": _("Small reads are {factor} times as fast"),
    }
    template = templates.get(item.figure, _("It is {factor} times as fast"))
    factor = 1 + item.change
    return template.format(factor=f"{factor:.0f}" if factor >= 10 else f"{factor:.2g}")


def interval_text(item: FigureComparison) -> str:
    """Return the confidence interval of a comparison as factors: “97% CI: 2.1 to 2.4 times as fast”."""
    return _("{confidence}% CI: {low} to {high} times as fast").format(
        confidence=f"{100 * item.confidence:.0f}", low=f"{1 + item.low:.3g}", high=f"{1 + item.high:.3g}"
    )


def saved_text(diff: str, rule_diff: str, *, done: bool = False) -> str:
    """Return what a change saves, as a sentence; "" if it saves nothing.

    Args:
        diff: unified diff of fstab or of units, "" for none.
        rule_diff: unified diff of the rule that saves the readahead, "" for none.
        done: whether the change was made.
    """
    places = [line.removeprefix("--- ") for line in diff.splitlines() if line.startswith("--- /")]
    places += [_("a udev rule")] if rule_diff else []
    if not places:
        return ""
    template = _("Saved in {places}.") if done else _("“Keep for Good” saves this in {places}.")
    both = _("{first} and {second}").format(first=", ".join(places[:-1]), second=places[-1])
    return template.format(places=both if len(places) > 1 else places[0])

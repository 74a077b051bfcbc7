"""Texts of advice: options and values, confidence, scope, workloads, and the model's expectation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from advisor.options import catalogue
from advisor.tunables import tunables
from app.text.units import format_size
from ui.common.option_text import value_text
from ui.common.speed_units import speed_text
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Iterable

    from advisor.prediction import PredictedCurve
    from advisor.recommendation import NotRecommended, Recommendation
    from app.service.model import AdviceResult, Expected


class ChangeText(NamedTuple):
    """Texts of a recommendation: label of its option, current value, and proposed value."""

    label: str
    current: str
    proposed: str


def workload_names() -> dict[str, str]:
    """Return the name of each workload, by its key."""
    return {
        "general": tr("nothing in particular"), "home": tr("home directories"),
        "media": tr("large media files"), "builds": tr("builds, many small files"),
        "database": tr("a database"), "sap": tr("SAP"), "oracle": tr("Oracle data files"),
        "backup": tr("backups"), "software": tr("programs and documents, read mostly"),
        "virtual-machines": tr("virtual machines"), "mail": tr("mail"),
        "shared-writing": tr("files that several computers write"),
    }  # fmt: skip


def confidence_names() -> dict[str, str]:
    """Return the name of each level of confidence, by its key."""
    return {"high": tr("well founded"), "medium": tr("likely"), "low": tr("worth a test")}


def status_names() -> dict[str, str]:
    """Return the text of each test status of a recommendation, by its key."""
    return {
        "untested": tr("not tested here yet"), "confirmed": tr("confirmed by your own test"),
        "refuted": tr("refuted by your own test"),
    }  # fmt: skip


def scope_names() -> dict[str, str]:
    """Return the text of each scope of a recommendation, by its key; "" for the mount itself."""
    return {
        "mount": "", "server": tr("for all mounts of the server"),
        "host": tr("for the whole computer, not part of “Use recommended”"),
    }  # fmt: skip


def change_text(item: Recommendation) -> ChangeText:
    """Return the texts of a recommendation's change."""
    current = _value(item.option, item.current)
    if item.replaces_own:
        current = tr("{value} (asked for by you)").format(value=current)
    proposed = tr("leave it out") if item.proposed is None else _value(item.option, item.proposed)
    return ChangeText(option_label(item.option), current, proposed)


def other_text(item: NotRecommended) -> str:
    """Return the option and value that are not recommended, as text."""
    if item.value is None:
        return tr("{name}: leave it out").format(name=option_label(item.option))
    return f"{option_label(item.option)}: {_value(item.option, item.value)}"


def replaced_text(items: Iterable[Recommendation]) -> str:
    """Return which values set by the user “Use recommended” would replace; "" for none."""
    replaced = [
        f"{option_label(item.option)} {_value(item.option, item.current)}"
        for item in items
        if item.replaces_own
    ]
    if not replaced:
        return ""
    return tr("“Use recommended” replaces what you asked for: {values}.").format(values=", ".join(replaced))


def recommended_readahead(result: AdviceResult) -> int | None:
    """Return the recommended readahead of the mount, KiB; None if there is no such recommendation."""
    for item in result.recommendations:
        if item.option == "read_ahead_kb" and item.included and item.proposed is not None:
            return int(item.proposed)
    return None


def option_label(name: str) -> str:
    """Return the label of a mount option or of a kernel tunable."""
    option = catalogue().find(name)
    if option is not None:
        return option.label
    tunable = tunables().get(name)
    return tunable.label if tunable is not None else name


def expected_text(expected: list[Expected]) -> list[str]:
    """Return the predictions of the throughput model, one line each; an empty list if the link is unknown."""
    words = {
        "write": tr("Copying to the server"), "read": tr("Copying from the server"),
        "small-read": tr("Small reads"),
    }  # fmt: skip
    lines: list[str] = []
    for entry in expected:
        if entry.now is None or entry.advised is None:
            continue
        now, advised = speed_text(entry.now.bytes_per_s), speed_text(entry.advised.bytes_per_s)
        direction = tr("{figure} ({size} a call)").format(
            figure=words[entry.figure], size=format_size(entry.call_size)
        )
        if entry.now.unpredictable or entry.advised.unpredictable:
            text = tr("{direction}: cannot be predicted. The processors decide, which only a test shows.")
            lines.append(text.format(direction=direction))
            continue
        text = tr("{direction}: {now}").format(direction=direction, now=now)
        if now != advised:
            text = tr("{direction}: {now} now, {advised} as advised").format(
                direction=direction, now=now, advised=advised
            )
        lines.append(
            tr("{text}; it may be {percent} % off either way, and what bounds it is {limit}.").format(
                text=text, percent=round(entry.advised.error * 100), limit=entry.advised.limit
            )
        )
    return lines


def curve_text(curve: PredictedCurve | None) -> list[str]:
    """Return the predicted speeds of a copy over UDP; an empty list for curves over other quantities."""
    if curve is None or curve.over == "read_ahead_kb":
        return []
    error = round(100 * curve.errors[0])
    return [
        tr("A copy over UDP: {now} with {size} at a time now, {advised} with {best} as advised; it may be "
            "{percent} % off either way.").format(
            now=speed_text(curve.now[1]), size=format_size(curve.now[0]),
            advised=speed_text(curve.advised[1]), best=format_size(curve.advised[0]), percent=error,
        )
    ]  # fmt: skip


def _value(name: str, value: str | None) -> str:
    option = catalogue().find(name)
    if value is None:
        return tr("not given") if option is not None else tr("not known")
    if option is not None:
        return value_text(option, value) or tr("yes")
    return format_size(int(value) * 1024) if name == "read_ahead_kb" and value.isdigit() else value

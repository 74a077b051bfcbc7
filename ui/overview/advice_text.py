"""Texts of advice: options and values, confidence, scope, workloads, and the model's expectation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from advisor.options import catalogue
from app.text.headline import setting_label
from app.text.units import format_size
from ui.common.option_text import value_text
from ui.common.speed_units import speed_text
from ui.common.translation import tr

if TYPE_CHECKING:
    from advisor.prediction import PredictedCurve
    from advisor.recommendation import NotRecommended, Recommendation
    from app.service.model import AdviceResult, Expected


#: Factor of the present speed below which a curve shows no gain.
_FLAT = 1.1


class ChangeText(NamedTuple):
    """Texts of a recommendation: label of its option, current value, and proposed value."""

    label: str
    current: str
    proposed: str


def workload_names() -> dict[str, str]:
    """Return the name of each workload, by its key."""
    return {
        "general": tr("Nothing in particular"), "home": tr("Home directories"),
        "media": tr("Large media files"), "builds": tr("Builds, many small files"),
        "database": tr("A database"), "sap": tr("SAP"), "oracle": tr("Oracle data files"),
        "backup": tr("Backups"), "software": tr("Programs and documents, mostly read"),
        "virtual-machines": tr("Virtual machines"), "mail": tr("Mail"),
        "shared-writing": tr("Files that several computers write"),
    }  # fmt: skip


def confidence_names() -> dict[str, str]:
    """Return the name of each level of confidence, by its key."""
    return {"high": tr("High"), "medium": tr("Medium"), "low": tr("Low: test it")}


def status_names() -> dict[str, str]:
    """Return the text of each test status of a recommendation, by its key."""
    return {
        "untested": tr("Not yet on this mount"), "confirmed": tr("Confirmed by your own test"),
        "refuted": tr("Refuted by your own test"),
    }  # fmt: skip


def scope_names() -> dict[str, str]:
    """Return the text of each scope of a recommendation, by its key; "" for the mount itself."""
    return {
        "mount": "", "server": tr("All mounts of the server"),
        "host": tr("The whole computer, so it is not part of the recommended settings"),
    }  # fmt: skip


def change_text(item: Recommendation) -> ChangeText:
    """Return the texts of a recommendation's change."""
    current = _value(item.option, item.current)
    if item.replaces_own:
        current = tr("{value} (requested)").format(value=current)
    proposed = tr("default") if item.proposed is None else _value(item.option, item.proposed)
    return ChangeText(setting_label(item.option), current, proposed)


def other_text(item: NotRecommended) -> str:
    """Return the option and value that are not recommended, as text."""
    if item.value is None:
        return tr("{name}: default").format(name=setting_label(item.option))
    return f"{setting_label(item.option)}: {_value(item.option, item.value)}"


def recommended_readahead(result: AdviceResult) -> int | None:
    """Return the recommended readahead of the mount, KiB; None if there is no such recommendation."""
    for item in result.recommendations:
        if item.option == "read_ahead_kb" and item.included and item.proposed is not None:
            return int(item.proposed)
    return None


def expected_text(expected: list[Expected]) -> list[str]:
    """Return the predictions of the throughput model, one line each; an empty list if the link is unknown."""
    figures = {"write": tr("Writing"), "read": tr("Reading"), "small-read": tr("Small reads")}
    lines: list[str] = []
    for entry in expected:
        if entry.now is None or entry.advised is None:
            continue
        values = {
            "figure": figures[entry.figure], "size": format_size(entry.call_size),
            "now": speed_text(entry.now.bytes_per_s), "advised": speed_text(entry.advised.bytes_per_s),
            "percent": round(entry.advised.error * 100), "limit": entry.advised.limit,
        }  # fmt: skip
        if entry.now.unpredictable or entry.advised.unpredictable:
            text = tr("{figure} ({size} a call): only a test can tell, because the processors are the limit.")
        elif values["now"] == values["advised"]:
            text = tr("{figure} ({size} a call): about {now} (±{percent}%). The limit is {limit}.")
        else:
            text = tr("{figure} ({size} a call): about {now} now, {advised} as recommended (±{percent}%). "
                      "The limit is {limit}.")  # fmt: skip
        lines.append(text.format(**values))
    return lines


def curve_text(curve: PredictedCurve | None) -> list[str]:
    """Return the predicted speeds of a copy over UDP; an empty list for curves over other quantities."""
    if curve is None or curve.over == "read_ahead_kb":
        return []
    text = tr(
        "A copy over UDP: about {now} with {size} now, {advised} with {best} as recommended (±{percent}%)."
    )
    return [
        text.format(
            now=speed_text(curve.now[1]), size=format_size(curve.now[0]),
            advised=speed_text(curve.advised[1]), best=format_size(curve.advised[0]),
            percent=round(100 * curve.errors[0]),
        )
    ]  # fmt: skip


def is_flat(curve: PredictedCurve) -> bool:
    """Return whether the setting makes no difference from the present value upwards."""
    later = [speed for size, speed in zip(curve.sizes, curve.speeds, strict=True) if size >= curve.now[0]]
    return max([*later, curve.advised[1]], default=0.0) < curve.now[1] * _FLAT


def _value(name: str, value: str | None) -> str:
    option = catalogue().find(name)
    if value is None:
        return tr("default") if option is not None else tr("unknown")
    if option is not None:
        return value_text(option, value) or tr("yes")
    return format_size(int(value) * 1024) if name == "read_ahead_kb" and value.isdigit() else value

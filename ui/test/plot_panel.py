"""What the throughput model expects of a quick test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from advisor.options import MountOptions
from advisor.throughput import DEFAULT_READ_AHEAD, Prediction, Work, predict
from advisor.transfer_sizes import call_size
from ui.common.speed_units import speed_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from advisor.facts import Facts
    from app.mounts.model import Mount
    from app.speedtest.model import TestSpec
    from ui.plots.timeline import Way


def expectations(mount: Mount | None, facts: Facts | None, spec: TestSpec) -> dict[Way, Prediction]:
    """Return what the model expects of each way; nothing where it cannot know, or over UDP."""
    active = mount.active if mount is not None else None
    if facts is None or (active is None and not spec.share) or spec.workload not in {"file", "files", "own"}:
        return {}
    options = MountOptions.parse(active.options if active is not None else spec.options)
    if (options.get("proto") or "tcp").startswith("udp"):
        return {}
    read_ahead_kb = active.read_ahead_kb if active is not None else None
    read_ahead = DEFAULT_READ_AHEAD if read_ahead_kb is None else read_ahead_kb * 1024
    ways: tuple[Way, ...] = ("write", "read") if spec.direction == "both" else (spec.direction,)
    found: dict[Way, Prediction] = {}
    for way in ways:
        block = call_size(spec.block_size, options.values())
        work = Work(direction=way, length=spec.total, block=block, files=spec.count)
        prediction = predict(options, facts, work, read_ahead=read_ahead)
        if prediction is not None and not prediction.unpredictable:
            found[way] = prediction
    return found


def expectation_text(found: Mapping[Way, Prediction]) -> str:
    """Return it in words, "" for nothing."""
    words = {
        "write": QCoreApplication.translate("expectation", "{speed} to the server (± {percent} %)"),
        "read": QCoreApplication.translate("expectation", "{speed} from it (± {percent} %)"),
    }
    parts = [
        words[way].format(speed=speed_text(item.bytes_per_s), percent=round(item.error * 100))
        for way, item in found.items()
    ]
    if not parts:
        return ""
    text = QCoreApplication.translate("expectation", "Dashed, with a band: what the model expects, {speeds}.")
    return text.format(speeds=", ".join(parts))


def best_text(best: Mapping[Way, float]) -> str:
    """Return the best speeds of earlier tests in words, "" for none."""
    words = {
        "write": QCoreApplication.translate("expectation", "{speed} to the server"),
        "read": QCoreApplication.translate("expectation", "{speed} from it"),
    }
    parts = [words[way].format(speed=speed_text(speed)) for way, speed in best.items()]
    if not parts:
        return ""
    text = QCoreApplication.translate("expectation", "Dotted: the best before this test, {speeds}.")
    return text.format(speeds=", ".join(parts))


def limit_text(limits: Mapping[Way, float]) -> str:
    """Return the most that the link can carry in words, once if both ways are alike; "" for nothing."""
    if not limits:
        return ""
    if len(set(limits.values())) == 1:
        text = QCoreApplication.translate("expectation", "the link carries at most {speed}")
        return text.format(speed=speed_text(next(iter(limits.values()))))
    text = QCoreApplication.translate("expectation", "the link carries at most {up} there, {down} back")
    return text.format(up=speed_text(limits["write"]), down=speed_text(limits["read"]))

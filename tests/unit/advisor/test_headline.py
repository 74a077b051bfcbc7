"""The headline of a mount: which of its cases comes first, and how large a gain has to be."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.headline import MountSituation, SettingChange, decide_headline

CHANGE = SettingChange(option="read_ahead_kb", current="128", proposed="1024")
TWICE = {"write": (11.5e6, 11.5e6, 0.2), "read": (5e6, 11e6, 0.2), "small-read": (5e6, 11e6, 0.2)}
LIMITS = {"write": 11.8e6, "read": 11.8e6}


def situation(**changes: Any) -> MountSituation:
    known = {"predicted": TWICE, "measured": {}, "limits": LIMITS, "has_address": True}
    return MountSituation(**{"server": "nas01", "mount_point": "/mnt/a", **known, **changes})


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"trouble": "not-responding", "has_address": False, "changes": (CHANGE,)}, "not-responding"),
        ({"trouble": "stale"}, "stale"),
        ({"has_address": False, "changes": (CHANGE,)}, "no-address"),
        ({"is_mounted": False, "changes": (CHANGE,)}, "not-mounted"),
        ({"changes": (CHANGE,), "ends_at_boot": True}, "gain"),
        ({"changes": (CHANGE,), "predicted": {}, "ends_at_boot": True}, "recommended"),
        ({"ends_at_boot": True, "measured": {"read": 11.5e6}}, "ends-at-boot"),
        ({"other_settings": True}, "not-measured"),
        ({"measured": {"read": 11.5e6, "write": 11e6}}, "full-link"),
        ({"measured": {"read": 4e6, "write": 11e6}}, "held-back"),
        ({"measured": {"read": 4e6}, "limits": {}}, "held-back"),
        ({}, "not-measured"),
    ],
)
def test_the_first_case_that_applies_decides(changes: dict[str, Any], code: str) -> None:
    assert decide_headline(situation(**changes)).code == code


def test_a_gain_of_a_copy_comes_before_a_larger_one_of_small_reads() -> None:
    predicted = {"read": (5e6, 7e6, 0.2), "small-read": (1e6, 11e6, 0.2)}
    gain = decide_headline(situation(changes=(CHANGE,), predicted=predicted)).gain
    assert gain is not None
    assert (gain.figure, round(gain.ratio, 1), gain.measured) == ("read", 1.4, False)
    only_small = {"read": (5e6, 5e6, 0.2), "small-read": (1e6, 11e6, 0.2)}
    gain = decide_headline(situation(changes=(CHANGE,), predicted=only_small)).gain
    assert gain is not None
    assert gain.figure == "small-read"


def test_a_gain_within_the_error_of_the_prediction_is_none() -> None:
    predicted = {"read": (10e6, 11.9e6, 0.4)}
    assert decide_headline(situation(changes=(CHANGE,), predicted=predicted)).code == "recommended"
    assert (
        decide_headline(situation(changes=(CHANGE,), predicted={"read": (10e6, 12.1e6, 0.4)})).code == "gain"
    )


def test_a_measured_speed_outranks_the_prediction() -> None:
    fast = decide_headline(situation(changes=(CHANGE,), measured={"read": 11e6, "small-read": 10.8e6}))
    assert fast.code == "recommended"
    slow = decide_headline(situation(changes=(CHANGE,), measured={"read": 4e6})).gain
    assert slow is not None
    assert (slow.now, slow.measured) == (4e6, True)


def test_the_lowest_share_of_the_link_comes_first() -> None:
    found = decide_headline(situation(measured={"write": 11e6, "read": 5.9e6}))
    assert [(item.figure, round(item.share, 2)) for item in found.shares] == [("read", 0.5), ("write", 0.93)]

"""Headline of a mount from its state, its advice and its last test (advisor.headline decides)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.facts import LinkFacts, payload_rate_bps
from advisor.headline import TROUBLES, Headline, MountSituation, SettingChange, decide_headline
from advisor.options import MountOptions
from app.mounts.option_changes import option_changes
from app.mounts.requested_options import live_options
from app.service.advice import predicted_ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.headline import SpeedFigure, Trouble
    from advisor.recommendation import Recommendation
    from app.history.last_test import LastTest
    from app.mounts.model import Mount
    from app.service.model import AdviceResult

#: Ethernet's usual MTU, bytes.
_ETHERNET_MTU = 1500


def mount_headline(
    mount: Mount, advice: AdviceResult | None, last_tests: Sequence[LastTest] = ()
) -> Headline | None:
    """Return the headline of a mount, None while its advice is unknown and nothing else decides.

    Args:
        mount: the mount.
        advice: advice for its present options, None while it is unknown.
        last_tests: tests of its share over the same link, newest first.
    """
    trouble: Trouble = ""
    for state in TROUBLES:
        trouble = state if mount.state == state else trouble
    if advice is None and not trouble:
        return None
    server = mount.share.partition(":/")[0]
    facts = advice.facts if advice is not None else None
    changes = mount_changes(advice) if advice is not None else ()
    last_test = last_test_of(mount, last_tests)
    same = last_test is not None and is_test_of_settings(last_test, mount)
    link = (facts.link if facts is not None else None) or LinkFacts()
    known = facts.server if facts is not None else None
    return decide_headline(
        MountSituation(
            server=server,
            mount_point=mount.mount_point,
            trouble=trouble,
            has_address=None if known is None else known.address is not None,
            predicted=_predicted(advice) if advice is not None else {},
            changes=tuple(
                SettingChange(option=item.option, current=item.current, proposed=item.proposed)
                for item in changes
            ),
            interrupts=advice is not None and interrupts_mount(mount, advice),
            measured=_speeds(last_test) if last_test is not None and same else {},
            other_settings=last_test is not None and not same,
            limits=link_limits(link),
            bottleneck=last_test.bottleneck if last_test is not None and same else None,
            # A mount of the lab ends with the lab.
            ends_at_boot=mount.after_boot == "gone" and mount.active is not None and not link.emulated,
            is_mounted=mount.active is not None,
        )
    )


def last_test_of(mount: Mount, last_tests: Sequence[LastTest]) -> LastTest | None:
    """Return the newest test with the present settings of a mount, else the newest test, None without one."""
    same = (test for test in last_tests if is_test_of_settings(test, mount))
    return next(same, last_tests[0] if last_tests else None)


def mount_changes(advice: AdviceResult) -> tuple[Recommendation, ...]:
    """Return the included recommendations of a mount, except those that a test found to change nothing."""
    return tuple(
        item
        for item in advice.recommendations
        if item.included and item.scope != "host" and item.option not in advice.tried
    )


def link_limits(link: LinkFacts) -> dict[SpeedFigure, float]:
    """Return what a link carries for a copy in each direction, bytes per second; unknown ones are missing."""
    mtu = link.mtu or _ETHERNET_MTU
    rates: dict[SpeedFigure, float | None] = {"write": link.rate_of("write"), "read": link.rate_of("read")}
    return {figure: payload_rate_bps(rate, mtu) / 8 for figure, rate in rates.items() if rate}


def is_test_of_settings(last_test: LastTest, mount: Mount) -> bool:
    """Whether a test ran with the requested options and the readahead that the mount has now."""
    active = mount.active
    kb = active.read_ahead_kb if active is not None else None
    if kb is not None and last_test.read_ahead_kb is not None and kb != last_test.read_ahead_kb:
        return False
    # A test knows the requested options only where they are recorded (app.speedtest.runner).
    is_known = active is None or active.recorded is not None
    requested = live_options(mount).values() if is_known else {}
    return requested == dict(last_test.requested)


def interrupts_mount(mount: Mount, advice: AdviceResult) -> bool:
    """Whether the recommendations take an unmount and a mount."""
    if mount.active is None:
        return False
    changes = option_changes(mount, MountOptions.parse(advice.advised_options), None)
    return any(change.takes == "mount" for change in changes)


def _speeds(last_test: LastTest) -> dict[SpeedFigure, float]:
    figures: tuple[SpeedFigure, ...] = ("write", "read", "small-read")
    return {figure: last_test.speeds[figure] for figure in figures if figure in last_test.speeds}


def _predicted(advice: AdviceResult) -> dict[SpeedFigure, tuple[float, float, float]]:
    return {
        item.figure: (
            item.now.bytes_per_s,
            item.advised.bytes_per_s,
            max(item.now.error, item.advised.error),
        )
        for item in advice.expected
        if predicted_ratio(item) and item.now is not None and item.advised is not None
    }

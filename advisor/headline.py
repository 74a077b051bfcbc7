"""Headline of a mount: the one thing about it that matters most now, as a code with its values.

The first case that applies decides: a server that does not respond, a stale mount, a server without an
address, a share that is not mounted, a predicted gain, a recommendation without one, a mount that ends at the
next boot, a mount that was never measured with its present settings. Otherwise the last test decides: it
reached the link's rate, or it did not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from advisor.bottleneck import BottleneckKind

HeadlineCode = Literal[
    "not-responding",
    "stale",
    "no-address",
    "not-mounted",
    "gain",
    "recommended",
    "ends-at-boot",
    "not-measured",
    "full-link",
    "held-back",
]
#: Problem of a mount, "" for none.
Trouble = Literal["", "not-responding", "stale"]
TROUBLES: tuple[Trouble, ...] = ("not-responding", "stale")
#: A copy to the server, a copy from it, and a read in small calls.
SpeedFigure = Literal["write", "read", "small-read"]

#: Smallest gain worth a headline, as a fraction, and as a fraction of the prediction's error.
_MIN_GAIN, _ERROR_SHARE = 0.1, 0.5
#: Fraction of the link's payload rate from which a copy counts as fast as the link allows; the same as
#: advisor.bottleneck uses.
_FULL_LINK_SHARE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleGain:
    """Speed of one figure now, and the predicted speed with the recommendations, bytes per second.

    Attributes:
        figure: what becomes faster.
        now: present speed.
        measured: whether ``now`` was measured; otherwise it is predicted.
        advised: predicted speed.
        error: relative error of the prediction.
    """

    figure: SpeedFigure
    now: float
    measured: bool
    advised: float
    error: float

    @property
    def ratio(self) -> float:
        """Factor by which the figure may grow."""
        return self.advised / self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """One recommended setting: option or tunable, its present value and the proposed one (None: absent)."""

    option: str
    current: str | None
    proposed: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkShare:
    """A measured copy speed and what the link carries in that direction, bytes per second."""

    figure: SpeedFigure
    measured: float
    limit: float

    @property
    def share(self) -> float:
        """Fraction of the link that the copy used."""
        return self.measured / self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class MountSituation:
    """What is known about a mount.

    Attributes:
        server: name of the server.
        mount_point: absolute path.
        trouble: "not-responding" or "stale", "" without trouble.
        has_address: whether the server has an address, None if unknown.
        predicted: present and advised speed with the relative error, by figure; only known figures.
        changes: included recommendations of the mount, except those that a test found to make no difference.
        interrupts: whether these changes need an unmount and a mount.
        measured: measured speeds with the present settings, by figure; empty without such a test.
        other_settings: whether a test exists, but with other settings.
        limits: what the link carries for copies, by figure; empty if unknown.
        bottleneck: what held back the last test, None if unknown.
        ends_at_boot: whether the mount is not saved.
        is_mounted: whether the share is mounted.
    """

    server: str
    mount_point: str
    trouble: Trouble = ""
    has_address: bool | None = None
    predicted: Mapping[SpeedFigure, tuple[float, float, float]]
    changes: tuple[SettingChange, ...] = ()
    interrupts: bool = False
    measured: Mapping[SpeedFigure, float]
    other_settings: bool = False
    limits: Mapping[SpeedFigure, float]
    bottleneck: BottleneckKind | None = None
    ends_at_boot: bool = False
    is_mounted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The headline of a mount.

    Attributes:
        code: which headline.
        situation: what it was decided from.
        gain: the largest gain, for the code "gain".
        shares: measured copies beside the link, the lowest share first, for "full-link" and "held-back".
    """

    code: HeadlineCode
    situation: MountSituation
    gain: PossibleGain | None = None
    shares: tuple[LinkShare, ...] = ()


def decide_headline(situation: MountSituation) -> Headline:
    """Return the headline of a mount."""
    gain = _largest_gain(situation)
    shares = _link_shares(situation)
    code: HeadlineCode
    if situation.trouble:
        code = situation.trouble
    elif situation.has_address is False:
        code = "no-address"
    elif not situation.is_mounted:
        code = "not-mounted"
    elif situation.changes and gain is not None:
        return Headline(code="gain", situation=situation, gain=gain)
    elif situation.changes:
        code = "recommended"
    elif situation.ends_at_boot:
        code = "ends-at-boot"
    elif not situation.measured:
        code = "not-measured"
    elif shares and shares[0].share >= _FULL_LINK_SHARE:
        code = "full-link"
    else:
        code = "held-back"
    return Headline(code=code, situation=situation, shares=shares)


def _largest_gain(situation: MountSituation) -> PossibleGain | None:
    """Return the largest gain of a copy, else of small reads; None if no gain is beyond the error."""
    found: list[PossibleGain] = []
    for figure, (now, advised, error) in situation.predicted.items():
        measured = situation.measured.get(figure)
        gain = PossibleGain(
            figure=figure,
            now=now if measured is None else measured,
            measured=measured is not None,
            advised=advised,
            error=error,
        )
        # A measured speed replaces a predicted one, but only a difference of predictions is a gain.
        if min(gain.ratio, advised / now) >= 1 + max(_MIN_GAIN, _ERROR_SHARE * error):
            found.append(gain)
    copies = [gain for gain in found if gain.figure != "small-read"]
    return max(copies or found, key=lambda gain: gain.ratio, default=None)


def _link_shares(situation: MountSituation) -> tuple[LinkShare, ...]:
    shares = [
        LinkShare(figure=figure, measured=speed, limit=situation.limits[figure])
        for figure, speed in situation.measured.items()
        if figure in situation.limits
    ]
    return tuple(sorted(shares, key=lambda item: item.share))

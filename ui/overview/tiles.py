"""Tiles of the overview: the last test, the link to the server, and the traffic now."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QDateTime, QLocale, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from advisor.facts import LinkFacts
from advisor.speeds import format_rate, format_speed
from app.service.headline import is_test_of_settings, link_limits
from app.text.units import format_duration
from ui.common.cards import Tile
from ui.common.fonts import TextSize
from ui.common.translation import tr

if TYPE_CHECKING:
    from advisor.facts import Facts
    from app.history.last_test import LastTest
    from app.mounts.model import Mount
    from app.stats.model import SpeedsSample

#: Samples of the sparkline: one a second for one minute.
_SAMPLES = 60


def moment_text(started_at: str, now: datetime | None = None) -> str:
    """Return a time (ISO 8601, UTC) in the local time zone: “Today 21:08”, “Yesterday 9:00”, or a date."""
    moment = datetime.fromisoformat(started_at)
    moment = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone()
    today = (now or datetime.now(UTC)).astimezone().date()
    local = QDateTime.fromSecsSinceEpoch(int(moment.timestamp()))
    time = QLocale().toString(local.time(), QLocale.FormatType.ShortFormat)
    days = (today - moment.date()).days
    if days == 0:
        return tr("Today {time}").format(time=time)
    if days == 1:
        return tr("Yesterday {time}").format(time=time)
    return QLocale().toString(local.date(), QLocale.FormatType.ShortFormat)


class OverviewTiles(QWidget):
    """The three tiles.

    Signals:
        test_clicked: test the speed.
        check_clicked: check the server.
        watch_clicked: show the live page.
    """

    test_clicked = Signal()
    check_clicked = Signal()
    watch_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._test = self._tile(self.tr("Test Again"), "tile-test", self.test_clicked)
        self._link = self._tile(self.tr("Check Server"), "tile-link", self.check_clicked)
        self._now = self._tile(self.tr("Watch"), "tile-now", self.watch_clicked)
        self._mount_point = ""
        self._speeds: deque[tuple[float, float]] = deque(maxlen=_SAMPLES)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(16)
        for tile in (self._test, self._link, self._now):
            layout.addWidget(tile, 1)
        self.show_speeds()

    def _tile(self, text: str, name: str, clicked: object) -> Tile:
        tile = Tile(text, TextSize.TITLE)
        tile.setObjectName(name)
        tile.button.setObjectName(f"{name}-button")
        tile.clicked.connect(clicked)
        return tile

    def set_blocked(self, why: str) -> None:
        """Disable a new test while something else is measured or changed; "" allows it."""
        self._test.button.setEnabled(not why)
        self._test.button.setToolTip(why)

    def show_test(self, test: LastTest | None, mount: Mount, facts: Facts | None) -> None:
        """Show the last test, or that there is none."""
        caption = self.tr("Last Test")
        self._test.button.setText(self.tr("Test the Speed") if test is None else self.tr("Test Again"))
        if test is None:
            self._test.set_value(caption, self.tr("None yet"))
            return
        caption = self.tr("Last Test · {time}").format(time=moment_text(test.started_at))
        lines = [
            template.format(speed=format_speed(test.speeds[figure]))
            for figure, template in (("write", self.tr("↑ {speed}")), ("read", self.tr("↓ {speed}")))
            if figure in test.speeds
        ]
        detail = self.tr("With other settings")
        if is_test_of_settings(test, mount):
            link = (facts.link if facts is not None else None) or LinkFacts()
            limits = link_limits(link)
            shares = [test.speeds[figure] / limits[figure] for figure in limits if figure in test.speeds]
            detail = (
                self.tr("{percent}% of the link").format(percent=round(100 * min(shares))) if shares else ""
            )
        self._test.set_value(caption, "\n".join(lines), detail)

    def show_link(self, facts: Facts | None) -> None:
        """Show the link and the adapter."""
        link = facts.link if facts is not None else None
        if link is None:
            self._link.set_value(self.tr("Link"), self.tr("Unknown"))
            return
        rate = format_rate(link.rate_bps) if link.rate_bps is not None else self.tr("Rate unknown")
        rtt = self.tr("RTT unknown")
        if link.rtt_s is not None:
            rtt = self.tr("RTT {time}").format(time=format_duration(link.rtt_s))
        adapter = self.tr("Emulated by the lab") if link.emulated else link.adapter or link.interface or ""
        self._link.set_value(self.tr("Link"), rate, "\n".join(text for text in (rtt, adapter) if text))

    # Traffic now

    def follow(self, mount: Mount | None) -> None:
        """Show the traffic of this mount; None and a share that is not mounted have none."""
        is_active = mount is not None and mount.active is not None
        point = mount.mount_point if mount is not None else ""
        if point != self._mount_point:
            self._mount_point = point
            self._speeds.clear()
            self.show_speeds()
        self._now.setEnabled(is_active)

    def take_speeds(self, sample: SpeedsSample) -> None:
        """Add a sample of the speeds of all mounts."""
        speed = sample.mounts.get(self._mount_point)
        both = (0.0, 0.0) if speed is None else (speed.write_bytes_per_s, speed.read_bytes_per_s)
        self._speeds.append(both)
        if self.isVisible():
            self.show_speeds()

    def show_speeds(self) -> None:
        """Show the latest sample and the last minute."""
        up, down = self._speeds[-1] if self._speeds else (0.0, 0.0)
        text = self.tr("↑ {up}\n↓ {down}").format(up=format_speed(up), down=format_speed(down))
        self._now.set_value(self.tr("Now"), text)
        totals = [write + read for write, read in self._speeds]
        self._now.set_sparkline(totals if any(totals) else [])

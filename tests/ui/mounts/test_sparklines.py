"""Sparklines of the throughput in the list of mounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fake_host import configured, mounted
from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QListView

from app.mounts.model import MountTable
from app.stats.model import MountSpeed, SpeedsSample
from ui.mounts.delegate import draw_sparkline
from ui.mounts.list_model import SAMPLES_KEPT, MountListModel, SpeedHistories, SpeedHistoryRole

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost


def busy(read: float = 0.0, write: float = 0.0, timeouts: int = 0) -> MountSpeed:
    return MountSpeed(
        read_bytes_per_s=read, write_bytes_per_s=write, transfers_per_s=1, rtt_s=None, timeouts=timeouts
    )


def sample(**mounts: MountSpeed) -> SpeedsSample:
    return SpeedsSample(t_s=0.0, mounts={f"/{name}": speed for name, speed in mounts.items()})


def test_a_history_covers_one_minute() -> None:
    speeds = SpeedHistories()
    assert speeds.speed_history("/home") is None
    assert speeds.take(sample(home=busy(read=3e6, write=1e6, timeouts=2))) == {"/home"}
    trend = speeds.speed_history("/home")
    assert trend is not None
    assert (trend.now, trend.timeouts) == (4e6, 2)
    for _second in range(SAMPLES_KEPT - 1):
        assert speeds.take(sample()) == {"/home"}
    assert speeds.speed_history("/home") is not None
    assert speeds.take(sample()) == {"/home"}
    assert speeds.speed_history("/home") is None
    assert speeds.take(sample()) == set()


def test_only_active_mounts_have_a_sparkline() -> None:
    model = MountListModel()
    model.apply(MountTable(mounts=[mounted(), configured()]))
    model.update_speeds(sample(home=busy(read=1e6), media=busy(read=1e6)))
    trends = {mount.mount_point: model.find(mount.share, mount.mount_point).data(SpeedHistoryRole)
              for mount in model.mounts()}  # fmt: skip
    assert trends["/home"].now == 1e6
    assert trends["/media"] is None
    model.clear_speeds()
    assert model.find("nas01:/export/home", "/home").data(SpeedHistoryRole) is None


def test_the_window_shows_sparklines(driver: Driver, fake: FakeHost) -> None:
    fake.busy = [{"/home": busy(read=84e6 * number)} for number in range(1, 4)]
    driver.open()
    view = driver.find(QListView, "mounts")
    assert isinstance(view, QListView)
    model = view.model()
    assert isinstance(model, MountListModel)

    def values() -> int:
        trend = model.find("nas01:/export/home", "/home").data(SpeedHistoryRole)
        return len(trend.values) if trend is not None else 0

    driver.wait(lambda: values() == 3)
    driver.window.grab()


def test_the_newest_value_is_at_the_right_edge() -> None:
    image = QImage(62, 20, QImage.Format.Format_ARGB32)
    image.fill(QColor("white"))
    painter = QPainter(image)
    draw_sparkline(painter, QRect(1, 1, 60, 18), [0.0, 5.0, 5.0], "#000000")
    draw_sparkline(painter, QRect(1, 1, 60, 18), [0.0], "#000000")
    painter.end()
    dark = [(x, y) for x in range(62) for y in range(20) if image.pixelColor(x, y).lightness() < 100]
    assert max(x for x, _ in dark) in {59, 60}
    assert min(y for _, y in dark) <= 3

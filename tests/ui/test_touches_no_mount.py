"""The window never accesses a path below a mount point, because a dead server would block it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import touches
from fake_host import configured, mounted
from PySide6.QtWidgets import QTabWidget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from driver import Driver
    from fake_host import FakeHost
    from touches import Touches

POINT = "/mnt/mountwright-not-to-be-touched"


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Touches]:
    """Record the file accesses of the process below the mount point."""
    watched = touches.watch(POINT, monkeypatch)
    yield watched
    touches.unwatch(watched)


def test_the_window_touches_no_mount(touched: Touches, driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted(mount_point=POINT), configured(mount_point=f"{POINT}/below")]
    driver.open()
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    for place in (POINT, f"{POINT}/below"):
        share = next(row.share for row in fake.mounts if row.mount_point == place)
        assert driver.window._mounts.choose(share, place)
        for index in range(tabs.count()):
            tabs.setCurrentIndex(index)
            driver.qtbot.wait(1)  # sends the requests of the page
    tabs.setCurrentIndex(0)
    driver.window._mounts.filter_by("touched")
    driver.window._on_refresh()
    fake.set_mounts([*fake.mounts, mounted(mount_point=f"{POINT}/another")])
    driver.wait(lambda: len(driver.window._table.mounts) == 3)  # type: ignore[union-attr]
    assert driver.window._mounts.choose(fake.mounts[0].share, POINT)
    driver.window._on_unmount()
    driver.agree()
    driver.wait(lambda: fake.asked("mounts.unmount") != [])
    assert touched.hits == []

"""Events of a fake speed test, and choices on the test page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QCheckBox, QComboBox

from app.speedtest.model import Sample, TestEvent

if TYPE_CHECKING:
    from driver import Driver


def events(number: int = 0) -> list[TestEvent]:
    """Return the events of a copy in both directions, with a sample every 50 ms."""
    made = [TestEvent(direction="write", phase="prepare", round=number)]
    for way in ("write", "read"):
        for step in range(1, 21):
            count = step * 465_000
            made.append(TestEvent(direction=way, phase=way, round=number,
                                  sample=Sample(step * 0.05, count, count)))  # fmt: skip
        made.append(TestEvent(direction=way, phase="close", round=number))
    return made


def choose(driver: Driver, name: str, data: object) -> None:
    """Choose the entry of a combo box by its data; unfold the options that it belongs to."""
    combo = driver.find(QComboBox, name)
    assert isinstance(combo, QComboBox)
    if not combo.isVisible() and driver.sees("test-options"):
        driver.click("test-options")
    assert combo.isVisible(), name
    combo.setCurrentIndex(combo.findData(data))


def show(driver: Driver, layer: str) -> None:
    """Click the box of a layer of the plot."""
    box = driver.find(QCheckBox, f"show-{layer}")
    assert isinstance(box, QCheckBox)
    driver.wait(box.isVisible)
    assert not box.isChecked()
    driver.qtbot.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, box.height() // 2))

"""Steps in the apply dialogs: open them, press their buttons, check their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QPushButton,
    QRadioButton,
    QWidget,
)

from ui.apply.dialog import ApplyDialog

if TYPE_CHECKING:
    from typing import TypeVar

    from driver import Driver
    from fake_host import FakeHost

    D = TypeVar("D", bound=QWidget)


def shown(driver: Driver, kind: type[D]) -> D:
    driver.wait(lambda: driver.window.findChild(kind) is not None)
    found = driver.window.findChild(kind)
    assert found is not None
    return found


def gone(driver: Driver, kind: type[QWidget]) -> None:
    driver.wait(lambda: driver.window.findChild(kind) is None)


def part(parent: QWidget, kind: type[D], name: str) -> D:
    found = parent.findChild(kind, name)
    assert found is not None, name
    return found


def open_apply(driver: Driver, options: str = "timeo=100") -> ApplyDialog:
    """Change the options of the mounted share in the form, and open the apply dialog."""
    driver.open()
    driver.window._detail.settings.load_entry("", "", options)
    driver.preview()
    dialog = shown(driver, ApplyDialog)
    driver.wait(part(dialog, QPushButton, "apply-do").isEnabled)
    return dialog


def choose(driver: Driver, dialog: QWidget, name: str) -> None:
    part(dialog, QRadioButton, name).click()
    if isinstance(dialog, ApplyDialog):
        driver.wait(part(dialog, QPushButton, "apply-do").isEnabled)


def do(dialog: QWidget, name: str) -> None:
    button = part(dialog, QPushButton, name)
    assert button.isEnabled(), name
    button.click()


def action(dialog: QWidget) -> str:
    return part(dialog, QPushButton, "apply-do").text().replace("&", "")


def changes(fake: FakeHost) -> list[str]:
    looks = {"facts.get", "advice.get", "mounts.plan"}
    return [verb for verb, _ in fake.calls if verb not in looks]


def legible(dialog: QWidget) -> None:
    """Assert that no text of a dialog is cut off, and that the dialog fits a small window."""
    # The height of a wrapped text depends on its width, so the layout needs two passes.
    for _ in range(3):
        QApplication.sendPostedEvents()
        QApplication.processEvents()
    assert dialog.width() <= 1000
    assert dialog.height() <= 680
    for label in dialog.findChildren(QLabel):
        if label.isVisible() and label.text():
            assert label.width() >= min(label.sizeHint().width(), label.minimumSizeHint().width()), (
                label.text()
            )
            if label.wordWrap():
                assert label.height() >= label.heightForWidth(label.width()), label.text()
    for button in dialog.findChildren(QAbstractButton):
        if button.isVisible():
            assert button.width() >= button.minimumSizeHint().width(), button.text()
            assert button.text() or button.accessibleName()

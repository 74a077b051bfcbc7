"""Fake request to the agent; the test emits its answer."""

from PySide6.QtCore import QObject, Signal


class FakeCall(QObject):
    """Replacement of ui.common.bridge.BridgeCall with the same signals."""

    progressed = Signal(object)
    succeeded = Signal(object)
    failed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True

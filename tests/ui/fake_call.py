"""A request to the agent whose answer the test gives."""

from PySide6.QtCore import QObject, Signal


class FakeCall(QObject):
    """What ui.common.bridge.BridgeCall is to its user."""

    progressed = Signal(object)
    succeeded = Signal(object)
    failed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True

"""The line that says which readahead the form asks for: it is no mount option, so it has no row."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton

from advisor.tunables import tunables
from app.units import format_size
from ui.common.labels import plain_label, plain_tip


class ReadAheadWish(QFrame):
    """Hidden unless the form asks for another readahead.

    Signals:
        dropped: the readahead shall stay as it is.
    """

    dropped = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("read-ahead-wish")
        self._text = plain_label(wrap=True)
        self._text.setToolTip(plain_tip(tunables()["read_ahead_kb"].help))
        self._leave = QPushButton(self.tr("&Leave it"))
        self._leave.setObjectName("read-ahead-leave")
        self._leave.clicked.connect(self.dropped)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 4, 16, 4)
        layout.addWidget(self._text, 1)
        layout.addWidget(self._leave)
        self.hide()

    def text(self) -> str:
        """Return what is said."""
        return self._text.text()

    def show_wish(self, kilobytes: int | None) -> None:
        """Show which readahead is asked for, KiB; None for none."""
        self.setVisible(kilobytes is not None)
        if kilobytes is not None:
            text = self.tr("Readahead: “Apply…” sets it to {size}, until unmounted. “Mount” alone leaves it "
                           "as it is.")  # fmt: skip
            self._text.setText(text.format(size=format_size(kilobytes * 1024)))

    def set_busy(self, *, busy: bool) -> None:
        """Let the person change it, or not."""
        self._leave.setEnabled(not busy)

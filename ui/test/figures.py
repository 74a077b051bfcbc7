"""Large figures of a test: the speed of each direction, live while it runs, with its interval afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QHBoxLayout, QWidget

from advisor.speeds import format_speed
from ui.common.cards import Figure
from ui.common.figure_text import interval_text, interval_title

if TYPE_CHECKING:
    from app.speedtest.model import TestResult
    from ui.plots.timeline import TransferDirection
    from ui.test.run import TestRun

_DIRECTIONS: tuple[TransferDirection, ...] = ("write", "read")


class SpeedTestFigures(QWidget):
    """Two large figures; a direction that is not tested is hidden."""

    def __init__(self) -> None:
        super().__init__()
        self._names = {"write": self.tr("To the server"), "read": self.tr("From the server")}
        self._figures = {direction: Figure() for direction in _DIRECTIONS}
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(24)
        for direction, figure in self._figures.items():
            figure.setObjectName(f"figure-{direction}")
            layout.addWidget(figure)
        layout.addStretch(1)

    def value(self, direction: TransferDirection) -> str:
        """Return the value that is shown for a direction."""
        return self._figures[direction].value()

    def show_run(self, run: TestRun) -> None:
        """Show the present speeds of a running test, or the medians of a finished one."""
        for direction in _DIRECTIONS:
            value, detail = (
                self._finished(run.result, direction)
                if run.result is not None
                else self._present(run, direction)
            )
            tested = run.spec.direction in {"both", direction}
            self._figures[direction].setVisible(tested)
            self._figures[direction].set_value(self._names[direction], value, detail, direction)

    def _present(self, run: TestRun, direction: TransferDirection) -> tuple[str, str]:
        curve = run.timeline.latest(direction)
        if curve is None or curve.average is None or curve.recent_speed is None:
            return "—", " "
        moving = run.call is not None and run.timeline.way == direction
        average = self.tr("average {speed}").format(speed=format_speed(curve.average))
        return format_speed(curve.recent_speed if moving else curve.average), average

    def _finished(self, result: TestResult, direction: TransferDirection) -> tuple[str, str]:
        transfer = result.write if direction == "write" else result.read
        figure = result.figures.get(direction)
        if figure is None or len(figure.values) < 2:
            speed = figure.median if figure is not None else transfer.bytes_per_s if transfer else None
            return (format_speed(speed), " ") if speed is not None else ("—", " ")
        interval = self.tr("{name} {low_to_high}").format(
            name=interval_title(figure), low_to_high=interval_text(figure, format_speed)
        )
        return format_speed(figure.median), interval

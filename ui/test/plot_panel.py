"""Plot panel of a test: speed curves, legend, toolbar, and speeds expected by the throughput model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QEvent, QSettings, QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from advisor.facts import payload_rate_bps
from advisor.options import MountOptions
from advisor.throughput import DEFAULT_READAHEAD_BYTES, CopySpec, predict
from advisor.transfer_sizes import call_size
from ui.common.labels import MutedLabel
from ui.common.speed_units import SPEED_UNITS, speed_text
from ui.plots.legend import Legend, PlotToolbar
from ui.test.save_plot import SavePlotDialog, timeline_csv

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtGui import QHideEvent, QShowEvent

    from advisor.facts import Facts, LinkFacts
    from advisor.prediction import Prediction
    from app.mounts.model import Mount
    from app.speedtest.model import TestSpec
    from ui.common.bridge import RunInThread
    from ui.plots.legend import PlotLayerName
    from ui.plots.timeline import TransferDirection
    from ui.test.run import TestRun


def expectations(
    mount: Mount | None, facts: Facts | None, spec: TestSpec
) -> dict[TransferDirection, Prediction]:
    """Return the speed that the throughput model expects, by direction.

    Empty for UDP, for a grid of access patterns, and without facts. Directions that the model cannot predict
    are missing.
    """
    active = mount.active if mount is not None else None
    if facts is None or (active is None and not spec.share) or spec.workload not in {"file", "files", "own"}:
        return {}
    options = MountOptions.parse(active.options if active is not None else spec.options)
    if (options.get("proto") or "tcp").startswith("udp"):
        return {}
    read_ahead_kb = active.read_ahead_kb if active is not None else None
    read_ahead = DEFAULT_READAHEAD_BYTES if read_ahead_kb is None else read_ahead_kb * 1024
    directions: tuple[TransferDirection, ...] = (
        ("write", "read") if spec.direction == "both" else (spec.direction,)
    )
    predictions: dict[TransferDirection, Prediction] = {}
    for direction in directions:
        block = call_size(spec.block_size, options.values())
        work = CopySpec(direction=direction, length=spec.total, block=block, files=spec.count)
        prediction = predict(options, facts, work, read_ahead=read_ahead)
        if prediction is not None and not prediction.unpredictable:
            predictions[direction] = prediction
    return predictions


def expectation_text(predictions: Mapping[TransferDirection, Prediction]) -> str:
    """Return a sentence with the expected speeds, "" without any."""
    templates = {
        "write": QCoreApplication.translate("expectation", "to the server {speed} (±{percent}%)"),
        "read": QCoreApplication.translate("expectation", "from the server {speed} (±{percent}%)"),
    }
    parts = [
        templates[direction].format(speed=speed_text(item.bytes_per_s), percent=round(item.error * 100))
        for direction, item in predictions.items()
    ]
    if not parts:
        return ""
    text = QCoreApplication.translate("expectation", "Dashed with a band, the model expects: {speeds}.")
    return text.format(speeds=", ".join(parts))


def best_text(best: Mapping[TransferDirection, float]) -> str:
    """Return a sentence with the best earlier speeds (bytes/s), "" without any."""
    templates = {
        "write": QCoreApplication.translate("expectation", "to the server {speed}"),
        "read": QCoreApplication.translate("expectation", "from the server {speed}"),
    }
    parts = [templates[direction].format(speed=speed_text(speed)) for direction, speed in best.items()]
    if not parts:
        return ""
    text = QCoreApplication.translate("expectation", "Dotted, the best before: {speeds}.")
    return text.format(speeds=", ".join(parts))


def limit_text(limits: Mapping[TransferDirection, float]) -> str:
    """Return a phrase with the capacity of the link (bytes/s); one number if both directions are equal."""
    if not limits:
        return ""
    if len(set(limits.values())) == 1:
        text = QCoreApplication.translate("expectation", "Link: at most {speed}")
        return text.format(speed=speed_text(next(iter(limits.values()))))
    text = QCoreApplication.translate("expectation", "Link: at most {up} to the server, {down} from it")
    return text.format(up=speed_text(limits["write"]), down=speed_text(limits["read"]))


#: Interval between two frames, ms.
_FRAME_MS = 40
#: Minimum height of the plot, lines of text.
_PLOT_LINES = 12
#: Key of the settings with the layers that the user wants to see.
_LAYERS_KEY = "test/plot-layers"
#: Frames between two updates of the figures, so that they stay readable.
_FRAMES_A_FIGURE = 5


class SpeedTestPlot(QWidget):
    """Plot of one test with its legend and toolbar; drawn only while visible.

    Args:
        run: runs blocking work on a thread; used to save the plot.
    """

    def __init__(self, run: RunInThread) -> None:
        super().__init__()
        self._run_blocking = run
        self._run: TestRun | None = None
        self._mount: Mount | None = None
        self._facts: Facts | None = None
        #: LivePlot, created on first use; Any because pyqtgraph has no type hints.
        self.plot: Any = None
        self._drawn_version = -1
        self._frame = 0
        self._paused = False
        self._timer = QTimer(self)
        self._timer.setInterval(_FRAME_MS)
        self._timer.timeout.connect(self._on_frame)
        self._tools = PlotToolbar()
        self._tools.set_layers(str(QSettings().value(_LAYERS_KEY, "")).split())
        self._tools.layers_changed.connect(self._on_layers)
        self._tools.pause_changed.connect(self._on_pause)
        self._legend = Legend()
        self._expected = MutedLabel(wrap=True)
        self._expected.setObjectName("expected")
        self._box = QWidget()
        self._box_layout = QVBoxLayout(self._box)
        self._box_layout.setContentsMargins(0, 0, 0, 0)
        #: Legend and plot, the content of a saved picture.
        self._picture = QWidget()
        self._lay_out()
        SPEED_UNITS.changed.connect(self._on_units)

    def _lay_out(self) -> None:
        picture = QVBoxLayout(self._picture)
        picture.setContentsMargins(0, 0, 0, 0)
        picture.addWidget(self._legend)
        picture.addWidget(self._expected)
        picture.addWidget(self._box, 1)
        self._fit_height()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._picture, 1)
        layout.addWidget(self._tools)

    @property
    def drawing(self) -> bool:
        """Whether the timer that draws new samples runs."""
        return self._timer.isActive()

    def show_run(self, run: TestRun | None, mount: Mount | None, facts: Facts | None) -> None:
        """Show a test; None hides the plot. Mount and facts feed the model's expectation."""
        changed = run is not self._run
        self._run, self._mount, self._facts = run, mount, facts
        self.setVisible(run is not None)
        self._tools.set_running(running=run is not None and run.call is not None)
        if run is not None:
            if self.plot is None:
                self._make_plot()
            elif changed:
                self.plot.clear()
            self._drawn_version = -1
            self._show_references()
            self._draw(figures=True)
        self._update_timer()

    def _make_plot(self) -> None:
        # Imported late, because pyqtgraph takes a second to import.
        from ui.plots.live_plot import LivePlot

        self.plot = LivePlot(self._box)
        self._box_layout.addWidget(self.plot)
        self.plot.zoomed.connect(self._tools.set_zoomed)
        self._tools.zoom_clicked.connect(self.plot.zoom)
        self._tools.reset_zoom_clicked.connect(self.plot.reset_zoom)
        self._show_layers(self._tools.layers())

    # Layers

    def _on_layers(self, names: frozenset[PlotLayerName]) -> None:
        QSettings().setValue(_LAYERS_KEY, " ".join(sorted(names)))
        self._show_layers(names)
        self._show_references()

    def _show_layers(self, names: frozenset[PlotLayerName]) -> None:
        self._legend.show_layers(names)
        if self.plot is not None:
            self.plot.show_layers(names)
        if self._run is not None:
            self._legend.show_marks(self._run.timeline)

    # Reference lines

    def show_references(self, run: TestRun) -> None:
        """Update the reference lines, if this test is shown."""
        if run is self._run:
            self._show_references()

    def _show_references(self) -> None:
        run = self._run
        if run is None or self.plot is None:
            return
        predictions = expectations(self._mount, self._facts, run.spec)
        layers = self._tools.layers()
        texts = [
            expectation_text(predictions) if "model" in layers else "",
            best_text(run.best) if "best" in layers else "",
        ]
        self._expected.setText("\n".join(text for text in texts if text))
        self._expected.setVisible(any(texts))
        self.plot.set_expected(
            {direction: (item.bytes_per_s, item.error) for direction, item in predictions.items()}
        )
        self.plot.set_best(run.best)
        link = self._facts.link if self._facts else None
        if link is None and run.result is not None:
            link = run.result.link  # the facts of a private mount arrive with the result
        limits = self._limits(link, run) if link is not None else {}
        self._legend.set_limit(limit_text(limits))
        self.plot.set_limits(limits)

    @staticmethod
    def _limits(link: LinkFacts, run: TestRun) -> dict[TransferDirection, float]:
        """Return the payload capacity of the link by direction of the test, bytes/s."""
        directions: tuple[TransferDirection, ...] = (
            ("write", "read") if run.spec.direction == "both" else (run.spec.direction,)
        )
        limits: dict[TransferDirection, float] = {}
        for direction in directions:
            rate = link.rate_of(direction)
            if rate is not None:
                limits[direction] = payload_rate_bps(rate, link.mtu or 1500) / 8
        return limits

    # Drawing

    def _update_timer(self) -> None:
        run = self._run
        live = run is not None and run.call is not None and self.isVisible() and not self._paused
        if live and not self._timer.isActive():
            self._timer.start()
        elif not live:
            self._timer.stop()

    def _on_frame(self) -> None:
        self._frame += 1
        self._draw(figures=self._frame % _FRAMES_A_FIGURE == 0)

    def _draw(self, *, figures: bool) -> None:
        run = self._run
        if run is None or self.plot is None:
            return
        if run.timeline.version != self._drawn_version:
            self._drawn_version = run.timeline.version
            self.plot.draw(run.timeline)
        if figures:
            self._legend.show_marks(run.timeline)
            self.plot.describe_timeline()

    def _on_pause(self, paused: bool) -> None:  # noqa: FBT001 - a slot
        self._paused = paused
        self._update_timer()
        if not paused:
            self._draw(figures=True)

    def _on_units(self) -> None:
        self._show_references()
        self._draw(figures=True)

    def save(self) -> None:
        """Ask where to save the plot, and as what."""
        run = self._run
        if run is None:
            return
        self._legend.show_speeds(_speed_texts(run))
        image = self._picture.grab().toImage()
        self._legend.show_speeds({})
        subject = run.spec.path or run.spec.share
        SavePlotDialog(self.window(), subject, image, timeline_csv(run.timeline), self._run_blocking).open()

    def _fit_height(self) -> None:
        self._box.setMinimumHeight(self.fontMetrics().lineSpacing() * _PLOT_LINES)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: grow with the font."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_box"):
            self._fit_height()

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: draw, and start the drawing timer during a test."""
        super().showEvent(event)
        self._draw(figures=True)
        self._update_timer()

    def hideEvent(self, event: QHideEvent) -> None:
        """Qt: stop the drawing timer."""
        super().hideEvent(event)
        self._update_timer()


def _speed_texts(run: TestRun) -> dict[TransferDirection, str]:
    """Return the speed of each direction for a picture: the median of a finished test, else the average."""
    texts: dict[TransferDirection, str] = {}
    directions: tuple[TransferDirection, ...] = ("write", "read")
    for direction in directions:
        figure = run.result.figures.get(direction) if run.result is not None else None
        curve = run.timeline.latest(direction)
        if figure is not None:
            texts[direction] = speed_text(figure.median)
        elif curve is not None and curve.average is not None:
            texts[direction] = speed_text(curve.average)
    return texts

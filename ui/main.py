"""Start of the window: application object, stored settings, unexpected errors, late import of the plots.

pyqtgraph takes a second or more to import. A thread imports it after the window is shown; the import creates
classes, but no Qt objects. Code that needs a plot earlier waits for the end of this import.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import signal
import sys
import threading
from concurrent.futures import wait
from importlib import resources
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QBuffer,
    QByteArray,
    QLibraryInfo,
    QLocale,
    QSettings,
    QSize,
    Qt,
    QTimer,
    QTranslator,
)
from PySide6.QtGui import QGuiApplication, QIcon, QImageReader, QPixmap
from PySide6.QtWidgets import QApplication

from advisor.speeds import SpeedUnit
from app.errors import AppError, internal_error
from app.files.window_state import read_window_state, write_window_state
from app.tasks import run_in_thread
from app.text.translate import is_translated
from app.version import VERSION
from ui.common import fonts, style
from ui.common.session import LOCAL, lab_links, open_host
from ui.common.speed_units import SPEED_UNITS
from ui.common.theme import Appearance
from ui.common.translation import CatalogueTranslator
from ui.main_window import MainWindow
from ui.notifications import DESKTOP_NAME

if TYPE_CHECKING:
    from concurrent.futures import Future
    from types import TracebackType

log = logging.getLogger("window")

#: Sizes of the icon for window lists, task bars and task switchers, px.
_ICON_SIZES = (16, 32, 64, 256)
#: Delay of the import of the plots after the window is shown, ms.
_PRELOAD_MS = 1000
#: Maximum wait for this import at the end of the program, s.
_PRELOAD_END_S = 10.0


def open_window(lab: str | None = None) -> int:
    """Show the window and run until it is closed; return the exit code.

    Args:
        lab: link of the lab to start with, None for this computer.
    """
    app = _make_application()
    settings = QSettings()
    appearance = _stored_appearance(settings)
    style.apply_appearance(app, appearance)
    SPEED_UNITS.choose(_stored_unit(settings))
    SPEED_UNITS.changed.connect(lambda: settings.setValue("speed-unit", str(SPEED_UNITS.unit)))

    def follow(_scheme: Qt.ColorScheme) -> None:
        style.apply_appearance(app, _stored_appearance(settings))

    QGuiApplication.styleHints().colorSchemeChanged.connect(follow)

    def choose(chosen: Appearance) -> None:
        settings.setValue("appearance", str(chosen))
        style.apply_appearance(app, chosen)

    window = MainWindow(open_host, lab_links(), appearance, choose)
    window.notify_switch.setChecked(_stored_notify(settings))

    def store_notify(on: bool) -> None:  # noqa: FBT001 - a slot
        settings.setValue("notify", "on" if on else "off")

    window.notify_switch.toggled.connect(store_notify)
    window.restore_state(read_window_state())
    _install_hooks(window)
    _quit_on_signals(app, window)
    window.show()
    window.open_host(LOCAL if lab is None else lab)
    loading: list[Future[None]] = []
    QTimer.singleShot(_PRELOAD_MS, lambda: loading.append(preload()))
    code = app.exec()
    with contextlib.suppress(AppError):  # the window is closed, so an error cannot be shown
        write_window_state(window.state())
    # An import that is interrupted by the end of the interpreter can crash it.
    wait(loading, _PRELOAD_END_S)
    return code


def _make_application() -> QApplication:
    QApplication.setApplicationName("mountwright")
    QApplication.setApplicationDisplayName("Mountwright")
    QApplication.setOrganizationName("mountwright")
    QApplication.setApplicationVersion(VERSION)
    QGuiApplication.setDesktopFileName(DESKTOP_NAME)
    app = QApplication(sys.argv[:1])
    fonts.use_default_size(app)
    QGuiApplication.setWindowIcon(program_icon())
    translator = QTranslator(app)
    if translator.load(
        QLocale(), "qtbase", "_", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    ):
        app.installTranslator(translator)
    if is_translated():
        # The last one installed is asked first.
        app.installTranslator(CatalogueTranslator(app))
    return app


def program_icon() -> QIcon:
    """Return the icon of the program, which also works without an installed desktop file."""
    svg = QByteArray(resources.files("resources").joinpath("icons", f"{DESKTOP_NAME}.svg").read_bytes())
    icon = QIcon()
    for size in _ICON_SIZES:
        device = QBuffer(svg)
        reader = QImageReader(device, QByteArray(b"svg"))
        reader.setScaledSize(QSize(size, size))
        icon.addPixmap(QPixmap.fromImage(reader.read()))
    return icon


def _stored_appearance(settings: QSettings) -> Appearance:
    try:
        return Appearance(str(settings.value("appearance", "system")))
    except ValueError:
        return Appearance.SYSTEM


def _stored_notify(settings: QSettings) -> bool:
    return str(settings.value("notify", "on")) != "off"


def _stored_unit(settings: QSettings) -> SpeedUnit:
    try:
        return SpeedUnit(str(settings.value("speed-unit", SpeedUnit.BYTES)))
    except ValueError:
        return SpeedUnit.BYTES


def _install_hooks(window: MainWindow) -> None:
    """Log uncaught exceptions of all threads and show them in the banner."""

    def report(error: BaseException) -> None:
        log.error("unexpected error", exc_info=error)
        if isinstance(error, Exception):
            window.bridge.post(lambda: window.show_error(internal_error(error)))

    def on_main(_kind: type[BaseException], error: BaseException, _traceback: TracebackType | None) -> None:
        report(error)

    def on_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            report(args.exc_value)

    sys.excepthook = on_main
    threading.excepthook = on_thread


def _quit_on_signals(app: QApplication, window: MainWindow) -> None:
    """Close the window on SIGINT and SIGTERM; a timer runs Python code regularly, which handles signals."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: window.close())
    timer = QTimer(app)
    timer.setInterval(250)
    timer.timeout.connect(lambda: None)
    timer.start()


#: Modules that import pyqtgraph.
_PLOT_MODULES = (
    "ui.plots.factor_plot",
    "ui.plots.expected_plot",
    "ui.plots.live_plot",
    "ui.plots.overlay_plot",
)


def preload() -> Future[None]:
    """Start the import of the plots on a thread; the future ends with it."""

    def load() -> None:
        for name in _PLOT_MODULES:
            importlib.import_module(name)

    return run_in_thread("plots-preload", load)

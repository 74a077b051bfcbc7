"""Entry point: window or command, errors, interrupts, and late imports."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from ui import entry

if TYPE_CHECKING:
    import pytest


def test_a_wrong_link_is_a_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.main(["--lab", "rate=nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err


def test_commands_go_to_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def run(args: object) -> int:
        seen.append(args.command)  # type: ignore[attr-defined]
        return 7

    monkeypatch.setattr("app.cli.main.run", run)
    assert entry.main(["list"]) == 7
    assert seen == ["list"]


def test_without_a_command_the_window_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []
    monkeypatch.setattr("ui.main.open_window", lambda lab: seen.append(lab) or 0)
    assert entry.main([]) == 0
    assert entry.main(["--lab", "gigabit"]) == 0
    assert seen == [None, "gigabit"]


def test_the_window_opens_on_this_computer_and_closes_on_a_signal(tmp_path: object) -> None:
    """The real program with its real local agent, ended by SIGTERM as at the end of a session."""
    script = (
        "import os, signal, sys\n"
        "from PySide6.QtCore import QTimer\n"
        "import ui.main_window as module\n"
        "def opened(self, hello):\n"
        "    assert hello.host and not hello.lab\n"
        "    self._host_bar.show_host(self.session.key, hello)\n"
        "    QTimer.singleShot(200, lambda: os.kill(os.getpid(), signal.SIGTERM))\n"
        "module.MainWindow._on_opened = opened\n"
        "from ui.entry import main\n"
        "sys.exit(main([]))\n"
    )
    environment = os.environ | {
        "QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(tmp_path),
        "QT_LOGGING_RULES": "qt.qpa.*=false",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_pyqtgraph_is_not_loaded_with_the_window() -> None:
    """The import of pyqtgraph takes a second, so it follows the start of the window."""
    code = "import sys, ui.main; sys.exit('pyqtgraph' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], timeout=60, check=False)
    assert done.returncode == 0

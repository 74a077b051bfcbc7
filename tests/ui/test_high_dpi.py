"""High DPI: with a scale factor of two, no text is clipped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_at_twice_the_scale() -> None:
    window_tests = Path(__file__).with_name("test_main_window.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "clipped or small_screen",
         str(window_tests)],
        env=os.environ | {"QT_SCALE_FACTOR": "2"}, cwd=Path(__file__).parents[2],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout

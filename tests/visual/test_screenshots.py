"""The documentation's pictures can be made, and show what they should."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("screenshots.py")


# The other tests here use the same pages; tests/ui/test/test_page.py draws the plot in both lights.
@pytest.mark.long
@pytest.mark.lab
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("dark", [pytest.param(False, id="light"), pytest.param(True, id="dark")])
def test_pictures(tmp_path: Path, dark: bool) -> None:
    from PySide6.QtGui import QImage

    from ui.common import theme

    command = [sys.executable, "-P", str(SCRIPT), "--into", str(tmp_path), *(["--dark"] if dark else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1000, check=False)
    assert done.returncode == 0, done.stderr
    colors = theme.DARK if dark else theme.LIGHT
    image = QImage(str(next(tmp_path.glob("window*.png"))))
    assert image.width() >= 1200
    across, down = range(0, image.width(), 2), range(image.height())
    seen = {image.pixelColor(x, y).name() for x in across for y in down}
    # Background, both curves and the line rate; and nothing of the other light.
    assert {colors.window, colors.base, colors.write, colors.read, colors.ok} <= seen
    other = theme.LIGHT if dark else theme.DARK
    assert other.window not in seen

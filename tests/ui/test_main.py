"""Start of the window: the icon of the program."""

import pytest
from PySide6.QtWidgets import QApplication

from ui.main import program_icon


@pytest.mark.parametrize("size", [16, 32, 64, 256])
def test_the_icon_is_drawn_in_every_size(size: int, qapp: QApplication) -> None:
    picture = program_icon().pixmap(size, size).toImage()
    assert (picture.width(), picture.height()) == (size, size)
    drawn = {picture.pixel(x, y) for x in range(size) for y in range(size)}
    assert len(drawn) > 4

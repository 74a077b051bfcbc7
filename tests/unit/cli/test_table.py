"""Tables on terminals of any width."""

import pytest

from app.cli.table import table

ROWS = [
    ["SHARE", "MOUNT POINT", "STATE", "OPTIONS IN USE"],
    ["nas01:/export/home", "/mnt/home", "Mounted", "rw,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,hard"],
    ["backup:/b", "/mnt/b", "Not mounted", ""],
]


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_lost(columns: int) -> None:
    text = table(ROWS, columns)
    assert max(map(len, text.splitlines())) <= columns
    plain = "".join(text.split())
    for row in ROWS[1:]:
        for cell in row:
            assert "".join(cell.split()) in plain


def test_a_wide_terminal_has_columns() -> None:
    assert table(ROWS, 200).splitlines()[1].startswith("nas01:/export/home  /mnt/home    Mounted      rw,")


def test_on_a_narrow_terminal_each_cell_has_its_heading() -> None:
    assert table(ROWS, 40).splitlines()[:3] == [
        "nas01:/export/home", "  MOUNT POINT: /mnt/home", "  STATE: Mounted",
    ]  # fmt: skip


def test_without_a_terminal_nothing_is_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(table(ROWS).splitlines()) == 3

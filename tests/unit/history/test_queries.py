"""History operations of the window: import of files."""

from pathlib import Path

import pytest
from sample_results import result

from app.errors import AppError, ErrorKind
from app.history import queries
from app.history.import_export import history_to_json
from app.history.model import Run


def test_an_exported_file_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(history_to_json([Run(result=result())]))
    assert len(queries.import_file(str(path)).added) == 1


@pytest.mark.parametrize("content", [b"PK\x03\x04\xff\xfe\xe9", b'"\xff"', b'{"format":"\xe9"}', b""])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "workbook.xlsx"
    path.write_bytes(content)
    with pytest.raises(AppError, match="not a file that was exported") as refused:
        queries.import_file(str(path))
    assert refused.value.kind is ErrorKind.USAGE

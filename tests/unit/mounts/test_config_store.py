"""Removal of a saved mount: from fstab first, else its own units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.errors import AppError, ErrorKind
from app.helper import unit_text
from app.helper.options import load
from app.helper.unit_writer import UnitWriter
from app.mounts.change_model import RemoveArgs
from app.mounts.config_store import ConfigStore
from app.mounts.fstab_store import FstabStore
from app.mounts.unit_store import UnitStore
from app.tasks import CancelToken

_POINT = "/srv/a b"


class Remover:
    """The helper's unit writer on a temporary directory; test_unknown_words.py (lab) has the whole helper."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.writer = UnitWriter(str(folder), str(folder.parent / "state" / "units"))

    def call(self, verb: str, args: dict[str, Any], token: CancelToken, _timeout_s: float) -> dict[str, Any]:
        self.calls.append((verb, args))
        assert verb == "unit-remove"
        return self.writer.remove(args, token)  # type: ignore[arg-type] # nothing is waited for


@pytest.fixture
def kept(tmp_path: Path) -> tuple[ConfigStore, Remover]:
    fstab, folder = tmp_path / "fstab", tmp_path / "units"
    fstab.write_text("nas:/other /mnt/other nfs defaults 0 0\n")
    folder.mkdir()
    wanted = unit_text.NewUnits("nas:/a b", _POINT, ("hard",), True, 600)
    units = unit_text.build(wanted, load())
    for name, text in zip(
        (unit_text.name(_POINT), unit_text.name(_POINT, "automount")),
        (units.mount, units.automount),
        strict=True,
    ):
        (folder / name).write_text(text, encoding="utf-8")
    remover = Remover(folder)
    fstab_writer = FstabStore(remover, str(fstab))  # type: ignore[arg-type]
    return ConfigStore(fstab_writer, UnitStore(remover, str(folder))), remover  # type: ignore[arg-type]


def test_units_are_shown_and_then_removed(kept: tuple[ConfigStore, Remover]) -> None:
    keeping, remover = kept
    shown = keeping.forget(RemoveArgs(mount_point=_POINT, preview=True), CancelToken())
    assert shown.diff.count("\n-[") >= 4
    assert not shown.written
    assert remover.calls == []
    args = RemoveArgs(mount_point=_POINT, expected_sha256=shown.sha256)
    done = keeping.forget(args, CancelToken())
    assert (done.written, done.warnings) == (True, [])
    assert Path(done.backup).read_text(encoding="utf-8").count("[Mount]") == 1
    assert list(remover.folder.iterdir()) == []
    assert remover.calls == [("unit-remove", {"target": _POINT, "sha256": shown.sha256})]
    with pytest.raises(AppError) as gone:
        keeping.forget(args, CancelToken())
    assert gone.value.kind is ErrorKind.NOT_MOUNTED


def test_units_that_changed_meanwhile_stay(kept: tuple[ConfigStore, Remover]) -> None:
    keeping, remover = kept
    with pytest.raises(AppError) as changed:
        keeping.forget(RemoveArgs(mount_point=_POINT, expected_sha256="0" * 64), CancelToken())
    assert changed.value.kind is ErrorKind.FSTAB_CHANGED
    assert remover.calls == []

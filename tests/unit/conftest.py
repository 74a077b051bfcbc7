"""What several rooms of tests ask for by name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.helper import fstab_writer
from app.mounts import apply as apply_module
from app.speedtest.runner import wait_for_cleanups
from app.speedtest.testdir import PREFIX


@pytest.fixture
def nothing_left(tmp_path: Path) -> Iterator[None]:
    """Wait for the clean-ups of a test's copies, and look whether they took everything."""
    yield
    assert wait_for_cleanups(30)
    assert [entry for entry in tmp_path.rglob("*") if entry.name.startswith(PREFIX)] == []


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a change of a mount wait neither for udev nor for findmnt."""
    monkeypatch.setattr(apply_module, "_UDEV_S", 0.0)
    monkeypatch.setattr(apply_module, "_SETTLE_S", 0.0)
    monkeypatch.setattr(apply_module, "_POLL_S", 0.01)
    monkeypatch.setattr(fstab_writer, "_FINDMNT", ())  # its own tests run it

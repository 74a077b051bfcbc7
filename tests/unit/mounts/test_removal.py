"""A removal also removes the saved readahead, after a preview and with one authorization."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from memory_host import POINT, MemoryHost

from app.errors import AppError, ErrorKind
from app.mounts.change_model import RemoveArgs
from app.mounts.model import SavedEntryReport
from app.mounts.removal import remove_saved_mount
from app.mounts.saved_readahead import ReadaheadStore
from app.tasks import CancelToken


@pytest.fixture
def world(tmp_path: Path) -> MemoryHost:
    world = MemoryHost(tmp_path, mounted=True)
    world.save({"target": POINT, "sha256": "", "read_ahead_kb": 512})
    world.save({"target": "/mnt/other", "sha256": "", "read_ahead_kb": 64})
    return world


def ask(
    world: MemoryHost, point: str = POINT, *, preview: bool = False, started: list[str] | None = None
) -> SavedEntryReport:
    def start(action: str, plan: object) -> Any:
        assert plan is None
        assert started is not None, f"{action} was started"
        started.append(action)
        return world

    helper: Any = world
    saved = ReadaheadStore(helper, world.rule)
    args = RemoveArgs(mount_point=point, preview=preview)
    return remove_saved_mount(args, CancelToken(), world.kept(), saved, start)


def test_it_is_shown(world: MemoryHost) -> None:
    before = world.state()
    report = ask(world, preview=True)
    assert report.readahead is not None
    assert '-SUBSYSTEM=="bdi"' in report.readahead.diff
    assert "-nas:/a" in report.diff
    assert (world.state(), world.calls) == (before, [])


def test_it_goes_with_the_entry_in_one_action(world: MemoryHost) -> None:
    started: list[str] = []
    report = ask(world, started=started)
    assert report.readahead is not None
    assert (report.written, report.readahead.written, started) == (True, True, ["apply"])
    assert world.state()[3] == {"/mnt/other": 64}
    assert b"/mnt/a" not in world.path.read_bytes()


def test_alone_it_goes_alone(world: MemoryHost) -> None:
    report = ask(world, "/mnt/other", preview=True)
    assert (report.diff, report.readahead is not None, world.calls) == ("", True, [])
    assert ask(world, "/mnt/other").written
    assert (world.calls, world.state()[3]) == (["readahead-remove"], {POINT: 512})
    with pytest.raises(AppError) as caught:
        ask(world, "/mnt/other")
    assert caught.value.kind is ErrorKind.NOT_MOUNTED


def test_an_entry_without_it_goes_as_before(world: MemoryHost) -> None:
    world.save({"target": POINT, "sha256": world.rule(POINT).sha256})
    report = ask(world)
    assert (report.readahead, world.calls) == (None, ["remove"])


def test_a_rule_changed_by_another_program_stays(world: MemoryHost) -> None:
    file = Path(world.root, world.rule(POINT).path.lstrip("/"))
    file.write_bytes(file.read_bytes() + b"# more\n")
    report = ask(world)
    assert (report.readahead, world.calls) == (None, ["remove"])
    assert file.exists()


def test_if_it_cannot_go_the_entry_has_gone_and_that_is_said(world: MemoryHost) -> None:
    world.fail = [("readahead-remove", 1, "before")]
    with contextlib.nullcontext():
        report = ask(world, started=[])
    assert report.written
    assert "The saved readahead of /mnt/a stays: It failed." in report.warnings

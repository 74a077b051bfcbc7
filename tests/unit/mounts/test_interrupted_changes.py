"""Interrupted changes: nothing remains of one, or the next start reports the differences."""

import os
import pickle
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from memory_host import CLASSES, FSTAB, POINT, MemoryHost, ask

from app.cli.text import mounts_text
from app.errors import AppError
from app.files.user_directories import state_directory
from app.mounts import interrupted_changes
from app.mounts.change_model import ApplyArgs
from app.mounts.interrupted_changes import ChangeRecord, ChangeRecords
from app.mounts.model import InterruptedChange

pytestmark = pytest.mark.usefixtures("no_waiting", "at_once")
FOREIGN = ("other:/x", "/mnt/other")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the wait for a helper whose agent was killed."""
    monkeypatch.setattr(interrupted_changes, "_HELPER_S", 0.0)


def records() -> list[Path]:
    return sorted((state_directory() / "changes").glob("*"))


class Transitions:
    """Counts the requests, answers and events of a change, and ends the process at one of them."""

    def __init__(self, world: MemoryHost, at: int | None = None) -> None:
        self.seen: list[str] = []
        self._world = world
        self._at = at
        real = world.call

        def call(verb: str, *args: Any, **named: Any) -> dict[str, Any]:
            self.passed(f"before {verb}")
            answer = real(verb, *args, **named)
            self.passed(f"after {verb}")
            return answer

        world.call = call  # type: ignore[method-assign]
        world.on_event = lambda event: self.passed(f"{event.kind} {event.state}")

    def passed(self, name: str) -> None:
        if self._at == len(self.seen):
            (self._world.root / "kernel").write_bytes(pickle.dumps(self._world.live))
            os.kill(os.getpid(), signal.SIGKILL)
        self.seen.append(name)


def made(folder: Path, *, mounted: bool) -> MemoryHost:
    folder.mkdir()
    world = MemoryHost(folder, mounted=mounted)
    world.mount(*FOREIGN, ["vers=4.2"])
    return world


def killed(world: MemoryHost, args: ApplyArgs, at: int) -> None:
    """Make a change in a process that is killed, and give the host the resulting mounts."""
    child = os.fork()
    if child == 0:
        Transitions(world, at)
        world.apply(args)
        os._exit(0)
    _pid, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    world.live = pickle.loads((world.root / "kernel").read_bytes())


def next_start(world: MemoryHost) -> list[InterruptedChange]:
    return ChangeRecords(world.temporaries()).tell(world.table().mounts)


def kept(world: MemoryHost) -> tuple[Any, ...]:
    """Return the state that a change may modify, without the mount of another user."""
    fstab, units, live, saved = world.state()
    return fstab, units, saved, {point: row for point, row in live.items() if point != FOREIGN[1]}


@pytest.mark.parametrize("name", CLASSES)
def test_killed_at_any_moment_nothing_is_passed_over(tmp_path: Path, name: str) -> None:
    mounted, args, verbs = CLASSES[name]
    whole = made(tmp_path / "whole", mounted=mounted)
    transitions = Transitions(whole)
    whole.apply(args)
    assert records() == []
    assert len(transitions.seen) >= 2 * len(verbs)
    new = whole.path.read_bytes()
    told = 0
    for at, moment in enumerate(transitions.seen):
        world = made(tmp_path / str(at), mounted=mounted)
        before, foreign = kept(world), world.live[FOREIGN[1]]
        killed(world, args, at)
        assert world.live[FOREIGN[1]] == foreign
        assert world.path.read_bytes() in {FSTAB, new}, moment
        found = next_start(world)
        changed = kept(world) != before
        assert bool(found) == changed, moment
        told += changed
        if not changed:
            assert records() == [], moment
            continue
        (change,) = found
        assert args.mount_point in change.message
        assert len(records()) == 1
        # Each start reports the change until it is dismissed.
        assert next_start(world) == found
        later = ChangeRecords(world.temporaries())
        later.dismiss(change.id)
        assert later.tell(world.table().mounts) == []
        assert records() == []
    assert told


def test_present_and_former_mounts_are_reported(tmp_path: Path) -> None:
    mounted, args, _verbs = CLASSES["mount"]
    world = made(tmp_path / "world", mounted=mounted)
    seen = Transitions(made(tmp_path / "whole", mounted=mounted))
    seen._world.apply(args)
    killed(world, args, seen.seen.index("after unmount"))
    (change,) = next_start(world)
    assert change.message.startswith(f"A change of {POINT} was interrupted")
    assert f"Nothing is mounted at {POINT}. Before the change, nas:/a was mounted there." in change.message
    assert f"The entry for {POINT} in /etc/fstab is different." in change.message
    assert "vers=4.2,nosuid,nodev nas:/a /mnt/a" in change.detail
    assert "nas:/a /mnt/a nfs vers=4.2,x-gvfs-show" in change.detail
    table = msgspec.structs.replace(world.table(), interrupted=[change])
    assert f"{change.message}\n{change.hint}\n{change.detail}" in mounts_text(table)
    # The repeated change is complete, so nothing is reported.
    records_now = ChangeRecords(world.temporaries())
    world.records = records_now
    world.apply(args)
    assert records_now.tell(world.table().mounts) == []
    assert records() == []


def test_a_helper_that_was_killed_beside_it_leaves_a_file_that_is_named(tmp_path: Path) -> None:
    world = made(tmp_path / "world", mounted=True)
    seen = Transitions(made(tmp_path / "whole", mounted=True))
    seen._world.apply(CLASSES["remount"][1])
    killed(world, CLASSES["remount"][1], seen.seen.index("before change"))
    left = world.root / ".fstab.mountwright"
    left.write_bytes(b"half of it")
    (change,) = next_start(world)
    assert f"The temporary file {left} remains." in change.message
    left.unlink()
    assert next_start(world) == []


def test_a_failed_rollback_is_reported_again(tmp_path: Path) -> None:
    world = made(tmp_path / "world", mounted=True)
    world.fail = [("mount", 1, "before"), ("mount", 2, "before")]
    with pytest.raises(AppError, match="Some steps could not be rolled back"):
        world.apply(CLASSES["mount"][1])
    (path,) = records()
    assert next_start(world) == []  # its program is running and has reported the change
    record = msgspec.json.decode(path.read_bytes(), type=ChangeRecord)
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(record, started=0)))
    (change,) = next_start(world)
    assert "nas:/a was mounted there" in change.message


def test_one_that_went_back_leaves_no_record(tmp_path: Path) -> None:
    world = made(tmp_path / "world", mounted=True)
    world.fail = [("mount", 1, "before")]
    with pytest.raises(AppError, match="The change was rolled back"):
        world.apply(CLASSES["mount"][1])
    assert records() == []


def record_of(world: MemoryHost, **changes: Any) -> None:
    """Write the record of an incomplete change, with some fields replaced."""
    made_now = ChangeRecords(world.temporaries()).begin([POINT], world.table().mounts)
    (path,) = records()
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(made_now, **changes)))


def test_after_another_boot_only_saved_entries_count(tmp_path: Path) -> None:
    world = made(tmp_path / "world", mounted=True)
    record_of(world, started=0, boot="another")
    world.live.clear()
    assert next_start(world) == []
    assert records() == []
    record_of(world, started=0, boot="another")
    world.path.write_bytes(b"")
    (change,) = next_start(world)
    assert f"The entry for {POINT} is no longer in /etc/fstab." in change.message
    assert "mounted" not in change.message


def test_records_of_other_machines_and_torn_ones_are_left_alone(tmp_path: Path) -> None:
    world = made(tmp_path / "world", mounted=True)
    record_of(world, started=0, host="elsewhere 0 0")
    (path,) = records()
    path.with_name("torn.json").write_bytes(b'{"id":')
    world.live.clear()
    assert next_start(world) == []
    assert len(records()) == 2


def test_a_helper_that_lost_its_agent_gets_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The helper may still complete the change, so the record is not removed meanwhile."""
    monkeypatch.setattr(interrupted_changes, "_HELPER_S", 1000.0)
    world = made(tmp_path / "world", mounted=True)
    record_of(world, started=0)
    found = ChangeRecords(world.temporaries())
    assert found.tell(world.table().mounts) == []
    assert len(records()) == 1
    world.live.clear()
    assert len(found.tell(world.table().mounts)) == 1


def test_a_state_folder_that_cannot_be_written_does_not_stop_a_change(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = state_directory()
    folder.parent.mkdir(parents=True)
    folder.write_bytes(b"no folder")
    world = made(tmp_path / "world", mounted=True)
    world.apply(ask(options="vers=4.1"))
    assert "vers=4.1" in world.live[POINT].options
    assert "is not recorded" in caplog.text
    assert next_start(world) == []


def test_there_is_nothing_to_record_where_there_is_nothing_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*_args: object) -> None:
        raise AssertionError

    world = made(tmp_path / "world", mounted=True)
    monkeypatch.setattr(interrupted_changes, "write_state_file", write)
    assert world.apply(ask(options="vers=4.2,nosuid,nodev")).plan.steps == []

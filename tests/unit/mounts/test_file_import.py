"""Import of a file of mounts: the plan of each entry, and writing the selected ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from memory_host import MemoryHost

from app.errors import AppError, ErrorKind
from app.mounts.change_model import (
    ImportArgs,
    ImportChoice,
    ImportPlan,
    ImportPlanArgs,
    ImportProgress,
    ImportReport,
    MountEntry,
)
from app.mounts.change_text import count_prompts, import_report_lines, import_status_text, prompts_text
from app.mounts.file_import import plan_import, run_import
from app.mounts.model import Approval
from app.mounts.mounts_file import entries_of_table, from_toml, to_toml
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from app.mounts.plan import HostView

FSTAB = b"# head\nnas:/a\t/mnt/a   nfs vers=4.2,x-gvfs-show,nosuid,nodev 0 0\n\xff broken\n"
SAFE = "vers=4.2,_netdev,nofail,nosuid,nodev"


@pytest.fixture
def world(tmp_path: Path) -> MemoryHost:
    return MemoryHost(tmp_path, mounted=False, fstab=FSTAB)


def entry(**changes: Any) -> MountEntry:
    return MountEntry(**{"share": "nas:/b", "mount_point": "/mnt/b", "options": SAFE, **changes})


def planned(world: MemoryHost, *entries: MountEntry, save_in: Any = "") -> ImportPlan:
    args = ImportPlanArgs(entries=list(entries), save_in=save_in)
    return plan_import(args, world.view(), CancelToken())


def imported(
    world: MemoryHost,
    entries: list[MountEntry],
    *,
    change: Callable[[], object] = lambda: None,
    on_progress: Callable[[ImportProgress], object] = lambda _event: None,
    **more: Any,
) -> ImportReport:
    """Import the preselected entries, after another change of the host."""
    shown = planned(world, *entries, save_in=more.get("save_in", ""))
    choices = [ImportChoice(index=n, diff=item.diff) for n, item in enumerate(shown.items) if item.chosen]
    change()
    args = ImportArgs(entries=entries, choices=choices, **more)
    return run_import(args, world.view(), world.apply, world.token, on_progress)


def results(report: ImportReport) -> list[str]:
    return [one.result for one in report.outcomes]


def test_each_entry_is_new_the_same_different_or_refused(world: MemoryHost) -> None:
    here = entries_of_table(world.table())[0]
    shown = planned(
        world,
        here,
        entry(),
        msgspec.structs.replace(here, mount_point="/mnt/a", options="vers=3,nosuid,nodev", line=0),
        entry(mount_point="/mnt/odd", options="vers=4.2,timeo=soon"),
        entry(mount_point="relative"),
        entry(mount_point="/mnt/hand", saved_in="nowhere"),
        entry(mount_point="/mnt/map", saved_in="autofs"),
    )
    assert [item.status for item in shown.items] == [
        "same", "new", "refused", "refused", "refused", "refused", "refused",
    ]  # fmt: skip
    assert all(item.error for item in shown.items if item.status == "refused")
    assert "same mount point" in shown.items[2].error
    assert "timeo" in shown.items[3].error
    assert [item.chosen for item in shown.items] == [False, True, False, False, False, False, False]
    (other,) = planned(
        world, entry(share="nas:/a", mount_point="/mnt/a", options="vers=3,nosuid,nodev")
    ).items
    assert other.status == "differs"
    assert "-nas:/a\t/mnt/a   nfs vers=4.2" in other.diff
    assert world.path.read_bytes() == FSTAB


def test_written_entries_equal_the_file_and_nothing_is_mounted(world: MemoryHost) -> None:
    entries = [entry(), entry(share="nas:/c", mount_point="/mnt/c", saved_in="systemd")]
    events: list[ImportProgress] = []
    report = imported(world, entries, on_progress=events.append)
    assert results(report) == ["written", "written"]
    assert report.complete
    assert f"nas:/b\t/mnt/b\tnfs\t{SAFE}\t0\t0".split() in [
        line.split() for line in world.path.read_text(errors="replace").splitlines()
    ]
    assert world.path.read_bytes().startswith(FSTAB)
    assert "mnt-c.mount" in world.unit_files()
    assert world.live == {}
    assert [(event.number, event.count) for event in events] == [(1, 2), (2, 2)]
    assert results(imported(world, entries)) == [
        "not-chosen",
        "not-chosen",
    ]  # the plan now has both as “same”
    assert [item.status for item in planned(world, *entries).items] == ["same", "same"]


def test_an_export_comes_back_as_it_was(world: MemoryHost) -> None:
    world.path.write_text(f"nas:/a /mnt/a nfs {SAFE},timeo=50 0 0\nnas:/b /mnt/b\\040c nfs {SAFE},ro 0 0\n")
    before = [(row.mount_point, row.configured) for row in world.table().mounts]
    raw = to_toml(entries_of_table(world.table()), "here")
    world.path.write_bytes(b"# empty\n")
    report = imported(world, from_toml(raw, "f"))
    assert results(report) == ["written", "written"]
    after = [(row.mount_point, row.configured) for row in world.table().mounts]
    assert [(point, one.share, one.options) for point, one in after if one] == [
        (point, one.share, one.options) for point, one in before if one
    ]


def test_one_that_fails_leaves_the_others(world: MemoryHost) -> None:
    entries = [entry(), entry(mount_point="/mnt/c"), entry(mount_point="/mnt/d")]
    world.fail.append(("add", 2, "before"))
    report = imported(world, entries)
    assert results(report) == ["written", "failed", "written"]
    assert not report.complete
    text = world.path.read_text(errors="replace")
    assert "/mnt/b" in text
    assert "/mnt/c" not in text
    assert "/mnt/d" in text
    assert "It failed." in import_report_lines(report)[1]


def test_a_refused_authorization_prompts_once(world: MemoryHost, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def refuse(verb: str, *_rest: Any) -> Any:
        asked.append(verb)
        raise AppError(ErrorKind.NOT_AUTHORIZED, "The dialog was dismissed.")

    monkeypatch.setattr(world, "call", refuse)
    report = imported(world, [entry(), entry(mount_point="/mnt/c")])
    assert results(report) == ["failed", "not-begun"]
    assert len(asked) == 1
    assert world.path.read_bytes() == FSTAB


def test_cancelling_ends_it_after_the_entry_under_way(world: MemoryHost) -> None:
    def stop(event: ImportProgress) -> None:
        if event.number == 2:
            world.token.cancel()

    entries = [entry(), entry(mount_point="/mnt/c"), entry(mount_point="/mnt/d")]
    report = imported(world, entries, on_progress=stop)
    assert results(report) == ["written", "failed", "not-begun"]
    assert "/mnt/c" not in world.path.read_text(errors="replace")


def test_what_was_changed_since_it_was_shown_is_not_written_over(world: MemoryHost) -> None:
    changed = entry(share="nas:/a", mount_point="/mnt/a", options="vers=3,nosuid,nodev")

    def change() -> None:
        world.path.write_bytes(FSTAB.replace(b"x-gvfs-show", b"ro"))

    report = imported(world, [changed, entry()], change=change)
    assert results(report) == ["failed", "written"]
    assert "changed since it was shown" in report.outcomes[0].message
    assert b"ro,nosuid" in world.path.read_bytes()


def test_an_entry_saved_elsewhere_is_not_saved_twice(world: MemoryHost) -> None:
    twice = entry(share="nas:/a", mount_point="/mnt/a", saved_in="systemd")
    (item,) = planned(world, twice).items
    assert (item.status, item.chosen) == ("refused", False)
    assert "a second place" in item.error
    # An explicit selection does not change that.
    args = ImportArgs(entries=[twice], choices=[ImportChoice(index=0, diff="")])
    report = run_import(args, world.view(), world.apply, world.token, lambda _event: None)
    assert results(report) == ["failed"]
    assert world.unit_files() == {}
    (item,) = planned(world, twice, save_in="fstab").items
    assert item.status == "differs"


def test_an_unsaved_mount_is_saved_where_requested(world: MemoryHost) -> None:
    by_hand = entry(saved_in="nowhere", options="ro,vers=3", readahead_kib=1024)
    (item,) = planned(world, by_hand).items
    assert item.status == "refused"
    (item,) = planned(world, by_hand, save_in="fstab").items
    assert (item.status, item.options) == ("new", "ro,vers=3,_netdev,nofail")
    assert "1024" in item.diff.split("nofail")[1]
    assert results(imported(world, [by_hand], save_in="fstab")) == ["written"]
    assert "ro,vers=3,_netdev,nofail" in world.path.read_text(errors="replace")


def test_a_written_entry_is_mounted_if_requested(world: MemoryHost) -> None:
    report = imported(world, [entry(readahead_kib=1024)], mount=True)
    assert results(report) == ["written"]
    assert report.outcomes[0].mounted
    assert world.live["/mnt/b"].read_ahead_kb == 1024
    assert "saved and mounted" in import_report_lines(report)[0]
    assert world.rule("/mnt/b").read_ahead_kb == 1024


def test_a_readahead_is_saved_with_its_entry_and_nothing_is_mounted(world: MemoryHost) -> None:
    tuned = entry(readahead_kib=1024)
    report = imported(world, [tuned])
    assert results(report) == ["written"]
    assert world.rule("/mnt/b").read_ahead_kb == 1024
    assert world.live == {}
    assert [item.status for item in planned(world, tuned).items] == ["same"]
    (other,) = planned(world, msgspec.structs.replace(tuned, readahead_kib=2048)).items
    assert (other.status, "/etc/fstab" in other.diff) == ("differs", False)


def test_a_readahead_that_cannot_be_saved_is_reported(world: MemoryHost) -> None:
    world.fail.append(("readahead-save", 1, "before"))
    report = imported(world, [entry(readahead_kib=1024)])
    assert results(report) == ["written"]
    assert "its readahead could not be saved" in report.outcomes[0].message
    assert not report.complete
    assert "/mnt/b" in world.path.read_text(errors="replace")


def test_one_that_cannot_be_mounted_is_saved_all_the_same(world: MemoryHost) -> None:
    world.fail.append(("mount", 1, "before"))
    report = imported(world, [entry()], mount=True)
    assert results(report) == ["written"]
    assert not report.outcomes[0].mounted
    assert not report.complete
    assert "could not be mounted" in report.outcomes[0].message
    assert "/mnt/b" in world.path.read_text(errors="replace")


def test_a_live_mount_is_left_as_it_is(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True, fstab=FSTAB)
    before = dict(world.live)
    changed = entry(share="nas:/a", mount_point="/mnt/a", options="vers=3,nosuid,nodev")
    assert results(imported(world, [changed], mount=True)) == ["written"]
    assert world.live == before


def test_lint_findings_are_shown_and_an_error_is_not_preselected(world: MemoryHost) -> None:
    risky = entry(options="vers=4.2,nconnect=4,soft,nosuid,nodev", mount_point="/mnt/risky")
    (item,) = planned(world, risky).items
    assert item.status == "new"
    assert {finding.severity for finding in item.findings} <= {"error", "warning"}
    assert item.findings
    assert item.chosen == all(finding.severity == "warning" for finding in item.findings)


def test_number_of_password_prompts(world: MemoryHost) -> None:
    items = planned(world, entry(), entry(mount_point="/mnt/c"), entry(mount_point="/mnt/d")).items
    assert count_prompts(items, mount=False, root=False) == 1
    assert prompts_text(items, mount=False, root=False) == "An administrator is asked once."
    assert prompts_text(items, mount=False, root=True) == ""
    items[2] = msgspec.structs.replace(items[2], approval=Approval(reasons=["It is a directory of root."]))
    assert count_prompts(items, mount=False, root=False) == 2
    assert "1 of 3 entries needs an approval of its own" in prompts_text(items, mount=False, root=False)
    assert count_prompts(items[2:], mount=False, root=False) == 1
    assert count_prompts([], mount=False, root=False) == 0
    tuned = planned(world, entry(), entry(mount_point="/mnt/c", readahead_kib=512)).items
    assert count_prompts(tuned, mount=False, root=False) == 2
    assert count_prompts(tuned, mount=True, root=False) == 4


def test_what_needs_an_approval_is_not_written_without_one(
    world: MemoryHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = Approval(reasons=["It is a directory of root."], keeps=True)
    real = world.view

    def approving() -> HostView:
        return replace(real(), approval=lambda args, _way: needed if args.mount_point == "/mnt/d" else None)

    monkeypatch.setattr(world, "view", approving)
    entries = [entry(), entry(mount_point="/mnt/d")]
    assert results(imported(world, entries)) == ["written", "failed"]
    assert results(imported(world, entries[1:], approved=True)) == ["written"]


def test_a_choice_that_is_no_entry_is_refused(world: MemoryHost) -> None:
    args = ImportArgs(entries=[entry()], choices=[ImportChoice(index=1, diff="")])
    with pytest.raises(AppError) as caught:
        run_import(args, world.view(), world.apply, world.token, lambda _event: None)
    assert caught.value.kind is ErrorKind.USAGE
    assert import_status_text(planned(world, entry()).items[0]) == "New"

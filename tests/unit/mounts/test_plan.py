"""Plan of a change: required actions, warnings and steps; planning changes nothing."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from memory_host import FSTAB, LIVE, POINT, SHARE, MemoryHost

from app.errors import AppError, ErrorKind
from app.mounts.change_model import ApplyArgs, ApplyPlan, Interruption
from app.mounts.model import Configured, MountTable
from app.mounts.plan import make_plan
from app.text.message import message_text
from app.text.mounts import interruption_text


def plan(world: MemoryHost, **changes: Any) -> ApplyPlan:
    before = world.state()
    made = make_plan(ApplyArgs(**{"share": SHARE, "mount_point": POINT, **changes}), world.view())
    assert (world.state(), world.calls) == (before, [])
    return made


@pytest.fixture
def world(tmp_path: Path) -> MemoryHost:
    return MemoryHost(tmp_path, mounted=True)


def takes(made: ApplyPlan) -> dict[str, str]:
    return {change.name: change.takes for change in made.changes}


def test_each_option_takes_what_it_takes(world: MemoryHost) -> None:
    made = plan(
        world, options="vers=4.2,timeo=100,ro,noexec,hard,bg,retry=2,nofail,x-systemd.mount-timeout=9",
        read_ahead_kb=2048, keeper="fstab",
    )  # fmt: skip
    assert takes(made) == {
        "timeo": "mount", "ro": "remount", "noexec": "remount", "hard": "live", "bg": "boot", "retry": "boot",
        "nofail": "boot", "x-systemd.mount-timeout": "boot", "x-gvfs-show": "boot", "read_ahead_kb": "live",
    }  # fmt: skip
    assert made.changes[-1].name in {"read_ahead_kb"}
    assert made.changes[-1].before == "512"


def test_fstab_only_options_are_preserved_without_a_warning(world: MemoryHost) -> None:
    made = plan(world, options="vers=4.2,retry=2,nofail,x-systemd.mount-timeout=9", keeper="fstab")
    assert {"nofail", "x-systemd.mount-timeout"} <= takes(made).keys()
    assert [text for text in made.warnings if "not changed in the live mount" in text] == [
        "retry is not changed in the live mount. Takes effect at the next mount."
    ]


def test_every_step_has_its_command(world: MemoryHost) -> None:
    made = plan(world, options="vers=4.1,nofail", mount_point=POINT, busy="lazy", keep_s=5.0)
    commands = {step.kind: step.command for step in made.steps}
    mount = f"mount -t nfs -o vers=4.1,nosuid,nodev {SHARE} {POINT}"
    assert commands == {
        "verify": f"unshare --mount {mount}",
        "unmount": f"umount --lazy {POINT}",
        "mount": mount,
        "tune": f'echo 512 > "/sys/class/bdi/$(findmnt -nro MAJ:MIN {POINT})/read_ahead_kb"',
        "check": f"findmnt -o TARGET,SOURCE,OPTIONS {POINT}",
        "keep": "",
    }
    assert [holder.pid for holder in made.holders] == [7]
    assert made.interruption == Interruption(
        effect="interrupts", mount_point=POINT, typical_s=1.0, most_s=35.0
    )
    assert made.can_wait


def test_a_remount_is_of_one_mount_point_where_it_can_be(world: MemoryHost) -> None:
    one = plan(world, options="vers=4.2,ro")
    assert one.steps[0].command == f"mount -o remount,bind,ro {POINT}"
    both = plan(world, options="vers=4.2,sync")
    assert both.steps[0].command == f"mount -o remount,sync {POINT}"
    world.live["/mnt/b"] = world.live[POINT]
    assert not any("/mnt/b" in text for text in plan(world, options="vers=4.2,ro").warnings)
    assert any("/mnt/b changes too" in text for text in plan(world, options="vers=4.2,sync").warnings)


def test_who_shares_the_connections_is_named(world: MemoryHost) -> None:
    world.mount("nas:/b", "/mnt/b", ["vers=4.2"])
    world.mount("nas:/c", "/mnt/c", ["vers=3"])
    made = plan(world, options="vers=4.2,nconnect=8")
    assert made.sharing == ["/mnt/b"]
    assert any(text.startswith("nconnect stay") and "/mnt/b" in text for text in made.warnings)
    world.live["/mnt/b"] = msgspec.structs.replace(world.live["/mnt/b"], device=world.live[POINT].device)
    made = plan(world, options="vers=4.2,timeo=100")
    assert any("what was mounted first decides" in text for text in made.warnings)


def test_an_unchanged_mount_is_mounted_again_only_if_requested(world: MemoryHost) -> None:
    as_it_is = plan(world, options="vers=4.2").steps
    again = plan(world, options="vers=4.2", again=True)
    assert [step.kind for step in again.steps] == ["verify", "unmount", "mount", "tune", "check"]
    assert "unmount" not in [step.kind for step in as_it_is]


def test_a_value_in_use_is_no_change(world: MemoryHost) -> None:
    assert plan(world, options="vers=4.2,x-gvfs-show", keeper="fstab").steps == []
    assert plan(world, options=LIVE + ",hard").steps == []
    # A mount of another program: its requested options are unknown, and negotiated ones do not change.
    world.live[POINT] = msgspec.structs.replace(
        world.live[POINT], mount_id=7, options="rw,relatime,vers=4.2,rsize=1048576,soft,addr=10.0.0.1"
    )
    world.path.write_bytes(b"")
    assert takes(plan(world, options="vers=4.2")) == {"hard": "mount"}
    assert plan(world, options="vers=4.2,soft").steps == []


def test_effects_on_saved_entries_have_warnings(world: MemoryHost) -> None:
    made = plan(world, options="vers=4.1")
    assert any("is gone after the next start" in text for text in made.warnings)
    made = plan(world, options="vers=4.1", keeper="systemd")
    assert any("has an entry for nas:/a too" in text for text in made.warnings)
    made = plan(world, mount_point="/mnt/new", mount=False, read_ahead_kb=64, keeper="fstab")
    assert any("nothing is mounted" in text for text in made.warnings)


def test_what_an_unmount_would_lose_is_said(world: MemoryHost) -> None:
    assert plan(world).volatile_kb == 512
    assert plan(world, read_ahead_kb=64).volatile_kb == 64
    assert plan(world, read_ahead_kb=128).volatile_kb is None
    assert plan(world, mount_point="/mnt/n").volatile_kb is None
    assert plan(world, mount_point="/mnt/n", read_ahead_kb=64).volatile_kb == 64
    later = {"mount_point": "/mnt/n", "mount": False, "keeper": "fstab", "read_ahead_kb": 64}
    assert plan(world, **later).volatile_kb == 64
    assert plan(world, **later, save_read_ahead=True).volatile_kb is None
    notes = [message_text(change.note) for change in plan(world, read_ahead_kb=64).changes]
    assert notes[-1] == "KiB, until unmounted."


def test_a_readahead_that_is_saved_is_shown_as_it_is_written(world: MemoryHost) -> None:
    made = plan(world, options="vers=4.2", read_ahead_kb=64, save_read_ahead=True)
    assert (made.volatile_kb, made.warnings) == (
        None,
        plan(world, options="vers=4.2", read_ahead_kb=64).warnings,
    )
    assert [step.kind for step in made.steps] == ["tune", "save", "check"]
    assert 'ATTR{read_ahead_kb}="64"' in made.rule_diff
    assert '# Mount point: "/mnt/a"' in made.rule_diff
    assert "It is saved" in message_text(made.changes[-1].note)
    made = plan(world, options="vers=4.2", save_read_ahead=True)
    assert [step.kind for step in made.steps] == ["save"]
    assert 'ATTR{read_ahead_kb}="512"' in made.rule_diff


def test_another_readahead_than_the_saved_one_lasts_until_unmounted(world: MemoryHost) -> None:
    world.save({"target": POINT, "sha256": "", "read_ahead_kb": 512})
    assert plan(world).volatile_kb is None
    made = plan(world, read_ahead_kb=64)
    assert (made.volatile_kb, made.rule_diff) == (64, "")
    assert "Then the saved 512 KiB apply" in message_text(made.changes[-1].note)


def test_without_a_readahead_there_is_nothing_to_save(world: MemoryHost) -> None:
    with pytest.raises(AppError) as caught:
        plan(world, mount_point="/mnt/n", save_read_ahead=True)
    assert caught.value.kind is ErrorKind.USAGE


def test_a_dead_server_is_reported(world: MemoryHost) -> None:
    world.silent = True
    made = plan(world, options="vers=4.1", keeper="fstab")
    assert [step.kind for step in made.steps] == ["back-up", "write"]
    assert any("does not answer, so the mount is left alone" in text for text in made.warnings)
    assert (made.interruption.effect, made.sharing) == ("next-mount", [])
    assert not made.can_wait


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"share": "nas"}, ErrorKind.SHARE_INVALID),
        ({"share": "nas:s_test"}, ErrorKind.SHARE_INVALID),
        ({"options": "rsize=lots"}, ErrorKind.OPTION_INVALID),
        ({"options": "vers=4.1", "busy": "next-boot"}, ErrorKind.USAGE),
        ({"keep_s": 481.0}, ErrorKind.USAGE),
        ({"keep_s": float("nan")}, ErrorKind.USAGE),
        ({"keeper": "fstab", "replaces": "/mnt/none"}, ErrorKind.NOT_MOUNTED),
        ({"keeper": "fstab", "expected_sha256": "0"}, ErrorKind.FSTAB_CHANGED),
        ({"keeper": "systemd", "options": "bg"}, ErrorKind.OPTION_INVALID),
        ({"keeper": "systemd", "mount_point": "/" + "x" * 300}, ErrorKind.MOUNT_POINT_INVALID),
    ],
)
def test_an_invalid_request_is_refused_at_once(
    world: MemoryHost, changes: dict[str, Any], kind: ErrorKind
) -> None:
    with pytest.raises(AppError) as caught:
        plan(world, **changes)
    assert caught.value.kind is kind
    assert world.path.read_bytes() == FSTAB


FOREIGN = {
    "unit": "/usr/lib/systemd/system/mnt-a.mount",
    "autofs": "/etc/auto.direct",
}


def kept_by(world: MemoryHost, monkeypatch: pytest.MonkeyPatch, keeper: Any) -> None:
    """Replace the fstab entry of POINT by a foreign entry."""
    world.path.write_bytes(b"")
    configured = Configured(
        origin=FOREIGN[keeper],
        line=4,
        share=SHARE,
        fstype="nfs",
        options="vers=4.2",
        keeper=keeper,
        ours=False,
    )
    rows = [msgspec.structs.replace(row, configured=configured) for row in world.table().mounts]
    monkeypatch.setattr(world, "table", lambda: MountTable(mounts=rows))


@pytest.mark.parametrize(
    ("keeper", "changes"),
    [
        ("unit", {"keeper": "systemd"}),
        ("unit", {"keeper": "systemd", "mount": False}),
        ("unit", {"keeper": "systemd", "mount_point": "/mnt/z", "replaces": POINT}),
        ("autofs", {"keeper": "systemd"}),
        ("autofs", {"keeper": "fstab"}),
        ("autofs", {"keeper": "nowhere"}),
        ("autofs", {"mount_point": "/mnt/z", "replaces": POINT}),
    ],
)
def test_what_others_keep_is_not_written_over(
    world: MemoryHost, monkeypatch: pytest.MonkeyPatch, keeper: str, changes: dict[str, Any]
) -> None:
    kept_by(world, monkeypatch, keeper)
    with pytest.raises(AppError) as caught:
        plan(world, options="vers=4.1", **changes)
    assert caught.value.kind == ErrorKind.FSTAB_REFUSED
    assert FOREIGN[keeper] in caught.value.message
    assert "mport" in caught.value.hint
    before = world.state()
    args = ApplyArgs(**{"share": SHARE, "mount_point": POINT, "options": "vers=4.1", **changes})
    with pytest.raises(AppError, match=r"not written over|whenever a program enters"):
        world.apply(args)
    assert (world.state(), world.calls) == (before, [])


def test_what_a_map_has_is_imported_into_units(world: MemoryHost, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_by(world, monkeypatch, "autofs")
    found = plan(world, options="vers=4.2", keeper="systemd", mount=False)
    assert "Take it out of the map" in " ".join(found.warnings)
    assert {step.kind for step in found.steps} <= {"back-up", "write", "reload"}


@pytest.mark.parametrize(
    ("keeper", "warning"), [("unit", "Remove the unit"), ("autofs", "Take it out of the map")]
)
def test_what_others_keep_is_imported_into_fstab(
    world: MemoryHost, monkeypatch: pytest.MonkeyPatch, keeper: str, warning: str
) -> None:
    kept_by(world, monkeypatch, keeper)
    made = plan(world, options="vers=4.1", keeper="fstab", mount=False)
    assert [step.kind for step in made.steps if step.kind != "reload"] == ["back-up", "write"]
    assert any(warning in text and FOREIGN[keeper] in text for text in made.warnings)


@pytest.mark.parametrize(
    ("changes", "effect", "can_wait"),
    [
        ({"options": LIVE, "read_ahead_kb": 2048}, "at-once", False),
        ({"options": "vers=4.2,ro"}, "at-once", True),
        ({"options": "vers=4.2,timeo=100"}, "interrupts", True),
        ({"options": "vers=4.2,timeo=100", "keeper": "fstab", "mount": False}, "next-mount", True),
        ({"options": "vers=4.2,timeo=100", "keeper": "fstab", "busy": "next-boot"}, "next-mount", False),
    ],
)
def test_interruption_of_each_change(
    world: MemoryHost, changes: dict[str, Any], effect: str, *, can_wait: bool
) -> None:
    made = plan(world, **changes)
    assert (made.interruption.effect, made.can_wait) == (effect, can_wait)
    assert bool(interruption_text(made.interruption)) == bool(made.steps)


def test_a_first_mount_interrupts_nothing(tmp_path: Path) -> None:
    made = plan(MemoryHost(tmp_path, mounted=False), options="vers=4.2", keeper="fstab")
    assert (made.interruption.effect, made.can_wait) == ("first-mount", True)


def test_what_cannot_act_is_not_listed(world: MemoryHost) -> None:
    words = "vers=4.2,timeo=100,nofail,x-systemd.mount-timeout=9"
    assert {"nofail", "x-systemd.mount-timeout"}.isdisjoint(takes(plan(world, options=words)))
    assert {"nofail", "x-systemd.mount-timeout"} <= takes(plan(world, options=words, keeper="fstab")).keys()

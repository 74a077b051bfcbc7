"""Applying a change: it is complete or rolled back, after every failure and every cancellation."""

import contextlib
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from memory_host import CLASSES, FSTAB, POINT, SHARE, MemoryHost, ask
from waiting import DEADLINE_S

from app.errors import AppError, ErrorKind
from app.helper.verbs import ROLES, role_of
from app.mounts import apply as apply_module
from app.mounts.actions import MountActions
from app.mounts.apply import ChangeRunner
from app.mounts.change_model import ApplyArgs, ApplyEvent, ApplyReport
from app.mounts.config_store import ConfigStore
from app.mounts.fstab_store import FstabStore
from app.mounts.saved_readahead import ReadaheadStore
from app.mounts.unit_store import UnitStore
from app.service.hosts import InProcessHost
from app.service.server import Context
from app.tasks import CancelToken
from app.text.message import message_text

pytestmark = pytest.mark.usefixtures("no_waiting")
FAILURES = [
    pytest.param(name, verb, when, id=f"{name}-{verb}-{when}")
    for name, (_mounted, _args, verbs) in CLASSES.items()
    for verb in verbs
    for when in ("before", "after")
    # A lost answer of the fstab writer has its own test.
    if (verb, when) not in {("add", "after"), ("change", "after"), ("unit-write", "after")}
]


@pytest.mark.parametrize("name", CLASSES)
def test_a_change_is_made_in_order(tmp_path: Path, name: str) -> None:
    mounted, args, verbs = CLASSES[name]
    world = MemoryHost(tmp_path, mounted=mounted)
    report = world.apply(args)
    assert world.calls == verbs
    begun = [event.kind for event in world.events if event.state == "begun"]
    assert begun == [step.kind for step in report.plan.steps]
    assert [event.state for event in world.events] == ["begun", "done"] * len(begun)
    if args.mount:
        live = world.live[args.mount_point]
        assert live.share == args.share
        assert report.report is not None
        assert report.report.mount.mount_point == args.mount_point
    if args.keeper == "fstab":
        assert Path(report.backup).read_bytes() == FSTAB
        assert args.options.split(",")[0].encode() in world.path.read_bytes()
        assert report.diff
    if args.keeper == "systemd":
        assert "mnt-a.mount" in world.unit_files()
    expected = args.read_ahead_kb or (512 if mounted else 128)
    assert all(live.read_ahead_kb == expected for live in world.live.values())
    if args.replaces:
        return
    # The same request again changes nothing.
    world.calls.clear()
    assert world.apply(args).plan.steps == []
    assert world.calls == []


@pytest.mark.parametrize(("name", "verb", "when"), FAILURES)
def test_whatever_fails_all_is_as_it_was(tmp_path: Path, name: str, verb: str, when: str) -> None:
    mounted, args, verbs = CLASSES[name]
    world = MemoryHost(tmp_path, mounted=mounted)
    before = world.state()
    world.fail = [(verb, 1, when)]
    with pytest.raises(AppError) as caught:
        world.apply(args)
    assert world.state() == before
    assert world.calls[: verbs.index(verb) + 1] == verbs[: verbs.index(verb) + 1]
    expected = "Nothing was changed." if verb == "try" else "The change was rolled back."
    assert expected in caught.value.message
    failed = [event for event in world.events if event.state == "failed"]
    assert len(failed) == 1
    assert failed[0].kind == world.events[failed[0].step * 2].kind


class Counted:
    """A helper that records a password prompt at its first request."""

    def __init__(self, world: MemoryHost, prompts: list[str], action: str) -> None:
        self._world, self._prompts, self._action = world, prompts, action
        self._used = False

    def call(self, verb: str, args: dict[str, Any], token: CancelToken, timeout_s: float) -> dict[str, Any]:
        if not self._used:
            self._prompts.append(self._action)
        self._used = True
        assert role_of(self._action, verb), f"{self._action} has no {verb}"
        return self._world.call(verb, args, token, timeout_s)

    def close(self) -> None:
        self._used = False


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("fails", [False, True], ids=["kept", "taken back"])
def test_a_change_with_test_mount_and_rollback_prompts_once(
    tmp_path: Path, name: str, *, fails: bool
) -> None:
    mounted, args, verbs = CLASSES[name]
    world, prompts = MemoryHost(tmp_path, mounted=mounted), list[str]()
    mount: Any = Counted(world, prompts, "mount")
    tune: Any = Counted(world, prompts, "tune")
    persist: Any = Counted(world, prompts, "persist")
    kept = ConfigStore(FstabStore(persist, str(world.path)), UnitStore(persist, str(world.units)))

    def start(action: str, plan: object) -> Any:
        assert plan is None
        return Counted(world, prompts, action)

    actions = MountActions(
        mount=mount, tune=tune, kept=kept, start=start, saved=ReadaheadStore(tune, world.rule),
        settled=lambda _point, _token: contextlib.nullcontext(), note_asked=lambda _number, _options: None,
    )  # fmt: skip
    world.fail = [(verbs[-1], 1, "before")] if fails else []
    with pytest.raises(AppError) if fails else contextlib.nullcontext():
        ChangeRunner(
            args, world.view(), actions, world.token, world.events.append, records=world.records
        ).run()
    roles = {next(role for role in ROLES if verb in ROLES[role]) for verb in verbs}
    needed = {"mount" if roles & {"mount", "try"} else "", "persist" if roles & {"persist", "units"} else "",
              "tune" if "tune" in roles else ""} - {""}  # fmt: skip
    assert prompts == ["apply" if len(needed) > 1 else next(iter(needed))]


def test_a_rule_of_udev_that_sets_it_late_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The udev rule of nfs-utils sets the kernel's default a moment after each mount."""
    world, queue = MemoryHost(tmp_path, mounted=False), tmp_path / "queue"
    queue.touch()
    monkeypatch.setattr(apply_module, "_UDEV_QUEUE", str(queue))
    real = world.tune

    def udev() -> None:
        real("/mnt/b", 128)
        queue.unlink()

    def tune(point: str, kb: int) -> None:
        real(point, kb)
        if world.calls.count("tune") == 1:
            threading.Timer(0.2, udev).start()

    monkeypatch.setattr(world, "tune", tune)
    world.apply(ask(share="nas:/b", mount_point="/mnt/b", options="vers=4.2", read_ahead_kb=1024))
    assert world.live["/mnt/b"].read_ahead_kb == 1024
    assert world.calls == ["try", "mount", "tune", "tune"]


@pytest.mark.parametrize("name", CLASSES)
def test_cancelled_at_any_event_all_is_as_it_was(tmp_path: Path, name: str) -> None:
    mounted, args, _verbs = CLASSES[name]
    number = 0
    while True:
        folder = tmp_path / str(number)
        folder.mkdir()
        world = MemoryHost(folder, mounted=mounted)
        before = world.state()

        def cancel(_event: ApplyEvent, world: MemoryHost = world, number: int = number) -> None:
            if len(world.events) == number + 1:
                world.token.cancel()

        world.on_event = cancel
        kind = None
        try:
            world.apply(args)
        except AppError as error:
            kind = error.kind
        if kind is None:
            # After the last step, a cancellation comes too late.
            assert number >= len(world.events) - 3
        else:
            assert (kind, world.state()) == (ErrorKind.CANCELLED, before)
        if number >= len(world.events):
            break
        number += 1


def test_what_nfsmount_conf_adds_is_named_as_the_cause(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=False)
    (tmp_path / "etc").mkdir(exist_ok=True)
    (tmp_path / "etc/nfsmount.conf").write_text("[ NFSMount_Global_Options ]\nvers=4.2\n")
    report = world.apply(ask(options="")).report
    assert report is not None
    notes = {value.name: message_text(value.note) for value in report.values}
    assert notes["vers"] == "Line 2 of /etc/nfsmount.conf adds “vers=4.2”."


def test_units_change_move_and_go_back(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=False)
    options = "vers=4.2,x-systemd.automount,x-systemd.idle-timeout=60,x-systemd.mount-timeout=9s,_netdev"
    first = ask(options=options, keeper="systemd", mount=False)
    world.apply(first)
    assert set(world.unit_files()) == {
        "mnt-a.mount", "mnt-a.automount", "remote-fs.target.wants/mnt-a.automount",
    }  # fmt: skip
    for changes, left in (
        ({"options": "vers=4.1,noauto"}, {"mnt-a.mount"}),
        ({"options": "vers=4.1,nofail"}, {"mnt-a.mount", "remote-fs.target.wants/mnt-a.mount"}),
        ({"options": "vers=4.1", "mount_point": "/mnt/50 %", "replaces": POINT},
         {"mnt-50\\x20\\x25.mount", "remote-fs.target.requires/mnt-50\\x20\\x25.mount"}),
    ):  # fmt: skip
        args = msgspec.structs.replace(first, **changes, mount=True)
        before = world.state()
        for verb in ("mount", "unit-remove"):
            if verb == "mount" or "replaces" in changes:
                world.fail = [(verb, world.calls.count(verb) + 1, "before")]
                with pytest.raises(AppError):
                    world.apply(args)
                assert world.state() == before
        world.fail = []
        world.apply(args)
        assert set(world.unit_files()) == left
        world.live.clear()
    # Units of another program are shown and not changed.
    (world.units / "mnt-z.mount").write_text("[Mount]\n")
    with pytest.raises(AppError, match="not made by this program"):
        world.apply(ask(mount_point="/mnt/z", keeper="systemd"))
    text = world.units / "mnt-50\\x20\\x25.mount"
    text.write_text(text.read_text() + "# mine\n")
    with pytest.raises(AppError, match="changed by another program"):
        world.apply(ask(mount_point="/mnt/50 %", keeper="systemd"))
    with pytest.raises(AppError, match="since they were shown"):
        world.apply(ask(mount_point="/mnt/q", keeper="systemd", expected_sha256="x"))


def test_what_cannot_be_put_back_is_named(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    world.fail = [("mount", 1, "before"), ("mount", 2, "before"), ("restore", 1, "before")]
    with pytest.raises(AppError) as caught:
        world.apply(CLASSES["mount"][1])
    message = caught.value.message
    assert "Some steps could not be rolled back" in message
    assert f"{SHARE} could not be mounted again at {POINT}" in message
    assert caught.value.hint == "Fix these manually."
    assert [event.kind for event in world.events if event.state == "failed"] == ["mount", "revert", "revert"]


def test_a_failed_undo_does_not_stop_the_rollback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    world.fail = [("tune", 1, "before")]
    real = world.call

    def call(verb: str, args: dict[str, Any], token: CancelToken, timeout_s: float) -> dict[str, Any]:
        if verb == "unmount" and "tune" in world.calls:
            raise OSError(24, "Too many open files")
        return real(verb, args, token, timeout_s)

    monkeypatch.setattr(world, "call", call)
    with pytest.raises(AppError) as caught:
        world.apply(CLASSES["mount"][1])
    assert world.path.read_bytes() == FSTAB
    assert "It failed. Some steps could not be rolled back: " in caught.value.message
    assert "Too many open files" in caught.value.message
    assert [event.kind for event in world.events if event.state == "failed"] == ["tune", "revert"]


def test_what_cannot_be_put_back_is_named_after_a_bug_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    world.fail = [("restore", 1, "before")]
    real = world.tune

    def tune(point: str, kb: int) -> None:
        real(point, kb)
        raise KeyError("a bug")

    monkeypatch.setattr(world, "tune", tune)
    with pytest.raises(AppError) as caught:
        world.apply(CLASSES["mount"][1])
    assert caught.value.kind is ErrorKind.INTERNAL
    assert "KeyError: 'a bug'. Some steps could not be rolled back: " in caught.value.message
    assert "in tune" in caught.value.detail


def test_a_listener_that_fails_lets_it_go_back(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    before = world.state()

    def apply(args: ApplyArgs, context: Context) -> ApplyReport:
        return ChangeRunner(
            args, world.view(), world.actions(), context.token, context.emit, records=world.records
        ).run()

    def listen(event: ApplyEvent) -> None:
        if event.kind == "mount":
            raise BrokenPipeError

    services: Any = SimpleNamespace(handlers=lambda: {"mounts.apply": apply})
    with pytest.raises(BrokenPipeError):
        InProcessHost(services).submit("mounts.apply", CLASSES["mount"][1], listen).result(DEADLINE_S)
    assert world.state() == before


@pytest.mark.parametrize("state", ["failed", "done"])
def test_an_event_that_cannot_be_sent_does_not_stop_the_rollback(tmp_path: Path, state: str) -> None:
    """The agent cannot send a text that is not UTF-8, for example."""
    mounted, args, _verbs = CLASSES["mount"]
    world = MemoryHost(tmp_path, mounted=mounted)
    before = world.state()

    def untold(event: ApplyEvent) -> None:
        if event.state == state and "tune" in world.calls:
            raise UnicodeEncodeError("utf-8", "\udce9", 0, 1, "surrogates not allowed")

    world.on_event = untold
    world.fail = [("tune", 1, "before")]
    with pytest.raises(AppError, match="The change was rolled back"):
        world.apply(args)
    assert world.state() == before


def test_fstab_changed_since_it_was_shown_is_left_alone(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    sha256 = world.sha256()
    world.path.write_bytes(FSTAB + b"\n# mine\n")
    before = world.state()
    with pytest.raises(AppError) as caught:
        world.apply(ask(options="vers=4.1", keeper="fstab", expected_sha256=sha256))
    assert caught.value.kind is ErrorKind.FSTAB_CHANGED
    assert (world.state(), world.calls) == (before, [])


def test_a_change_of_fstab_by_another_program_is_not_undone(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)

    def meddle(event: ApplyEvent) -> None:
        if (event.kind, event.state) == ("unmount", "begun"):
            world.path.write_bytes(world.path.read_bytes() + b"\n# mine\n")

    world.on_event = meddle
    world.fail = [("mount", 1, "before")]
    with pytest.raises(AppError) as caught:
        world.apply(ask(options="vers=4.1", keeper="fstab"))
    assert "Some steps could not be rolled back" in caught.value.message
    assert world.path.read_bytes().endswith(b"# mine\n")
    assert world.live[POINT].options.count("vers=4.2") == 1


def test_an_fstab_that_may_not_be_replaced_stops_it(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    world.path.rename(tmp_path / "elsewhere")
    world.path.symlink_to(tmp_path / "elsewhere")
    before = world.state()
    with pytest.raises(AppError) as caught:
        world.apply(ask(options="vers=4.1", keeper="fstab"))
    assert caught.value.kind is ErrorKind.FSTAB_REFUSED
    assert caught.value.message.endswith("The change was rolled back.")
    assert (world.state(), world.calls) == (before, ["try", "change"])


@pytest.mark.parametrize("keeper", ["fstab", "systemd"])
def test_an_answer_lost_after_the_write_is_not_passed_over(tmp_path: Path, keeper: str) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    world.fail = [("change" if keeper == "fstab" else "unit-write", 1, "after")]
    with pytest.raises(AppError, match="may have been changed"):
        world.apply(ask(options="vers=4.1", keeper=keeper))
    assert "vers=4.2" in world.live[POINT].options


def test_what_did_not_take_is_said(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    world.mount("nas:/b", "/mnt/b", ["vers=4.2"])
    report = world.apply(ask(options="vers=4.2,nconnect=8"))
    text = "“nconnect=8” was requested, in use is “nconnect=1”."
    assert [message_text(one) for one in report.differences] == [text]
    assert world.events[-1].text == text


def test_a_dead_mount_is_left_alone(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    world.silent = True
    for options in ("vers=4.1", "vers=4.2,ro"):
        with pytest.raises(AppError) as caught:
            world.apply(ask(options=options))
        assert caught.value.kind is ErrorKind.NOT_RESPONDING
        assert "Nothing was changed." in caught.value.message
    assert world.calls == []
    report = world.apply(ask(options="vers=4.1", keeper="fstab", busy="next-boot"))
    assert world.calls == ["change"]
    assert b"vers=4.1" in world.path.read_bytes()
    assert report.plan.steps[-1].kind == "write"

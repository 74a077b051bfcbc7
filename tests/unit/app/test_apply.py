"""A change of a mount: all of it, or everything as it was, whatever fails and whenever it is cancelled."""

import os
import threading
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import pytest
from mount_world import FSTAB, POINT, SHARE, World

from app.agent.client import AgentClient
from app.agent.protocol import Empty
from app.agent.server import AgentServer, Context
from app.errors import AppError, ErrorKind
from app.helper import fstab_writer
from app.mounts import apply as apply_module
from app.mounts.apply import Apply
from app.mounts.change import ApplyArgs, ApplyEvent, ApplyReport, KeepArgs
from app.tasks import run_in_thread


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply_module, "_UDEV_S", 0.0)
    monkeypatch.setattr(apply_module, "_POLL_S", 0.01)
    monkeypatch.setattr(fstab_writer, "_FINDMNT", ())  # its own tests run it


def ask(**changes: Any) -> ApplyArgs:
    return ApplyArgs(**{"share": SHARE, "mount_point": POINT, **changes})


#: Whether it is mounted before, what is asked for, and the verbs of the helper that it takes.
CLASSES: dict[str, tuple[bool, ApplyArgs, list[str]]] = {
    "new": (False, ask(share="nas:/b", mount_point="/mnt/b", options="vers=4.2"), ["try", "mount"]),
    "new-kept": (
        False,
        ask(share="nas:/b", mount_point="/mnt/b", options="vers=4.2,nofail,nosuid,nodev", keeper="fstab",
            read_ahead_kb=1024),
        ["try", "add", "mount", "tune"],
    ),
    "kept-only": (False, ask(options="vers=4.1,_netdev", keeper="fstab", mount=False), ["change"]),
    "live": (True, ask(options="vers=4.2", read_ahead_kb=4096), ["tune"]),
    "remount": (True, ask(options="vers=4.2,ro,noexec", keeper="fstab"), ["change", "remount"]),
    "mount": (
        True,
        ask(options="vers=4.2,nconnect=4", keeper="fstab"),
        ["try", "change", "unmount", "mount", "tune"],
    ),
    "mount-tuned": (True, ask(options="vers=4.1", read_ahead_kb=64), ["try", "unmount", "mount", "tune"]),
    "moved": (
        True,
        ask(mount_point="/mnt/z", options="vers=4.2", replaces=POINT, keeper="fstab"),
        ["try", "change", "unmount", "mount", "tune"],
    ),
    "units": (
        False,
        ask(options="vers=4.2,nofail,nosuid,nodev", keeper="systemd"),
        ["try", "unit-write", "mount"],
    ),
    "units-live": (
        True,
        ask(options="vers=4.1,x-systemd.automount,x-systemd.idle-timeout=60", keeper="systemd"),
        ["try", "unit-write", "unmount", "mount", "tune"],
    ),
    "other-share": (True, ask(share="nas:/other", options="vers=4.2"), ["try", "unmount", "mount", "tune"]),
}  # fmt: skip
FAILURES = [
    pytest.param(name, verb, when, id=f"{name}-{verb}-{when}")
    for name, (_mounted, _args, verbs) in CLASSES.items()
    for verb in verbs
    for when in ("before", "after")
    # The writer says in one step what it did; a lost answer is the next test's.
    if (verb, when) not in {("add", "after"), ("change", "after"), ("unit-write", "after")}
]


@pytest.mark.parametrize("name", CLASSES)
def test_a_change_is_made_in_order(tmp_path: Path, name: str) -> None:
    mounted, args, verbs = CLASSES[name]
    world = World(tmp_path, mounted=mounted)
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
    # The same once more: there is nothing left to do.
    world.calls.clear()
    assert world.apply(args).plan.steps == []
    assert world.calls == []


@pytest.mark.parametrize(("name", "verb", "when"), FAILURES)
def test_whatever_fails_all_is_as_it_was(tmp_path: Path, name: str, verb: str, when: str) -> None:
    mounted, args, verbs = CLASSES[name]
    world = World(tmp_path, mounted=mounted)
    before = world.state()
    world.fail = [(verb, 1, when)]
    with pytest.raises(AppError) as caught:
        world.apply(args)
    assert world.state() == before
    assert world.calls[: verbs.index(verb) + 1] == verbs[: verbs.index(verb) + 1]
    expected = "Nothing was changed." if verb == "try" else "Everything is as it was."
    assert expected in caught.value.message
    failed = [event for event in world.events if event.state == "failed"]
    assert len(failed) == 1
    assert failed[0].kind == world.events[failed[0].step * 2].kind


@pytest.mark.parametrize("name", CLASSES)
def test_cancelled_at_any_event_all_is_as_it_was(tmp_path: Path, name: str) -> None:
    mounted, args, _verbs = CLASSES[name]
    number = 0
    while True:
        folder = tmp_path / str(number)
        folder.mkdir()
        world = World(folder, mounted=mounted)
        before = world.state()

        def cancel(_event: ApplyEvent, world: World = world, number: int = number) -> None:
            if len(world.events) == number + 1:
                world.token.cancel()

        world.on_event = cancel
        kind = None
        try:
            world.apply(args)
        except AppError as error:
            kind = error.kind
        if kind is None:
            # Behind the last deed it is too late.
            assert number >= len(world.events) - 3
        else:
            assert (kind, world.state()) == (ErrorKind.CANCELLED, before)
        if number >= len(world.events):
            break
        number += 1


def test_what_nfsmount_conf_adds_is_named_as_the_cause(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=False)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/nfsmount.conf").write_text("[ NFSMount_Global_Options ]\nvers=4.2\n")
    report = world.apply(ask(options="")).report
    assert report is not None
    notes = {value.name: value.note for value in report.values}
    assert notes["vers"] == "Line 2 of /etc/nfsmount.conf adds “vers=4.2”."


def test_units_change_move_and_go_back(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=False)
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
    # Somebody else's units are shown, not changed.
    (world.units / "mnt-z.mount").write_text("[Mount]\n")
    with pytest.raises(AppError, match="not made by this program"):
        world.apply(ask(mount_point="/mnt/z", keeper="systemd"))
    text = world.units / "mnt-50\\x20\\x25.mount"
    text.write_text(text.read_text() + "# mine\n")
    with pytest.raises(AppError, match="changed by somebody else"):
        world.apply(ask(mount_point="/mnt/50 %", keeper="systemd"))
    with pytest.raises(AppError, match="since they were shown"):
        world.apply(ask(mount_point="/mnt/q", keeper="systemd", expected_sha256="x"))


def test_what_cannot_be_put_back_is_named(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=True)
    world.fail = [("mount", 1, "before"), ("mount", 2, "before"), ("restore", 1, "before")]
    with pytest.raises(AppError) as caught:
        world.apply(CLASSES["mount"][1])
    message = caught.value.message
    assert "Not everything is as it was" in message
    assert f"{SHARE} could not be mounted again at {POINT}" in message
    assert caught.value.hint == "Put right by hand what is named here."
    assert [event.kind for event in world.events if event.state == "failed"] == ["mount", "revert", "revert"]


def test_fstab_changed_since_it_was_shown_is_left_alone(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=True)
    sha256 = world.sha256()
    world.path.write_bytes(FSTAB + b"\n# mine\n")
    before = world.state()
    with pytest.raises(AppError) as caught:
        world.apply(ask(options="vers=4.1", keeper="fstab", expected_sha256=sha256))
    assert caught.value.kind is ErrorKind.FSTAB_CHANGED
    assert (world.state(), world.calls) == (before, [])


def test_somebody_else_s_change_of_fstab_is_not_taken_back(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=True)

    def meddle(event: ApplyEvent) -> None:
        if (event.kind, event.state) == ("unmount", "begun"):
            world.path.write_bytes(world.path.read_bytes() + b"\n# mine\n")

    world.on_event = meddle
    world.fail = [("mount", 1, "before")]
    with pytest.raises(AppError) as caught:
        world.apply(ask(options="vers=4.1", keeper="fstab"))
    assert "Not everything is as it was" in caught.value.message
    assert world.path.read_bytes().endswith(b"# mine\n")
    assert world.live[POINT].options.count("vers=4.2") == 1


def test_an_fstab_that_may_not_be_replaced_stops_it(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=True)
    world.path.rename(tmp_path / "elsewhere")
    world.path.symlink_to(tmp_path / "elsewhere")
    before = world.state()
    with pytest.raises(AppError) as caught:
        world.apply(ask(options="vers=4.1", keeper="fstab"))
    assert caught.value.kind is ErrorKind.FSTAB_REFUSED
    assert caught.value.message.endswith("Everything is as it was.")
    assert (world.state(), world.calls) == (before, ["try", "change"])


@pytest.mark.parametrize("keeper", ["fstab", "systemd"])
def test_an_answer_lost_after_the_write_is_not_passed_over(tmp_path: Path, keeper: str) -> None:
    world = World(tmp_path, mounted=True)
    world.fail = [("change" if keeper == "fstab" else "unit-write", 1, "after")]
    with pytest.raises(AppError, match="may have been changed"):
        world.apply(ask(options="vers=4.1", keeper=keeper))
    assert "vers=4.2" in world.live[POINT].options


def test_what_did_not_take_is_said(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=True)
    world.mount("nas:/b", "/mnt/b", ["vers=4.2"])
    report = world.apply(ask(options="vers=4.2,nconnect=8"))
    assert "The request says “nconnect=8”, in use is “nconnect=1”." in report.warnings
    assert world.events[-1].text == "The request says “nconnect=8”, in use is “nconnect=1”."


def test_a_dead_mount_is_left_alone(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=True)
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


# Programs in the way


def test_asked_it_fails_and_names_them(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=True)
    before = world.state()
    world.busy = 1
    with pytest.raises(AppError) as caught:
        world.apply(ask(options="vers=4.1", keeper="fstab"))
    assert caught.value.kind is ErrorKind.BUSY
    assert world.state() == before
    assert [holder.command for event in world.events for holder in event.holders] == ["init"]


def test_they_are_waited_for(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=True)
    world.busy = 3
    world.apply(ask(options="vers=4.1", busy="wait", wait_s=60.0))
    assert world.live[POINT].options.count("vers=4.1") == 1
    assert len([event for event in world.events if event.holders]) == 3
    world.busy = 10**6
    with pytest.raises(AppError) as caught:
        world.apply(ask(options="vers=4.2", busy="wait", wait_s=0.05))
    assert caught.value.kind is ErrorKind.BUSY


def test_detached_it_is_mounted_again(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=True)
    world.busy = 10**6
    report = world.apply(ask(options="vers=4.1", busy="lazy"))
    assert any("lives on" in warning for warning in report.warnings)
    assert any("umount --lazy" in step.command for step in report.plan.steps)


def test_others_are_not_stopped(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=True)
    before = world.state()
    world.busy = 10**6
    with pytest.raises(AppError) as caught:
        world.apply(ask(options="vers=4.1", busy="stop"))
    assert caught.value.kind is ErrorKind.BUSY
    assert world.state() == before


# Keep these settings?


def test_kept_it_stays(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=True)

    def keep(event: ApplyEvent) -> None:
        if event.kind == "keep" and event.keep_s:
            world.change.keep()

    world.on_event = keep
    report = world.apply(ask(options="vers=4.1", keeper="fstab", keep_s=60.0))
    assert report.plan.steps[-1].kind == "keep"
    assert world.live[POINT].options.count("vers=4.1") == 1


@pytest.mark.parametrize("name", ["live", "remount", "mount", "moved"])
def test_without_a_yes_it_goes_back(tmp_path: Path, name: str) -> None:
    world = World(tmp_path, mounted=True)
    before = world.state()
    with pytest.raises(AppError) as caught:
        world.apply(msgspec.structs.replace(CLASSES[name][1], keep_s=0.03))
    assert caught.value.kind is ErrorKind.CANCELLED
    assert "Everything is as it was." in caught.value.message
    assert world.state() == before
    left = [event.keep_s for event in world.events if event.keep_s]
    assert left == sorted(left, reverse=True)
    assert left[0] <= 0.03


def test_the_first_mount_asks_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=False)
    report = world.apply(ask(options="vers=4.2", keep_s=60.0))
    assert "keep" not in [step.kind for step in report.plan.steps]


# Over the protocol


class Served:
    """A World behind an agent's server, over pipes."""

    def __init__(self, world: World) -> None:
        self.world = world
        request, self._to_agent = os.pipe()
        self._from_agent, answer = os.pipe()
        reader, writer = os.fdopen(request, "rb"), os.fdopen(answer, "wb", buffering=0)
        self.server = AgentServer(reader, writer, {"mounts.apply": self._apply, "mounts.keep": self._keep})
        self.over = run_in_thread("served", lambda: self._serve(reader, writer))
        self._answers = os.fdopen(self._from_agent, "rb")
        self.client = AgentClient(self._answers, os.fdopen(self._to_agent, "wb"))
        self.done = threading.Event()
        self._changes: dict[int, Apply] = {}

    def _serve(self, reader: BinaryIO, writer: BinaryIO) -> None:
        with reader:
            self.server.serve()
        self.done.wait(30)
        writer.close()

    def _apply(self, args: ApplyArgs, context: Context) -> ApplyReport:
        world = self.world
        change = Apply(args, world.around(), world.hands(), context.token, context.emit)
        self._changes[context.request_id] = change
        try:
            return change.run()
        finally:
            self.done.set()

    def _keep(self, args: KeepArgs, _context: Context) -> Empty:
        self._changes[args.id].keep()
        return Empty()

    def close(self) -> None:
        """Go away, and wait for the agent's end."""
        self.client.close()
        self.over.result(30)
        assert self.client.join(10)
        self._answers.close()


class Asked(threading.Event):
    """Set by the question whether to keep the change."""

    def __call__(self, event: ApplyEvent) -> None:
        if event.keep_s:
            self.set()


def test_kept_over_the_protocol_by_the_number_of_the_request(tmp_path: Path) -> None:
    served = Served(World(tmp_path, mounted=True))
    asked = Asked()
    call = served.client.submit(
        "mounts.apply",
        ask(options="vers=4.1", keeper="fstab", keep_s=60.0),
        asked,
    )
    assert asked.wait(30)
    served.client.submit("mounts.keep", KeepArgs(id=call.id)).result(30)
    assert call.result(30).report.mount.share == SHARE
    served.close()


def test_a_window_that_goes_away_keeps_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, mounted=True)
    before = world.state()
    served = Served(world)
    asked = Asked()
    call = served.client.submit(
        "mounts.apply",
        ask(options="vers=4.1", keeper="fstab", keep_s=60.0),
        asked,
    )
    assert asked.wait(30)
    assert world.state() != before
    served.close()
    with pytest.raises(AppError):
        call.result(30)
    assert world.state() == before

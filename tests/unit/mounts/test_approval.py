"""Separate approvals by an administrator: shown before, and limited to the approved plan."""

import contextlib
import dataclasses
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from memory_host import CLASSES, POINT, SHARE, MemoryHost, ask

from app.errors import AppError, ErrorKind
from app.helper import mount_record, mountinfo, policy
from app.helper.approval_gate import ApprovalGate, ApprovedMount
from app.helper.callers import Caller
from app.helper.errors import Refusal
from app.helper.verbs import ACTIONS, ROLES, check_args, role_of
from app.helper_client.client import ApprovedPlan, _wire_arguments, explain_refusal
from app.mounts import approval, mount_point
from app.mounts.actions import MountActions
from app.mounts.apply import ChangeRunner
from app.mounts.approval import home_link_offer, make_home_link, not_approved_error
from app.mounts.change_model import ApplyArgs, ApplyReport, PersistArgs, RemoveArgs
from app.mounts.change_text import approval_sentences
from app.mounts.config_store import ConfigStore
from app.mounts.fstab_store import FstabStore
from app.mounts.model import Approval, Holder
from app.mounts.saved_readahead import ReadaheadStore
from app.mounts.unit_store import UnitStore
from app.service.protocol import ApprovalArgs, LinkHomeArgs, UnmountArgs
from app.service.server import Context
from app.service.verbs import HostVerbs
from app.tasks import CancelToken

pytestmark = pytest.mark.usefixtures("no_waiting")
USER = Caller(1000, 1000, home="/home/ann")
ALL = Approval(reasons=["It is the system's."], mounts=True, keeps=True)
#: A move is refused where an approval is needed.
NAMES = [name for name in CLASSES if name != "moved"]


class Gated:
    """Helper of a system action: the real approval gate before the helper of the MemoryHost."""

    def __init__(self, world: MemoryHost, action: str, share: str, target: str, requests: list[Any]) -> None:
        self._world = world
        self._action = action
        self.closed = False
        plan = ApprovedPlan(share, target, requests)
        words = plan.words()
        handlers = dict.fromkeys([verb for role in ACTIONS[action] for verb in ROLES[role]], self._handler)
        self._handlers = ApprovalGate(action, ApprovedMount(*words)).handlers(handlers)  # type: ignore[arg-type]
        self._ask("plan", {"requests": plan.requests})

    def _handler(self, _args: dict[str, Any], _session: object) -> dict[str, Any]:
        verb, args = self._request
        return self._world.call(verb, args, *self._rest)

    def _ask(self, verb: str, wire: dict[str, Any]) -> dict[str, Any]:
        self.holds = False
        try:
            role = role_of(self._action, verb) or ACTIONS[self._action][0]
            whole = check_args(self._action, role, verb, wire)
            return self._handlers[verb](whole, self)  # type: ignore[arg-type]
        except Refusal as refusal:
            raise explain_refusal(refusal.code, refusal.message, refusal.detail) from refusal

    def call(self, verb: str, args: dict[str, Any], token: CancelToken, timeout_s: float) -> dict[str, Any]:
        self._request, self._rest = (verb, args), (token, timeout_s)
        return self._ask(verb, _wire_arguments(verb, args, timeout_s))

    def close(self) -> None:
        self.closed = True


class ApprovedWorld(MemoryHost):
    """A host where every change needs an approval; an ordinary request fails the test."""

    def __init__(self, folder: Path, *, mounted: bool) -> None:
        super().__init__(folder, mounted=mounted)
        self.helpers: list[Gated] = []

    def _start(self, action: str, plan: tuple[str, str, list[Any]] | None) -> Any:
        assert plan is not None, f"{action} is not for an approval"
        self.helpers.append(Gated(self, action, *plan))
        return self.helpers[-1]

    def actions(self) -> MountActions:
        forbidden: Any = Forbidden()
        return MountActions(
            mount=forbidden, tune=forbidden, kept=self.kept(), start=self._start,
            saved=ReadaheadStore(forbidden, self.rule),
            settled=lambda _point, _token: contextlib.nullcontext(), note_asked=self._requested.__setitem__,
        )  # fmt: skip

    def apply(self, args: ApplyArgs) -> ApplyReport:
        view = dataclasses.replace(self.view(), approval=lambda _args, _way: ALL)
        self.change = ChangeRunner(
            args, view, self.actions(), self.token, self.events.append, records=self.records
        )
        return self.change.run()


class Forbidden:
    def close(self) -> None:
        pass

    def call(self, verb: str, *_args: Any) -> dict[str, Any]:
        raise AssertionError(f"{verb} was asked of the ordinary role")


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the mounts and entries of this computer from the approval gate."""
    rows = [mountinfo.MountRow(1, 0, "0:1", POINT, ("rw",), "nfs4", SHARE, "rw")]
    monkeypatch.setattr(mountinfo, "read", lambda: rows)
    monkeypatch.setattr(policy.read_fstab, "__defaults__", (str(tmp_path / "none"),))
    monkeypatch.setattr(policy.read_roots, "__defaults__", (str(tmp_path / "none"),))


@pytest.mark.parametrize("name", NAMES)
def test_a_change_stays_within_the_plan(tmp_path: Path, name: str) -> None:
    mounted, args, verbs = CLASSES[name]
    world = ApprovedWorld(tmp_path, mounted=mounted)
    with pytest.raises(AppError) as caught:
        world.apply(args)
    assert caught.value.kind in {ErrorKind.MOUNT_POINT_RESTRICTED, ErrorKind.MOUNT_NOT_YOURS}
    assert world.calls == []
    world.apply(msgspec.structs.replace(args, approved=True))
    assert world.calls == verbs
    assert [helper.closed for helper in world.helpers] == [True]  # one approval for all of it


@pytest.mark.parametrize(
    ("name", "verb", "when"),
    [(n, v, w) for n in NAMES for v in CLASSES[n][2] for w in ("before", "after")
     if (v, w) not in {("add", "after"), ("change", "after"), ("unit-write", "after")}],
)  # fmt: skip
def test_the_rollback_is_part_of_the_approved_plan(tmp_path: Path, name: str, verb: str, when: str) -> None:
    mounted, args, _verbs = CLASSES[name]
    world = ApprovedWorld(tmp_path, mounted=mounted)
    before = world.state()
    world.fail = [(verb, 1, when)]
    with pytest.raises(AppError) as caught:
        world.apply(msgspec.structs.replace(args, approved=True))
    assert world.state() == before
    assert caught.value.kind is not ErrorKind.NOT_AUTHORIZED
    assert "could not be rolled back" not in caught.value.message
    assert all(helper.closed for helper in world.helpers)


@pytest.mark.parametrize("busy", ["ask", "wait", "lazy"])
def test_programs_in_the_way_are_dealt_with_in_the_plan(tmp_path: Path, busy: Any) -> None:
    _mounted, args, verbs = CLASSES["mount"]
    world = ApprovedWorld(tmp_path, mounted=True)
    world.busy = 40 if busy == "wait" else 1
    args = msgspec.structs.replace(args, approved=True, busy=busy)
    if busy == "ask":
        with pytest.raises(AppError) as caught:
            world.apply(args)
        assert caught.value.kind is ErrorKind.BUSY
        return
    world.apply(args)
    assert [verb for verb in verbs if verb not in world.calls] == []


def test_a_move_is_refused(tmp_path: Path) -> None:
    _mounted, args, _verbs = CLASSES["moved"]
    world = ApprovedWorld(tmp_path, mounted=True)
    with pytest.raises(AppError) as caught:
        world.apply(msgspec.structs.replace(args, approved=True))
    assert caught.value.kind is ErrorKind.MOUNT_POINT_RESTRICTED
    assert "moved" in caught.value.message


# The agent's verbs


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[HostVerbs, MemoryHost]]:
    """The agent's verbs for an ordinary user, on a MemoryHost; ordinary roles fail the test."""
    world = MemoryHost(tmp_path, mounted=False)
    forbidden: Any = Forbidden()
    services = HostVerbs()
    fstab = FstabStore(forbidden, str(world.path))
    replaced: dict[str, Any] = {
        "_fstab": fstab, "_configs": ConfigStore(fstab, UnitStore(forbidden, str(world.units))),
        "_helper": forbidden,
        "_approve": lambda *args: Gated(world, *args), "_table": world.table,
    }  # fmt: skip
    for name, value in replaced.items():
        monkeypatch.setattr(services, name, value)
    monkeypatch.setattr(mount_point, "this_caller", lambda: USER)
    yield services, world
    services.close()


def context() -> Context:
    return Context(CancelToken(), lambda _event: None, 1)


def kind_of(call: Any) -> ErrorKind:
    with pytest.raises(AppError) as caught:
        call()
    return caught.value.kind


def test_an_entry_is_written_and_removed_by_its_own_role(agent: tuple[HostVerbs, MemoryHost]) -> None:
    services, world = agent
    before = world.path.read_bytes()
    args = PersistArgs(share="nas:/n", mount_point="/data", preview=True)
    shown = services.persist(args, context())
    assert shown.approval is not None
    assert shown.approval.keeps
    assert shown.asks_nofail
    real = msgspec.structs.replace(args, preview=False)
    assert kind_of(lambda: services.persist(real, context())) is ErrorKind.MOUNT_POINT_RESTRICTED
    assert world.calls == []
    services.persist(msgspec.structs.replace(real, approved=True), context())
    assert b"nas:/n\t/data\tnfs\t_netdev,nosuid,nodev\t0\t0" in world.path.read_bytes()
    gone = RemoveArgs(mount_point="/data")
    assert services.forget(RemoveArgs(mount_point="/data", preview=True), context()).approval is not None
    assert kind_of(lambda: services.forget(gone, context())) is ErrorKind.MOUNT_POINT_RESTRICTED
    services.forget(msgspec.structs.replace(gone, approved=True), context())
    assert world.path.read_bytes().strip(b"\n") == before.strip(b"\n")
    assert world.calls == ["add", "remove"]


@pytest.mark.parametrize("place", ["/mnt/none", "/mnt/none/"])
def test_without_a_helper_an_invalid_mount_point_is_reported(
    agent: tuple[HostVerbs, MemoryHost], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    services, _world = agent

    def missing(*_args: object, **_named: object) -> None:
        raise AppError(ErrorKind.HELPER_MISSING, "There is no helper.")

    monkeypatch.setattr(services, "_call_mount", missing)
    args = UnmountArgs(mount_point=place)
    assert kind_of(lambda: services.unmount(args, context())) is ErrorKind.NOT_MOUNTED


def test_the_system_s_mount_is_unmounted_by_its_own_role(
    agent: tuple[HostVerbs, MemoryHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    services, world = agent
    world.mount(SHARE, POINT, ["rw"])
    monkeypatch.setattr(mount_record, "owner", lambda _row: 0)
    args = UnmountArgs(mount_point=POINT)
    assert kind_of(lambda: services.unmount(args, context())) is ErrorKind.MOUNT_NOT_YOURS
    assert POINT in world.live
    services.unmount(msgspec.structs.replace(args, approved=True), context())
    assert world.live == {}
    told = services.get_approval(ApprovalArgs(mount_point=POINT), context())
    assert told.approval is not None
    assert "belongs to the system" in told.text[0]


def test_a_link_is_offered_for_a_home_directory(agent: tuple[HostVerbs, MemoryHost], tmp_path: Path) -> None:
    services, _world = agent
    told = services.get_approval(ApprovalArgs(share="nas:/x", mount_point="/home/ann/nas-x"), context())
    assert told.approval is None
    assert told.instead == "/mnt/nas-x"
    assert "/home/ann/nas-x" in told.text[1]
    services.link(LinkHomeArgs(path=str(tmp_path / "nas"), target="/mnt/nas-x"), context())
    assert str((tmp_path / "nas").readlink()) == "/mnt/nas-x"


# Approvals required for an ordinary user.


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mount_point, "this_caller", lambda: USER)
    monkeypatch.setattr(mountinfo, "read", list)


@pytest.mark.usefixtures("user")
def test_the_ordinary_roles_do_where_they_do() -> None:
    for path in ("/mnt/x", "/srv/a/b", "/run/mountwright/1000/x"):
        assert approval.required_approval("nas:/x", path, mounts=True, keeps=True) is None
    for path in ("mnt", "/mnt/../etc", "", "/d\u202e"):  # other checks refuse these
        assert approval.required_approval("nas:/x", path, mounts=True, keeps=True) is None


def test_root_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mount_point, "this_caller", lambda: Caller(0, 0))
    assert approval.required_approval("nas:/x", "/data", mounts=True, change="unmount", keeps=True) is None
    assert home_link_offer("nas:/x", "/home/ann/nas") is None


@pytest.mark.usefixtures("user")
def test_hidden_entries_and_their_users_are_reported(
    plain_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees = tuple(tree for tree in policy.FORBIDDEN if tree != "/tmp")
    monkeypatch.setattr(policy, "FORBIDDEN", trees)
    plain_path.chmod(0o755)
    folder = plain_path / "data"
    folder.mkdir()
    found = approval.required_approval("nas:/x", str(folder), mounts=True)
    assert found is not None
    assert (found.mounts, found.keeps, found.hidden, found.hides, found.holders) == (True, False, 0, [], [])
    for number in range(12):
        (folder / f"{number:02}é").touch()
    with subprocess.Popen(["sleep", "100"], cwd=folder) as sleeper:
        found = approval.required_approval("nas:/x", str(folder), mounts=True, keeps=True)
        sleeper.kill()
    assert found is not None
    assert (found.mounts, found.keeps, found.hidden) == (True, True, 12)
    assert found.hides == [f"{number:02}é" for number in range(10)]
    assert sleeper.pid in {holder.pid for holder in found.holders}
    text = " ".join(approval_sentences(found))
    assert "outside the directories for mounts" in text
    assert "09é and 2 more." in text
    assert "working directory" in text
    (plain_path / "file").touch()
    with pytest.raises(AppError) as caught:
        approval.required_approval("nas:/x", str(plain_path / "file"), mounts=True)
    assert caught.value.kind is ErrorKind.MOUNT_POINT_IS_FILE
    new = approval.required_approval("nas:/x", str(plain_path / "new"), mounts=True)
    assert new is not None
    assert new.hidden == 0


@pytest.mark.usefixtures("user")
def test_a_mount_of_another_user_needs_an_approval(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [mountinfo.MountRow(9, 1, "0:9", "/mnt/x", ("rw",), "nfs4", "nas:/x", "rw")]
    monkeypatch.setattr(mountinfo, "read", lambda: rows)
    owners = {"uid": 0}
    monkeypatch.setattr(mount_record, "owner", lambda _row: owners["uid"])
    for change in ("remount", "unmount"):
        found = approval.required_approval("nas:/x", "/mnt/x", change=change)  # type: ignore[arg-type]
        assert found is not None
        assert (found.mounts, found.keeps) == (True, False)
        assert found.reasons == ["The mount at “/mnt/x” belongs to the system."]
    owners["uid"] = 1000
    assert approval.required_approval("nas:/x", "/mnt/x", mounts=True, change="unmount") is None
    owners["uid"] = 1001
    found = approval.required_approval("nas:/x", "/mnt/x", change="unmount")
    assert found is not None
    assert "another user" in found.reasons[0]


@pytest.mark.usefixtures("user")
def test_system_directories_are_refused_without_an_approval() -> None:
    for path in ("/usr/bin", "/etc/x", "/root"):
        with pytest.raises(AppError) as caught:
            approval.required_approval("nas:/x", path, mounts=True)
        assert caught.value.kind is ErrorKind.MOUNT_POINT_SYSTEM


@pytest.mark.usefixtures("user")
def test_an_ambiguous_name_cannot_be_approved() -> None:
    for share, path in (("nas:/x /mnt/x", "/data"), ("nas:/x", "/my data")):
        with pytest.raises(AppError) as caught:
            approval.required_approval(share, path, mounts=True)
        assert "misread" in caught.value.message


@pytest.mark.usefixtures("user")
def test_in_a_home_a_link_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AppError) as caught:
        approval.required_approval("nas:/x", "/home/ann/nas", mounts=True)
    assert caught.value.kind is ErrorKind.MOUNT_POINT_RESTRICTED
    assert "ln -s /mnt/nas /home/ann/nas" in caught.value.hint
    taken = {"/mnt/nas"}
    busy = AppError(ErrorKind.MOUNT_POINT_BUSY, "Taken.")
    monkeypatch.setattr(
        mount_point, "check_mount_point", lambda _share, path, **_more: busy if path in taken else None
    )
    assert home_link_offer("nas:/x", "/home/ann/nas") == ("/mnt/nas-2", "/home/ann/nas")
    assert home_link_offer("nas:/x", "/data") is None
    # An existing entry in a home directory may be removed.
    found = approval.required_approval("", "/home/ann/nas", keeps=True)
    assert found is not None
    assert found.keeps


def test_the_link_is_made_where_there_is_room(tmp_path: Path) -> None:
    link, full = tmp_path / "nas", tmp_path / "full"
    link.mkdir()
    make_home_link(str(link), "/mnt/nas")
    make_home_link(str(link), "/mnt/nas")
    assert str(link.readlink()) == "/mnt/nas"
    full.mkdir()
    (full / "x").touch()
    for path in (full, link):
        with pytest.raises(AppError) as caught:
            make_home_link(str(path), "/mnt/other")
        assert "ln -s /mnt/other" in caught.value.hint
    assert (full / "x").exists()
    assert str(link.readlink()) == "/mnt/nas"


def test_every_sentence_is_one() -> None:
    holder = Holder(pid=7, command="sh", user="ann", use="working directory")
    found = Approval(reasons=["It is so."], mounts=True, hides=["a"], hidden=-1, holders=[holder])
    for text in (*approval_sentences(found), not_approved_error(found).hint):
        assert text.endswith(".")
    assert "list it" in approval_sentences(found)[1]
    assert ask(approved=True).approved

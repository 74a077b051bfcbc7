"""Approval gate of the system actions: only the requests of the approved plan are carried out."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helper_line import start_helper

from app.helper import approval_gate, callers, mountinfo, policy
from app.helper.approval_gate import ApprovalGate, ApprovedMount, digest, read_approved_mount
from app.helper.errors import Refusal
from app.helper.verbs import ACTIONS, ROLES, SYSTEM_ACTIONS, check_args, role_of

MAIN = Path(__file__).parents[3] / "app" / "helper" / "__main__.py"
SHARE, TARGET = "nas:/data", "/data"


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


class Session:
    holds = False
    cancelled = False


def mount(**changes):
    args = {
        "share": SHARE,
        "target": TARGET,
        "options": ["rw"],
        "create": True,
        "hide": True,
        "timeout_ms": 9000,
    }
    return {"verb": "mount", "args": {**args, **changes}}


def unmount(**changes):
    return {"verb": "unmount", "args": {"target": TARGET, "timeout_ms": 9000, **changes}}


@pytest.fixture(autouse=True)
def old(monkeypatch):
    """Another share is mounted at the mount point; fstab and units have no entry for it."""
    row = mountinfo.MountRow(40, 1, "0:50", TARGET, ("rw",), "nfs4", "NAS:/old/", "rw")
    monkeypatch.setattr(mountinfo, "read", lambda: [row])
    monkeypatch.setattr(policy.read_fstab, "__defaults__", ("/no-fstab",))
    monkeypatch.setattr(approval_gate, "_UNITS", "/no-units")


class World:
    """Gate over handlers that record their requests."""

    def __init__(self, requests, action="mount-system", *, sha256=None, subject=(SHARE, TARGET)):
        self.done = []
        self.fail = None
        self.clock = Clock()
        self.action = action
        self.requests = requests
        gate = ApprovalGate(action, ApprovedMount(*subject, sha256 or digest(requests)), self.clock)
        verbs = [verb for role in ACTIONS[action] for verb in ROLES[role]]
        self.handlers = gate.handlers({verb: self.handler(verb) for verb in verbs})
        self.session = Session()

    def handler(self, verb):
        def handle(args, _session):
            if self.fail:
                raise Refusal(self.fail, "It failed.")
            self.done.append((verb, args))
            return {"backup": f"/copies/{len(self.done)}"}

        return handle

    def plan(self):
        return self.ask({"verb": "plan", "args": {"requests": self.requests}})

    def ask(self, request):
        """Send a request; return the code of the refusal, "" for none."""
        try:
            role = role_of(self.action, request["verb"]) or ACTIONS[self.action][0]
            args = check_args(self.action, role, request["verb"], request["args"])
            self.handlers[request["verb"]](args, self.session)
        except Refusal as refusal:
            return refusal.code
        return ""


def test_only_what_the_plan_names_is_carried_out():
    world = World([unmount(), mount(), mount(share="nas:/old")])
    assert world.ask(unmount()) == "not-authorized"  # before the plan
    assert world.plan() == ""
    assert world.session.holds
    assert world.ask(unmount(timeout_ms=20000)) == ""
    assert world.ask(mount()) == ""
    for request in (
        unmount(lazy=True),
        mount(options=["rw", "noexec"]),
        mount(hide=False),
        mount(share="evil:/x"),
        mount(target="/opt"),
        {"verb": "holders", "args": {"target": TARGET}},
        {"verb": "remount", "args": {"target": TARGET, "options": ["rw"], "timeout_ms": 900}},
    ):
        assert world.ask(request) == "not-authorized"
    assert world.ask(mount(share="nas:/old")) == ""
    assert [verb for verb, _args in world.done] == ["unmount", "mount", "mount"]


@pytest.mark.parametrize(
    "requests",
    [
        [mount(target="/opt")],
        [unmount(target="/opt"), mount()],
        [mount(share="evil:/x")],
        [mount(), mount(share="evil:/x")],
        [mount(share="nas:/old")],
        [{"verb": "try", "args": {"share": "evil:/x", "options": [], "timeout_ms": 900}}, mount()],
        [unmount()],  # of the old share, and the prompt named the new one
        [],
        [mount()] * 17,
        [{"verb": "mount"}],
        [{"verb": "hello", "args": {}}],
        [{"verb": "plan", "args": {"requests": []}}],
        [{"verb": "add", "args": {}}],
        [{**mount(), "more": 1}],
        [mount(more=1)],
    ],
)
def test_a_plan_of_something_else_is_refused_and_nothing_follows(requests):
    world = World(requests)
    assert world.plan() in {"not-authorized", "usage"}
    assert not world.session.holds
    world.requests = [mount()]
    assert world.plan() == "usage"  # it is taken once
    assert world.ask(mount()) == "not-authorized"
    assert world.ask(unmount()) == "not-authorized"
    assert world.done == []


def test_the_old_share_alone_may_be_unmounted():
    world = World([unmount()], subject=("nas:/old", TARGET))
    assert world.plan() == ""
    assert world.ask(unmount()) == ""


def test_the_plan_is_the_one_that_was_approved():
    world = World([mount()], sha256=digest([unmount()]))
    assert world.plan() == "not-authorized"
    assert world.ask(mount()) == "not-authorized"


def test_the_digest_is_of_canonical_json():
    requests = [{"verb": "x", "args": {"b": ["é"], "a": True}}]
    text = '[{"args":{"a":true,"b":["\\u00e9"]},"verb":"x"}]'
    assert digest(requests) == hashlib.sha256(text.encode()).hexdigest()
    assert digest(json.loads(text)) == digest(requests)


def test_an_approval_ends_by_number_and_by_time():
    world = World([mount(), {"verb": "holders", "args": {"target": TARGET}}])
    assert world.plan() == ""
    world.fail = "busy"
    assert {world.ask(mount()) for _ in range(50)} == {"busy"}  # who waits asks again
    world.fail = None
    assert {world.ask({"verb": "holders", "args": {"target": TARGET}}) for _ in range(50)} == {""}
    for count in range(16):
        world.fail = "mount-failed" if count % 2 else None
        assert world.ask(mount()) == (world.fail or "")
    assert world.ask(mount()) == "not-authorized"
    world = World([mount()])
    assert world.plan() == ""
    world.clock.now += 599
    assert world.ask(mount()) == ""
    world.clock.now += 1
    assert world.ask(mount()) == "not-authorized"


ENTRY = {"fstype": "nfs", "options": ["rw"], "sha256": "", "share": SHARE, "target": TARGET}


def test_only_its_own_change_is_taken_back():
    back = {"verb": "restore", "args": {"backup": "", "sha256": ""}}
    world = World([{"verb": "add", "args": ENTRY}, back], "persist-system")
    assert world.plan() == ""
    assert world.ask({"verb": "restore", "args": {"backup": "/copies/1", "sha256": ""}}) == "not-authorized"
    assert world.ask(back) == "not-authorized"
    assert world.ask({"verb": "add", "args": {**ENTRY, "sha256": "00"}}) == ""
    assert world.ask({"verb": "restore", "args": {"backup": "/copies/2", "sha256": ""}}) == "not-authorized"
    assert world.ask({"verb": "restore", "args": {"backup": "/copies/1", "sha256": "11"}}) == ""
    assert world.ask(back) == "not-authorized"


def test_the_share_that_a_unit_or_fstab_keeps_may_be_named(tmp_path, monkeypatch):
    change = {"verb": "change", "args": {**ENTRY, "old_share": "nas:/kept", "old_target": TARGET}}
    assert World([change], "persist-system").plan() == "not-authorized"
    monkeypatch.setattr(callers, "read_small", lambda _path: b"[Mount]\nWhat=nas:/kept\n")
    assert World([change], "persist-system").plan() == ""
    moved = {"verb": "change", "args": {**change["args"], "old_target": "/opt"}}
    assert World([moved], "persist-system").plan() == "not-authorized"


GOOD = ["nas:/x", "/data", "0" * 64]


@pytest.mark.parametrize(
    "words",
    [
        [],
        GOOD[:2],
        [*GOOD, "more"],
        ["nas", "/data", "0" * 64],
        ["nas:/x", "data", "0" * 64],
        ["nas:/x", "/data/../etc", "0" * 64],
        ["nas:/x", "/data", "0" * 63],
        ["nas:/x", "/data", "A" * 64],
        ["nas:/x", "/data", "0" * 64 + "\n"],
        ["nas:/x", "/data\u202e", "0" * 64],
        ["nas:/x\u009b2J", "/data", "0" * 64],
        ["nas:/x", "/data\ud800", "0" * 64],
        ["nas:/x\n", "/data", "0" * 64],
        ["nas:/x /mnt/x", "/data", "0" * 64],
        ["nas:/x", "/data here", "0" * 64],
    ],
)
def test_a_prompt_can_show_what_the_arguments_say(words):
    with pytest.raises(ValueError, match=r".+"):
        read_approved_mount(words)
    assert read_approved_mount(GOOD) == ApprovedMount(*GOOD)


def test_the_system_actions_have_the_roles_of_the_ordinary_ones():
    for action in SYSTEM_ACTIONS:
        assert ACTIONS[action] == ACTIONS[action.removesuffix("-system")]


def test_one_plan_serves_the_whole_change():
    tune = {"verb": "tune", "args": {"target": TARGET, "read_ahead_kb": 512}}
    world = World([mount(), {"verb": "add", "args": ENTRY}, tune], "apply-system")
    assert world.plan() == ""
    assert [world.ask(request) for request in world.requests] == ["", "", ""]
    assert world.ask({"verb": "tune", "args": {"target": TARGET, "read_ahead_kb": 1}}) == "not-authorized"


@pytest.mark.skipif(os.geteuid() != 0, reason="the helper runs as root")
@pytest.mark.parametrize("action", sorted(SYSTEM_ACTIONS))
def test_the_real_helper_serves_one_plan(action):
    target = "/mnt/mountwright-nothing"
    requests = {
        "mount": [{"verb": "mount", "args": {"share": SHARE, "target": target, "options": ["suid"],
                                            "create": False, "timeout_ms": 900}}],
        "persist": [{"verb": "remove", "args": {"share": SHARE, "target": target, "sha256": ""}}],
    }  # fmt: skip
    wanted = {"mount": "option-invalid", "persist": "fstab-changed"}
    command = [sys.executable, "-IBSXutf8", str(MAIN)]
    for role in {"mount", "persist"} & set(ACTIONS[action]):
        asked = requests[role]
        lines = [
            ("hello", {}),
            (next(iter(ROLES[role] - {"mount", "remove"})), {}),
            ("plan", {"requests": asked}),
        ]
        lines += [(request["verb"], request["args"]) for request in asked]
        text = "".join(json.dumps({"id": "a", "verb": verb, "args": args}) + "\n" for verb, args in lines)
        with start_helper(command, role, SHARE, target, digest(asked), action=action) as helper:
            helper.stdin.write(text.encode())
            helper.stdin.close()
            hello, refused, plan, done = map(json.loads, helper.stdout)
        assert hello["ok"]["role"] == role
        assert refused["error"]["code"] == "usage"  # its arguments are wrong, and it would be refused anyway
        assert plan == {"id": "a", "ok": {}}
        assert done["error"]["code"] == wanted[role]
    refused = subprocess.run([*command, action, SHARE, target], capture_output=True, check=False, timeout=60)
    assert (refused.returncode, b"usage" in refused.stderr) == (64, True)

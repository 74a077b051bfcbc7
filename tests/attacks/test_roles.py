"""Roles and verbs through a real pkexec: allowed, denied, and without polkit."""

import pytest

#: Verbs of each role; the table is independent of the helper's own.
VERBS = {
    "mount": {"mount", "unmount", "holders", "remount"},
    "try": {"try"},
    "persist": {"add", "change", "remove", "restore"},
    "units": {"unit-write", "unit-remove"},
    "bench": {"open", "run", "abort", "close"},
    "tune": {"tune", "readahead-save", "readahead-remove"},
}
#: Roles of each ordinary action.
ROLES = {
    "mount": ["mount", "try"], "persist": ["persist", "units"], "bench": ["bench"], "tune": ["tune"],
    "apply": ["mount", "try", "persist", "units", "tune"],
}  # fmt: skip
_PLACE = {"share": "no share", "target": "/mnt/none"}
_ENTRY = {**_PLACE, "fstype": "nfs", "options": [], "sha256": ""}
#: Well-formed request of each verb: its own role refuses the arguments, every other role the verb.
REQUESTS = {
    "mount": {**_PLACE, "options": [], "create": False, "timeout_ms": 500},
    "unmount": {"target": "/mnt/none", "timeout_ms": 500},
    "holders": {"target": "/mnt/none"},
    "try": {"share": "no share", "options": [], "timeout_ms": 500},
    "remount": {"target": "/mnt/none", "options": [], "timeout_ms": 500},
    "add": _ENTRY,
    "change": {"old_share": "no share", "old_target": "/mnt/none", **_ENTRY},
    "remove": {**_PLACE, "sha256": ""},
    "restore": {"backup": "none", "sha256": ""},
    "unit-write": {**_PLACE, "options": [], "automount": False, "sha256": ""},
    "unit-remove": {"target": "/mnt/none", "sha256": ""},
    "open": {"share": "no share", "options": [], "timeout_ms": 500},
    "run": {"argv": ["/bin/true"], "socket": "/nowhere"},
    "abort": {},
    "close": {"timeout_ms": 500},
    "tune": {"target": "/mnt/none", "read_ahead_kb": 128},
    "readahead-save": {"target": "/mnt/none", "read_ahead_kb": -1, "sha256": ""},
    "readahead-remove": {"target": "/mnt/none", "sha256": ""},
}
OTHERS = ["", "root", "plan", "exec", "shell", "Mount", "mount ", "__class__", "cancel\n", "hello\x00"]


def test_each_verb_belongs_to_one_role(rig):
    for action, role in ((action, role) for action, roles in ROLES.items() for role in roles):
        session = rig.session(action).hello()
        for verb, args in REQUESTS.items():
            answer = session.answer_to(session.send(verb, args, role))["error"]
            assert (answer["code"] != "usage") == (verb in VERBS[role]), (action, role, verb, answer)
        for verb in OTHERS:
            answer = session.answer_to(session.send(verb, {}, role))["error"]
            assert answer["code"] == "usage", (action, role, verb, answer)
    assert rig.mounts() == []
    assert rig.read("/etc/fstab") == ""
    assert rig.units() == {}
    assert rig.udev_rules() == {}


@pytest.mark.parametrize("role", [*ROLES, "mount-system", "persist-system", "apply-system"])
@pytest.mark.parametrize("polkit", ["says no", "is not there"])
def test_nothing_is_done_without_polkit_s_yes(make_rig, role, polkit):
    rig = make_rig(answers={}, bus=polkit == "says no")
    more = ("nas:/x", "/mnt/x", "0" * 64) if role.endswith("-system") else ()
    for verb, args in {"hello": {}, **REQUESTS}.items():
        session = rig.session(role, *more)
        assert session.try_asking(verb, **args) is None
        assert session.end()[0] == 127
        if verb == "mount":
            break  # the helper is not started, so further requests have no effect
    assert rig.mounts() == []


@pytest.mark.parametrize("role", ["", "root", "mount ", "Mount", "mount\n", "hello", "../mount", "--help"])
def test_a_role_that_does_not_exist_has_no_action(open_rig, role):
    session = open_rig.session(role)
    assert session.try_asking("hello") is None
    assert session.end()[0] == 127


def test_another_name_of_the_helper_has_no_action(rig):
    rig.run("mkdir", "-p", "/tmp/x", uid=65534)
    rig.run("ln", "-s", "/usr/libexec/mountwright/mountwright-helper", "/tmp/x/mountwright-helper", uid=65534)
    rig.run("cp", "/usr/libexec/mountwright/mountwright-helper", "/tmp/x/copy", uid=65534)
    for path in ("/tmp/x/mountwright-helper", "/tmp/x/copy"):
        done = rig.run("pkexec", "--disable-internal-agent", path, "mount", uid=65534, check=False)
        # Newer versions of pkexec resolve the link and run the helper, which needs a socket to its client.
        assert done.returncode != 0
        assert '"protocol"' not in done.stdout

"""The installed helper with a real pkexec and polkitd, in namespaces of their own, as the user “nobody”.

The rig is that of the attacks: tests/attacks/rig.py.
"""

import json
import os
import sys

import pytest
from rig import MISSING, NOBODY, ROOT, NamespacesError, Rig

from app.errors import ErrorKind
from app.helper_client.polkit import INSTALLED_HELPER, explain_pkexec

#: Program that runs as nobody with unusual limits and masks, starts pkexec, and sends requests to the helper.
DRIVER = """
import json, os, resource, signal, socket, subprocess, sys
role, requests = sys.argv[1], json.loads(sys.argv[2])
os.umask(0)
os.nice(10)
for limit, soft in ((resource.RLIMIT_FSIZE, 64), (resource.RLIMIT_NOFILE, 20)):
    resource.setrlimit(limit, (soft, resource.getrlimit(limit)[1]))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGHUP])
start, theirs = socket.socketpair()
child = subprocess.Popen(
    ["pkexec", "--disable-internal-agent", "/usr/libexec/mountwright/mountwright-helper", role],
    stdin=theirs, stdout=theirs, stderr=subprocess.PIPE,
)
theirs.close()
_told, fds, _flags, _address = socket.recv_fds(start, 4096, 8)
answers = []
roles = [socket.socket(fileno=fd) for fd in fds]
for verb, args in requests if roles else ():  # all requests go to the first role
    roles[0].sendall(json.dumps({"id": "a", "verb": verb, "args": args}).encode() + b"\\n")
    with roles[0].makefile("rb") as lines:
        line = lines.readline()
    if not line:
        break
    answers.append(json.loads(line))
for each in roles:
    each.close()
errors = child.stderr.read().decode()
print(json.dumps({"code": child.wait(), "stderr": errors, "answers": answers, "mnt": os.listdir("/mnt")}))
"""

#: Program that runs as nobody, and plans an experiment like the agent.
EXPERIMENT = """
import json, os, sys
from advisor.catalogue import catalogue
from advisor.facts import ClientFacts, Facts
from app.experiment.context import ExperimentContext
from app.experiment.model import Experiment, ExperimentArgs, Factor, WorkloadSpec
from app.experiment.plan import plan_experiment
from app.speedtest.private_mount import PrivateMount
from app.speedtest.mount_session import MountSession
from app.errors import AppError
from app.tasks import CancelToken
catalogue()  # what it imports when it is first read may lie where root alone may go: a Python below /root
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
session, opened = MountSession(), []
def open_mount(options, read_ahead_kb, token):
    opened.append(options)
    return PrivateMount.open(share, options, read_ahead_kb=read_ahead_kb, token=token, session=session)
share = "127.0.0.1:/x"
experiment = Experiment(
    share=share, options="vers=4.2", factors=[Factor(name="rsize", levels=["4096", "8192"])],
    workloads=[WorkloadSpec(name="one", size=2**20)],
)
hands = ExperimentContext(open=open_mount, facts=Facts(client=ClientFacts()))
try:
    plan_experiment(ExperimentArgs(experiment=experiment), hands, CancelToken(), lambda event: None)
except AppError as error:
    told = {"kind": error.kind, "message": error.message, "hint": error.hint, "detail": error.detail}
session.close()
processes = [name for name in os.listdir("/proc") if name.isdigit()]
lines = [open(f"/proc/{name}/cmdline").read().split(chr(0)) for name in processes]
words = [os.path.basename(word) for line in lines for word in line]
left = sorted({"pkexec", "mountwright-helper"} & set(words))
print(json.dumps({**told, "opened": opened, "left": left}))
"""

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root for namespaces"),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


@pytest.fixture
def rig(mount_point_at_root, tmp_path_factory):
    def run(role, requests, *, bus=True):
        words = ["/usr/bin/python3", "-I", "-S", "-c", DRIVER, role, json.dumps(requests)]
        return start(words, uid=NOBODY, bus=bus)

    def start(words, *, uid=0, bus=True, bench="AUTH_ADMIN"):
        try:
            # The test's Python runs in the rig, so its directory must stay visible.
            made = Rig(
                tmp_path_factory.mktemp("stage"), answers={"mount": "YES", "bench": bench},
                nfs=False, bus=bus, whole=False,
            )  # fmt: skip
        except NamespacesError:
            pytest.skip("no namespaces here")
        try:
            return json.loads(made.run(*words, uid=uid, env={"PYTHONPATH": str(ROOT)}).stdout)
        finally:
            made.close()

    run.start = start
    return run


def mount(target, share="127.0.0.1:/x"):
    return [
        "mount",
        {"share": share, "target": target, "options": ["vers=4.2"], "create": True, "timeout_ms": 5000},
    ]


def test_allowed(rig):
    found = rig(
        "mount",
        [
            ["hello", {}],
            mount("/data/x"),
            mount("/home/x"),
            mount("/run/mountwright/0/x"),
            mount("/usr/x"),
            mount("/mnt/mountwright-rig"),
        ],
    )
    assert found["answers"], found
    hello, *refused, failed = found["answers"]
    assert hello["ok"] == {"role": "mount", "uid": 65534}
    codes = [answer["error"]["code"] for answer in refused]
    assert codes == ["mount-point-restricted"] * 2 + ["mount-point-system"] * 2
    # 127.0.0.1 exports nothing, or this kernel has no NFS: then mount.nfs failed, and left nothing.
    assert failed["error"]["code"] in {"mount-failed", "mount-nfs-missing"}
    assert found["mnt"] == []
    assert found["code"] == 0


def test_denied(rig):
    found = rig("tune", [["hello", {}]])
    assert found["code"] == 127
    assert found["answers"] == []
    error = explain_pkexec(found["code"], found["stderr"], "tune")
    assert error.kind is ErrorKind.NOT_AUTHORIZED
    assert "refused" in error.message
    assert "org.mountwright.tune" in error.hint


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        ("NO", ErrorKind.NOT_AUTHORIZED, ["refused", "org.mountwright.bench"]),
        # A password is needed, and there is no polkit agent.
        ("AUTH_ADMIN", ErrorKind.POLKIT_AGENT_MISSING, ["no polkit agent"]),
        ("YES", None, []),
    ],
)
def test_an_experiment_asks_once_and_says_what_polkit_answered(rig, answer, kind, words):
    found = rig.start([sys.executable, "-P", "-c", EXPERIMENT], bench=answer)
    assert found["left"] == []
    if kind is None:  # the helper runs, but the server does not exist
        assert found["kind"] not in {ErrorKind.NOT_AUTHORIZED, ErrorKind.POLKIT_AGENT_MISSING}, found
        assert "pkexec" not in found["detail"], found
        return
    assert found["kind"] == kind, found
    assert len(found["opened"]) == 1
    assert all(word in f"{found['message']} {found['hint']}" for word in words), found


def test_no_polkit_at_all(rig):
    found = rig("mount", [["hello", {}]], bus=False)
    assert found["answers"] == []
    error = explain_pkexec(found["code"], found["stderr"], "mount")
    assert error.kind is ErrorKind.NOT_AUTHORIZED
    assert "does not answer" in error.message, found["stderr"]


def test_a_role_that_does_not_exist_has_no_action(rig):
    found = rig("root", [["hello", {}]])
    assert found["code"] == 127
    assert found["answers"] == []


def test_the_policy_names_the_installed_helper_and_says_yes_to_nobody():
    import xml.etree.ElementTree as ET

    tree = ET.parse(ROOT / "packaging" / "mountwright.policy")
    roles = set()
    for action in tree.iter("action"):
        notes = {note.get("key", "").rpartition(".")[2]: note.text for note in action.iter("annotate")}
        assert notes["path"] == str(INSTALLED_HELPER)
        assert action.get("id") == f"org.mountwright.{notes['argv1']}"
        roles.add(notes["argv1"])
        defaults = {entry.tag: entry.text for entry in next(action.iter("defaults"))}
        assert (defaults["allow_any"], defaults["allow_inactive"]) == ("no", "no")
        assert defaults["allow_active"] == ("auth_admin_keep" if notes["argv1"] == "mount" else "auth_admin")
    from app.helper.verbs import ACTIONS

    assert roles == set(ACTIONS)

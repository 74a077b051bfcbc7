"""Client of the helper, against the real helper (as root) and against scripted helpers."""

import os
import sys
import threading

import pytest
from helper_line import peer

from app.errors import AppError, CancelledError, ErrorKind
from app.helper_client.client import HelperClient
from app.tasks import CancelToken

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="the helper runs as root")
MOUNT = {
    "share": "127.0.0.1:/x",
    "target": "/mnt/mountwright-client",
    "options": "vers=4.2,rw",
    "create": True,
    "timeout_s": 10.0,
}

PEER = """
import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    answer = {"id": request["id"]}
    BODY
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def client():
    clients = []

    def make(body=None):
        body = "\n    ".join(body.splitlines()) if body else None
        command = [sys.executable, "-I", "-c", peer("mount", PEER.replace("BODY", body))] if body else None
        clients.append(HelperClient("mount", command=command))
        return clients[-1]

    yield make
    for made in clients:
        made.close()


def kind_of(call):
    with pytest.raises(AppError) as caught:
        call()
    return caught.value


@as_root
def test_the_real_helper_refuses_in_words(client):
    helper = client()
    cases = {
        "mount-point-system": {"target": "/usr/x"},
        "mount-point-invalid": {"target": "mnt"},
        "share-invalid": {"share": "nas"},
        "option-invalid": {"options": "rw,suid"},
    }
    for kind, change in cases.items():
        error = kind_of(lambda change=change: helper.call("mount", {**MOUNT, **change}, CancelToken(), 20))
        assert error.kind == kind
        assert error.message.endswith(".")
        assert error.hint.endswith(".")
    error = kind_of(lambda: helper.call("unmount", {"target": "/proc"}, CancelToken(), 20))
    assert error.kind is ErrorKind.NOT_MOUNTED
    assert not os.path.lexists("/mnt/mountwright-client")


@as_root
def test_a_helper_that_ended_is_started_again(client):
    helper = client()
    for _ in range(2):
        kind_of(lambda: helper.call("unmount", {"target": "/proc"}, CancelToken(), 20))
        helper.close()


@as_root
def test_calls_from_many_threads_take_turns(client):
    helper = client()
    kinds = []

    def work():
        kinds.append(kind_of(lambda: helper.call("unmount", {"target": "/proc"}, CancelToken(), 20)).kind)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kinds == [ErrorKind.NOT_MOUNTED] * 8


def test_arguments_take_the_wire_s_form(client):
    answer = client(
        'answer["ok"] = {"got": request["args"], "text": "hello ", "notes": ["foreground"]}'
    ).call("mount", MOUNT, CancelToken(), 20)
    assert answer["got"]["options"] == ["vers=4.2", "rw"]
    assert answer["got"]["timeout_ms"] == 10000
    assert answer["output"].startswith("hello\n")


def test_a_name_that_is_not_utf8_is_refused_before_the_helper_is_started(client):
    helper = client('answer["ok"] = {}')
    error = kind_of(lambda: helper.call("unmount", {"target": "/mnt/caf\udce9"}, CancelToken(), 20))
    assert (error.kind, helper.running) == (ErrorKind.USAGE, False)


def test_holders_get_the_names_of_their_users(client):
    answer = client('answer["ok"] = {"holders": [{"pid": 1, "uid": 0}, {"pid": 2, "uid": 4000000000}]}')
    found = answer.call("holders", {"target": "/mnt/x"}, CancelToken(), 20)["holders"]
    assert [holder["user"] for holder in found] == ["root", "4000000000"]


def test_mount_nfs_is_diagnosed(client):
    error = kind_of(
        lambda: client("""
answer["error"] = {"code": "mount-failed", "message": "m", "detail": "mount.nfs: Connection refused",
                   "data": {"exit_code": 32, "timed_out": False}}
""").call("mount", MOUNT, CancelToken(), 20)
    )
    assert error.kind is ErrorKind.SERVER_REFUSED
    assert "127.0.0.1" in error.message
    assert "exit code 32" in error.detail


@pytest.mark.parametrize("code", ["busy-helper", "protocol", "internal", "no-such-code"])
def test_the_helper_s_own_troubles_have_one_kind(client, code):
    error = kind_of(
        lambda: client(f'answer["error"] = {{"code": "{code}"}}').call(
            "unmount", {"target": "/mnt/x"}, CancelToken(), 20
        )
    )
    assert error.kind is ErrorKind.HELPER_FAILED


#: A helper whose session ends before its second request; it records the requests that it carried out.
OVER = """
notes = open({notes!r}, "a")
print(request["verb"], file=notes, flush=True)
if "asked" in globals():
    print("over", file=notes, flush=True)
    print(json.dumps({{"event": "session-end", "reason": "age"}}), flush=True)
    break
else:
    asked = 1
answer["ok"] = {{}}
"""


def test_a_session_that_ends_in_the_middle_of_a_change_loses_no_request(client, tmp_path):
    """A request after the end starts a new helper, which may need an authorization."""
    notes = tmp_path / "notes"
    helper = client(OVER.format(notes=str(notes)))
    for verb in ("unmount", "mount", "holders"):
        helper.call(verb, {**MOUNT}, CancelToken(), 20)
    served = notes.read_text().split()
    assert served == [
        "unmount",
        "mount",
        "over",
        "mount",
        "holders",
        "over",
        "holders",
    ]


@pytest.mark.parametrize("verb", ["run", "abort", "close"])
def test_an_ended_session_gets_no_more_requests(client, tmp_path, verb):
    """A new helper has no test mount, so the client does not start one."""
    notes = tmp_path / "notes"
    helper = client(OVER.format(notes=str(notes)))
    helper.call("open", {"share": "nas:/a"}, CancelToken(), 20)
    error = kind_of(lambda: helper.call(verb, {}, CancelToken(), 20))
    assert error.kind is ErrorKind.NOT_MOUNTED
    assert "one authorization" in error.message
    assert notes.read_text().split() == ["open", verb, "over"]
    helper.call("open", {"share": "nas:/a"}, CancelToken(), 20)


def test_the_default_deadline_is_fifteen_seconds(client):
    found = client('answer["ok"] = {"got": request["args"]}').call(
        "unmount", {"target": "/mnt/x"}, CancelToken(), 60
    )
    assert found["got"]["timeout_ms"] == 15_000


def test_a_helper_that_dies_is_reported(client):
    error = kind_of(
        lambda: client('print("broken", file=sys.stderr); sys.exit(3)').call("unmount", {}, CancelToken(), 20)
    )
    assert error.kind is ErrorKind.HELPER_FAILED
    assert "broken" in error.detail
    assert "3" in error.detail


def test_a_helper_that_cannot_start_is_reported():
    client = HelperClient("mount", command=["/no/such/program"])
    assert kind_of(lambda: client.call("unmount", {}, CancelToken(), 20)).kind is ErrorKind.HELPER_FAILED
    client.close()


SLOW = """
if request["verb"] == "cancel":
    print(json.dumps({"id": slow, "error": {"code": "cancelled"}}), flush=True)
    answer["ok"] = {"found": True}
else:
    slow = request["id"]
    continue
"""


def test_cancelling_reaches_the_helper(client):
    helper = client(SLOW)
    token = CancelToken()
    timer = threading.Timer(0.2, token.cancel)
    timer.start()
    with pytest.raises(CancelledError):
        helper.call("unmount", {"target": "/mnt/x"}, token, 60)
    timer.join()


def test_a_late_request_is_cancelled(client):
    error = kind_of(lambda: client(SLOW).call("unmount", {"target": "/mnt/x"}, CancelToken(), 0.3))
    assert error.kind is ErrorKind.HELPER_FAILED


def test_cancelling_while_it_starts_ends_it():
    helper = HelperClient("mount", command=[sys.executable, "-c", "import time; time.sleep(60)"])
    token = CancelToken()
    timer = threading.Timer(0.3, token.cancel)
    timer.start()
    with pytest.raises(CancelledError):
        helper.call("unmount", {"target": "/mnt/x"}, token, 60)
    timer.join()
    helper.close()


def test_a_call_that_waits_for_its_turn_can_be_cancelled(client):
    helper = client(SLOW)
    first, second = CancelToken(), CancelToken()
    thread = threading.Thread(target=lambda: kind_of(lambda: helper.call("unmount", {}, first, 60)))
    thread.start()
    second.cancel()
    with pytest.raises(CancelledError):
        helper.call("unmount", {}, second, 60)
    first.cancel()
    thread.join()

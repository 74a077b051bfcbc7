"""The protocol, bytes in and bytes out, without a process: every malformed line has an answer."""

import json
import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.helper import session as protocol
from app.helper import verbs
from app.helper.errors import CODES, Refusal
from app.helper.session import MAX_LINE, Session, parse
from app.helper.verbs import ROLES, SCHEMAS, SYSTEM_ROLES

ID = "0123456789abcdef"


def line(verb, args, request_id=ID):
    return json.dumps({"id": request_id, "verb": verb, "args": args}).encode() + b"\n"


def serve(data, handlers=None, role="mount", **options):
    """Feed the bytes and the end of the input; return the answers and the exit status."""
    reader, feed = os.pipe()
    collect, writer = os.pipe()
    status = []
    feeder = threading.Thread(target=lambda: (_write_all(feed, data), os.close(feed)))
    answers = []
    gatherer = threading.Thread(target=lambda: answers.append(_read_all(collect)))
    feeder.start()
    gatherer.start()
    try:
        hello = {"hello": lambda args, _session: dict(args)}
        status.append(Session(reader, writer, role, handlers or hello, **options).run())
    finally:
        os.close(writer)
        os.close(reader)
        gatherer.join()
        feeder.join()
        os.close(collect)
    return [json.loads(answer) for answer in answers[0].splitlines()], status[0]


def _write_all(fd, data):
    try:
        while data:
            data = data[os.write(fd, data) :]
    except BrokenPipeError:
        pass


def _read_all(fd):
    chunks = []
    while chunk := os.read(fd, 65536):
        chunks.append(chunk)
    return b"".join(chunks)


def test_hello_and_the_end_of_input():
    answers, status = serve(line("hello", {}))
    assert answers == [{"id": ID, "ok": {"restarts": False}}]
    assert status == 0


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"x",
        b"[]",
        b"1",
        b"null",
        b"{}",
        b'{"id":"a","verb":"hello"}',
        b'{"id":"a","verb":"hello","args":{},"x":1}',
        b'{"id":"a","id":"a","verb":"hello","args":{}}',
        b'{"id":"a","verb":"hello","args":{"restarts":true,"restarts":true}}',
        b'{"id":"a","verb":"hello","args":{"restarts":NaN}}',
        b'{"id":"a","verb":"hello","args":{"restarts":1.0}}',
        b'{"id":"a","verb":"hello","args":{"restarts":-Infinity}}',
        b'{"id":1,"verb":"hello","args":{}}',
        b'{"id":"","verb":"hello","args":{}}',
        b'{"id":"XYZ","verb":"hello","args":{}}',
        b'{"id":"a\\n","verb":"hello","args":{}}',
        b'{"id":"a","verb":1,"args":{}}',
        b'{"id":"a","verb":"hello","args":[]}',
        b'{"id":"a","verb":"hello","args":{"a":[[[[[1]]]]]}}',
        b"[" * 60000,
        b'{"a":' * 10000,
        b"\xff\xfe",
        b'{"id":"a","verb":"hello","args":{"restarts":' + b"9" * 5000 + b"}}",
        b"\x00" * 100,
    ],
)
def test_a_malformed_line_is_answered_and_the_next_one_served(bad):
    answers, status = serve(bad + b"\n" + line("hello", {}))
    assert answers[0]["id"] is None
    assert answers[0]["error"]["code"] == "protocol"
    assert answers[1]["ok"] == {"restarts": False}
    assert status == 0


@pytest.mark.parametrize("extra", [1, MAX_LINE, 5 * MAX_LINE])
def test_a_line_that_is_too_long_is_refused_once(extra):
    answers, _status = serve(b" " * (MAX_LINE + extra) + b"\n" + line("hello", {}))
    assert [answer.get("error", {}).get("code") for answer in answers] == ["protocol", None]


def test_a_line_of_just_the_limit_is_served():
    data = line("hello", {})[:-1]
    answers, _status = serve(data + b" " * (MAX_LINE - len(data)) + b"\n")
    assert answers[0]["ok"] == {"restarts": False}


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_parse_or_are_refused(data):
    try:
        outcome = parse(data).args
    except Refusal as refusal:
        outcome = refusal.code
    assert outcome == "protocol" or isinstance(outcome, dict)


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    )
)
def test_any_value_as_arguments_is_checked(value):
    for verb in SCHEMAS:
        role = next(role for role, verbs_of_role in ROLES.items() if verb in verbs_of_role)
        answers, _status = serve(line(verb, value), {name: lambda args, _s: {} for name in SCHEMAS}, role)
        assert ("ok" in answers[0]) == _fits(verb, value)


def _fits(verb, value):
    if not isinstance(value, dict):
        return False
    schema = SCHEMAS[verb]
    given_types = {name: type(item) for name, item in value.items()}
    required = {name for name, wanted in schema.items() if wanted.default is verbs.REQUIRED}
    return (
        required <= set(value)
        and all(name in schema and schema[name].type is kind for name, kind in given_types.items())
        and all(isinstance(word, str) for item in value.values() if type(item) is list for word in item)
    )


ARGS = {
    "plan": {"requests": [{"verb": "hello", "args": {}}]},
    "hello": {},
    "mount": {"share": "a:/b", "target": "/mnt/x", "options": [], "create": False, "timeout_ms": 1000},
    "unmount": {"target": "/mnt/x", "timeout_ms": 1000},
    "holders": {"target": "/mnt/x"},
    "try": {"share": "a:/b", "options": [], "timeout_ms": 1000},
    "open": {"share": "a:/b", "options": [], "timeout_ms": 1000},
    "run": {"argv": [], "socket": "/x"},
    "abort": {},
    "close": {"timeout_ms": 1000},
    "remount": {"target": "/mnt/x", "options": [], "timeout_ms": 1000},
    "tune": {"target": "/mnt/x", "read_ahead_kb": 128},
    "unit-write": {"share": "a:/b", "target": "/mnt/x", "options": [], "automount": True, "sha256": ""},
    "unit-remove": {"target": "/mnt/x", "sha256": ""},
    "add": {"share": "a:/b", "target": "/mnt/x", "fstype": "nfs", "options": [], "sha256": ""},
    "change": {"old_share": "a:/b", "old_target": "/mnt/x", "share": "a:/b", "target": "/mnt/x",
               "fstype": "nfs", "options": [], "sha256": ""},
    "remove": {"share": "a:/b", "target": "/mnt/x", "sha256": ""},
    "restore": {"backup": "", "sha256": ""},
    "cancel": {"id": "a"},
}  # fmt: skip


@pytest.mark.parametrize("role", sorted(ROLES))
@pytest.mark.parametrize("verb", [*sorted(ARGS), "persist", "move", "__class__", ""])
def test_a_role_has_its_own_verbs_and_no_others(role, verb):
    assert set(ARGS) == set(SCHEMAS)
    called = []
    handlers = {name: lambda args, _s: called.append(args) or {} for name in ARGS}
    answers, _status = serve(line(verb, ARGS.get(verb, {})), handlers, role)
    if verb in ROLES[role]:
        assert "ok" in answers[0]
    else:
        assert answers[0]["error"]["code"] == "usage"
        assert not called


def test_every_verb_belongs_to_one_role():
    ordinary = [verbs for role, verbs in ROLES.items() if role not in SYSTEM_ROLES]
    for verb in set(SCHEMAS) - {"hello", "cancel", "plan"}:
        assert sum(verb in verbs for verbs in ordinary) == 1


def test_one_request_at_a_time_and_cancel():
    seen = []

    def slow(_args, session):
        while not session.cancelled:
            seen.append(session.wait((), 0.05))
        raise Refusal("cancelled", "Cancelled.")

    data = (
        line("unmount", ARGS["unmount"], "aa")
        + line("hello", {}, "bb")
        + b"junk\n"
        + line("cancel", {"id": "cc"}, "dd")
        + line("cancel", {"id": "aa"}, "ee")
    )
    answers, _status = serve(data, {"unmount": slow, "hello": lambda a, _s: {}})
    by_id = {answer["id"]: answer for answer in answers}
    assert by_id["bb"]["error"]["code"] == "busy-helper"
    assert by_id[None]["error"]["code"] == "protocol"
    assert by_id["dd"]["ok"] == {"found": False}
    assert by_id["ee"]["ok"] == {"found": True}
    assert by_id["aa"]["error"]["code"] == "cancelled"


def test_the_end_of_input_stops_what_is_under_way():
    ended = []

    def slow(_args, session):
        while not session.cancelled:
            session.wait((), 5)
        ended.append(True)
        return {}

    _answers, status = serve(line("unmount", ARGS["unmount"]), {"unmount": slow})
    assert ended == [True]
    assert status == 0


def test_a_bug_is_answered_without_its_text():
    def broken(_args, _session):
        raise RuntimeError("/secret/path")

    lines = []
    answers, _status = serve(line("hello", {}), {"hello": broken}, audit=lines.append)
    assert answers[0]["error"]["code"] == "internal"
    assert "secret" not in json.dumps(answers)
    assert "internal" in lines[0]


def test_it_ends_when_idle_only_if_the_peer_can_restart_it(monkeypatch):
    reader, feed = os.pipe()
    collect, writer = os.pipe()
    os.write(feed, line("hello", {"restarts": True}))
    assert Session(reader, writer, "mount", {"hello": lambda a, _s: {}}, idle_s=0.0).run() == 0
    answers = [json.loads(text) for text in os.read(collect, 4096).splitlines()]
    assert answers[1] == {"event": "idle-exit"}
    for fd in (reader, feed, collect, writer):
        os.close(fd)


def test_it_does_not_end_for_want_of_requests_while_something_is_open():
    reader, feed = os.pipe()
    collect, writer = os.pipe()

    def hold(_args, session):
        session.holds = True
        return {}

    def let_go(_args, session):
        session.holds = False
        return {}

    os.write(feed, line("hello", {"restarts": True}) + line("open", ARGS["open"]))
    handlers = {"hello": lambda a, _s: {}, "open": hold, "close": let_go}
    session = Session(reader, writer, "bench", handlers, idle_s=0.0)
    waits = []

    def poll(_fds, _timeout_s):
        waits.append(session.holds)
        if len(waits) == 3:
            os.write(feed, line("close", ARGS["close"]))
        if len(waits) in {1, 3}:
            session._fill()
        return set()

    session._poll = poll
    assert session.run() == 0
    answers = [json.loads(text) for text in os.read(collect, 4096).splitlines()]
    assert [answer.get("event", "") for answer in answers] == ["", "", "", "idle-exit"]
    assert True in waits
    for fd in (reader, feed, collect, writer):
        os.close(fd)


def test_a_line_without_an_end_ends_the_session(monkeypatch):
    monkeypatch.setattr(protocol, "LINE_S", 0.0)
    reader, feed = os.pipe()
    collect, writer = os.pipe()
    os.write(feed, b'{"id"')
    assert Session(reader, writer, "mount", {}).run() == 65
    assert b"no end" in os.read(collect, 4096)
    for fd in (reader, feed, collect, writer):
        os.close(fd)


def test_codes_are_the_applications_kinds():
    from app.errors import ErrorKind

    assert CODES - set(ErrorKind) == {"busy-helper"}
